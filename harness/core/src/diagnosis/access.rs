//! What of a join hangs on access entries, and on which of the two sources the cluster's authentication mode lets count.

use crate::observation::MappingProblem;
use crate::plan::ClusterPlan;
use crate::plan::access_entry::{AccessEntry, AccessEntryType};
use crate::plan::aws::AuthenticationMode;

/// Why a role is nobody to the cluster, and the way out.
pub(super) struct Unmapped {
    pub(super) because: String,
    pub(super) remedy: String,
}

/// A role that is not mapped where access entries have a part in it; `None` where all is about `aws-auth`.
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
        (AuthenticationMode::ConfigMap, Some(entry)) => Some(not_counted(entry, role, arn)),
        (AuthenticationMode::ConfigMap, None) => None,
        (_, Some(_)) if problem == Some(&MappingProblem::EntryOfDeletedRole) => {
            Some(former(cluster, role, arn))
        }
        (AuthenticationMode::Api, _) if row => Some(Unmapped {
            because: format!(
                "role {role} has a row in kube-system/aws-auth, which counts for nothing: the cluster's authentication mode is API, \
                 and the role has no access entry"
            ),
            remedy: create(cluster, arn),
        }),
        (mode, _) => Some(Unmapped {
            because: if mode.has_config_map() {
                format!("role {role} has no access entry, and is in no mapRoles row of kube-system/aws-auth")
            } else {
                format!("role {role} has no access entry, and the cluster's authentication mode is API")
            },
            remedy: create(cluster, arn) + &near(cluster, role),
        }),
    }
}

/// The entry of a principal that counts.
pub(super) fn counting_entry<'a>(cluster: &'a ClusterPlan, arn: &str) -> Option<&'a AccessEntry> {
    entry_of(cluster, arn).filter(|_| cluster.authentication_mode.has_entries())
}

/// What to do about an entry that makes no node of its role.
pub(super) fn remedy_for_type(entry: &AccessEntry) -> String {
    format!(
        "delete the access entry of {} and create it anew with the type {}: a type cannot be changed",
        entry.principal_arn,
        AccessEntryType::Ec2Linux.word()
    )
}

fn entry_of<'a>(cluster: &'a ClusterPlan, arn: &str) -> Option<&'a AccessEntry> {
    cluster.access_entries.iter().find(|entry| entry.is_of(arn))
}

fn not_counted(entry: &AccessEntry, role: &str, arn: &str) -> Unmapped {
    let word = entry.entry_type.word();
    Unmapped {
        because: format!(
            "role {role} has an access entry ({word}), which counts for nothing: the cluster's authentication mode is CONFIG_MAP, \
             and the role is in no mapRoles row of kube-system/aws-auth"
        ),
        remedy: format!(
            "set the cluster's authentication mode to API_AND_CONFIG_MAP (`aws eks update-cluster-config --access-config \
             authenticationMode=API_AND_CONFIG_MAP`), or add a row for {arn} to aws-auth"
        ),
    }
}

/// EKS keeps the principal's unique id with an entry, and shows it nowhere.
fn former(cluster: &ClusterPlan, role: &str, arn: &str) -> Unmapped {
    Unmapped {
        because: format!(
            "the access entry of role {role} is that of a role of the same name that was deleted: the unique id that EKS keeps with \
             it is not this role's"
        ),
        remedy: format!(
            "delete the access entry (`aws eks delete-access-entry`) and make it anew: {}",
            create(cluster, arn)
        ),
    }
}

fn create(cluster: &ClusterPlan, arn: &str) -> String {
    format!(
        "`aws eks create-access-entry --cluster-name {} --principal-arn {arn} --type EC2_LINUX`",
        cluster.name
    )
}

fn near(cluster: &ClusterPlan, role: &str) -> String {
    let names = cluster.access_entries.iter().map(AccessEntry::name);
    crate::input::problem::nearest(role, names)
        .map(|name| format!("; there is one of {name}"))
        .unwrap_or_default()
}
