//! What the control plane's IAM authenticator asks of AWS, without a detour over the network.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use nodejoin_core::plan::fault::{Effect, Service};
use nodejoin_core::plan::ids::InstanceId;
use url::Url;

use crate::exchange::{Request, ServiceError};
use crate::faults::Asked;
use crate::listening::effects::{self, Ending};
use crate::listening::worlds::{Shared, Worlds, moment};
use crate::router::Endpoint;
use crate::services::ec2::machines;
use crate::services::sts::{self, CallerIdentity};
use crate::sigv4::signed;

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

    /// `PrivateDnsName` of an instance, as EC2 tells it by now; `None` where it is not known or still empty.
    #[must_use]
    pub fn private_dns_name(&self, instance: &InstanceId) -> Option<String> {
        let shared = self.0.instance(instance)?;
        let instance = shared.lock();
        let is_named = machines::is_named(&instance.world, moment(&instance, self.0.now()));
        is_named.then(|| instance.world.instance.private_dns_name.clone())
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
        let effect = self.fault(&shared, &request);
        if let Some(error) = effect.as_ref().and_then(spoiled) {
            return Err(error.into());
        }
        if let Some(Effect::DelayMs(delay)) = effect {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        self.ask(&shared, &request, effect.as_ref())
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
        let at = self.0.now();
        let seconds = moment(&instance, at).seconds();
        let asked = Asked {
            service: Service::Sts,
            operation: "GetCallerIdentity",
            path: &request.path,
            seconds,
            at,
        };
        instance.faults.meet(asked).map(|(_, effect)| effect)
    }

    fn ask(
        &self,
        shared: &Shared,
        request: &Request,
        effect: Option<&Effect>,
    ) -> Result<CallerIdentity, StsError> {
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
        let moment = effects::seen(moment(&instance, self.0.now()), effect);
        Ok(sts::caller_identity(&instance, request, &endpoint, moment)?)
    }
}

/// What the authenticator sees where a fault leaves nothing of the answer that it could use.
fn spoiled(effect: &Effect) -> Option<ServiceError> {
    let no_answer = |code: &str, message: &str| Some(ServiceError::new(0, code, message));
    match effects::ending(effect) {
        Some(Ending::Closed) => return no_answer("EOF", "the connection was closed without an answer"),
        Some(Ending::Reset) => return no_answer("ECONNRESET", "connection reset by peer"),
        Some(Ending::Hanging) => return no_answer("Timeout", "no answer came in time"),
        None => {}
    }
    match effect {
        Effect::CutAfter(_) | Effect::EmptyBody | Effect::Body(_) => {
            no_answer("Unreadable", "the answer is not what STS answers")
        }
        other => effects::error(other, Service::Sts),
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
