//! What a kubelet ends of because of its version, and what its version has instead.

use super::facts::between;
use crate::kubernetes::{DifferenceKind, Minor, difference, exec_credential_versions};

/// The way out, where the last words of a kubelet such as `v1.36.3` are about something that other versions have.
pub(super) fn remedy(kubelet: &str, message: &str) -> Option<String> {
    let minor = Minor::of(kubelet);
    if let Some(flag) = between(message, "unknown flag: ", &['"', ' ', '\n']) {
        let range = range(DifferenceKind::KubeletFlag, flag, kubelet);
        return Some(format!("take the flag out: {range}"));
    }
    if let Some(gate) = between(message, "unrecognized feature gate: ", &['"', ' ', '\n']) {
        let range = range(DifferenceKind::KubeletGate, gate, kubelet);
        return Some(format!(
            "take the gate out of the kubelet's configuration: {range}"
        ));
    }
    if message.contains("client.authentication.k8s.io/v1alpha1") {
        return Some(format!(
            "write `client.authentication.k8s.io/{}` into the kubelet's kubeconfig: {} takes {}",
            newest_common(minor),
            called(kubelet),
            exec_credential_versions(minor).join(" and ")
        ));
    }
    if message.contains("configured to not run on a host using cgroup v1") {
        return Some(format!(
            "set `failCgroupV1: false` in the kubelet's configuration, or boot the host with cgroup v2: {} refuses version 1",
            called(kubelet)
        ));
    }
    None
}

/// A version that old authenticators answer in, too.
fn newest_common(minor: Minor) -> &'static str {
    exec_credential_versions(minor)
        .into_iter()
        .find(|version| *version != "v1alpha1")
        .unwrap_or("v1beta1")
}

fn range(what: DifferenceKind, name: &str, kubelet: &str) -> String {
    match difference(what, name) {
        Some(row) => format!(
            "kubelets have it {}, and this is {}",
            row.range(),
            called(kubelet)
        ),
        None => format!("{} does not have it", called(kubelet)),
    }
}

fn called(kubelet: &str) -> String {
    match kubelet {
        "" => "this version of the kubelet".to_owned(),
        version => format!("kubelet {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_of_other_versions_is_told_with_its_versions() {
        let cases = [
            (
                "command failed\" err=\"failed to parse kubelet flag: unknown flag: --network-plugin\"",
                "take the flag out: kubelets have it up to 1.23, and this is kubelet v1.36.3",
            ),
            (
                "unknown flag: --no-such",
                "take the flag out: kubelet v1.36.3 does not have it",
            ),
            (
                "failed to set feature gates from initial flags-based config: unrecognized feature gate: DisableCloudProviders\"",
                "kubelets have it up to 1.32",
            ),
            (
                "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"",
                "write `client.authentication.k8s.io/v1beta1` into the kubelet's kubeconfig: kubelet v1.36.3 takes v1beta1 and v1",
            ),
            (
                "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode",
                "set `failCgroupV1: false`",
            ),
        ];
        for (said, way_out) in cases {
            let remedy = remedy("v1.36.3", said).unwrap();
            assert!(remedy.contains(way_out), "{said}: {remedy}");
        }
        assert_eq!(remedy("v1.36.3", "something else"), None);
        let unknown = remedy("", "unknown flag: --no-such").unwrap();
        assert_eq!(
            unknown,
            "take the flag out: this version of the kubelet does not have it"
        );
    }
}
