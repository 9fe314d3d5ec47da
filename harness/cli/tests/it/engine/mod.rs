//! Tests that start containers. They must not run where no container engine answers.

mod footprint;
mod kind;
mod lifecycle;
mod own_images;
mod reports;
mod try_file;
