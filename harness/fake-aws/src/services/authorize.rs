//! What every signed service does first: check the signature, then ask IAM.

use nodejoin_core::plan::fault::Service;
use time::Duration;

use crate::clock::{Moment, Twist};
use crate::credentials::Principal;
use crate::exchange::{Request, ServiceError};
use crate::iam::Caller;
use crate::router::Endpoint;
use crate::sigv4::refusal::Refusal;
use crate::sigv4::{self, Demand};
use crate::wire::Shape;
use crate::world::Instance;

/// Checks the signature of a request to this endpoint and tells who made it.
///
/// # Errors
/// What the service answers where it does not hold.
pub fn signature<'a>(
    instance: &'a Instance,
    request: &Request,
    endpoint: &Endpoint,
    shape: Shape,
    moment: Moment,
) -> Result<Caller<'a>, ServiceError> {
    let principal = principal(instance, request, endpoint, moment).map_err(|refusal| refusal.error(shape))?;
    Ok(Caller::new(&instance.world, principal))
}

fn principal<'a>(
    instance: &'a Instance,
    request: &Request,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<&'a Principal, Refusal> {
    match moment.twist {
        Twist::ExpiredCredentials => return Err(Refusal::ExpiredCredentials),
        // These know nothing else that could be news; EC2 and EKS do, and answer without it.
        Twist::Stale if !matches!(endpoint.service, Service::Ec2 | Service::Eks) => {
            return Err(Refusal::UnknownKey);
        }
        Twist::Stale | Twist::None => {}
    }
    let demand = Demand {
        service: scope(endpoint.service),
        region: &endpoint.region,
        window: window(endpoint.service),
    };
    let credentials = sigv4::verify(request, &instance.issued, demand, moment.now)?;
    Ok(&credentials.principal)
}

/// The service's name in the credential scope.
fn scope(service: Service) -> &'static str {
    match service {
        Service::Registry | Service::Ecr => "ecr",
        other => other.word(),
    }
}

/// How long a signature holds. STS says "15 min." in its refusals, everybody else "5 min.".
fn window(service: Service) -> Duration {
    match service {
        Service::Sts => Duration::minutes(15),
        _ => Duration::minutes(5),
    }
}
