//! The first step of every signed service: checks the signature and identifies the caller.

use nodejoin_core::plan::fault::Service;
use time::Duration;

use super::ServiceRequest;
use crate::clock::StateView;
use crate::credentials::Principal;
use crate::http::ServiceError;
use crate::iam::Signer;
use crate::instance::Instance;
use crate::sigv2;
use crate::sigv4::error::SignatureError;
use crate::sigv4::request_signature::RequestSignature;
use crate::sigv4::{self, SignaturePolicy};
use crate::wire::WireFormat;

/// Checks the signature of a request to this endpoint and returns the caller.
///
/// # Errors
/// The service's error for an invalid signature.
pub(crate) fn signature<'a>(
    instance: &'a Instance,
    call: ServiceRequest<'_>,
    wire_format: WireFormat,
) -> Result<Signer<'a>, ServiceError> {
    let principal = principal(instance, call).map_err(|error| error.service_error(wire_format))?;
    Ok(Signer::new(&instance.world, principal))
}

fn principal<'a>(instance: &'a Instance, call: ServiceRequest<'_>) -> Result<&'a Principal, SignatureError> {
    let ServiceRequest {
        request,
        endpoint,
        time,
    } = call;
    match time.view {
        StateView::ExpiredCredentials => return Err(SignatureError::ExpiredCredentials),
        // EC2 and EKS have resources that may not be visible yet; for the other services it is the credentials.
        StateView::Stale if !matches!(endpoint.service, Service::Ec2 | Service::Eks) => {
            return Err(SignatureError::UnknownKey);
        }
        StateView::Stale | StateView::Current => {}
    }
    let policy = SignaturePolicy {
        service: scope(endpoint.service),
        region: region(instance, call),
        window: window(endpoint.service),
    };
    let credentials = match endpoint.service == Service::S3 && sigv2::is_signed(request) {
        true => sigv2::verify(request, &instance.issued, time.now)?,
        false => sigv4::verify(request, &instance.issued, policy, time.now)?,
    };
    Ok(&credentials.principal)
}

/// The region in the credential scope. A host of S3 without a region accepts that of the bucket, too.
fn region<'a>(instance: &'a Instance, call: ServiceRequest<'a>) -> &'a str {
    let own = instance.world.region.as_str();
    let signature = RequestSignature::parse(call.request);
    match call.endpoint.is_global && signature.is_ok_and(|signature| signature.scope.region == own) {
        true => own,
        false => &call.endpoint.region,
    }
}

/// The service's name in the credential scope.
fn scope(service: Service) -> &'static str {
    match service {
        Service::Registry | Service::Ecr => "ecr",
        Service::Imds
        | Service::Eks
        | Service::Sts
        | Service::Ec2
        | Service::Cloudformation
        | Service::Ssm
        | Service::Secretsmanager
        | Service::S3
        | Service::Autoscaling
        | Service::Logs
        | Service::Monitoring
        | Service::EksAuth => service.word(),
    }
}

/// The validity of a signature: 15 minutes in the errors of STS and for S3, 5 minutes in those of every other service.
fn window(service: Service) -> Duration {
    match service {
        Service::Sts | Service::S3 => Duration::minutes(15),
        Service::Imds
        | Service::Eks
        | Service::Ec2
        | Service::Ecr
        | Service::Registry
        | Service::Cloudformation
        | Service::Ssm
        | Service::Secretsmanager
        | Service::Autoscaling
        | Service::Logs
        | Service::Monitoring
        | Service::EksAuth => Duration::minutes(5),
    }
}
