//! Files as tools write them, from bytes to machines.

mod access;
mod ack;
mod any_bytes;
mod cdk_assets;
mod cdk_stacks;
mod cloudformation;
mod cluster_api;
mod crossplane;
mod ec2;
mod eks;
mod eksctl;
mod group_refusals;
mod group_values;
mod karpenter;
mod launch_templates;
mod lines;
mod misspelt_references;
mod nearly_user_data;
mod not_nodes;
mod other_text;
mod places_of_user_data;
mod pulumi;
mod rancher;
mod refused_values;
mod roles;
mod scaling_groups;
mod stack_mistakes;
mod stacks;
mod systems;
mod template_marks;
mod templates;
mod terraform;
mod texts;
mod volumes;

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{ClusterTraits, Import, ImportError, Imported, Machine, import};

/// A script that joins, as most files contain it.
pub(crate) const SCRIPT: &str =
    "#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b'\n";

pub(crate) fn read_with(name: &str, bytes: &[u8], set: &[(&str, &str)]) -> Result<Imported, ImportError> {
    let set: BTreeMap<String, String> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    import(&Import {
        name,
        bytes,
        folder: None,
        set: &set,
        cluster: &ClusterTraits::default(),
    })
}

pub(crate) fn read(text: &str) -> Imported {
    read_with("file", text.as_bytes(), &[]).unwrap_or_else(|error| panic!("{error}: {}", error.hint()))
}

/// The one machine of a file.
pub(crate) fn machine(text: &str) -> Machine {
    let mut imported = read(text);
    assert_eq!(imported.machines.len(), 1, "{imported:?}");
    imported.machines.remove(0)
}

/// The user data of a machine as text, unpacked.
pub(crate) fn user_data(machine: &Machine) -> String {
    let bytes = machine.user_data.clone().unwrap();
    let bytes = if crate::text::is_gzip(&bytes) {
        crate::text::unpacked(&bytes).unwrap()
    } else {
        bytes
    };
    String::from_utf8(bytes).unwrap()
}

/// Message and hint of a file that cannot be imported.
pub(crate) fn refused(name: &str, text: &str) -> String {
    let error = read_with(name, text.as_bytes(), &[]).unwrap_err();
    format!("{error}\n  hint: {}", error.hint())
}

pub(crate) fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Messages and hints of several files, each below its name.
pub(crate) fn all_refused(files: &[(&str, &str)]) -> String {
    let texts = files
        .iter()
        .map(|(name, text)| format!("{name}\n  {}\n", refused(name, text)));
    texts.collect()
}
