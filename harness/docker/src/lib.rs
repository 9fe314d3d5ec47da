//! Creates images, networks and containers in a container engine, and removes them.
//!
//! ```text
//! Engine ── connects, reports facts, runs commands in containers
//!   ├── Run ─────── creates networks and containers, records each before it exists, removes them in reverse order
//!   ├── sweep ───── removes objects of runs whose process is dead
//!   ├── Images ──── builds images from the recipes in fixtures/images, named by hash
//!   └── doctor ──── checks what a run needs and changes nothing
//! ```
//!
//! | file | question it answers |
//! | --- | --- |
//! | `engine.rs`, `exec.rs`, `privileges.rs`, `privilege_probe.rs` | What is this engine, and what does it allow? |
//! | `labels.rs`, `object.rs`, `owner.rs` | Who owns an object, and is the owner alive? |
//! | `run.rs`, `start.rs`, `ledger.rs`, `teardown.rs`, `removal.rs` | How are objects created and removed? |
//! | `image_volumes.rs` | How do nodes read files of their image on an engine with slow storage? |
//! | `sweep.rs` | What did dead runs leave? |
//! | `doctor/` | Does this machine have what a run needs? |
//! | `file_lock.rs` | Which process builds or unpacks in a shared cache folder? |
//! | `images/` | How is an image named, built, found and removed? |
//! | `image_problem.rs` | Why can something not be a node image? |
//! | `images/control_plane.rs` | Which image does each control plane start from? |
//! | `packages.rs` | Which programs come from Debian packages if the host lacks them? |
//! | `settings.rs` | What can the environment configure? |
//! | `nodes.rs` | Which containers of runs are there to enter? |
//! | `private_file.rs` | How are files with secrets written? |
//!
//! Timeouts are multiplied by the engine's time factor ([`Engine::time_factor`]). Not multiplied are poll intervals
//! (the file lock of a build, a removal by another client), the 24 hours after which an object expires, because it must
//! be the same for every process, and the times of apt and mmdebstrap, which have their own.

mod blocking;
pub mod doctor;
mod engine;
mod error;
mod exec;
mod extract;
mod file_lock;
mod image_problem;
mod image_volumes;
mod images;
mod labels;
mod ledger;
mod nodes;
mod object;
mod owner;
mod packages;
mod private_file;
mod privilege_probe;
mod privileges;
mod probe;
mod pull;
mod removal;
mod run;
mod settings;
mod start;
mod subnet;
mod sweep;
mod teardown;

pub use engine::{Engine, EngineFacts, ImageStore, ImageVolume};
pub use error::DockerError;
pub use exec::{ExecOutput, OutputLines};
pub use image_problem::ImageProblem;
pub use images::{
    DownloadProgress, ImageEvent, ImageProgress, ImageRef, Images, KubernetesRelease, ListedImage, Pruned,
    TOOLS,
};

pub use nodes::{LabelledContainer, containers_of_role};
pub use packages::{debian_program, on_path};
pub use private_file::write_private;
pub use privileges::Privileges;
pub use run::{Run, RunNetwork, StartedContainer, new_run_id};
pub use settings::{Assets, ImageSettings};
pub use sweep::{SweepOptions, Swept, sweep};
pub use teardown::TearDown;
