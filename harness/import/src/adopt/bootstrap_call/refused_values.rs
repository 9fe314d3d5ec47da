//! Values of flags that bootstrap.sh of Amazon Linux 2 refuses, or that do not mean what they seem to.

use super::call::BootstrapCall;
use crate::adopt::shell::UNKNOWN;

const RUNTIMES: [&str; 2] = ["containerd", "dockerd"];
const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];
/// Those of the last script. That of 2023 knows fewer.
const DISKS: [&str; 4] = ["raid0", "raid10", "mount", "none"];
const USE_MAX_PODS: &str = "--use-max-pods";

impl BootstrapCall {
    /// A sentence for each such value. `at` says where a flag is.
    pub(super) fn refused_values(&self, at: &dyn Fn(&str) -> String) -> Vec<String> {
        let value = |flag: &str| {
            let value = self.values.get(flag).map(String::as_str);
            value.filter(|value| !value.is_empty() && !value.contains([UNKNOWN, '$', '{', '<']))
        };
        // Since v20210716, the first release with the flag.
        let runtime = value("--container-runtime").filter(|value| !RUNTIMES.contains(value));
        let runtime = runtime.map(|value| {
            let at = at("--container-runtime");
            format!(
                "bootstrap.sh refuses `--container-runtime {value}`{at} and exits: it takes `containerd`, and `dockerd` for kubelets before \
                 1.24"
            )
        });
        let is_family = |value: &str| FAMILIES.iter().any(|family| value.eq_ignore_ascii_case(family));
        let family = value("--ip-family").filter(|value| !is_family(value));
        let family = family.map(|value| {
            let at = at("--ip-family");
            format!("bootstrap.sh refuses `--ip-family {value}`{at} and exits: it takes `ipv4` or `ipv6`")
        });
        let disks = value("--local-disks").filter(|value| !DISKS.contains(value));
        let disks = disks.map(|value| {
            let at = at("--local-disks");
            format!(
                "`setup-local-disks`, which bootstrap.sh runs, refuses `--local-disks {value}`{at}, and bootstrap.sh exits: it takes \
                 `raid0`, `raid10` or `mount`"
            )
        });
        let pods = value(USE_MAX_PODS).and_then(|value| use_max_pods(value, &at(USE_MAX_PODS)));
        [runtime, family, disks, pods].into_iter().flatten().collect()
    }
}

/// The script compares the value with `true`.
fn use_max_pods(value: &str, at: &str) -> Option<String> {
    let what =
        || format!("bootstrap.sh takes `{USE_MAX_PODS} {value}`{at} for `false`, as for all but `true`");
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!(
            "{}: the number of pods belongs into `--kubelet-extra-args '--max-pods={value}'`",
            what()
        ));
    }
    let is_meant = ["true", "yes", "on"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word));
    (is_meant && value != "true").then(what)
}

#[cfg(test)]
mod tests {
    use super::super::calls;
    use crate::adopt::shell;

    fn refused(flags: &str) -> Vec<String> {
        let text = format!("/etc/eks/bootstrap.sh demo {flags}\n");
        calls(&shell::read(&text))[0].refused_values(&|flag| format!(" [{flag}]"))
    }

    #[test]
    fn values_that_the_script_refuses_are_named() {
        for (flags, expected) in [
            (
                "--container-runtime docker",
                "bootstrap.sh refuses `--container-runtime docker` [--container-runtime] and exits: it takes `containerd`, and `dockerd` \
                 for kubelets before 1.24",
            ),
            (
                "--ip-family dual",
                "bootstrap.sh refuses `--ip-family dual` [--ip-family] and exits: it takes `ipv4` or `ipv6`",
            ),
            (
                "--local-disks raid1",
                "`setup-local-disks`, which bootstrap.sh runs, refuses `--local-disks raid1` [--local-disks], and bootstrap.sh exits: it \
                 takes `raid0`, `raid10` or `mount`",
            ),
            (
                "--use-max-pods 110",
                "bootstrap.sh takes `--use-max-pods 110` [--use-max-pods] for `false`, as for all but `true`: the number of pods belongs \
                 into `--kubelet-extra-args '--max-pods=110'`",
            ),
            (
                "--use-max-pods True",
                "bootstrap.sh takes `--use-max-pods True` [--use-max-pods] for `false`, as for all but `true`",
            ),
        ] {
            assert_eq!(refused(flags), [expected], "{flags}");
        }
        for flags in [
            "--container-runtime containerd --ip-family IPv6 --local-disks raid10 --use-max-pods false",
            "--container-runtime dockerd --ip-family ipv4 --local-disks none --use-max-pods true",
            "--container-runtime $RUNTIME --ip-family \"$(family)\" --local-disks '' --use-max-pods False",
        ] {
            assert_eq!(refused(flags), [""; 0], "{flags}");
        }
    }
}
