//! Requests that the node sends to the fake AWS.

use serde::{Deserialize, Serialize};

use crate::vocabulary::aws_service::AwsService;
use crate::vocabulary::service::Service;

/// The service that a request was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CalledService {
    /// The host name belongs to no service of AWS.
    Unknown,
    /// A node's request to a host outside. Its operation is the method and the whole URL.
    Outside,
    #[serde(untagged)]
    Known(Service),
    /// A service of AWS that the fake does not emulate.
    #[serde(untagged)]
    NotEmulated(AwsService),
}

impl CalledService {
    /// The name in transcripts and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Known(service) => service.word(),
            Self::NotEmulated(service) => service.word(),
            Self::Unknown => "unknown",
            Self::Outside => "outside",
        }
    }
}

impl From<Service> for CalledService {
    fn from(service: Service) -> Self {
        Self::Known(service)
    }
}

impl PartialEq<Service> for CalledService {
    fn eq(&self, other: &Service) -> bool {
        *self == Self::Known(*other)
    }
}

/// A request to a service of the fake AWS. Contains no credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AwsCall {
    pub service: CalledService,
    /// AWS' name of the operation; for `imds` the metadata path without its version; for `registry` the kind of
    /// request; for `outside` method and URL.
    pub operation: String,
    pub method: String,
    /// The requested host name.
    pub host: String,
    /// Path, without the query.
    pub path: String,
    /// HTTP status of the response; 0 if the connection was closed without one.
    pub status: u16,
    /// Error code of the service.
    pub error: Option<String>,
    /// Error message of the service.
    pub message: Option<String>,
    /// What the request is about: a cluster's name, instance ids, a repository.
    pub subject: Option<String>,
    /// Whether the fake implements this operation and the parameters of the request.
    pub known: bool,
    /// Index in the plan of the fault that fired on this request.
    pub fault: Option<usize>,
    /// Index in `aws.answers` of the answer that the response consists of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
    /// Whether the emulator in `aws.upstream` answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upstream: bool,
    /// `v1`, `v2` or `token` for `imds`; for other services the access key id of the signature.
    pub authorization: Option<String>,
    /// Time until the response, in milliseconds.
    pub took_ms: u64,
}

/// The error of a request to a host outside that has a response only so that its client does not repeat it.
pub const NOT_RECORDED: &str = "NotRecorded";

/// The error of a request for a tunnel inside of TLS: the client takes the fakes for a proxy that expects TLS.
pub const TLS_PROXY: &str = "TlsProxy";

/// The operation of a connection that a fault refused, in transcripts and reports.
const CONNECT: &str = "connect";

impl AwsCall {
    /// A connection that a fault refused, before any request.
    #[must_use]
    pub fn refused_connection(service: Service, fault: usize) -> Self {
        Self {
            service: service.into(),
            operation: CONNECT.to_owned(),
            method: String::new(),
            host: String::new(),
            path: String::new(),
            status: 0,
            error: Some("ConnectionRefused".to_owned()),
            message: None,
            subject: None,
            known: true,
            fault: Some(fault),
            answer: None,
            upstream: false,
            authorization: None,
            took_ms: 0,
        }
    }

    /// Whether the request went to a host outside, which did not answer it.
    #[must_use]
    pub fn is_refused_outside(&self) -> bool {
        let is_refused = self.status == 0 || self.error.as_deref() == Some(NOT_RECORDED);
        self.service == CalledService::Outside && (is_refused || self.is_to_tls_proxy())
    }

    /// Whether the client sent the request to a proxy that expects TLS.
    #[must_use]
    pub fn is_to_tls_proxy(&self) -> bool {
        self.error.as_deref() == Some(TLS_PROXY)
    }

    /// Whether it had no response, or an error.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.status == 0 || self.status >= 400
    }

    #[must_use]
    pub fn is_refused_connection(&self) -> bool {
        self.status == 0 && self.operation == CONNECT
    }
}

/// A query to the node's DNS resolver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DnsQuery {
    /// The name, without its final dot.
    pub name: String,
    /// Record type, such as `A`.
    pub record: String,
    /// Whether the resolver knows the name. It does not know names outside, though their address leads to the fakes,
    /// which refuse the requests.
    pub answered: bool,
    /// Index in `dns_faults` of the fault that failed the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<usize>,
}
