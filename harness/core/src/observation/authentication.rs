//! Decisions of the IAM authenticator.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The IAM authenticator accepted or refused a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Record", into = "Record")]
pub struct Authentication {
    /// ARN from the response of STS: `arn:aws:sts::...:assumed-role/ROLE/SESSION`.
    pub arn: Option<String>,
    /// ARN that the authenticator looks up: `arn:aws:iam::...:role/ROLE`.
    pub canonical_arn: Option<String>,
    pub outcome: AuthenticationOutcome,
}

/// The Kubernetes user of an accepted token, or why the token was refused.
#[derive(Debug, Clone, PartialEq)]
pub enum AuthenticationOutcome {
    Accepted { username: String, groups: Vec<String> },
    Refused(TokenRejection),
}

/// Why a token was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRejection {
    pub kind: RejectionKind,
    /// The authenticator's own message.
    pub reason: String,
    /// Why the role is not mapped although the cluster has a row or an entry for it.
    pub problem: Option<MappingProblem>,
}

/// The kinds of refusals that a diagnosis distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RejectionKind {
    /// The token does not have the right form.
    Malformed,
    /// The token, its signature or its credentials have expired.
    Expired,
    /// STS did not accept the signature: it names another cluster, or the credentials are wrong.
    Signature,
    /// STS accepted the token, and the role is not mapped.
    NotMapped,
    /// A template of the mapping could not be filled in.
    Template,
    /// STS throttled the authenticator.
    Throttled,
    /// The authenticator is down.
    Down,
}

/// A row or an access entry that has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MappingProblem {
    /// The authenticator could not parse rows of `aws-auth`: its errors.
    UnreadableRows(Vec<String>),
    /// The access entry belongs to a deleted role of the same name: EKS compares unique ids.
    EntryOfDeletedRole,
}

impl Authentication {
    /// The role in `arn:aws:sts::111122223333:assumed-role/ROLE/SESSION`.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        let arn = self.arn.as_deref()?;
        arn.split(":assumed-role/").nth(1)?.split('/').next()
    }

    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self.outcome, AuthenticationOutcome::Accepted { .. })
    }

    /// The user name that the API server received.
    #[must_use]
    pub fn username(&self) -> Option<&str> {
        match &self.outcome {
            AuthenticationOutcome::Accepted { username, .. } => Some(username),
            AuthenticationOutcome::Refused(_) => None,
        }
    }

    /// The groups that the API server received; none for a refused token.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        match &self.outcome {
            AuthenticationOutcome::Accepted { groups, .. } => groups,
            AuthenticationOutcome::Refused(_) => &[],
        }
    }

    #[must_use]
    pub fn rejection(&self) -> Option<&TokenRejection> {
        match &self.outcome {
            AuthenticationOutcome::Accepted { .. } => None,
            AuthenticationOutcome::Refused(rejection) => Some(rejection),
        }
    }
}

impl TokenRejection {
    #[must_use]
    pub fn new(kind: RejectionKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            problem: None,
        }
    }

    #[must_use]
    pub fn with_problem(mut self, problem: MappingProblem) -> Self {
        self.problem = Some(problem);
        self
    }
}

impl fmt::Display for TokenRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.problem {
            Some(MappingProblem::UnreadableRows(errors)) => {
                write!(
                    f,
                    "; aws-auth has rows that cannot be parsed: {}",
                    errors.join("; ")
                )
            }
            Some(MappingProblem::EntryOfDeletedRole) | None => Ok(()),
        }
    }
}

/// The form in the files of evidence: one flat object.
#[derive(Serialize, Deserialize)]
struct Record {
    accepted: bool,
    arn: Option<String>,
    canonical_arn: Option<String>,
    username: Option<String>,
    groups: Vec<String>,
    refusal: Option<RejectionKind>,
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<MappingProblem>,
}

impl From<Authentication> for Record {
    fn from(decision: Authentication) -> Self {
        let (username, groups, rejection) = match decision.outcome {
            AuthenticationOutcome::Accepted { username, groups } => (Some(username), groups, None),
            AuthenticationOutcome::Refused(rejection) => (None, Vec::new(), Some(rejection)),
        };
        let refusal = rejection.as_ref().map(|rejection| rejection.kind);
        let (reason, problem) = rejection
            .map(|rejection| (rejection.reason, rejection.problem))
            .unzip();
        Self {
            accepted: refusal.is_none(),
            arn: decision.arn,
            canonical_arn: decision.canonical_arn,
            username,
            groups,
            refusal,
            reason,
            problem: problem.flatten(),
        }
    }
}

impl From<Record> for Authentication {
    fn from(record: Record) -> Self {
        let outcome = if record.accepted {
            AuthenticationOutcome::Accepted {
                username: record.username.unwrap_or_default(),
                groups: record.groups,
            }
        } else {
            AuthenticationOutcome::Refused(TokenRejection {
                kind: record.refusal.unwrap_or(RejectionKind::Malformed),
                reason: record.reason.unwrap_or_default(),
                problem: record.problem,
            })
        };
        Self {
            arn: record.arn,
            canonical_arn: record.canonical_arn,
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_has_one_flat_object_per_decision() {
        let accepted = json!({
            "accepted": true, "arn": "a", "canonical_arn": "b", "username": "system:node:n", "groups": ["system:nodes"],
            "refusal": null, "reason": null,
        });
        let refused = json!({
            "accepted": false, "arn": null, "canonical_arn": null, "username": null, "groups": [],
            "refusal": "not-mapped", "reason": "ARN is not mapped", "problem": { "unreadable-rows": ["mapRoles[0]: x"] },
        });
        for record in [accepted, refused] {
            let decision: Authentication = serde_json::from_value(record.clone()).unwrap();
            assert_eq!(serde_json::to_value(decision).unwrap(), record);
        }
    }
}
