//! Tests with a container engine.

mod builds;
mod doctor;
mod images;
mod imports;
mod kubernetes;
mod privileges;
mod run;
mod support;
mod sweep;
mod usr_volume;
