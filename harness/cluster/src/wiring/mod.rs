//! Which files and flags tie an API server to the harness, version by version?

mod files;
mod flags;
mod folder;

pub(crate) use files::ApiServerFile;
pub use files::ApiServerWiring;
pub(crate) use flags::Program;
pub use folder::WiringFolder;
