//! Errors of CloudWatch Logs.

use crate::http::ServiceError;

pub(super) fn invalid(message: String) -> ServiceError {
    ServiceError::new(400, "InvalidParameterException", message)
}

pub(super) fn missing(message: &str) -> ServiceError {
    ServiceError::new(400, "ResourceNotFoundException", message)
}

pub(super) fn exists(message: &str) -> ServiceError {
    ServiceError::new(400, "ResourceAlreadyExistsException", message)
}

pub(super) fn limit_exceeded() -> ServiceError {
    ServiceError::new(400, "LimitExceededException", "Resource limit exceeded.")
}
