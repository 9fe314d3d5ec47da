//! Access entries of EKS: the second source, beside `aws-auth`, of who a principal is in a cluster.
//!
//! Sources: EKS user guide, "Grant IAM users access to Kubernetes with EKS access entries"; that entries go before rows of
//! `aws-auth` is said there of clusters that have both; what EC2 gives is said in the documentation of nodeadm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::aws::AuthenticationMode;
use crate::plan::ids::AccountId;
use crate::plan::region::Region;

/// An access entry, as a scenario has it. Give one of `role` and `principal_arn`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessEntryFile {
    /// Name of the role, in the scenario's account. Give this or `principal_arn`.
    pub role: Option<String>,
    /// ARN of the role or user. Give this or `role`.
    pub principal_arn: Option<String>,
    /// What it is for; `STANDARD` where absent. Nodes need another one.
    #[serde(rename = "type")]
    pub entry_type: AccessEntryType,
    /// User name, with templates; of `STANDARD` entries only.
    pub username: Option<String>,
    /// Groups; of `STANDARD` entries only.
    pub groups: Vec<String>,
    /// The unique id that the principal had when the entry was made, such as `AROAEXAMPLEEXAMPLEEX`. One that it no longer has is that of
    /// a role that was deleted and made again: then the entry counts for nothing.
    pub principal_id: Option<String>,
}

/// What an access entry is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccessEntryType {
    /// People and programs.
    #[default]
    Standard,
    /// Nodes on EC2 that are called by their instance ids.
    Ec2,
    /// Linux nodes on EC2.
    Ec2Linux,
    /// Windows nodes on EC2.
    Ec2Windows,
    /// Fargate's pods.
    FargateLinux,
}

/// An access entry after every default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    /// ARN of the role or user, with its path.
    pub principal_arn: String,
    /// What it is for.
    pub entry_type: AccessEntryType,
    /// User name, with templates.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
    /// The unique id that the principal had when it was made; the one it has by now where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal_id: Option<String>,
}

impl AccessEntryType {
    /// EKS' own word.
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

    /// User name and groups that EKS gives, where nobody may say otherwise.
    ///
    /// | type | source of the user name | source of the groups |
    /// | --- | --- | --- |
    /// | `EC2_LINUX` | user guide, "Create access entries" | the example of `aws eks create-access-entry` |
    /// | `EC2_WINDOWS` | the same | `system:nodes` as above. None for the other: EKS' API reference wants it of a Windows node's row of `aws-auth` (`amiType` of CreateNodegroup), and containers-roadmap issue 2327 tells that kube-proxy fails with an entry for Linux |
    /// | `EC2` | nodeadm's documentation | none; as of nodes on EC2 |
    /// | `FARGATE_LINUX` | user guide, "Create access entries" | none; as of nodes on EC2. Its row of `aws-auth` has more, and what becomes of those nobody says |
    fn fixed(self) -> Option<(&'static str, &'static [&'static str])> {
        match self {
            Self::Standard => None,
            Self::Ec2Linux => Some(("system:node:{{EC2PrivateDNSName}}", &["system:nodes"])),
            Self::Ec2Windows => Some((
                "system:node:{{EC2PrivateDNSName}}",
                &["system:nodes", "eks:kube-proxy-windows"],
            )),
            // A session of an instance is called by the instance's id.
            Self::Ec2 | Self::FargateLinux => Some(("system:node:{{SessionName}}", &["system:nodes"])),
        }
    }
}

impl AccessEntry {
    /// The entry that EKS makes of what is asked for.
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

    /// Whether it is this principal's, by its ARN without a path and in any case.
    #[must_use]
    pub fn is_of(&self, canonical_arn: &str) -> bool {
        without_path(&self.principal_arn).eq_ignore_ascii_case(canonical_arn)
    }

    /// The principal's name, without its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.principal_arn
            .rsplit('/')
            .next()
            .unwrap_or(&self.principal_arn)
    }
}

impl AuthenticationMode {
    /// Whether access entries count.
    #[must_use]
    pub fn has_entries(self) -> bool {
        self != Self::ConfigMap
    }

    /// Whether `aws-auth` counts.
    #[must_use]
    pub fn has_config_map(self) -> bool {
        self != Self::Api
    }
}

/// A user is its ARN, a role one of its sessions.
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

/// STS tells no path of a role, so that none counts here.
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
    fn each_type_has_the_user_and_the_groups_that_eks_gives() {
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
    fn a_user_is_its_arn_and_a_standard_entry_has_what_is_asked_for() {
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
