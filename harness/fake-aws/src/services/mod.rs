//! The services: one module each, each a function from an instance's state and a request to a response.

mod authorize;
pub(crate) mod autoscaling;
pub(crate) mod cloudformation;
pub(crate) mod ec2;
pub(crate) mod ecr;
pub(crate) mod eks;
pub(crate) mod eks_auth;
pub(crate) mod imds;
pub(crate) mod logs;
pub(crate) mod monitoring;
pub(crate) mod registry;
pub(crate) mod s3;
pub(crate) mod secretsmanager;
mod service_account_token;
pub(crate) mod ssm;
pub(crate) mod sts;

use crate::clock::RequestTime;
use crate::endpoint::Endpoint;
use crate::http::Request;

/// A request to a service, with its endpoint and its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceRequest<'a> {
    pub(crate) request: &'a Request,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) time: RequestTime,
}
