//! Faults of the fake AWS, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::vocabulary::service::Service;

/// A fault: which requests it applies to, when, and its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Service of the requests: `imds`, `eks`, `sts`, `ec2`, `ecr`, `registry`, `cloudformation`, `ssm`,
    /// `secretsmanager`, `s3`, `autoscaling`, `logs`, `monitoring` or `eks-auth`.
    pub service: Service,
    /// Operation of the requests, such as `DescribeCluster` (default: every operation).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Path of the requests: an exact path, or a prefix that ends with `*` (default: every path).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of matching requests that succeed before the fault starts.
    #[serde(default)]
    pub after: u32,
    /// Number of requests that the fault affects (default: every matching request).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Seconds after the node's start at which the fault starts (default: at the start).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_seconds: Option<f64>,
    /// Seconds after the node's start at which the fault ends (default: never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<f64>,
    /// Affects only the matching requests above this rate per second, counted over all nodes of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_per_second: Option<u32>,
    /// The effect on a request.
    pub effect: Effect,
    /// Whether the verdict may pass without the fault ever firing.
    #[serde(default)]
    pub may_fire: bool,
}

/// Which connections a fault with the effect `refuse` refuses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refusal {
    /// Those after the first `after`, `times` of them.
    Counted { after: u32, times: Option<u32> },
    /// Those of a time window, in seconds after the node's start.
    Timed { from: f64, until: Option<f64> },
}

impl Fault {
    /// The connections that this fault refuses; `None` for a fault with another effect.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        let refusal = match (self.after, self.times) {
            (0, None) => Refusal::Timed {
                from: self.from_seconds.unwrap_or(0.0),
                until: self.until_seconds,
            },
            (after, times) => Refusal::Counted { after, times },
        };
        (self.effect == Effect::Refuse).then_some(refusal)
    }
}

/// The effect of a fault on a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// Waits this number of milliseconds, then responds normally.
    DelayMs(u64),
    /// Responds with an error in the service's format.
    Error {
        /// HTTP status of the response.
        status: u16,
        /// Error code of the service, such as `ThrottlingException`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Error message of the service.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Responds with the throttling error of the service: its status, code and message.
    Throttle,
    /// Closes the connection after this number of bytes of the response body.
    CutAfter(u64),
    /// Refuses connections to the service, before any request: `connection refused`. Limited by a count of connections
    /// (`after`, `times`) or by time, not by both, and at most one per service. A scenario only.
    Refuse,
    /// Accepts the connection and closes it after the request, without a response.
    Close,
    /// Resets the connection: `connection reset by peer`.
    Reset,
    /// Keeps the connection open without a response, as if packets are lost.
    Hang,
    /// Responds normally with an empty body.
    EmptyBody,
    /// Responds normally with this text as the body.
    Body(String),
    /// Responds with this status and this text as the body.
    Response {
        /// HTTP status of the response.
        status: u16,
        /// The body.
        body: String,
    },
    /// Responds normally with this content type.
    ContentType(String),
    /// Treats the credentials as expired. The metadata service returns expired credentials.
    ExpiredCredentials,
    /// Eventual consistency: EC2 omits the name of the instance, EKS does not find the cluster, the metadata service
    /// does not have the paths of the role, and other services reject the credentials.
    Stale,
    /// Responds with a clock that is ahead by this number of seconds; negative: behind.
    ClockAheadSeconds(i64),
}

impl Effect {
    /// Whether a client that sends a single request can continue after the effect.
    #[must_use]
    pub fn spares_the_answer(&self) -> bool {
        match self {
            Self::DelayMs(_) | Self::ContentType(_) => true,
            Self::Error { .. }
            | Self::Throttle
            | Self::CutAfter(_)
            | Self::Refuse
            | Self::Close
            | Self::Reset
            | Self::Hang
            | Self::EmptyBody
            | Self::Body(_)
            | Self::Response { .. }
            | Self::ExpiredCredentials
            | Self::Stale
            | Self::ClockAheadSeconds(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_limited_by_count_or_by_time() {
        let refusal = |more: serde_json::Value| {
            let mut fault = serde_json::json!({ "service": "eks", "effect": "refuse" });
            fault
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            serde_json::from_value::<Fault>(fault).unwrap().refusal()
        };
        let timed = |from, until| Some(Refusal::Timed { from, until });
        assert_eq!(refusal(serde_json::json!({})), timed(0.0, None));
        let window = serde_json::json!({ "from_seconds": 2, "until_seconds": 7.5 });
        assert_eq!(refusal(window), timed(2.0, Some(7.5)));
        let counted = |after, times| Some(Refusal::Counted { after, times });
        assert_eq!(refusal(serde_json::json!({ "times": 2 })), counted(0, Some(2)));
        assert_eq!(refusal(serde_json::json!({ "after": 3 })), counted(3, None));
        assert_eq!(refusal(serde_json::json!({ "effect": "close" })), None);
    }
}
