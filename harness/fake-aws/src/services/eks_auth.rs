//! EKS Auth, as `https://eks-auth.REGION.api.aws`: REST JSON. The EKS Pod Identity Agent calls it.
//!
//! | method, path | auth | response |
//! | --- | --- | --- |
//! | `POST /clusters/NAME/assume-role-for-pod-identity` | SigV4, the action | credentials of a pod's role |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: shapes, error codes, the caller's permission, audience and expiry of the token, the name of the session; its
//! credentials sign, with the role's policies. Faked: the associations come from the scenario, and the signature of the
//! token is not checked. Sources: botocore's service model, boto/botocore#3117 for the text of an expired token.

use http::Method;
use nodejoin_core::plan::aws::Trust;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::pod_identity::PodIdentityPlan;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, EksAuthOperation as Operation};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use super::{ServiceRequest, authorize, service_account_token as token};
use crate::arn::{self, derived_uuid};
use crate::clock;
use crate::credentials::{Principal, unique_id};
use crate::http::{Request, Response, ServiceError, decode_path};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::{self, WireFormat};
use crate::world::World;

const AUDIENCE: &str = "pods.eks.amazonaws.com";
const LIFETIME: Duration = Duration::hours(6);
/// Limit of the name of a session.
const MAX_SESSION_NAME: usize = 64;

pub(crate) fn identify(request: &Request) -> RequestTarget {
    match cluster(request) {
        Some(name) => {
            let operation = Operation::AssumeRoleForPodIdentity.name();
            RequestTarget::known(Service::EksAuth, operation, Some(name))
        }
        None => RequestTarget::unknown(Service::EksAuth, format!("{} {}", request.method, request.path)),
    }
}

/// The cluster in the path; `None` for a request of another operation.
fn cluster(request: &Request) -> Option<String> {
    let path = request.path.trim_matches('/').strip_prefix("clusters/")?;
    let name = path.strip_suffix("/assume-role-for-pod-identity")?;
    (request.method == Method::POST && !name.contains('/')).then(|| decode_path(name))
}

/// Responds to a request.
///
/// # Errors
/// The error that EKS Auth returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let ServiceRequest {
        request,
        endpoint,
        time,
    } = call;
    let Some(name) = cluster(request) else {
        let operation = identify(request).operation;
        return Err(not_emulated::error(Service::EksAuth.word(), &operation));
    };
    let signer = authorize::signature(instance, call, WireFormat::RestJson)?;
    if let Some(action) = Operation::AssumeRoleForPodIdentity.action() {
        let resource = instance.world.cluster_arn_in(&endpoint.region, &name);
        signer.permit(Service::EksAuth, action, &resource)?;
    }
    let world = &instance.world;
    if name != world.cluster.name || endpoint.region != world.region.as_str() {
        let message = format!("No cluster found for name: {name}.");
        return Err(ServiceError::new(404, "ResourceNotFoundException", message));
    }
    let body = request.json();
    let pod = Pod::read(
        body["token"].as_str().unwrap_or_default(),
        &world.oidc_issuer(),
        time.now,
    )?;
    let (association, role) = pod.association(world)?;
    let role_name = arn::without_path(&role).to_owned();
    let role_arn = arn::role(&world.region, &world.account, &role);
    let session = pod.session(&name);
    let user = json!({
        "arn": arn::session(&world.region, &world.account, &role_name, &session),
        "assumeRoleId": format!("{}:{session}", unique_id("AROA", &role_arn)),
    });
    let principal = Principal::Assumed {
        role: role_name,
        session,
    };
    let credentials = instance.issued.assume(principal, LIFETIME, time.now);
    Ok(wire::rest_json(&json!({
        "subject": { "namespace": pod.namespace, "serviceAccount": pod.service_account },
        "audience": AUDIENCE,
        "podIdentityAssociation": association,
        "assumedRoleUser": user,
        "credentials": {
            "sessionToken": credentials.token.reveal(),
            "secretAccessKey": credentials.secret_access_key.reveal(),
            "accessKeyId": credentials.access_key_id,
            "expiration": credentials.expires.unix_timestamp(),
        },
    })))
}

/// The pod that a token belongs to.
struct Pod {
    namespace: String,
    service_account: String,
    name: String,
}

impl Pod {
    fn read(text: &str, issuer: &str, now: OffsetDateTime) -> Result<Self, ServiceError> {
        let invalid = |message: &str| ServiceError::new(400, "InvalidTokenException", message);
        let claims =
            token::claims(text).ok_or_else(|| invalid("The token is not a valid JSON Web Token."))?;
        if claims["iss"] != issuer {
            return Err(invalid("The token was not issued by the cluster."));
        }
        if !token::has_audience(&claims, AUDIENCE) {
            return Err(invalid("The token has an invalid audience."));
        }
        let expires = claims["exp"].as_i64().unwrap_or(0);
        if expires <= now.unix_timestamp() {
            let expires = OffsetDateTime::from_unix_timestamp(expires).unwrap_or(OffsetDateTime::UNIX_EPOCH);
            let message = format!(
                "The token included in the request is expired: current date/time {} must be before the expiration \
                 date/time {}.",
                clock::extended(now),
                clock::extended(expires)
            );
            return Err(ServiceError::new(400, "ExpiredTokenException", message));
        }
        let subject = claims["sub"].as_str().unwrap_or_default();
        let account = subject.strip_prefix("system:serviceaccount:");
        let (namespace, service_account) = account
            .and_then(|account| account.split_once(':'))
            .ok_or_else(|| invalid("The token does not belong to a service account."))?;
        let name = claims["kubernetes.io"]["pod"]["name"]
            .as_str()
            .unwrap_or_default();
        Ok(Self {
            namespace: namespace.to_owned(),
            service_account: service_account.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The pod's association, as the response has it, and the name of its role.
    fn association(&self, world: &World) -> Result<(Value, String), ServiceError> {
        let is_own = |found: &&PodIdentityPlan| {
            found.namespace == self.namespace && found.service_account == self.service_account
        };
        let missing = || {
            let message = format!(
                "No pod identity association found for service account {} in namespace {}.",
                self.service_account, self.namespace
            );
            ServiceError::new(404, "ResourceNotFoundException", message)
        };
        let mut all = world.cluster.eks.pod_identity_associations.iter();
        let found = all.find(is_own).ok_or_else(missing)?;
        let role = world.role_named(arn::without_path(&found.role));
        let role = role.filter(|role| role.trusts == Trust::Pods).ok_or_else(|| {
            let message =
                "Unauthorized Exception! EKS does not have permissions to assume the associated role.";
            ServiceError::new(400, "AccessDeniedException", message)
        })?;
        let (region, partition, account) = (&world.region, world.region.partition(), &world.account);
        let unique = derived_uuid(&format!("{}/{}", self.namespace, self.service_account));
        let id: String = unique
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(17)
            .collect();
        let id = format!("a-{id}");
        let cluster = &world.cluster.name;
        let association = json!({
            "associationArn": format!("arn:{partition}:eks:{region}:{account}:podidentityassociation/{cluster}/{id}"),
            "associationId": id,
        });
        Ok((association, role.name.clone()))
    }

    /// The name of the session: cluster, pod and an id, cut to the length that STS accepts.
    fn session(&self, cluster: &str) -> String {
        let id = derived_uuid(&format!("{}/{}", self.namespace, self.name));
        let start = format!("eks-{cluster}-{}", self.name);
        let room = MAX_SESSION_NAME - id.len() - 1;
        let start: String = start.chars().take(room).collect();
        format!("{start}-{id}")
    }
}
