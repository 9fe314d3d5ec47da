//! Answers the control plane's IAM authenticator from the worlds, without a detour over the network.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, StsOperation};
use url::Url;

use crate::credentials::request_id;
use crate::effects::{Applied, Disconnect, applied};
use crate::endpoint::Endpoint;
use crate::faults::RequestSummary;
use crate::http::{Request, ServiceError};
use crate::services::ServiceRequest;
use crate::services::ec2::inventory;
use crate::services::sts::{self, CallerIdentity};
use crate::sigv4::request_signature;
use crate::wire::errors::query_json_body;
use crate::world_registry::{SharedInstance, WorldRegistry};

/// A client of STS and EC2 for the authenticator.
#[derive(Debug, Clone)]
pub struct StsClient(Arc<WorldRegistry>);

/// STS refused a request, or the authenticator received no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("STS returned {status} {code}: {message}")]
pub struct StsError {
    /// HTTP status; 0 without a response.
    pub status: u16,
    pub code: String,
    pub message: String,
    /// The body of the response; empty without a response.
    pub body: String,
}

impl From<ServiceError> for StsError {
    fn from(error: ServiceError) -> Self {
        let body = match error.status {
            0 => String::new(),
            _ => query_json_body(&error, &request_id()),
        };
        Self {
            body,
            status: error.status,
            code: error.code,
            message: error.message,
        }
    }
}

impl StsClient {
    pub(crate) fn new(worlds: Arc<WorldRegistry>) -> Self {
        Self(worlds)
    }

    /// The instance whose role owns this access key.
    #[must_use]
    pub fn instance_of(&self, access_key_id: &str) -> Option<InstanceId> {
        self.0
            .owner_of_key(access_key_id)
            .map(|shared| shared.lock().world.instance.id.clone())
    }

    /// `PrivateDnsName` of an instance, empty while EC2 still returns an empty name; `None` for an unknown instance.
    #[must_use]
    pub fn private_dns_name(&self, instance: &InstanceId) -> Option<String> {
        let shared = self.0.instance(instance)?;
        let instance = shared.lock();
        let is_named = inventory::is_named(&instance, instance.request_time(self.0.now()));
        let name = || instance.world.instance.private_dns_name.clone();
        Some(if is_named { name() } else { String::new() })
    }

    /// Calls `GetCallerIdentity` with a presigned URL and the header `x-k8s-aws-id` of the verifier's own cluster.
    /// Faults of STS apply as they do to a node's request. The call comes from the control plane, so that no node's
    /// transcript shows it.
    ///
    /// # Errors
    /// STS refuses the signature, or a fault spoils the response.
    pub async fn caller_identity(
        &self,
        presigned: &Url,
        cluster_header: &str,
    ) -> Result<CallerIdentity, StsError> {
        let request = get(presigned, cluster_header)?;
        let shared = self.owner(&request)?;
        let fault = self.fault(&shared, &request);
        tokio::time::sleep(fault.delay).await;
        if let Some(error) = failure(&fault) {
            return Err(error.into());
        }
        self.request(&shared, &request, &fault)
    }

    fn owner(&self, request: &Request) -> Result<SharedInstance, StsError> {
        let owner = request_signature::claimed_access_key_id(request).and_then(|id| self.0.owner_of_key(&id));
        owner.ok_or_else(|| {
            ServiceError::new(
                403,
                "InvalidClientTokenId",
                "The security token included in the request is invalid.",
            )
            .into()
        })
    }

    fn fault(&self, shared: &SharedInstance, request: &Request) -> Applied {
        let mut instance = shared.lock();
        let at = self.0.now();
        let summary = RequestSummary {
            service: Service::Sts.into(),
            operation: StsOperation::GetCallerIdentity.name(),
            path: &request.path,
            seconds: instance.request_time(at).seconds(),
            at,
            // Rules in a node do not affect the control plane: its connection counts as one that was open before.
            opened: false,
        };
        let fired = instance.faults.fire(summary);
        fired.map_or_else(Applied::default, |fired| applied(&fired.effect, Service::Sts))
    }

    fn request(
        &self,
        shared: &SharedInstance,
        request: &Request,
        fault: &Applied,
    ) -> Result<CallerIdentity, StsError> {
        let endpoint =
            Endpoint::parse(&request.host_name()).filter(|endpoint| endpoint.service == Service::Sts);
        let endpoint = endpoint.ok_or_else(|| {
            let message = format!("{} is not an STS host name", request.host);
            ServiceError::new(0, "NoSuchHost", message)
        })?;
        let target = sts::identify(request);
        if !target.known {
            let message = format!("Could not find operation {}", target.operation);
            return Err(ServiceError::new(400, "InvalidAction", message).into());
        }
        let instance = shared.lock();
        let call = ServiceRequest {
            request,
            endpoint: &endpoint,
            time: fault.seen(instance.request_time(self.0.now())),
        };
        Ok(sts::caller_identity(&instance, call)?)
    }
}

/// The failure that the authenticator sees when a fault leaves it without a usable response.
fn failure(fault: &Applied) -> Option<ServiceError> {
    let no_response = |code: &str, message: &str| Some(ServiceError::new(0, code, message));
    match fault.disconnect {
        Some(Disconnect::Close) => {
            return no_response("EOF", "the connection was closed without a response");
        }
        Some(Disconnect::Refuse) => return no_response("ECONNREFUSED", "connection refused"),
        Some(Disconnect::Reset) => return no_response("ECONNRESET", "connection reset by peer"),
        Some(Disconnect::Hang) => return no_response("Timeout", "no response before the timeout"),
        None => {}
    }
    if fault.spoils_body() {
        return no_response("Unreadable", "the response is not one of STS");
    }
    fault.error.clone()
}

fn get(presigned: &Url, cluster_header: &str) -> Result<Request, StsError> {
    let host = presigned.host_str().unwrap_or_default();
    let host = presigned
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let cluster = HeaderValue::from_str(cluster_header).map_err(|_| {
        ServiceError::new(
            0,
            "InvalidHeader",
            "the cluster's name is not a valid header value",
        )
    })?;
    let mut headers = HeaderMap::new();
    headers.insert("x-k8s-aws-id", cluster);
    headers.insert("accept", HeaderValue::from_static("application/json"));
    Ok(Request {
        method: Method::GET,
        host,
        path: presigned.path().to_owned(),
        query: presigned.query().unwrap_or_default().to_owned(),
        headers,
        body: Bytes::new(),
    })
}
