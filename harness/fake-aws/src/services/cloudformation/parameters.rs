//! Parameters that a request must have.

use crate::http::{QueryParameters, ServiceError};
use crate::stacks::validation_error;
use crate::wire;

/// The value of a parameter.
///
/// # Errors
/// It is missing or empty.
pub(super) fn required<'a>(parameters: &'a QueryParameters, name: &str) -> Result<&'a str, ServiceError> {
    let value = parameters.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| validation_error(wire::null_member(name)))
}
