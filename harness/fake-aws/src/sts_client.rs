//! What the control plane's IAM authenticator asks of AWS, without a detour over the network.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use nodejoin_core::fault::{Effect, Service};
use nodejoin_core::ids::InstanceId;
use url::Url;

use crate::exchange::{Request, ServiceError};
use crate::faults::Asked;
use crate::listening::worlds::{Shared, Worlds, moment};
use crate::router::Endpoint;
use crate::services::sts::{self, CallerIdentity};
use crate::sigv4::signed;
use crate::wire::defaults::fault_error;

/// STS and EC2, as the authenticator asks them.
#[derive(Debug, Clone)]
pub struct Sts(Arc<Worlds>);

/// STS refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("STS answered {status}: {code}: {message}")]
pub struct StsError {
    /// HTTP status; 0 where there was no answer.
    pub status: u16,
    /// Error code.
    pub code: String,
    /// Message.
    pub message: String,
}

impl From<ServiceError> for StsError {
    fn from(error: ServiceError) -> Self {
        Self {
            status: error.status,
            code: error.code,
            message: error.message,
        }
    }
}

impl Sts {
    pub(crate) fn new(worlds: Arc<Worlds>) -> Self {
        Self(worlds)
    }

    /// The instance whose role got this access key.
    #[must_use]
    pub fn instance_of(&self, access_key_id: &str) -> Option<InstanceId> {
        self.0
            .holder(access_key_id)
            .map(|shared| shared.lock().world.instance.id.clone())
    }

    /// `PrivateDnsName` of an instance, as EC2 tells it.
    #[must_use]
    pub fn private_dns_name(&self, instance: &InstanceId) -> Option<String> {
        self.0
            .instance(instance)
            .map(|shared| shared.lock().world.instance.private_dns_name.clone())
    }

    /// `GetCallerIdentity` by a presigned URL, with the header `x-k8s-aws-id` set to the verifier's own cluster. Faults of STS
    /// meet it as they meet a node's request; it is the control plane's call and stands in no node's transcript.
    ///
    /// # Errors
    /// What STS answers to a signature that it refuses.
    pub async fn caller_identity(
        &self,
        presigned: &Url,
        cluster_header: &str,
    ) -> Result<CallerIdentity, StsError> {
        let request = get(presigned, cluster_header)?;
        let shared = self.holder(&request)?;
        match self.fault(&shared, &request) {
            Some(Effect::DelayMs(delay)) => tokio::time::sleep(Duration::from_millis(delay)).await,
            Some(Effect::Error {
                status,
                code,
                message,
            }) => {
                return Err(fault_error(Service::Sts, status, code, message).into());
            }
            Some(Effect::Refuse | Effect::CutAfter(_)) => {
                return Err(
                    ServiceError::new(0, "EOF", "the connection was closed without an answer").into(),
                );
            }
            None => {}
        }
        self.ask(&shared, &request)
    }

    fn holder(&self, request: &Request) -> Result<Shared, StsError> {
        let holder = signed::claimed_access_key_id(request).and_then(|id| self.0.holder(&id));
        holder.ok_or_else(|| {
            ServiceError::new(
                403,
                "InvalidClientTokenId",
                "The security token included in the request is invalid.",
            )
            .into()
        })
    }

    fn fault(&self, shared: &Shared, request: &Request) -> Option<Effect> {
        let mut instance = shared.lock();
        let seconds = moment(&instance, self.0.now()).seconds();
        let asked = Asked {
            service: Service::Sts,
            operation: "GetCallerIdentity",
            path: &request.path,
            seconds,
        };
        instance.faults.meet(asked).map(|(_, effect)| effect)
    }

    fn ask(&self, shared: &Shared, request: &Request) -> Result<CallerIdentity, StsError> {
        let endpoint =
            Endpoint::of_host(&request.host_name()).filter(|endpoint| endpoint.service == Service::Sts);
        let endpoint = endpoint.ok_or_else(|| {
            ServiceError::new(0, "NoSuchHost", format!("{} is no host of STS", request.host))
        })?;
        let target = sts::identify(request);
        if !target.known {
            return Err(ServiceError::new(
                400,
                "InvalidAction",
                format!("Could not find operation {}", target.operation),
            )
            .into());
        }
        let instance = shared.lock();
        let moment = moment(&instance, self.0.now());
        Ok(sts::caller_identity(&instance, request, &endpoint, moment)?)
    }
}

fn get(presigned: &Url, cluster_header: &str) -> Result<Request, StsError> {
    let host = presigned.host_str().unwrap_or_default();
    let host = presigned
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let cluster = HeaderValue::from_str(cluster_header)
        .map_err(|_| ServiceError::new(0, "InvalidHeader", "the cluster's name cannot stand in a header"))?;
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
