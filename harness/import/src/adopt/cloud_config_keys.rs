//! Keys of a cloud-config that have no effect on a node image.

use std::collections::BTreeSet;

use nodejoin_core::user_data::parse;

use super::cloud_config_typos::{is_key, meant_key};
use crate::tree::yaml;

/// The keys that the modules of the built-in node images read, and those of cloud-init itself.
const READ: [&str; 24] = [
    "bootcmd",
    "cloud_config_modules",
    "cloud_final_modules",
    "cloud_init_modules",
    "create_hostname_file",
    "disable_root",
    "final_message",
    "fqdn",
    "groups",
    "hostname",
    "merge_how",
    "merge_type",
    "output",
    "packages",
    "phone_home",
    "power_state",
    "prefer_fqdn_over_hostname",
    "preserve_hostname",
    "repo_releasever",
    "repo_upgrade",
    "runcmd",
    "timezone",
    "users",
    "write_files",
];
/// Keys whose modules a node has together with a second disk.
const OF_DISKS: [&str; 3] = ["disk_setup", "fs_setup", "mounts"];

/// What is wrong with swap in a cloud-config: a kubelet exits on a machine that has it, unless its configuration allows
/// it.
pub(super) fn swap(user_data: &[u8], text: &str) -> Option<String> {
    const ALLOWED: [&str; 3] = [
        "failSwapOn: false",
        "\"failSwapOn\": false",
        "--fail-swap-on=false",
    ];
    let parts = parse(user_data).parts;
    let mut configs = parts.iter().filter(|part| part.mime == "text/cloud-config");
    let has_swap = configs.any(|part| {
        let text = String::from_utf8_lossy(&part.content);
        text.lines().filter_map(key).any(|key| key == "swap")
    });
    let is_allowed = ALLOWED.iter().any(|allowed| text.contains(allowed));
    (has_swap && !is_allowed).then(|| {
        "`swap` of the cloud-config: a kubelet exits on a machine with swap, unless its configuration has `failSwapOn: false`; the \
         node of the trial has no swap, so its verdict does not show that"
            .to_owned()
    })
}

/// What is wrong with packages in a cloud-config. Amazon Linux has a module for them, and AMIs of EKS do not, so that a
/// node has the versions of its AMI: amazon-eks-ami 21870b9f.
pub(super) fn packages(user_data: &[u8]) -> Option<String> {
    let parts = parse(user_data).parts;
    let mut configs = parts.iter().filter(|part| part.mime == "text/cloud-config");
    let has_packages = configs.any(|part| {
        let text = String::from_utf8_lossy(&part.content);
        let documents = yaml(&text).unwrap_or_default();
        documents
            .iter()
            .any(|document| !document.items_at(&["packages"]).is_empty())
    });
    has_packages.then(|| {
        "`packages` of the cloud-config: AMIs of EKS since November 2022 install none of them, as their cloud-init has no module \
         `package-update-upgrade-install`; install them in a script or in `runcmd`"
            .to_owned()
    })
}

/// A sentence for each key without an effect.
pub(super) fn without_effect(user_data: &[u8], has_disks: bool) -> Vec<String> {
    let mut keys = BTreeSet::new();
    for part in parse(user_data).parts {
        if part.mime != "text/cloud-config" {
            continue;
        }
        let text = String::from_utf8_lossy(&part.content);
        keys.extend(text.lines().filter_map(key).map(str::to_owned));
    }
    let is_read = |key: &str| READ.contains(&key) || (has_disks && is_of_disks(key));
    let sentence = |key: String| match is_of_disks(&key) {
        _ if !is_key(&key) => format!(
            "`{key}` of the cloud-config: cloud-init documents no such key, and ignores keys that it does not know"
        ),
        true => format!(
            "`{key}` of the cloud-config: the file states no second volume; `--with 'instance: {{ volumes: [{{ device: \
             /dev/sdb, gib: 100 }}] }}'` for one"
        ),
        false => format!("`{key}` of the cloud-config, for which the node image has no module"),
    };
    keys.into_iter()
        // Misspelt ones have a sentence of their own.
        .filter(|key| !is_read(key) && meant_key(key).is_none())
        .map(sentence)
        .collect()
}

fn is_of_disks(key: &str) -> bool {
    OF_DISKS.contains(&key)
}

/// The key of a line that is not indented.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(':')?;
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    is_key.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_a_mistake_unless_the_kubelet_allows_it() {
        let text = "#cloud-config\nswap: { filename: /swapfile, size: 1G }\n";
        assert!(swap(text.as_bytes(), text).is_some());
        let allowed = format!("{text}runcmd: ['echo failSwapOn: false > /etc/x']\n");
        assert_eq!(swap(allowed.as_bytes(), &allowed), None);
        assert_eq!(swap(b"#cloud-config\nruncmd: [x]\n", ""), None);
    }

    #[test]
    fn packages_are_a_mistake() {
        let found = packages(b"#cloud-config\npackages: [git]\nruncmd: [x]\n");
        assert!(found.is_some_and(|text| text.contains("package-update-upgrade-install")));
        assert_eq!(packages(b"#cloud-config\npackages: null\n"), None);
        assert_eq!(packages(b"#!/bin/bash\nyum install git\n"), None);
    }

    #[test]
    fn keys_without_a_module_are_named() {
        let text = b"#cloud-config\nruncmd: [x]\nntp: { servers: [a] }\nmounts:\n- [/dev/sdb, /data]\nfs_setup: []\n";
        let bare = without_effect(text, false);
        assert_eq!(bare.len(), 3, "{bare:?}");
        assert!(bare[0].contains("`fs_setup`") && bare[0].contains("volumes: [{ device: /dev/sdb"));
        let with_disks = without_effect(text, true);
        assert_eq!(
            with_disks,
            ["`ntp` of the cloud-config, for which the node image has no module"]
        );
        assert_eq!(without_effect(b"#!/bin/bash\nntp: x\n", false), [""; 0]);
    }

    #[test]
    fn keys_that_cloud_init_does_not_have_are_named() {
        let text = b"#cloud-config\nruncommand: [x]\nkind: NodeConfig\n";
        let sentence = |key: &str| {
            format!(
                "`{key}` of the cloud-config: cloud-init documents no such key, and ignores keys that it does not know"
            )
        };
        assert_eq!(
            without_effect(text, false),
            [sentence("kind"), sentence("runcommand")]
        );
    }
}
