//! What every signed service does first: check the signature, then ask IAM.

use nodejoin_core::fault::Service;
use time::Duration;

use crate::clock::Moment;
use crate::exchange::{Request, ServiceError};
use crate::router::Endpoint;
use crate::sigv4::{self, Demand};
use crate::wire::Shape;
use crate::world::Instance;

/// Checks the signature of a request to this endpoint.
///
/// # Errors
/// What the service answers where it does not hold.
pub fn signature(
    instance: &Instance,
    request: &Request,
    endpoint: &Endpoint,
    shape: Shape,
    moment: Moment,
) -> Result<(), ServiceError> {
    let demand = Demand {
        service: scope(endpoint.service),
        region: &endpoint.region,
        window: window(endpoint.service),
    };
    let verified = sigv4::verify(request, &instance.issued, demand, moment.now);
    verified.map(drop).map_err(|refusal| refusal.error(shape))
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
