//! Remedies for a kubelet that exits because of its version.

use super::facts::{Facts, between};
use crate::kubernetes::{DifferenceKind, Minor, difference, exec_credential_versions, nearest_kubelet_flag};
use crate::observation::phases::is_of_nodeadm;
use crate::user_data;

/// The remedy for a flag of newer kubelets that nodeadm wrote: nothing in the user data can be removed.
pub(super) fn remedy_of_nodeadm(facts: &Facts<'_>, message: &str) -> Option<String> {
    let kubelet = &facts.observation.kubelet;
    let flag = between(message, "unknown flag: ", &['"', ' ', '\n'])?;
    let row = difference(DifferenceKind::KubeletFlag, flag)?;
    let is_newer = row.since.is_some_and(|since| Minor::of(kubelet) < since);
    let has_run = facts.journal().any(|(_, line)| is_of_nodeadm(line));
    if !is_newer || !has_run || is_in_user_data(facts, flag) {
        return None;
    }
    Some(format!(
        "use a kubelet {}: nodeadm writes `{flag}`, not the user data, and {} is too old for this nodeadm",
        row.range(),
        called(kubelet)
    ))
}

fn is_in_user_data(facts: &Facts<'_>, word: &str) -> bool {
    let parsed = user_data::parse(&facts.user_data().unwrap_or_default());
    let has = |content: &[u8]| String::from_utf8_lossy(content).contains(word);
    let config = parsed.cloud_config();
    parsed.parts.iter().any(|part| has(&part.content)) || config.files.iter().any(|file| has(&file.content))
}

/// The remedy if the last line of a kubelet, such as `v1.36.3`, is about something that only other versions have.
pub(super) fn remedy(kubelet: &str, message: &str) -> Option<String> {
    let minor = Minor::of(kubelet);
    if let Some(flag) = between(message, "unknown flag: ", &['"', ' ', '\n']) {
        let range = range(DifferenceKind::KubeletFlag, flag, kubelet);
        let is_of_others = difference(DifferenceKind::KubeletFlag, flag).is_some();
        return Some(
            match nearest_kubelet_flag(flag, minor).filter(|_| !is_of_others) {
                Some(nearest) => format!("write `{nearest}`, or remove the flag: {range}"),
                None => format!("remove the flag: {range}"),
            },
        );
    }
    if let Some(gate) = between(message, "unrecognized feature gate: ", &['"', ' ', '\n']) {
        let range = range(DifferenceKind::KubeletGate, gate, kubelet);
        return Some(format!(
            "remove the gate from the kubelet's configuration: {range}"
        ));
    }
    if message.contains("client.authentication.k8s.io/v1alpha1") {
        return Some(format!(
            "write `client.authentication.k8s.io/{}` into the kubelet's kubeconfig: {} supports {}",
            newest_common(minor),
            called(kubelet),
            exec_credential_versions(minor).join(" and ")
        ));
    }
    if message.contains("configured to not run on a host using cgroup v1") {
        return Some(format!(
            "set `failCgroupV1: false` in the kubelet's configuration, or boot the host with cgroup v2: {} does not start with version 1",
            called(kubelet)
        ));
    }
    None
}

/// A version that old authenticators also support.
fn newest_common(minor: Minor) -> &'static str {
    exec_credential_versions(minor)
        .into_iter()
        .find(|version| *version != "v1alpha1")
        .unwrap_or("v1beta1")
}

fn range(what: DifferenceKind, name: &str, kubelet: &str) -> String {
    match difference(what, name) {
        Some(row) => format!(
            "only kubelets {} have it, and {}",
            row.range(),
            is_version(kubelet)
        ),
        None => format!("{} does not have it", called(kubelet)),
    }
}

fn is_version(kubelet: &str) -> String {
    match kubelet {
        "" => "this kubelet is another version".to_owned(),
        version => format!("this is kubelet {version}"),
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
    fn a_remedy_names_the_versions_that_have_a_flag() {
        let cases = [
            (
                "command failed\" err=\"failed to parse kubelet flag: unknown flag: --network-plugin\"",
                "remove the flag: only kubelets up to 1.23 have it, and this is kubelet v1.36.3",
            ),
            (
                "unknown flag: --node-label",
                "write `--node-labels`, or remove the flag: kubelet v1.36.3 does not have it",
            ),
            (
                "unknown flag: --no-such",
                "remove the flag: kubelet v1.36.3 does not have it",
            ),
            (
                "failed to set feature gates from initial flags-based config: unrecognized feature gate: DisableCloudProviders\"",
                "only kubelets up to 1.32 have it",
            ),
            (
                "exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"",
                "write `client.authentication.k8s.io/v1beta1` into the kubelet's kubeconfig: kubelet v1.36.3 supports v1beta1 and v1",
            ),
            (
                "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode",
                "set `failCgroupV1: false`",
            ),
        ];
        for (message, expected) in cases {
            let remedy = remedy("v1.36.3", message).unwrap();
            assert!(remedy.contains(expected), "{message}: {remedy}");
        }
        assert_eq!(remedy("v1.36.3", "something else"), None);
        let unknown = remedy("", "unknown flag: --no-such").unwrap();
        assert_eq!(
            unknown,
            "remove the flag: this version of the kubelet does not have it"
        );
    }
}
