//! Who may use a cluster, as far as a file states it: access entries, and rows of `aws-auth`.

use nodejoin_core::plan::access_entry::AccessEntryType;

use crate::tree::{Tree, yaml};

/// The group of nodes.
pub(crate) const NODES: &str = "system:nodes";
/// The ConfigMap with the roles that may use a cluster, and its namespace.
pub(crate) const AWS_AUTH: &str = "aws-auth";
const KUBE_SYSTEM: &str = "kube-system";

const TYPES: [AccessEntryType; 5] = [
    AccessEntryType::Standard,
    AccessEntryType::Ec2,
    AccessEntryType::Ec2Linux,
    AccessEntryType::Ec2Windows,
    AccessEntryType::FargateLinux,
];

/// What a file states about access to the cluster of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatedAccess {
    pub entries: Vec<StatedEntry>,
    /// The rows of each `aws-auth` of the file. `None`: rows that are not known, or those of one of several clusters.
    pub maps: Vec<Option<Vec<AwsAuthRow>>>,
    /// The roles of managed node groups, which EKS lets in by itself. `None`: one that is not known.
    pub group_roles: Vec<Option<String>>,
}

/// An access entry.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedEntry {
    /// The ARN of a role or user. `None`: not known.
    pub principal: Option<String>,
    /// `None`: not known, or a type that is not for EC2.
    pub entry_type: Option<AccessEntryType>,
    /// Whether it is known to be of the cluster.
    pub is_of_cluster: bool,
}

/// A row of `mapRoles`.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsAuthRow {
    pub role_arn: String,
    /// Empty if the row has none.
    pub username: String,
    pub groups: Vec<String>,
}

impl StatedEntry {
    /// An entry, and its type as the API of EKS writes it.
    pub(crate) fn of(principal: Option<String>, entry_type: Option<&str>, is_of_cluster: bool) -> Self {
        let mut types = TYPES.into_iter();
        Self {
            principal,
            entry_type: types.find(|one| Some(one.word()) == entry_type),
            is_of_cluster,
        }
    }

    /// The principal of an entry of the cluster.
    pub(crate) fn own_principal(&self) -> Option<&str> {
        self.principal.as_deref().filter(|_| self.is_of_cluster)
    }

    fn is_for_nodes(&self) -> bool {
        use AccessEntryType::{Ec2, Ec2Linux, Ec2Windows};
        self.entry_type
            .is_some_and(|one| [Ec2, Ec2Linux, Ec2Windows].contains(&one))
    }
}

impl StatedAccess {
    /// The rows of the only `aws-auth`, if they are known.
    pub(crate) fn rows(&self) -> Option<&[AwsAuthRow]> {
        let (first, rest) = self.maps.split_first()?;
        let is_only = rest.iter().all(|other| other == first);
        first.as_deref().filter(|_| is_only)
    }

    /// The roles that access entries or `aws-auth` admit as nodes.
    #[must_use]
    pub fn node_roles(&self) -> Vec<&str> {
        let entries = self.entries.iter().filter(|entry| entry.is_for_nodes());
        let of_entries = entries.filter_map(|entry| entry.principal.as_deref());
        let rows = self.maps.iter().flatten().flatten();
        let rows = rows.filter(|row| row.groups.iter().any(|group| group == NODES));
        let mut roles: Vec<&str> = of_entries.chain(rows.map(|row| row.role_arn.as_str())).collect();
        roles.dedup();
        roles
    }
}

/// The rows of `mapRoles`. `None`: the text is not YAML, or the ARN of a row is not filled in.
pub(crate) fn rows_of(text: &str) -> Option<Vec<AwsAuthRow>> {
    let documents = yaml(text).ok()?;
    let entries = documents.iter().flat_map(Tree::items);
    let rows = entries.filter_map(|entry| {
        let groups = entry.items_at(&["groups"]).iter();
        Some(AwsAuthRow {
            role_arn: entry.text_at(&["rolearn"])?,
            username: entry.text_at(&["username"]).unwrap_or_default(),
            groups: groups.filter_map(Tree::text).map(str::to_owned).collect(),
        })
    });
    let rows: Vec<AwsAuthRow> = rows.collect();
    let is_open = |row: &AwsAuthRow| row.role_arn.contains(['$', '<', '{']);
    (!rows.iter().any(is_open)).then_some(rows)
}

/// The rows of each `aws-auth` among manifests, which lists of the CDK can hold. `None`: rows that are not known.
pub(crate) fn maps_of(manifests: &[Tree]) -> Vec<Option<Vec<AwsAuthRow>>> {
    let mut maps = Vec::new();
    for manifest in manifests {
        maps.extend(maps_of(manifest.items()));
        if is_aws_auth(manifest) {
            let text = manifest.text_at(&["data", "mapRoles"]);
            maps.push(text.and_then(|text| rows_of(&text)));
        }
    }
    maps
}

fn is_aws_auth(manifest: &Tree) -> bool {
    let has = |path: &[&str], word: &str| manifest.text_at(path).as_deref() == Some(word);
    let is_elsewhere =
        manifest.at(&["metadata", "namespace"]).is_some() && !has(&["metadata", "namespace"], KUBE_SYSTEM);
    has(&["kind"], "ConfigMap") && has(&["metadata", "name"], AWS_AUTH) && !is_elsewhere
}

/// The name of the role in an ARN, or in a path and a name. `None`: the ARN of something else.
pub(crate) fn role_name(principal: &str) -> Option<&str> {
    let path = match principal.starts_with("arn:") {
        true => principal.split_once(":role/")?.1,
        false => principal,
    };
    path.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_the_name_of_its_role() {
        for (principal, name) in [
            ("arn:aws:iam::111122223333:role/eks/nodes", Some("nodes")),
            ("arn:aws-cn:iam::111122223333:role/nodes", Some("nodes")),
            ("eks/nodes", Some("nodes")),
            ("arn:aws:iam::111122223333:user/nodes", None),
            ("arn:aws:iam::111122223333:instance-profile/nodes", None),
        ] {
            assert_eq!(role_name(principal), name, "{principal}");
        }
    }

    #[test]
    fn rows_that_are_not_filled_in_are_not_known() {
        let row = "- rolearn: arn:aws:iam::111122223333:role/nodes\n  groups: [system:nodes]\n";
        let rows = rows_of(row).unwrap();
        assert_eq!((rows[0].username.as_str(), rows[0].groups.len()), ("", 1));
        assert_eq!(rows_of(""), Some(Vec::new()));
        assert_eq!(rows_of(&row.replace("nodes\n", "$NAME\n")), None);
        assert_eq!(rows_of("- rolearn: [\n"), None);
    }
}
