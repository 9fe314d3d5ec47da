//! Tests that need no container engine.

mod authenticator;
mod bootstrap_arguments;
mod cfn_tools;
mod fixtures;
mod instance_tools;
mod mime_parts;
mod nodeadm_files;
mod numa_node;
mod packages;
mod probed_kubelet;
mod settings;
mod toml_text;
mod user_data;
