//! The trust and the policies of an instance's role, as far as a file states them.

use nodejoin_core::vocabulary::wildcard::matches;

use crate::tree::Tree;

/// What bootstrap.sh asks EKS for.
pub(crate) const DESCRIBE_CLUSTER: &str = "eks:DescribeCluster";
/// What `nodeadm init` asks EC2 for (amazon-eks-ami, nodeadm/internal/api/status.go).
pub(crate) const DESCRIBE_INSTANCES: &str = "ec2:DescribeInstances";

/// Policies of AWS that roles of nodes have, each with the one of these rights that it gives.
const POLICIES: [(&str, Option<&str>); 6] = [
    ("AmazonEKS_CNI_Policy", Some(DESCRIBE_INSTANCES)),
    ("AmazonEC2ContainerRegistryReadOnly", None),
    ("AmazonEC2ContainerRegistryPullOnly", None),
    ("AmazonSSMManagedInstanceCore", None),
    ("AmazonEBSCSIDriverPolicy", Some(DESCRIBE_INSTANCES)),
    ("CloudWatchAgentServerPolicy", None),
];
/// What a message calls the policies that a role has inside of itself.
const OF_ROLE: &str = "policies inside of the role";

/// What a role lets its instances do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleRights {
    /// Whether EC2 can assume the role.
    pub trusts_ec2: Option<bool>,
    /// The ARNs of the policies that the file attaches to it; others may be attached elsewhere. `None`: not known, or
    /// not all of them are managed ones or ones inside of the role.
    pub policies: Option<Vec<String>>,
    /// The actions that the policies inside of the role allow, such as `ec2:Describe*`.
    pub actions: Vec<String>,
}

impl RoleRights {
    /// The names of the policies that the file attaches, if it attaches some and none of them allows an action.
    pub(crate) fn policies_without(&self, action: &str) -> Option<Vec<&str>> {
        let names = self.policies.as_deref()?.iter().map(|arn| {
            let (_, path) = arn.split_once(":iam::aws:policy/")?;
            let name = path.rsplit('/').next()?;
            let (_, given) = POLICIES.iter().find(|(known, _)| *known == name)?;
            (*given != Some(action)).then_some(name)
        });
        let mut names = names.collect::<Option<Vec<&str>>>()?;
        names.extend((!self.actions.is_empty()).then_some(OF_ROLE));
        let is_allowed =
            |pattern: &String| matches(&pattern.to_ascii_lowercase(), &action.to_ascii_lowercase());
        let lacks = !names.is_empty() && !self.actions.iter().any(is_allowed);
        lacks.then_some(names)
    }
}

/// The actions that a policy allows. `None`: the policy is not known, or allows all actions but some.
pub(crate) fn allowed_actions(policy: &Tree) -> Option<Vec<String>> {
    let mut actions = Vec::new();
    for statement in statements_of(policy)? {
        if statement.text_at(&["Effect"]).as_deref() == Some("Deny") {
            continue;
        }
        for action in texts_of(statement.get("Action")?) {
            actions.push(action.text()?.to_owned());
        }
    }
    Some(actions)
}

/// The statements of a policy, which can be one alone.
fn statements_of(policy: &Tree) -> Option<&[Tree]> {
    let statement = policy.get("Statement")?;
    Some(match statement.is_map() {
        true => std::slice::from_ref(statement),
        false => statement.items(),
    })
}

/// Whether EC2 can assume a role with this trust policy. `None`: the policy is not known.
pub(crate) fn trusts_ec2(policy: &Tree) -> Option<bool> {
    let statements = statements_of(policy)?;
    let allowed = statements
        .iter()
        .filter(|one| one.text_at(&["Effect"]).as_deref() == Some("Allow"));
    let principals = allowed.map(|one| one.get("Principal"));
    let mut found = false;
    for principal in principals {
        let principal = principal?;
        // `*`, alone or as an account, can be anything.
        let accounts = principal.get("AWS").map(texts_of).unwrap_or_default();
        if !principal.is_map() || accounts.iter().any(|one| one.text() == Some("*")) {
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
        assert_eq!(of(r#"{"AWS": "*"}"#), None);
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
            rights
                .policies_without(DESCRIBE_CLUSTER)
                .map(|names| names.join(" "))
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
        assert_eq!(RoleRights::default().policies_without(DESCRIBE_CLUSTER), None);
    }

    #[test]
    fn a_right_of_one_policy_is_not_missed() {
        let of = |names: &[&str], statement: &str| {
            let arns = names.iter().map(|name| format!("arn:aws:iam::aws:policy/{name}"));
            let policy = json(&format!(r#"{{"Statement": [{statement}]}}"#)).unwrap();
            let actions = allowed_actions(&policy);
            let rights = RoleRights {
                policies: actions.is_some().then(|| arns.collect()),
                actions: actions.unwrap_or_default(),
                ..RoleRights::default()
            };
            let names = rights.policies_without(DESCRIBE_INSTANCES);
            names.map(|names| names.join(" "))
        };
        let (registry, cni) = ("AmazonEC2ContainerRegistryReadOnly", "AmazonEKS_CNI_Policy");
        let allow = |action: &str| format!(r#"{{"Effect": "Allow", "Action": {action}, "Resource": "*"}}"#);
        assert_eq!(of(&[registry], "").as_deref(), Some(registry));
        assert_eq!(
            of(&[registry], &allow(r#"["eks:Describe*", "ecr:*"]"#)).unwrap(),
            format!("{registry} {OF_ROLE}")
        );
        assert_eq!(of(&[], &allow(r#""eks:*""#)).as_deref(), Some(OF_ROLE));
        for (names, statement) in [
            (vec![registry, cni], String::new()),
            (vec![registry, "AmazonEBSCSIDriverPolicy"], String::new()),
            (vec![registry], allow(r#""ec2:Describe*""#)),
            (vec![registry], allow(r#"["ecr:*", "EC2:describeinstances"]"#)),
            (vec![registry], allow(r#""*""#)),
            (
                vec![registry],
                r#"{"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}"#.to_owned(),
            ),
            (vec![], String::new()),
        ] {
            assert_eq!(of(&names, &statement), None, "{names:?} {statement}");
        }
    }
}
