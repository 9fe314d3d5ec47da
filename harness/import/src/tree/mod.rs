//! JSON and YAML documents as trees that know the line of every value.
//!
//! `nodejoin_core::input::yaml` reads our own files. Files of other tools need more: several documents,
//! CloudFormation's short forms (`!Sub`), merge keys, and scalars as they are written (`version: 1.30` is not 1.3).

mod json;
mod value;
mod yaml;

pub(crate) use json::json;
pub(crate) use value::{Tree, TreeValue};
pub(crate) use yaml::{yaml, yaml_of_last_keys};
