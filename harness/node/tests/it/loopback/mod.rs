//! Tests that need no container engine.

mod authenticator;
mod bootstrap_arguments;
mod fixtures;
mod mime_parts;
mod packages;
mod settings;
mod user_data;
