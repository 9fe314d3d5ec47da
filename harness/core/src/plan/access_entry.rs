//! EKS access entries: besides `aws-auth`, the second source of the access rights of principals.
//!
//! Sources: EKS user guide, "Grant IAM users access to Kubernetes with EKS access entries", which also states that
//! entries take precedence over rows of `aws-auth`; the type `EC2` is described in the documentation of nodeadm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::aws::AuthenticationMode;
use crate::vocabulary::ids::AccountId;
use crate::vocabulary::region::Region;

/// An access entry in a scenario. Set exactly one of `role` and `principal_arn`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessEntryFile {
    /// Name of the role in the scenario's account. Set either this or `principal_arn`.
    pub role: Option<String>,
    /// ARN of the role or user. Set either this or `role`.
    pub principal_arn: Option<String>,
    /// Type of the entry (default: `STANDARD`). Nodes need another type.
    #[serde(rename = "type")]
    pub entry_type: AccessEntryType,
    /// User name, which may contain templates; for the type `STANDARD` only.
    pub username: Option<String>,
    /// Groups; for the type `STANDARD` only.
    pub groups: Vec<String>,
    /// Unique id of the principal at the creation of the entry, such as `AROAEXAMPLEEXAMPLEEX`. An outdated id means
    /// that the role was deleted and created again, which invalidates the entry.
    pub principal_id: Option<String>,
}

/// Type of an access entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccessEntryType {
    /// For people and programs.
    #[default]
    Standard,
    /// For EC2 nodes whose names are their instance ids.
    Ec2,
    /// For Linux nodes on EC2.
    Ec2Linux,
    /// For Windows nodes on EC2.
    Ec2Windows,
    /// For pods on Fargate.
    FargateLinux,
}

/// An access entry with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessEntry {
    /// ARN of the role or user, including its path.
    pub principal_arn: String,
    /// Type of the entry.
    pub entry_type: AccessEntryType,
    /// User name, which may contain templates.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Unique id of the principal at the creation of the entry (default: its current id).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<String>,
}

impl AccessEntryType {
    /// The value in the EKS API.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "STANDARD",
            Self::Ec2 => "EC2",
            Self::Ec2Linux => "EC2_LINUX",
            Self::Ec2Windows => "EC2_WINDOWS",
            Self::FargateLinux => "FARGATE_LINUX",
        }
    }

    /// User name and groups that EKS assigns; `None` if the entry chooses them.
    ///
    /// Sources of the user names: for `EC2_LINUX`, `EC2_WINDOWS` and `FARGATE_LINUX` the user guide, "Create access
    /// entries"; for `EC2` the documentation of nodeadm.
    ///
    /// Sources of the groups: for `EC2_LINUX` the example of `aws eks create-access-entry`; the other types are
    /// assumed to be equal. `eks:kube-proxy-windows` has no direct source: the EKS API reference requires it in
    /// `aws-auth` for Windows nodes (`amiType` of CreateNodegroup), and in containers-roadmap issue 2327 kube-proxy
    /// fails with a Linux entry. The row of Fargate in `aws-auth` has more groups, whose fate is undocumented.
    fn fixed(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::Standard => None,
            Self::Ec2Linux => Some(("system:node:{{EC2PrivateDNSName}}", &["system:nodes"])),
            Self::Ec2Windows => Some((
                "system:node:{{EC2PrivateDNSName}}",
                &["system:nodes", "eks:kube-proxy-windows"],
            )),
            // The session name of an instance is its instance id.
            Self::Ec2 | Self::FargateLinux => Some(("system:node:{{SessionName}}", &["system:nodes"])),
        }
    }
}

impl AccessEntry {
    /// Creates the entry in the same way as EKS.
    #[must_use]
    pub fn of(file: AccessEntryFile, account: &AccountId, region: &Region) -> Self {
        let arn = |name: String| format!("arn:{}:iam::{account}:role/{name}", region.partition());
        let principal_arn = file
            .principal_arn
            .or_else(|| file.role.map(arn))
            .unwrap_or_default();
        let (username, groups) = match file.entry_type.fixed() {
            Some((username, groups)) => {
                let groups = groups.iter().map(|group| (*group).to_owned());
                (username.to_owned(), groups.collect())
            }
            None => {
                let username = file.username.unwrap_or_else(|| standard_username(&principal_arn));
                (username, file.groups)
            }
        };
        Self {
            principal_arn,
            entry_type: file.entry_type,
            username,
            groups,
            principal_id: file.principal_id,
        }
    }

    /// Whether the entry belongs to this principal. Compares ARNs without paths and case-insensitively.
    #[must_use]
    pub fn is_of(&self, canonical_arn: &str) -> bool {
        without_path(&self.principal_arn).eq_ignore_ascii_case(canonical_arn)
    }

    /// Name of the principal, without its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.principal_arn
            .rsplit('/')
            .next()
            .unwrap_or(&self.principal_arn)
    }
}

impl AuthenticationMode {
    /// Whether EKS uses access entries.
    #[must_use]
    pub fn has_entries(self) -> bool {
        self != Self::ConfigMap
    }

    /// Whether EKS uses `aws-auth`.
    #[must_use]
    pub fn has_config_map(self) -> bool {
        self != Self::Api
    }
}

/// A user name is the ARN of the user; a role name is the ARN of one of its sessions.
fn standard_username(principal_arn: &str) -> String {
    let parts = principal_arn
        .split_once(":role/")
        .zip(principal_arn.split_once(":iam::"));
    match parts {
        Some(((before, name), (start, _))) => {
            let account = before.rsplit(':').next().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or(name);
            format!("{start}:sts::{account}:assumed-role/{name}/{{{{SessionName}}}}")
        }
        None => principal_arn.to_owned(),
    }
}

/// STS returns role ARNs without their paths, so paths are ignored.
fn without_path(arn: &str) -> String {
    match arn.split_once(":role/") {
        Some((before, name)) => {
            let name = name.rsplit('/').next().unwrap_or(name);
            format!("{before}:role/{name}")
        }
        None => arn.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: AccessEntryFile) -> AccessEntry {
        AccessEntry::of(
            file,
            &"111122223333".parse().unwrap(),
            &"eu-west-1".parse().unwrap(),
        )
    }

    #[test]
    fn each_type_has_the_user_name_and_groups_that_eks_assigns() {
        let session = "arn:aws:sts::111122223333:assumed-role/Node/{{SessionName}}";
        let node = "system:node:{{EC2PrivateDNSName}}";
        let table: [(AccessEntryType, &str, &[&str]); 5] = [
            (
                AccessEntryType::Ec2,
                "system:node:{{SessionName}}",
                &["system:nodes"],
            ),
            (AccessEntryType::Ec2Linux, node, &["system:nodes"]),
            (
                AccessEntryType::Ec2Windows,
                node,
                &["system:nodes", "eks:kube-proxy-windows"],
            ),
            (
                AccessEntryType::FargateLinux,
                "system:node:{{SessionName}}",
                &["system:nodes"],
            ),
            (AccessEntryType::Standard, session, &[]),
        ];
        for (entry_type, username, groups) in table {
            let made = entry(AccessEntryFile {
                role: Some("eks/Node".into()),
                entry_type,
                ..Default::default()
            });
            assert_eq!(
                (made.username.as_str(), made.groups.as_slice()),
                (
                    username,
                    &groups.iter().map(|group| (*group).to_owned()).collect::<Vec<_>>()[..]
                )
            );
            assert!(made.is_of("arn:aws:iam::111122223333:role/node"));
            assert!(!made.is_of("arn:aws:iam::111122223333:role/eks/node"));
        }
    }

    #[test]
    fn a_standard_entry_keeps_its_user_name_and_groups() {
        let arn = "arn:aws:iam::111122223333:user/ann";
        let of_user = entry(AccessEntryFile {
            principal_arn: Some(arn.into()),
            groups: vec!["viewers".into()],
            ..Default::default()
        });
        assert_eq!((of_user.username.as_str(), of_user.groups.len()), (arn, 1));
        let named = entry(AccessEntryFile {
            role: Some("r".into()),
            username: Some("ci-{{SessionName}}".into()),
            ..Default::default()
        });
        assert_eq!(named.username, "ci-{{SessionName}}");
    }
}
