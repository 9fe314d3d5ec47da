//! The documents of the metadata service: credentials, profile, identity.

use std::fmt::Write as _;

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::clock;
use crate::credentials::{Credentials, unique_id};
use crate::identity::{self, DocumentSignature};
use crate::instance::Instance;
use crate::services::ec2::types;
use crate::world::World;

/// `iam/security-credentials/ROLE`.
#[must_use]
pub(crate) fn credentials(credentials: &Credentials) -> String {
    object(&[
        ("Code", json!("Success")),
        ("LastUpdated", json!(clock::extended(credentials.updated))),
        ("Type", json!("AWS-HMAC")),
        ("AccessKeyId", json!(credentials.access_key_id)),
        ("SecretAccessKey", json!(credentials.secret_access_key.reveal())),
        ("Token", json!(credentials.token.reveal())),
        ("Expiration", json!(clock::extended(credentials.expires))),
    ])
}

/// `iam/security-credentials/ROLE` if EC2 could not assume the role: status 200, without credentials.
#[must_use]
pub(crate) fn no_credentials(world: &World, now: OffsetDateTime) -> String {
    let plan = &world.instance.metadata.credentials;
    let role = world
        .role
        .as_ref()
        .map(|role| role.name.as_str())
        .unwrap_or_default();
    let default = format!(
        "EC2 cannot assume the role {role}. Please see documentation at \
         https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_iam-ec2.html#troubleshoot_iam-ec2_errors-info-doc."
    );
    object(&[
        ("Code", json!(plan.code)),
        ("Message", json!(plan.message.as_ref().unwrap_or(&default))),
        ("LastUpdated", json!(clock::extended(now))),
    ])
}

/// `iam/info`. The ARN is the instance profile's, not the role's.
#[must_use]
pub(crate) fn profile_info(world: &World, credentials: &Credentials) -> String {
    let arn = world.instance_profile_arn().unwrap_or_default();
    object(&[
        ("Code", json!("Success")),
        ("LastUpdated", json!(clock::extended(credentials.updated))),
        ("InstanceProfileId", json!(unique_id("AIPA", &arn))),
        ("InstanceProfileArn", json!(arn)),
    ])
}

/// `identity-credentials/ec2/info`.
#[must_use]
pub(crate) fn identity_info(world: &World, credentials: &Credentials) -> String {
    object(&[
        ("Code", json!("Success")),
        ("LastUpdated", json!(clock::extended(credentials.updated))),
        ("AccountId", json!(world.account)),
    ])
}

/// `dynamic/instance-identity/document`.
#[must_use]
pub(crate) fn identity(world: &World, launched: OffsetDateTime) -> String {
    let instance = &world.instance;
    object(&[
        ("accountId", json!(world.account)),
        ("architecture", json!(types::architecture(instance))),
        ("availabilityZone", json!(instance.availability_zone)),
        ("billingProducts", Value::Null),
        ("devpayProductCodes", Value::Null),
        ("marketplaceProductCodes", Value::Null),
        ("imageId", json!(instance.ami)),
        ("instanceId", json!(instance.id)),
        ("instanceType", json!(instance.instance_type)),
        ("kernelId", Value::Null),
        ("pendingTime", json!(clock::extended(launched))),
        ("privateIp", json!(instance.private_ip)),
        ("ramdiskId", Value::Null),
        ("region", json!(world.region)),
        ("version", json!("2017-09-30")),
    ])
}

/// `dynamic/instance-identity/signature`, `pkcs7` and `rsa2048`.
#[must_use]
pub(crate) fn identity_signature(instance: &Instance, proof: DocumentSignature) -> String {
    let launched = instance.launched.into();
    identity::prove(proof, &self::identity(&instance.world, launched), launched)
}

/// JSON in the format of the metadata service: one member per line, a space before the colon.
fn object(members: &[(&str, Value)]) -> String {
    let mut text = String::from("{\n");
    for (index, (name, value)) in members.iter().enumerate() {
        let comma = if index + 1 < members.len() { "," } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  \"{name}\" : {value}{comma}");
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_a_space_before_the_colon() {
        assert_eq!(
            object(&[("a", json!("b")), ("c", Value::Null)]),
            "{\n  \"a\" : \"b\",\n  \"c\" : null\n}"
        );
    }
}
