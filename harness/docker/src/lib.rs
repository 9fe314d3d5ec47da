//! Everything that is made in a container engine: images, networks, containers, and their removal.
//!
//! ```text
//! Engine ── connects, tells facts, runs commands in containers
//!   ├── Run ─────── makes networks and containers of one run, records each before it exists, removes them in reverse
//!   ├── sweep ───── removes what runs left whose process is gone
//!   ├── Images ──── makes images from the recipes in fixtures/images, named by the hash of what they are made of
//!   └── doctor ──── looks at what a run needs and changes nothing
//! ```
//!
//! | file | question it answers |
//! | --- | --- |
//! | `engine.rs`, `exec.rs`, `privileges.rs` | what is this engine, and what does it allow |
//! | `labels.rs`, `owner.rs` | whose is an object, and is its process still there |
//! | `run.rs`, `start.rs`, `ledger.rs`, `teardown.rs` | how objects come and go with a run |
//! | `sweep.rs` | what did dead runs leave |
//! | `doctor/` | does this machine have what a run needs |
//! | `images/` | how an image is named, made, found again and removed |
//! | `packages.rs` | what is unpacked from Debian's packages where the host lacks it |
//! | `env.rs`, `settings.rs` | what the environment can set |

mod apart;
pub mod doctor;
mod engine;
pub mod env;
mod error;
mod exec;
mod extract;
mod images;
mod labels;
mod ledger;
mod owner;
mod packages;
mod privileges;
mod probe;
mod pull;
mod run;
mod settings;
mod start;
mod subnet;
mod sweep;
mod teardown;

pub use engine::{Engine, Facts, ImageStore};
pub use error::DockerError;
pub use exec::{ExecOutput, Lines};
pub use images::{ImageEvent, ImageRef, Images, ListedImage, Progress, Pruned};
pub use packages::{debian_program, on_path};
pub use privileges::Privileges;
pub use run::{Run, RunNetwork, Started};
pub use settings::{Assets, ImageSettings};
pub use sweep::{Sweep, Swept, sweep};
pub use teardown::TearDown;
