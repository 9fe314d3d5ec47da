//! Pages of EKS' List operations.

use serde_json::{Value, json};

use crate::http::{Request, ServiceError};

/// Limit and default of a page's size.
const MAX_PAGE: usize = 100;

/// The page of names that a request selects.
///
/// # Errors
/// The page size or the token is invalid.
pub(super) fn page(member: &str, names: &[String], request: &Request) -> Result<Value, ServiceError> {
    let parameters = request.query_parameters();
    let size = match parameters.get("maxResults") {
        None => MAX_PAGE,
        Some(text) => text
            .parse()
            .ok()
            .filter(|size| (1..=MAX_PAGE).contains(size))
            .ok_or_else(|| invalid("maxResults needs to be between 1 and 100"))?,
    };
    let start: usize = match parameters.get("nextToken") {
        None => 0,
        Some(token) => token
            .strip_prefix("nodejoin-")
            .and_then(|start| start.parse().ok())
            .ok_or_else(|| invalid("Invalid token"))?,
    };
    let next = start.saturating_add(size);
    let token = (next < names.len()).then(|| format!("nodejoin-{next}"));
    let names: Vec<&String> = names.iter().skip(start).take(size).collect();
    Ok(json!({ member: names, "nextToken": token }))
}

fn invalid(message: &str) -> ServiceError {
    ServiceError {
        null_members: &["clusterName", "nodegroupName", "fargateProfileName", "addonName"],
        ..ServiceError::new(400, "InvalidParameterException", message)
    }
}
