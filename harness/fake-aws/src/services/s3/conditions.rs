//! Conditions of a request for an object, by its entity tag and by time.

use crate::clock;
use crate::http::{Request, Response, ServiceError};

/// The response to a request whose conditions do not hold: 304 without a body; `None` if they hold. A condition by tag
/// takes precedence over the one by time.
///
/// # Errors
/// The object must not have changed, and has.
pub(super) fn refused(
    request: &Request,
    tag: &str,
    modified: &str,
) -> Result<Option<Response>, ServiceError> {
    let is_tag = |tags: &str| {
        tags.split(',')
            .map(str::trim)
            .any(|other| other == "*" || unquoted(other) == unquoted(tag))
    };
    let is_later = |than: &str| match (clock::parse_http(modified), clock::parse_http(than)) {
        (Some(modified), Some(than)) => modified > than,
        // S3 ignores a time that it cannot read.
        _ => true,
    };
    let failed = |name: &str| {
        let message = format!("At least one of the pre-conditions you specified did not hold: {name}");
        Err(ServiceError::new(412, "PreconditionFailed", message))
    };
    match (request.header("if-match"), request.header("if-unmodified-since")) {
        (Some(tags), _) if !is_tag(tags) => return failed("If-Match"),
        (None, Some(time)) if clock::parse_http(time).is_some() && is_later(time) => {
            return failed("If-Unmodified-Since");
        }
        _ => {}
    }
    let is_unchanged = match (
        request.header("if-none-match"),
        request.header("if-modified-since"),
    ) {
        (Some(tags), _) => is_tag(tags),
        (None, Some(time)) => !is_later(time),
        (None, None) => false,
    };
    Ok(is_unchanged.then(|| {
        Response::new(304, "binary/octet-stream", "")
            .with_header("etag", tag)
            .with_header("last-modified", modified)
    }))
}

fn unquoted(tag: &str) -> &str {
    tag.trim_matches('"')
}
