//! Texts that resources render: user data of a module without machines.

use super::file::TerraformFile;
use super::machines::surround;
use super::resource::TerraformResource;
use super::user_data::unknown_until_apply;
use crate::error::ImportError;
use crate::machine::Machine;
use crate::reading::Reading;
use crate::text;

/// Rendered texts, and the attribute with each.
const TEXTS: &[(&str, &str)] = &[
    ("cloudinit_config", "rendered"),
    ("template_cloudinit_config", "rendered"),
    ("template_file", "rendered"),
    ("local_file", "content"),
    ("local_sensitive_file", "content"),
];

/// Rendered texts of a file without machines: a module that only renders user data.
pub(super) fn add(file: &TerraformFile<'_>, reading: &mut Reading) {
    for (kind, attribute) in TEXTS {
        for resource in file.of_kind(&[kind]) {
            if let Some(machine) = text_machine(file, resource, attribute).transpose() {
                reading.add(&resource.address, machine);
            }
        }
    }
}

fn text_machine(
    file: &TerraformFile<'_>,
    resource: &TerraformResource<'_>,
    attribute: &str,
) -> Result<Option<Machine>, ImportError> {
    let Some(field) = resource.values.get(attribute) else {
        let is_unknown = resource.is_unknown(attribute) && attribute == "rendered";
        return match is_unknown {
            true => Err(unknown_until_apply(resource)),
            false => Ok(None),
        };
    };
    let rendered = field.text().unwrap_or_default();
    let bytes = text::decoded(rendered.as_bytes()).unwrap_or_else(|| rendered.as_bytes().to_vec());
    if !text::is_user_data(&bytes) {
        return Ok(None);
    }
    let mut machine = Machine {
        name: resource.address.clone(),
        line: field.line(),
        user_data: Some(bytes),
        ..Machine::default()
    };
    surround(file, resource, None, &mut machine.traits);
    Ok(Some(machine))
}
