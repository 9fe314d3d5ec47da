//! Answers of a scenario to requests that the fake AWS does not serve, or serves in another way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::aws_service::AwsService;
use crate::vocabulary::service::Service;
use crate::vocabulary::wildcard;

/// An answer: which requests it applies to, when, and the response. Set `host` or `service`; the first answer that
/// applies takes precedence over what the fake AWS would return, and signatures and permissions are not checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Host name of the requests, which may contain `*`. It need not belong to AWS: the node resolves it, and reaches
    /// it on port 443 with a certificate of the fake AWS, and on port 80. For a file of a host outside, use `outside`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// AWS service of the requests: the start of its host names, or its name in the AWS CLI, such as `ssm` or `elbv2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Operation of the requests, such as `GetParameter`, which may contain `*` (default: every operation). Requests of
    /// REST services have method and path instead, such as `GET /clusters/demo/addons`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// HTTP method of the requests (default: every method).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path of the requests: an exact path, or a prefix that ends with `*` (default: every path).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// HTTP status of the response.
    #[serde(default = "ok")]
    pub status: u16,
    /// Headers of the response. `content-type` replaces the default one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body of the response as text. `{{ cluster.endpoint }}` and the other names of user data are filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Body of the response as JSON. The names of user data are filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<serde_json::Value>,
    /// A file with the body of the response, relative to this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Number of matching requests before this answer starts.
    #[serde(default)]
    pub after: u32,
    /// Number of requests that this answer serves (default: every matching request).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Seconds after the node's start at which this answer starts (default: at the start).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_seconds: Option<f64>,
    /// Seconds after the node's start at which this answer ends (default: never).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_seconds: Option<f64>,
}

fn ok() -> u16 {
    200
}

/// The properties of a request that answers match on.
#[derive(Debug, Clone, Copy)]
pub struct AnswerableRequest<'a> {
    pub host: &'a str,
    /// The service, as the transcript shows it.
    pub service: &'a str,
    /// The operation, as the transcript shows it.
    pub operation: &'a str,
    pub method: &'a str,
    /// Path, without the query.
    pub path: &'a str,
    /// Seconds since the start of the node.
    pub seconds: f64,
}

impl Answer {
    /// Whether the answer is for such a request, apart from its count.
    #[must_use]
    pub fn matches(&self, request: AnswerableRequest<'_>) -> bool {
        let is =
            |wanted: &Option<String>, matches: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(matches);
        is(&self.host, &|host| host_matches(host, request.host))
            && is(&self.service, &|service| {
                canonical_service(service) == Some(request.service)
            })
            && is(&self.operation, &|operation| {
                wildcard::matches(operation, request.operation)
            })
            && is(&self.method, &|method| {
                method.eq_ignore_ascii_case(request.method)
            })
            && is(&self.path, &|path| path_matches(path, request.path))
            && self.from_seconds.is_none_or(|from| request.seconds >= from)
            && self.until_seconds.is_none_or(|until| request.seconds < until)
    }

    /// Whether the answer names this host, in lower case.
    #[must_use]
    pub fn is_of_host(&self, host: &str) -> bool {
        self.host
            .as_deref()
            .is_some_and(|named| host_matches(named, host))
    }
}

fn host_matches(pattern: &str, host: &str) -> bool {
    wildcard::matches(&pattern.to_ascii_lowercase(), host)
}

/// Whether a path is this path, or starts with this prefix if it ends in `*`.
#[must_use]
pub fn path_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == pattern,
    }
}

/// The name of a service in the transcript, by this name or its name in the AWS CLI.
#[must_use]
pub fn canonical_service(name: &str) -> Option<&'static str> {
    match Service::named(name) {
        Some(service) => Some(service.word()),
        None => AwsService::named(name).map(AwsService::word),
    }
}

/// Whether a pattern of `aws.allow`, `service.Operation` with wildcards, names a call.
#[must_use]
pub fn allows(pattern: &str, service: &str, operation: &str) -> bool {
    let Some((named, pattern)) = pattern.split_once('.') else {
        return false;
    };
    canonical_service(named) == Some(service) && wildcard::matches(pattern, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET_PARAMETER: AnswerableRequest<'static> = AnswerableRequest {
        host: "ssm.eu-west-1.amazonaws.com",
        service: "ssm",
        operation: "GetParameter",
        method: "POST",
        path: "/",
        seconds: 4.0,
    };

    #[test]
    fn an_answer_matches_by_its_keys() {
        let table = [
            (r#"{"service":"ssm"}"#, true),
            (r#"{"service":"kms"}"#, false),
            (r#"{"service":"ssm","operation":"Get*"}"#, true),
            (r#"{"service":"ssm","operation":"GetParameters"}"#, false),
            (r#"{"host":"*.AMAZONAWS.com"}"#, true),
            (r#"{"host":"ssm.us-east-1.amazonaws.com"}"#, false),
            (r#"{"host":"*","method":"post","path":"/"}"#, true),
            (r#"{"host":"*","path":"/latest/*"}"#, false),
            (r#"{"service":"ssm","from_seconds":4.1}"#, false),
            (r#"{"service":"ssm","until_seconds":4}"#, false),
        ];
        for (text, expected) in table {
            let answer: Answer = serde_json::from_str(text).unwrap();
            assert_eq!(answer.matches(GET_PARAMETER), expected, "{text}");
        }
    }

    #[test]
    fn a_name_of_the_cli_is_the_service_s_name() {
        assert_eq!(canonical_service("elbv2"), Some("elasticloadbalancing"));
        assert_eq!(canonical_service("eks"), Some("eks"));
        assert_eq!(canonical_service("cloudwatch"), Some("monitoring"));
        assert!(allows("elbv2.Describe*", "elasticloadbalancing", "DescribeTags"));
        assert!(!allows("ssm.Put*", "ssm", "GetParameter") && !allows("ssm", "ssm", "GetParameter"));
    }
}
