//! The flags of the kubelet, for suggestions.

use super::differences::{DifferenceKind, differences, kubelet_knows_flag};
use super::version::Minor;
use crate::vocabulary::nearest::nearest;

/// Flags that the kubelets from 1.20 to 1.34 have in common: those of `kubelet --help` of 1.20 that the reference of
/// 1.34 also lists (kubernetes/website, command-line-tools-reference/kubelet.md). The table of differences has the
/// versions of others.
const COMMON: &[&str] = &[
    "--address",
    "--allowed-unsafe-sysctls",
    "--anonymous-auth",
    "--authentication-token-webhook",
    "--authentication-token-webhook-cache-ttl",
    "--authorization-mode",
    "--authorization-webhook-cache-authorized-ttl",
    "--authorization-webhook-cache-unauthorized-ttl",
    "--bootstrap-kubeconfig",
    "--cert-dir",
    "--cgroup-driver",
    "--cgroup-root",
    "--cgroups-per-qos",
    "--client-ca-file",
    "--cloud-provider",
    "--cluster-dns",
    "--cluster-domain",
    "--config",
    "--container-log-max-files",
    "--container-log-max-size",
    "--container-runtime-endpoint",
    "--contention-profiling",
    "--cpu-cfs-quota",
    "--cpu-cfs-quota-period",
    "--cpu-manager-policy",
    "--cpu-manager-reconcile-period",
    "--enable-controller-attach-detach",
    "--enable-debugging-handlers",
    "--enable-server",
    "--enforce-node-allocatable",
    "--event-burst",
    "--event-qps",
    "--eviction-hard",
    "--eviction-max-pod-grace-period",
    "--eviction-minimum-reclaim",
    "--eviction-pressure-transition-period",
    "--eviction-soft",
    "--eviction-soft-grace-period",
    "--exit-on-lock-contention",
    "--fail-swap-on",
    "--feature-gates",
    "--file-check-frequency",
    "--hairpin-mode",
    "--healthz-bind-address",
    "--healthz-port",
    "--hostname-override",
    "--http-check-frequency",
    "--image-credential-provider-bin-dir",
    "--image-credential-provider-config",
    "--image-gc-high-threshold",
    "--image-gc-low-threshold",
    "--image-service-endpoint",
    "--kernel-memcg-notification",
    "--kube-api-burst",
    "--kube-api-content-type",
    "--kube-api-qps",
    "--kube-reserved",
    "--kube-reserved-cgroup",
    "--kubeconfig",
    "--kubelet-cgroups",
    "--lock-file",
    "--log-flush-frequency",
    "--logging-format",
    "--make-iptables-util-chains",
    "--manifest-url",
    "--manifest-url-header",
    "--max-open-files",
    "--max-pods",
    "--maximum-dead-containers",
    "--maximum-dead-containers-per-container",
    "--minimum-container-ttl-duration",
    "--minimum-image-ttl-duration",
    "--node-ip",
    "--node-labels",
    "--node-status-max-images",
    "--node-status-update-frequency",
    "--oom-score-adj",
    "--pod-cidr",
    "--pod-manifest-path",
    "--pod-max-pids",
    "--pods-per-core",
    "--port",
    "--protect-kernel-defaults",
    "--provider-id",
    "--qos-reserved",
    "--read-only-port",
    "--register-node",
    "--register-with-taints",
    "--registry-burst",
    "--registry-qps",
    "--reserved-cpus",
    "--resolv-conf",
    "--root-dir",
    "--rotate-certificates",
    "--rotate-server-certificates",
    "--runonce",
    "--runtime-cgroups",
    "--runtime-request-timeout",
    "--serialize-image-pulls",
    "--streaming-connection-idle-timeout",
    "--sync-frequency",
    "--system-cgroups",
    "--system-reserved",
    "--system-reserved-cgroup",
    "--tls-cert-file",
    "--tls-cipher-suites",
    "--tls-min-version",
    "--tls-private-key-file",
    "--topology-manager-policy",
    "--topology-manager-scope",
    "--version",
    "--vmodule",
    "--volume-plugin-dir",
    "--volume-stats-agg-period",
];

/// The flags that at least one version of the kubelet has.
pub fn kubelet_flags() -> impl Iterator<Item = &'static str> + Clone {
    let of_some = differences()
        .iter()
        .filter(|row| row.what == DifferenceKind::KubeletFlag);
    COMMON.iter().copied().chain(of_some.map(|row| row.name))
}

/// The flag of a version of the kubelet that is most similar to an unknown one.
#[must_use]
pub fn nearest_kubelet_flag(flag: &str, minor: Minor) -> Option<&'static str> {
    let name = |flag: &'static str| -> &'static str { flag.trim_start_matches('-') };
    let mut known = kubelet_flags().filter(|known| kubelet_knows_flag(known, minor));
    let found = nearest(flag.trim_start_matches('-'), known.clone().map(name))?;
    known.find(|known| name(known) == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_a_flag_of_the_version() {
        for (flag, minor, expected) in [
            ("--node-label", 20, Some("--node-labels")),
            ("--node-label", 36, Some("--node-labels")),
            ("--register-taints", 36, Some("--register-with-taints")),
            ("--network-plugins", 20, Some("--network-plugin")),
            ("--max-pod", 36, Some("--max-pods")),
            ("--xyz", 20, None),
        ] {
            assert_eq!(nearest_kubelet_flag(flag, Minor::new(minor)), expected, "{flag}");
        }
        let suggested = nearest_kubelet_flag("--network-plugins", Minor::new(36));
        assert_ne!(suggested, Some("--network-plugin"), "removed in 1.24");
    }

    #[test]
    fn the_flags_are_sorted_and_common_to_all_versions() {
        assert!(COMMON.is_sorted());
        for flag in COMMON {
            assert!(
                [20, 36]
                    .map(Minor::new)
                    .iter()
                    .all(|minor| kubelet_knows_flag(flag, *minor)),
                "{flag}"
            );
        }
    }
}
