//! Tests that start containers. They must not run where no container engine answers.

mod aws_cli;
mod bench;
mod commands;
mod escape;
mod image_volumes;
mod machine;
mod node;
mod outside;
mod own_image;
mod stubs;
