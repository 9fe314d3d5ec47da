//! Manifests of Karpenter that Terraform applies.

use super::cluster;
use super::file::TerraformFile;
use super::kubernetes::{APPLYING, manifests};
use crate::input::Import;
use crate::karpenter;
use crate::machine::{ClusterTraits, Traits};
use crate::reading::Reading;
use crate::tree::Tree;

/// Adds the machines of Karpenter. Its part of the user data has the values of the file's cluster.
pub(super) fn add(input: &Import<'_>, file: &TerraformFile<'_>, reading: &mut Reading) {
    let mut documents: Vec<Tree> = Vec::new();
    for kind in APPLYING {
        let kinds = [kind];
        for resource in file.of_kind(&kinds) {
            match manifests(resource) {
                Ok(mut found) => documents.append(&mut found),
                Err(error) => reading.add(&resource.address, Err(error)),
            }
        }
    }
    documents.retain(karpenter::is_manifest);
    let mut traits = Traits::default();
    cluster::describe(file, None, &mut traits);
    let cluster: ClusterTraits = traits.cluster.or(input.cluster);
    let input = Import {
        cluster: &cluster,
        ..*input
    };
    karpenter::add(&input, &documents.iter().collect::<Vec<_>>(), reading);
}
