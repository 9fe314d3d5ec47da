//! The user data of a resource: its encodings, and what a plan or state does not contain.

use super::file::TerraformFile;
use super::resource::TerraformResource;
use crate::error::ImportError;
use crate::text::{decoded, from_base64, is_user_data};

/// Characters of a SHA-1 hash in hexadecimal digits.
const SHA1: usize = 40;

/// The user data of a launch template, launch configuration or instance.
pub(super) fn user_data(
    file: &TerraformFile<'_>,
    resource: &TerraformResource<'_>,
) -> Result<Option<Vec<u8>>, ImportError> {
    let is_template = resource.kind == "aws_launch_template";
    let encoded = if is_template {
        "user_data"
    } else {
        "user_data_base64"
    };
    if let Some(field) = resource.values.get(encoded) {
        let text = field.text().unwrap_or_default();
        if !text.is_empty() {
            return from_base64(text, field.line()).map(Some);
        }
    }
    if let Some(text) = resource.text(&["user_data"]).filter(|_| !is_template) {
        return match is_hash(&text) {
            true => Err(only_a_hash(resource, text)),
            false => Ok(Some(encoded_once(&text))),
        };
    }
    let is_unknown = [encoded, "user_data"]
        .iter()
        .any(|name| resource.is_unknown(name));
    if is_unknown && (is_template || file.sets_user_data(resource)) {
        return Err(unknown_until_apply(resource));
    }
    Ok(None)
}

/// The user data of an argument that the provider encodes only if it is not base64 already.
pub(crate) fn encoded_once(text: &str) -> Vec<u8> {
    decoded(text.as_bytes())
        .filter(|bytes| is_user_data(bytes))
        .unwrap_or_else(|| text.as_bytes().to_vec())
}

fn is_hash(text: &str) -> bool {
    text.len() == SHA1 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn only_a_hash(resource: &TerraformResource<'_>, hash: String) -> ImportError {
    let command = match resource.kind.as_str() {
        "aws_launch_configuration" => {
            "`aws autoscaling describe-launch-configurations --launch-configuration-names NAME`"
        }
        _ => "`aws ec2 describe-instance-attribute --attribute userData --instance-id ID`",
    };
    ImportError::OnlyAHash {
        machine: resource.address.clone(),
        hash,
        hint: format!("set `user_data_base64` instead of `user_data`, or give the output of {command}"),
    }
}

pub(super) fn unknown_until_apply(resource: &TerraformResource<'_>) -> ImportError {
    ImportError::UnknownUntilApply {
        machine: resource.address.clone(),
        hint: "give the state after apply (`terraform show -json > state.json`), or a plan that is made when the \
               cluster exists"
            .to_owned(),
    }
}
