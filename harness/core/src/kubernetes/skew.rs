//! Which kubelets an API server supports, by <https://kubernetes.io/releases/version-skew-policy/>.

use super::version::Minor;

/// The first kubelet that can be three minor versions older than the API server; older kubelets can be two.
const THREE_SINCE: Minor = Minor::new(25);

/// Upstream does not support this kubelet with this API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kubelet {kubelet} is not supported with kube-apiserver {control_plane}: {why}")]
pub struct SkewError {
    /// Version of the API server.
    pub control_plane: Minor,
    pub kubelet: Minor,
    /// The violated rule.
    pub why: String,
}

impl SkewError {
    #[must_use]
    pub fn hint(&self) -> String {
        format!(
            "use a kubelet from {1} to {0} with `--kubernetes {0}` (https://kubernetes.io/releases/version-skew-policy/)",
            self.control_plane,
            oldest_kubelet(self.control_plane)
        )
    }
}

/// The oldest kubelet that an API server supports.
#[must_use]
pub fn oldest_kubelet(control_plane: Minor) -> Minor {
    let older_by = |by: u32| Minor::new(control_plane.number().saturating_sub(by));
    older_by(3).max(THREE_SINCE.min(older_by(2)))
}

/// Checks that an API server supports a kubelet.
///
/// # Errors
/// The kubelet is newer or too old; the error names the rule.
pub fn check_skew(control_plane: Minor, kubelet: Minor) -> Result<(), SkewError> {
    let refuse = |why: String| {
        Err(SkewError {
            control_plane,
            kubelet,
            why,
        })
    };
    if kubelet > control_plane {
        return refuse("a kubelet must not be newer than the API server".to_owned());
    }
    if kubelet < oldest_kubelet(control_plane) {
        let by = control_plane.number() - kubelet.number();
        let allowed = if kubelet < THREE_SINCE { "two" } else { "three" };
        let before = if kubelet < THREE_SINCE { " before 1.25" } else { "" };
        return refuse(format!(
            "it is {by} minor versions older, and a kubelet{before} can be at most {allowed} older"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_follows_the_policy() {
        // API server and oldest kubelet, from the policy's page at the time of each release.
        let oldest = [
            (20, 18),
            (21, 19),
            (22, 20),
            (23, 21),
            (24, 22),
            (25, 23),
            (26, 24),
            (27, 25),
            (28, 25),
            (29, 26),
            (30, 27),
            (31, 28),
            (32, 29),
            (33, 30),
            (34, 31),
            (35, 32),
            (36, 33),
            (37, 34),
        ];
        for (control_plane, oldest) in oldest {
            for kubelet in 15..=38 {
                let is_supported = check_skew(Minor::new(control_plane), Minor::new(kubelet)).is_ok();
                assert_eq!(
                    is_supported,
                    (oldest..=control_plane).contains(&kubelet),
                    "1.{control_plane} with 1.{kubelet}"
                );
            }
        }
    }

    #[test]
    fn an_error_names_the_rule_and_the_supported_versions() {
        let newer = check_skew(Minor::new(20), Minor::new(32)).unwrap_err();
        assert_eq!(
            newer.to_string(),
            "kubelet 1.32 is not supported with kube-apiserver 1.20: a kubelet must not be newer than the API server"
        );
        let older = check_skew(Minor::new(36), Minor::new(20)).unwrap_err();
        assert!(older.why.contains("16 minor versions older"), "{older}");
        assert!(older.hint().contains("from 1.33 to 1.36"), "{}", older.hint());
    }
}
