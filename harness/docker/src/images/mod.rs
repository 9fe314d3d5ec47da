//! Images that the harness builds, named by the hash of everything they are built from.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `engine_images.rs`, `image_ref.rs`, `progress.rs` | the images on an engine, one image, what a build reports |
//! | `recipe.rs`, `folders.rs`, `content_hash.rs`, `context.rs` | what images are built from, and its hash |
//! | `builder.rs`, `build_lock.rs` | one build |
//! | `base.rs`, `debian.rs` | the base image |
//! | `kubernetes.rs`, `version_candidates.rs`, `programs.rs` | the image with the programs of Kubernetes |
//! | `release.rs`, `download.rs` | programs that are downloaded |
//! | `derived.rs`, `packages_ahead.rs` | the images that start from these |
//! | `control_plane.rs`, `k3s.rs`, `kind.rs` | the image of each control plane |
//! | `external/` | node images that the harness did not build |
//! | `inventory.rs`, `dangling.rs` | which images exist, and which are removed |

mod base;
mod build_lock;
mod builder;
mod content_hash;
mod context;
mod control_plane;
mod dangling;
mod debian;
mod derived;
mod download;
mod engine_images;
mod external;
mod folders;
mod image_ref;
mod inventory;
mod k3s;
mod kind;
mod kubernetes;
mod packages_ahead;
mod programs;
mod progress;
mod recipe;
mod release;
mod version_candidates;

pub(crate) use dangling::DanglingBuilds;

pub use download::DownloadProgress;
pub use engine_images::Images;
pub use external::TOOLS;
pub use image_ref::ImageRef;
pub use inventory::{ListedImage, Pruned};
pub use progress::{ImageEvent, ImageProgress};
pub use release::KubernetesRelease;
