//! Tests with a container engine.

mod builds;
mod doctor;
mod image_volumes;
mod images;
mod imports;
mod kubernetes;
mod privileges;
mod run;
mod support;
mod sweep;
