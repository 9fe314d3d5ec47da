//! Faults of the fake AWS, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One fault: which requests it meets, when, and what happens to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Service it meets: `imds`, `eks`, `sts`, `ec2`, `ecr`, `registry`, `cloudformation`.
    pub service: Service,
    /// Operation it meets, in AWS' own words (`DescribeCluster`); every operation where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Path it meets, exactly, or up to a final `*`; every path where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Lets this many matching requests pass before the first fault.
    #[serde(default)]
    pub after: u32,
    /// Meets this many requests, then never again; every one where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Holds from this many seconds after the start of the node; from the start where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_seconds: Option<f64>,
    /// Holds until this many seconds after the start of the node; for ever where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<f64>,
    /// Meets only what comes above so many matching requests a second, of all nodes of the scenario together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_per_second: Option<u32>,
    /// What happens to the request.
    pub effect: Effect,
    /// A fault that never fired fails the verdict, unless this is true.
    #[serde(default)]
    pub may_fire: bool,
}

/// What a fault does to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// Waits this many milliseconds, then answers as usual.
    DelayMs(u64),
    /// Answers with an error of this kind in the service's own shape.
    Error {
        /// HTTP status.
        status: u16,
        /// The service's error code, such as `ThrottlingException`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The service's message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Answers as the service does when it is asked too often: its own status, code and message.
    Throttle,
    /// Cuts the answer off after this many bytes of its body.
    CutAfter(u64),
    /// Closes the connection without an answer: what a client sees of a refused connection after a redirection.
    Refuse,
    /// Resets the connection: `connection reset by peer`.
    Reset,
    /// Never answers, and leaves the connection open: what lost packets look like.
    Hang,
    /// Answers as usual, without a body.
    EmptyBody,
    /// Answers as usual, with this text for a body.
    Body(String),
    /// Answers as usual, with this content type.
    ContentType(String),
    /// Answers as to credentials that have expired; the metadata service hands out such credentials.
    ExpiredCredentials,
    /// Answers as before the news had come around: EC2 without the instance's name, EKS without the cluster, the metadata service
    /// without the role's paths, other services without the credentials.
    Stale,
    /// Answers by a clock that is this many seconds ahead, or behind where negative.
    ClockAheadSeconds(i64),
}

impl Effect {
    /// Whether a client that asks only once could go on after it.
    #[must_use]
    pub fn spares_the_answer(&self) -> bool {
        match self {
            Self::DelayMs(_) | Self::ContentType(_) => true,
            Self::Error { .. }
            | Self::Throttle
            | Self::CutAfter(_)
            | Self::Refuse
            | Self::Reset
            | Self::Hang
            | Self::EmptyBody
            | Self::Body(_)
            | Self::ExpiredCredentials
            | Self::Stale
            | Self::ClockAheadSeconds(_) => false,
        }
    }
}

/// The services of the fake AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Service {
    /// Instance metadata.
    Imds,
    /// Elastic Kubernetes Service.
    Eks,
    /// Security Token Service.
    Sts,
    /// Elastic Compute Cloud.
    Ec2,
    /// Elastic Container Registry's API.
    Ecr,
    /// The image registry of the account.
    Registry,
    /// CloudFormation.
    Cloudformation,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Imds,
        Self::Eks,
        Self::Sts,
        Self::Ec2,
        Self::Ecr,
        Self::Registry,
        Self::Cloudformation,
    ];

    /// The word that stands in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Imds => "imds",
            Self::Eks => "eks",
            Self::Sts => "sts",
            Self::Ec2 => "ec2",
            Self::Ecr => "ecr",
            Self::Registry => "registry",
            Self::Cloudformation => "cloudformation",
        }
    }
}
