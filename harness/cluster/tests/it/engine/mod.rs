//! Tests that start containers.

mod kind;
mod local;
mod restore;
mod tenant;
