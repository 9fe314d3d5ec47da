//! Tests that start containers. They must not run where no container engine answers.

mod coverage;
mod diff;
mod explore;
mod footprint;
mod hold;
mod keeper;
mod kind;
mod library;
mod lifecycle;
mod machine_snapshot;
mod own_images;
mod releases;
mod reports;
mod try_file;
mod unavailable;
mod upstream;
mod watch;
