//! Policies: the caller of a request, its permissions, and each service's text for a denied request.
//!
//! Sources of the texts: IAM user guide, "Troubleshoot access denied error messages"; for EKS, which gives no reason,
//! eksctl-io/eksctl#5831 and linz/topo-workflows#279; for CloudFormation ruby-no-kai/rubykaigi-net#61.

use nodejoin_core::plan::fault::Service;

use crate::arn;
use crate::credentials::{Principal, unique_id};
use crate::http::ServiceError;
use crate::wire::WireFormat;
use crate::world::World;

/// The caller that signed a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signer<'a> {
    world: &'a World,
    principal: &'a Principal,
}

/// The reason for a denied action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PolicyDenial {
    /// No policy allows it.
    Implicit,
    /// A policy denies it.
    Explicit,
}

impl PolicyDenial {
    fn reason(self, action: &str) -> String {
        match self {
            Self::Implicit => format!(" because no identity-based policy allows the {action} action"),
            Self::Explicit => " with an explicit deny in an identity-based policy".to_owned(),
        }
    }
}

impl<'a> Signer<'a> {
    pub(crate) fn new(world: &'a World, principal: &'a Principal) -> Self {
        Self { world, principal }
    }

    /// ARN of the session, in STS' form: without the role's path.
    pub(crate) fn arn(&self) -> String {
        match self.principal {
            Principal::Instance => self.world.session_arn().unwrap_or_default(),
            Principal::Assumed { role, session } => {
                arn::session(&self.world.region, &self.world.account, role, session)
            }
        }
    }

    /// User id: the role's unique id and the session's name.
    pub(crate) fn user_id(&self) -> String {
        match self.principal {
            Principal::Instance => self.world.session_user_id().unwrap_or_default(),
            Principal::Assumed { role, session } => {
                let role = self.world.role_named(role);
                let arn = role.map(|role| self.world.other_role_arn(role));
                format!("{}:{session}", unique_id("AROA", &arn.unwrap_or_default()))
            }
        }
    }

    /// Checks that the caller's policies allow an action on a resource.
    ///
    /// # Errors
    /// The service's error for a denied request.
    pub(crate) fn permit(&self, service: Service, action: &str, resource: &str) -> Result<(), ServiceError> {
        match self.denial(action) {
            None => Ok(()),
            Some(denial) => Err(denied(service, &self.arn(), action, resource, denial)),
        }
    }

    /// Checks that the caller's policies allow an operation of a service that another emulator answers. `operation` is
    /// AWS' name, or method and path, for which only patterns of the whole service count.
    ///
    /// # Errors
    /// The service's error for a denied request.
    pub(crate) fn permit_forwarded(
        &self,
        wire_format: WireFormat,
        service: &str,
        operation: &str,
    ) -> Result<(), ServiceError> {
        let is_named = !operation.contains([' ', '/']);
        let action = match is_named {
            true => format!("{service}:{operation}"),
            false => format!("{service}:*"),
        };
        let denial = match (self.denial(&action), is_named) {
            (Some(PolicyDenial::Implicit), false) if self.allows_some(service) => None,
            (denial, _) => denial,
        };
        let Some(denial) = denial else { return Ok(()) };
        let sentence = format!("User: {} is not authorized to perform: {action}", self.arn());
        let (status, code) = match wire_format {
            WireFormat::Json10 | WireFormat::Json11 | WireFormat::Cbor => (400, "AccessDeniedException"),
            WireFormat::RestJson => (403, "AccessDeniedException"),
            WireFormat::Ec2 => (403, "UnauthorizedOperation"),
            WireFormat::Query(_) | WireFormat::S3 | WireFormat::Metadata | WireFormat::Registry => {
                (403, "AccessDenied")
            }
        };
        Err(ServiceError::new(
            status,
            code,
            sentence + &denial.reason(&action),
        ))
    }

    /// Whether a policy allows at least one action of a service.
    fn allows_some(&self, service: &str) -> bool {
        let of_service = |pattern: &String| {
            let named = pattern.split(':').next().unwrap_or_default();
            action_matches(named, service)
        };
        let (allow, _) = self.policies();
        allow.is_none_or(|allow| allow.iter().any(of_service))
    }

    fn denial(&self, action: &str) -> Option<PolicyDenial> {
        let (allow, deny) = self.policies();
        denial(allow, deny, action)
    }

    /// Allowed and denied actions of the caller's role.
    fn policies(&self) -> (Option<&'a [String]>, &'a [String]) {
        match self.principal {
            Principal::Instance => {
                let role = self.world.role.as_ref();
                role.map_or((None, &[]), |role| (role.allow.as_deref(), role.deny.as_slice()))
            }
            Principal::Assumed { role, .. } => {
                let role = self.world.role_named(role);
                role.map_or((None, &[]), |role| (role.allow.as_deref(), role.deny.as_slice()))
            }
        }
    }
}

/// An explicit deny takes precedence; an action that no policy allows is denied too.
fn denial(allow: Option<&[String]>, deny: &[String], action: &str) -> Option<PolicyDenial> {
    let matches = |patterns: &[String]| patterns.iter().any(|pattern| action_matches(pattern, action));
    if matches(deny) {
        return Some(PolicyDenial::Explicit);
    }
    let is_allowed = allow.is_none_or(matches);
    (!is_allowed).then_some(PolicyDenial::Implicit)
}

/// The service's error for a denied action.
fn denied(
    service: Service,
    caller: &str,
    action: &str,
    resource: &str,
    denial: PolicyDenial,
) -> ServiceError {
    let sentence = format!("User: {caller} is not authorized to perform: {action}");
    let on_resource = format!("{sentence} on resource: {resource}");
    let reason = denial.reason(action);
    match service {
        Service::Eks => {
            let reason = match denial {
                PolicyDenial::Implicit => "",
                PolicyDenial::Explicit => " with an explicit deny",
            };
            ServiceError::new(403, "AccessDeniedException", on_resource + reason)
        }
        // STS does not reveal trust policies: without an explicit deny, it gives no reason.
        Service::Sts if denial == PolicyDenial::Implicit => {
            ServiceError::new(403, "AccessDenied", on_resource)
        }
        Service::Sts | Service::Cloudformation => {
            ServiceError::new(403, "AccessDenied", on_resource + &reason)
        }
        Service::Ec2 => {
            let message = format!("You are not authorized to perform this operation. {sentence}{reason}");
            ServiceError::new(403, "UnauthorizedOperation", message)
        }
        // They leave out a resource that is every resource.
        Service::Autoscaling | Service::Monitoring | Service::S3 if resource == "*" => {
            ServiceError::new(403, "AccessDenied", sentence + &reason)
        }
        Service::Autoscaling | Service::Monitoring | Service::S3 => {
            ServiceError::new(403, "AccessDenied", on_resource + &reason)
        }
        Service::Ecr
        | Service::Imds
        | Service::Ssm
        | Service::Secretsmanager
        | Service::Logs
        | Service::EksAuth => ServiceError::new(400, "AccessDeniedException", on_resource + &reason),
        Service::Registry => ServiceError::new(403, "DENIED", on_resource + &reason),
    }
}

/// IAM compares actions without regard to case; `*` stands for any text and `?` for one character.
fn action_matches(pattern: &str, action: &str) -> bool {
    let (pattern, action) = (pattern.to_ascii_lowercase(), action.to_ascii_lowercase());
    nodejoin_core::vocabulary::wildcard::matches(&pattern, &action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_patterns_match_as_in_iam() {
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
    fn an_explicit_deny_takes_precedence_over_an_allow() {
        let list = |actions: &[&str]| {
            actions
                .iter()
                .map(|action| (*action).to_owned())
                .collect::<Vec<_>>()
        };
        let denial_of = |allow: Option<&[&str]>, deny: &[&str]| {
            denial(allow.map(list).as_deref(), &list(deny), "eks:DescribeCluster")
        };
        assert_eq!(denial_of(None, &[]), None);
        assert_eq!(denial_of(Some(&["eks:*"]), &[]), None);
        assert_eq!(denial_of(Some(&["ec2:*"]), &[]), Some(PolicyDenial::Implicit));
        assert_eq!(denial_of(Some(&[]), &[]), Some(PolicyDenial::Implicit));
        assert_eq!(denial_of(Some(&["*"]), &["eks:*"]), Some(PolicyDenial::Explicit));
        assert_eq!(denial_of(None, &["eks:*"]), Some(PolicyDenial::Explicit));
    }
}
