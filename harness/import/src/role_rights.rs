//! The trust and the policies of an instance's role, as far as a file states them.

use crate::tree::Tree;

/// Policies of AWS that roles of nodes have, and that do not allow `eks:DescribeCluster`.
const WITHOUT_DESCRIBE: [&str; 6] = [
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
    "AmazonEBSCSIDriverPolicy",
    "CloudWatchAgentServerPolicy",
];

/// What a role lets its instances do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleRights {
    /// Whether EC2 can assume the role.
    pub trusts_ec2: Option<bool>,
    /// The ARNs of its policies. `None`: not known, or not all of them are managed ones.
    pub policies: Option<Vec<String>>,
}

impl RoleRights {
    /// The names of its policies, if it has some and none of them allows `eks:DescribeCluster`.
    pub(crate) fn policies_without_describe(&self) -> Option<Vec<&str>> {
        let policies = self.policies.as_deref().filter(|policies| !policies.is_empty())?;
        let names = policies.iter().map(|arn| {
            let (_, path) = arn.split_once(":iam::aws:policy/")?;
            let name = path.rsplit('/').next()?;
            WITHOUT_DESCRIBE.contains(&name).then_some(name)
        });
        names.collect()
    }
}

/// Whether EC2 can assume a role with this trust policy. `None`: the policy is not known.
pub(crate) fn trusts_ec2(policy: &Tree) -> Option<bool> {
    let statement = policy.get("Statement")?;
    let statements = match statement.is_map() {
        true => std::slice::from_ref(statement),
        false => statement.items(),
    };
    let allowed = statements
        .iter()
        .filter(|one| one.text_at(&["Effect"]).as_deref() == Some("Allow"));
    let principals = allowed.map(|one| one.get("Principal"));
    let mut found = false;
    for principal in principals {
        let principal = principal?;
        // `*` is not checked.
        if !principal.is_map() {
            return None;
        }
        for service in principal.get("Service").map(texts_of).into_iter().flatten() {
            found |= service.text()?.starts_with("ec2.");
        }
    }
    (!statements.is_empty()).then_some(found)
}

/// A text, or the items of a list.
fn texts_of(tree: &Tree) -> &[Tree] {
    match tree.items() {
        [] => std::slice::from_ref(tree),
        items => items,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_trust_policy_names_the_service_that_assumes_the_role() {
        let of = |principal: &str| {
            let statement =
                format!(r#"{{"Effect": "Allow", "Principal": {principal}, "Action": "sts:AssumeRole"}}"#);
            let list = trusts_ec2(&json(&format!(r#"{{"Statement": [{statement}]}}"#)).unwrap());
            let alone = trusts_ec2(&json(&format!(r#"{{"Statement": {statement}}}"#)).unwrap());
            assert_eq!(list, alone);
            list
        };
        assert_eq!(of(r#"{"Service": "ec2.amazonaws.com"}"#), Some(true));
        assert_eq!(
            of(r#"{"Service": ["eks.amazonaws.com", "ec2.amazonaws.com.cn"]}"#),
            Some(true)
        );
        assert_eq!(of(r#"{"Service": "eks.amazonaws.com"}"#), Some(false));
        assert_eq!(of(r#"{"AWS": "arn:aws:iam::111122223333:root"}"#), Some(false));
        assert_eq!(of(r#""*""#), None);
        assert_eq!(trusts_ec2(&json("{}").unwrap()), None);
    }

    #[test]
    fn policies_that_are_not_known_can_allow_everything() {
        let of = |names: &[&str]| {
            let arns = names.iter().map(|name| format!("arn:aws:iam::aws:policy/{name}"));
            let rights = RoleRights {
                policies: Some(arns.collect()),
                ..RoleRights::default()
            };
            rights.policies_without_describe().map(|names| names.join(" "))
        };
        let cni = "AmazonEKS_CNI_Policy";
        assert_eq!(of(&[cni]).as_deref(), Some(cni));
        assert_eq!(
            of(&[cni, "service-role/AmazonEBSCSIDriverPolicy"]).unwrap(),
            format!("{cni} AmazonEBSCSIDriverPolicy")
        );
        assert_eq!(of(&[cni, "AmazonEKSWorkerNodePolicy"]), None);
        assert_eq!(of(&[cni, "AdministratorAccess"]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(RoleRights::default().policies_without_describe(), None);
    }
}
