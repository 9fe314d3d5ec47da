//! Access entries of the file that EKS does not create.

use nodejoin_core::plan::aws::AuthenticationMode;

use super::report::{AdoptionKind, AdoptionLine, line};
use crate::machine::ClusterTraits;

/// Names them, by the answers of the API of EKS (CreateAccessEntry).
pub(super) fn note_refused_entries(cluster: &ClusterTraits, report: &mut Vec<AdoptionLine>) {
    let entries = cluster.access.entries.iter();
    let own: Vec<_> = entries.filter(|entry| entry.is_of_cluster).collect();
    if !own.is_empty() && cluster.authentication_mode == Some(AuthenticationMode::ConfigMap) {
        let text = "EKS refuses the access entries of the file: the authentication mode of their cluster is CONFIG_MAP, and must be API or \
                    API_AND_CONFIG_MAP";
        line(report, AdoptionKind::Problem, text);
    }
    let principals = own.iter().filter_map(|entry| entry.principal.as_deref());
    for profile in principals.filter(|principal| principal.contains(":instance-profile/")) {
        let text = format!(
            "EKS refuses the access entry of {profile}: that is the ARN of an instance profile; give the ARN of the role in it"
        );
        line(report, AdoptionKind::Problem, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_access::{StatedAccess, StatedEntry};

    fn of(mode: AuthenticationMode, principal: &str, is_of_cluster: bool) -> String {
        let entry = StatedEntry::of(Some(principal.to_owned()), Some("EC2_LINUX"), is_of_cluster);
        let cluster = ClusterTraits {
            authentication_mode: Some(mode),
            access: StatedAccess {
                entries: vec![entry],
                ..StatedAccess::default()
            },
            ..ClusterTraits::default()
        };
        let mut report = Vec::new();
        note_refused_entries(&cluster, &mut report);
        report
            .into_iter()
            .map(|line| format!("{}\n", line.text))
            .collect()
    }

    #[test]
    fn entries_that_eks_refuses_are_problems() {
        let role = "arn:aws:iam::111122223333:role/nodes";
        let profile = "arn:aws:iam::111122223333:instance-profile/nodes";
        let of_map = of(AuthenticationMode::ConfigMap, role, true);
        assert!(of_map.contains("is CONFIG_MAP, and must be API or"), "{of_map}");
        let of_profile = of(AuthenticationMode::Api, profile, true);
        assert!(
            of_profile.contains(&format!("EKS refuses the access entry of {profile}")),
            "{of_profile}"
        );
        for (mode, principal, is_of_cluster) in [
            (AuthenticationMode::ApiAndConfigMap, role, true),
            (AuthenticationMode::Api, role, true),
            (AuthenticationMode::ConfigMap, role, false),
            (AuthenticationMode::Api, "nodes", true),
        ] {
            assert_eq!(of(mode, principal, is_of_cluster), "", "{principal}");
        }
    }
}
