//! Default codes and messages for the errors of faults, as each service returns them with a status.

use nodejoin_core::plan::fault::Service;

use crate::http::ServiceError;

/// The error of a fault; code and message default to those of the service.
#[must_use]
pub(crate) fn fault_error(
    service: Service,
    status: u16,
    code: Option<String>,
    message: Option<String>,
) -> ServiceError {
    let (default_code, default_message) = default_texts(service, status);
    ServiceError::new(
        status,
        code.unwrap_or_else(|| default_code.to_owned()),
        message.unwrap_or_else(|| default_message.to_owned()),
    )
}

/// The service's error for a client that exceeds its request rate.
#[must_use]
pub(crate) fn throttled(service: Service) -> ServiceError {
    let status = match service {
        // The metadata service drops packets instead, but the user guide tells clients to expect this.
        Service::Imds | Service::Ec2 | Service::S3 => 503,
        Service::Autoscaling | Service::Cloudformation | Service::Ecr | Service::Logs => 400,
        Service::Monitoring | Service::Secretsmanager | Service::Ssm | Service::Sts => 400,
        Service::Eks | Service::EksAuth | Service::Registry => 429,
    };
    fault_error(service, status, None, None)
}

fn default_texts(service: Service, status: u16) -> (&'static str, &'static str) {
    const INTERNAL: &str = "An internal error has occurred";
    match (service, status) {
        // EKS returns this code, not the one in its API model.
        (Service::Eks, 429) => ("TooManyRequestsException", "Too Many Requests"),
        (Service::Eks, 400) => ("InvalidRequestException", "Invalid request"),
        (Service::Eks, 403) => ("AccessDeniedException", "Access denied"),
        (Service::Eks, 404) => ("ResourceNotFoundException", "No cluster found"),
        (Service::Eks, 503) => ("ServiceUnavailableException", "Service is unavailable"),
        (Service::Eks, 500..) => ("ServerException", INTERNAL),
        (Service::Sts, 400 | 429) => ("Throttling", "Rate exceeded"),
        (Service::Sts, 503) => ("ServiceUnavailable", "Service Unavailable"),
        (Service::Ec2, 429 | 503) => ("RequestLimitExceeded", "Request limit exceeded."),
        (Service::Ec2, 401) => (
            "AuthFailure",
            "AWS was not able to validate the provided access credentials",
        ),
        (Service::Ec2, 403) => (
            "UnauthorizedOperation",
            "You are not authorized to perform this operation.",
        ),
        (Service::Ec2, 500..) => ("InternalError", "An internal error has occurred"),
        (Service::Ecr | Service::Ssm | Service::Secretsmanager | Service::Logs, 400 | 429) => {
            ("ThrottlingException", "Rate exceeded")
        }
        (Service::Ecr, 500..) => ("ServerException", INTERNAL),
        (Service::EksAuth, 503) => ("ServiceUnavailableException", "Service is unavailable"),
        (Service::EksAuth, 500..) => ("InternalServerException", INTERNAL),
        (Service::S3, 503) => ("SlowDown", "Please reduce your request rate."),
        (Service::S3, 403) => ("AccessDenied", "Access Denied"),
        (Service::S3, 404) => ("NoSuchKey", "The specified key does not exist."),
        (Service::S3, 500..) => (
            "InternalError",
            "We encountered an internal error. Please try again.",
        ),
        (Service::Registry, 429) => ("TOOMANYREQUESTS", "Rate exceeded"),
        (Service::Registry, 403) => ("DENIED", "requested access to the resource is denied"),
        (Service::Registry, 404) => ("NAME_UNKNOWN", "repository name not known to registry"),
        (Service::Registry, 500..) => ("UNKNOWN", "unknown error"),
        (Service::Cloudformation | Service::Autoscaling | Service::Monitoring, 400 | 429) => {
            ("Throttling", "Rate exceeded")
        }
        (_, 429) => ("ThrottlingException", "Rate exceeded"),
        (_, 500..) => ("InternalFailure", INTERNAL),
        _ => ("Error", "The request was refused"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_has_its_own_throttling_code() {
        let table = [
            (Service::Imds, 503, "InternalFailure"),
            (Service::Eks, 429, "TooManyRequestsException"),
            (Service::Sts, 400, "Throttling"),
            (Service::Ec2, 503, "RequestLimitExceeded"),
            (Service::Ecr, 400, "ThrottlingException"),
            (Service::Registry, 429, "TOOMANYREQUESTS"),
            (Service::Cloudformation, 400, "Throttling"),
        ];
        for (service, status, code) in table {
            let error = throttled(service);
            assert_eq!((error.status, error.code.as_str()), (status, code), "{service:?}");
        }
    }

    #[test]
    fn code_and_message_of_a_scenario_take_precedence() {
        let error = fault_error(Service::Eks, 429, None, None);
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("TooManyRequestsException", "Too Many Requests")
        );
        let error = fault_error(
            Service::Eks,
            429,
            Some("ThrottlingException".into()),
            Some("Rate exceeded".into()),
        );
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("ThrottlingException", "Rate exceeded")
        );
    }
}
