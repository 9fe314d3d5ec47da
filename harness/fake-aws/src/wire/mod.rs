//! The wire protocols of AWS: what an answer and an error of each kind of service look like.

pub mod defaults;
pub mod errors;
pub mod xml;

use crate::exchange::Answer;

/// The shape of a service's answers and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// REST JSON: EKS.
    RestJson,
    /// JSON 1.1: ECR.
    Json11,
    /// The query protocol with this XML namespace: STS, CloudFormation.
    Query(&'static str),
    /// EC2's own kind of query.
    Ec2,
    /// The metadata service's pages.
    Metadata,
    /// The registry protocol.
    Registry,
}

/// An answer of a REST JSON service.
#[must_use]
pub fn rest_json(body: &serde_json::Value) -> Answer {
    Answer::new(200, "application/json", body.to_string())
}

/// An answer of a JSON 1.1 service.
#[must_use]
pub fn json11(body: &serde_json::Value) -> Answer {
    Answer::new(200, "application/x-amz-json-1.1", body.to_string())
}
