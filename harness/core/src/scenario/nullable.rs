//! Keys whose `null` differs from a missing key.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::vocabulary::cidr::Cidr;

/// Distinguishes a missing key (`None`) from `null` (`Some(None)`).
pub(super) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

pub(super) fn text_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [{ "type": "string" }, { "const": null }] })
}

pub(super) fn network_or_null(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [Cidr::json_schema(generator), { "const": null }] })
}
