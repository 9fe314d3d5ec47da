//! Access entries of EKS, as the authenticator asks them: by the principal's ARN without its path, and by its unique id.

use nodejoin_core::plan::access_entry::AccessEntry;

use crate::identity::IamIdentity;
use crate::mapping::Mapped;

/// Looks an identity up; `None` where it has no entry.
///
/// # Errors
/// The authenticator's words where the entry is that of another principal which had the same ARN.
pub(crate) fn lookup(entries: &[AccessEntry], identity: &IamIdentity) -> Result<Option<Mapped>, String> {
    let Some(entry) = entries.iter().find(|entry| entry.is_of(&identity.canonical_arn)) else {
        return Ok(None);
    };
    let kept = entry.principal_id.as_deref().unwrap_or(&identity.principal_id);
    if kept != identity.principal_id {
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
