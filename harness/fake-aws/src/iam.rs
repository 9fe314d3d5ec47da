//! Who asks, what their policies let them do, and the sentence of each service that refuses.
//!
//! Sources of the sentences: IAM user guide, "Troubleshoot access denied error messages"; for EKS, which gives no reason,
//! eksctl-io/eksctl#5831 and linz/topo-workflows#279; for CloudFormation ruby-no-kai/rubykaigi-net#61.

use nodejoin_core::plan::aws::OtherRole;
use nodejoin_core::plan::fault::Service;

use crate::credentials::{Principal, unique_id};
use crate::exchange::ServiceError;
use crate::world::World;

/// Who signed a request.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    world: &'a World,
    principal: &'a Principal,
}

/// Why an action may not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// No policy allows it.
    Implicit,
    /// A policy denies it.
    Explicit,
}

impl<'a> Caller<'a> {
    /// A principal of a world's account.
    #[must_use]
    pub fn new(world: &'a World, principal: &'a Principal) -> Self {
        Self { world, principal }
    }

    /// ARN of the session, as STS tells it: without the role's path.
    #[must_use]
    pub fn arn(&self) -> String {
        match self.principal {
            Principal::Instance => self.world.session_arn().unwrap_or_default(),
            Principal::Assumed { role, session } => session_arn(self.world, role, session),
        }
    }

    /// User id: the role's unique id and the session's name.
    #[must_use]
    pub fn user_id(&self) -> String {
        match self.principal {
            Principal::Instance => self.world.session_user_id().unwrap_or_default(),
            Principal::Assumed { role, session } => {
                let arn = self
                    .world
                    .roles_named(role)
                    .next()
                    .map(|role| role_arn(self.world, role));
                format!("{}:{session}", unique_id("AROA", &arn.unwrap_or_default()))
            }
        }
    }

    /// Whether its policies let it do an action.
    ///
    /// # Errors
    /// The refusal of a service, in its own words, for this resource.
    pub fn permit(&self, service: Service, action: &str, resource: &str) -> Result<(), ServiceError> {
        match self.denial(action) {
            None => Ok(()),
            Some(denial) => Err(refusal(service, &self.arn(), action, resource, denial)),
        }
    }

    fn denial(&self, action: &str) -> Option<Denial> {
        match self.principal {
            Principal::Instance => {
                let role = self.world.role.as_ref()?;
                denial(role.allow.as_deref(), &role.deny, action)
            }
            Principal::Assumed { role, .. } => {
                let role = self.world.roles_named(role).next()?;
                denial(role.allow.as_deref(), &role.deny, action)
            }
        }
    }
}

/// ARN of a further role of the account, with its path.
#[must_use]
pub fn role_arn(world: &World, role: &OtherRole) -> String {
    let (partition, name) = (world.region.partition(), role.name.trim_start_matches('/'));
    format!("arn:{partition}:iam::{}:role/{name}", world.account)
}

/// ARN of a session of a role.
#[must_use]
pub fn session_arn(world: &World, role: &str, session: &str) -> String {
    let partition = world.region.partition();
    format!(
        "arn:{partition}:sts::{}:assumed-role/{role}/{session}",
        world.account
    )
}

/// A role's name without its path.
#[must_use]
pub fn bare_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A denial wins over everything; what nothing allows is denied too.
fn denial(allow: Option<&[String]>, deny: &[String], action: &str) -> Option<Denial> {
    let matches = |patterns: &[String]| patterns.iter().any(|pattern| action_matches(pattern, action));
    if matches(deny) {
        return Some(Denial::Explicit);
    }
    let is_allowed = allow.is_none_or(matches);
    (!is_allowed).then_some(Denial::Implicit)
}

/// The error with which a service refuses an action.
fn refusal(service: Service, caller: &str, action: &str, resource: &str, denial: Denial) -> ServiceError {
    let sentence = format!("User: {caller} is not authorized to perform: {action}");
    let on_resource = format!("{sentence} on resource: {resource}");
    let reason = match denial {
        Denial::Implicit => format!(" because no identity-based policy allows the {action} action"),
        Denial::Explicit => " with an explicit deny in an identity-based policy".to_owned(),
    };
    match service {
        Service::Eks => {
            let reason = match denial {
                Denial::Implicit => "",
                Denial::Explicit => " with an explicit deny",
            };
            ServiceError::new(403, "AccessDeniedException", on_resource + reason)
        }
        // Nothing of a role's trust policy is told: no reason where it may be that one.
        Service::Sts if denial == Denial::Implicit => ServiceError::new(403, "AccessDenied", on_resource),
        Service::Sts | Service::Cloudformation => {
            ServiceError::new(403, "AccessDenied", on_resource + &reason)
        }
        Service::Ec2 => {
            let message = format!("You are not authorized to perform this operation. {sentence}{reason}");
            ServiceError::new(403, "UnauthorizedOperation", message)
        }
        Service::Ecr | Service::Imds => {
            ServiceError::new(400, "AccessDeniedException", on_resource + &reason)
        }
        Service::Registry => ServiceError::new(403, "DENIED", on_resource + &reason),
    }
}

/// IAM compares actions without regard to case; `*` stands for any text and `?` for one character.
fn action_matches(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_ascii_lowercase(), action.to_ascii_lowercase());
    crate::wildcard::matches(&pattern, &action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_match_as_iam_matches_them() {
        let table = [
            ("eks:DescribeCluster", "eks:DescribeCluster", true),
            ("EKS:describecluster", "eks:DescribeCluster", true),
            ("eks:*", "eks:DescribeCluster", true),
            ("ec2:Describe*", "ec2:DescribeInstances", true),
            ("ec2:*Instance*", "ec2:DescribeInstances", true),
            ("*", "ec2:DescribeInstances", true),
            ("ec2:Describe*", "eks:DescribeCluster", false),
            ("eks:DescribeClusterX", "eks:DescribeCluster", false),
            ("eks:DescribeCluste?", "eks:DescribeCluster", true),
        ];
        for (pattern, action, expected) in table {
            assert_eq!(action_matches(pattern, action), expected, "{pattern}");
        }
    }

    #[test]
    fn what_nothing_allows_is_denied_and_a_denial_wins() {
        let list = |actions: &[&str]| {
            actions
                .iter()
                .map(|action| (*action).to_owned())
                .collect::<Vec<_>>()
        };
        let ask = |allow: Option<&[&str]>, deny: &[&str]| {
            denial(allow.map(list).as_deref(), &list(deny), "eks:DescribeCluster")
        };
        assert_eq!(ask(None, &[]), None);
        assert_eq!(ask(Some(&["eks:*"]), &[]), None);
        assert_eq!(ask(Some(&["ec2:*"]), &[]), Some(Denial::Implicit));
        assert_eq!(ask(Some(&[]), &[]), Some(Denial::Implicit));
        assert_eq!(ask(Some(&["*"]), &["eks:*"]), Some(Denial::Explicit));
        assert_eq!(ask(None, &["eks:*"]), Some(Denial::Explicit));
    }
}
