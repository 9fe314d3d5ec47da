//! The Secret in which a bootstrap provider stores the user data.

use crate::error::ImportError;
use crate::machine::Machine;
use crate::text::from_base64;
use crate::tree::Tree;

/// The machine of a bootstrap Secret.
pub(super) fn machine(name: &str, document: &Tree) -> Result<Machine, ImportError> {
    let field = |key: &str| {
        ["data", "stringData"]
            .iter()
            .find_map(|part| document.at(&[part, key]))
    };
    let is_encoded = document.at(&["data", "value"]).is_some();
    let Some(value) = field("value") else {
        return Ok(Machine::default());
    };
    let text = value.text().unwrap_or_default();
    let bytes = match is_encoded {
        true => from_base64(text, value.line())?,
        false => text.as_bytes().to_vec(),
    };
    if bytes.trim_ascii_start().starts_with(b"{\"ignition\"") {
        return Err(ImportError::OutOfScope {
            line: value.line(),
            what: "Ignition",
            why: "nodes of EKS AMIs read user data with cloud-init",
            hint: "use `format: cloud-config` in the bootstrap configuration",
        });
    }
    Ok(Machine {
        name: name.to_owned(),
        line: value.line(),
        user_data: Some(bytes),
        ..Machine::default()
    })
}
