//! Access entries, and how the cluster's authentication mode decides between them and `aws-auth`.

use crate::observation::MappingProblem;
use crate::plan::ClusterPlan;
use crate::plan::access_entry::{AccessEntry, AccessEntryType};
use crate::plan::aws::AuthenticationMode;

/// Why a role is not mapped, and the remedy.
pub(super) struct Unmapped {
    pub(super) because: String,
    pub(super) remedy: String,
}

/// Why a role is not mapped, if access entries matter for it; `None` if only `aws-auth` does.
pub(super) fn unmapped(
    cluster: &ClusterPlan,
    role: &str,
    arn: &str,
    problem: Option<&MappingProblem>,
) -> Option<Unmapped> {
    let mode = cluster.authentication_mode;
    let row = cluster
        .aws_auth
        .iter()
        .any(|row| row.rolearn.eq_ignore_ascii_case(arn));
    match (mode, entry_of(cluster, arn)) {
        (AuthenticationMode::ConfigMap, Some(entry)) => Some(without_effect(entry, role, arn)),
        (AuthenticationMode::ConfigMap, None) => None,
        (_, Some(_)) if problem == Some(&MappingProblem::EntryOfDeletedRole) => {
            Some(of_deleted_role(cluster, role, arn))
        }
        (AuthenticationMode::Api, _) if row => Some(Unmapped {
            because: format!(
                "role {role} has a row in kube-system/aws-auth, which is ignored: the cluster's authentication mode is API, \
                 and the role has no access entry"
            ),
            remedy: create(cluster, arn),
        }),
        (mode, _) => Some(Unmapped {
            because: if mode.has_config_map() {
                format!(
                    "role {role} has neither an access entry nor a row in mapRoles of kube-system/aws-auth"
                )
            } else {
                format!("role {role} has no access entry, and the cluster's authentication mode is API")
            },
            remedy: create(cluster, arn) + &near(cluster, role),
        }),
    }
}

/// The entry of a principal, if the authentication mode uses access entries.
pub(super) fn effective_entry<'a>(cluster: &'a ClusterPlan, arn: &str) -> Option<&'a AccessEntry> {
    entry_of(cluster, arn).filter(|_| cluster.authentication_mode.has_entries())
}

/// The remedy for an entry of a type that is not for nodes.
pub(super) fn remedy_for_type(entry: &AccessEntry) -> String {
    format!(
        "delete the access entry of {} and create it again with the type {}: the type cannot be changed",
        entry.principal_arn,
        AccessEntryType::Ec2Linux.word()
    )
}

fn entry_of<'a>(cluster: &'a ClusterPlan, arn: &str) -> Option<&'a AccessEntry> {
    cluster.access_entries.iter().find(|entry| entry.is_of(arn))
}

fn without_effect(entry: &AccessEntry, role: &str, arn: &str) -> Unmapped {
    let word = entry.entry_type.word();
    Unmapped {
        because: format!(
            "role {role} has an access entry ({word}), which is ignored: the cluster's authentication mode is CONFIG_MAP, \
             and the role has no row in mapRoles of kube-system/aws-auth"
        ),
        remedy: format!(
            "set the cluster's authentication mode to API_AND_CONFIG_MAP (`aws eks update-cluster-config --access-config \
             authenticationMode=API_AND_CONFIG_MAP`), or add a row for {arn} to aws-auth"
        ),
    }
}

/// EKS stores the principal's unique id with an entry, and no API returns it.
fn of_deleted_role(cluster: &ClusterPlan, role: &str, arn: &str) -> Unmapped {
    Unmapped {
        because: format!(
            "the access entry of role {role} belongs to a deleted role of the same name: EKS stores the unique id of that role with \
             the entry"
        ),
        remedy: format!(
            "delete the access entry (`aws eks delete-access-entry`) and create it again: {}",
            create(cluster, arn)
        ),
    }
}

fn create(cluster: &ClusterPlan, arn: &str) -> String {
    format!(
        "run `aws eks create-access-entry --cluster-name {} --principal-arn {arn} --type EC2_LINUX`",
        cluster.name
    )
}

fn near(cluster: &ClusterPlan, role: &str) -> String {
    let names = cluster.access_entries.iter().map(AccessEntry::name);
    crate::vocabulary::nearest::nearest(role, names)
        .map(|name| format!("; {name} has one"))
        .unwrap_or_default()
}
