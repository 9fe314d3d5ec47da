//! Access entries of EKS: the authenticator matches the principal's ARN without its path, and its unique id.

use nodejoin_core::plan::access_entry::AccessEntry;

use crate::iam::aws_auth::Mapped;
use crate::iam::identity::IamIdentity;

/// Finds the entry of an identity.
///
/// # Errors
/// The authenticator's message when the entry belongs to a deleted principal with the same ARN.
pub(crate) fn lookup(entries: &[AccessEntry], identity: &IamIdentity) -> Result<Option<Mapped>, String> {
    let Some(entry) = entries.iter().find(|entry| entry.is_of(&identity.canonical_arn)) else {
        return Ok(None);
    };
    let expected = entry.principal_id.as_deref().unwrap_or(&identity.principal_id);
    if expected != identity.principal_id {
        return Err(format!(
            "ARN does not match User ID: {}",
            identity.canonical_arn.to_lowercase()
        ));
    }
    Ok(Some(Mapped {
        username: entry.username.clone(),
        groups: entry.groups.clone(),
    }))
}
