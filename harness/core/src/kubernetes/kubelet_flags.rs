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

/// Flags of at least one of these kubelets that no suggestion names: those of cAdvisor and of the log, and experiments.
/// From `kubelet --help` of 1.20 and 1.36; cmd/kubelet/app/options of 1.21, of 1.23 to 1.32 and of 1.34 to 1.36 have no
/// other flag for Linux.
const OTHERS: &[&str] = &[
    "--add-dir-header",
    "--application-metrics-count-limit",
    "--azure-container-registry-config",
    "--boot-id-file",
    "--container-hints",
    "--containerd",
    "--containerd-namespace",
    "--docker",
    "--docker-env-metadata-whitelist",
    "--docker-only",
    "--docker-root",
    "--docker-tls",
    "--docker-tls-ca",
    "--docker-tls-cert",
    "--docker-tls-key",
    "--enable-cadvisor-json-endpoints",
    "--enable-load-reader",
    "--event-storage-age-limit",
    "--event-storage-event-limit",
    "--experimental-allocatable-ignore-eviction",
    "--experimental-bootstrap-kubeconfig",
    "--experimental-check-node-capabilities-before-mount",
    "--experimental-kernel-memcg-notification",
    "--experimental-logging-sanitization",
    "--experimental-mounter-path",
    "--global-housekeeping-interval",
    "--help",
    "--housekeeping-interval",
    "--log-backtrace-at",
    "--log-cadvisor-usage",
    "--log-file-max-size",
    "--log-json-info-buffer-size",
    "--log-json-split-stream",
    "--log-text-info-buffer-size",
    "--log-text-split-stream",
    "--machine-id-file",
    "--max-housekeeping-interval",
    "--one-output",
    "--really-crash-for-testing",
    "--redirect-container-streaming",
    "--skip-headers",
    "--skip-log-headers",
    "--stderrthreshold",
    "--storage-driver-buffer-duration",
    "--storage-driver-db",
    "--storage-driver-host",
    "--storage-driver-password",
    "--storage-driver-secure",
    "--storage-driver-table",
    "--storage-driver-user",
    "--v",
];

/// The newest version whose flags are in the lists.
pub const FLAGS_UNTIL: Minor = Minor::new(36);

/// The flags that at least one version of the kubelet has.
pub fn kubelet_flags() -> impl Iterator<Item = &'static str> + Clone {
    let of_some = differences()
        .iter()
        .filter(|row| row.what == DifferenceKind::KubeletFlag);
    COMMON.iter().copied().chain(of_some.map(|row| row.name))
}

/// Whether at least one kubelet from 1.20 to [`FLAGS_UNTIL`] has a flag.
#[must_use]
pub fn is_kubelet_flag(flag: &str) -> bool {
    OTHERS.contains(&flag) || kubelet_flags().any(|known| known == flag)
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
    fn a_flag_of_any_version_is_known() {
        for flag in [
            "--max-pods",
            "--network-plugin",
            "--housekeeping-interval",
            "--v",
            "--help",
        ] {
            assert!(is_kubelet_flag(flag), "{flag}");
        }
        for flag in [
            "--shutdown-grace-period",
            "--max-parallel-image-pulls",
            "--max-pod",
            "--",
        ] {
            assert!(!is_kubelet_flag(flag), "{flag}");
        }
        assert!(
            OTHERS
                .iter()
                .all(|flag| !kubelet_flags().any(|known| known == *flag))
        );
    }

    #[test]
    fn the_flags_are_sorted_and_common_to_all_versions() {
        assert!(COMMON.is_sorted() && OTHERS.is_sorted());
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
