//! Compares the machines that two versions of a script leave: what is different, and which scenarios show it.
//!
//! | file | content |
//! | --- | --- |
//! | `state.rs` | the state of a machine at the end of a probe, in parts |
//! | `difference.rs` | the parts in which two states differ |
//! | `noise.rs` | what differs between two runs of one version |
//! | `lines.rs` | the differing lines of two texts |
//! | `blessed.rs` | approved states, in a file |
//! | `machine_snapshot.rs` | the machine of one scenario, in a file beside it |
//! | `traits.rs` | the properties of a scenario that can explain why it shows a difference |
//! | `step_changes.rs` | what happens to a machine after its start in other worlds |
//! | `worlds.rs` | other worlds for the user data of a scenario |
//! | `world_name.rs` | the names of worlds |
//! | `compared_worlds.rs` | the worlds in which two versions are compared |
//! | `relevance.rs` | which worlds a change is about |
//! | `surroundings.rs` | the lines that decide whether a changed line runs |
//! | `representatives.rs` | which scenario of a folder runs in other worlds |
//! | `requests.rs` | the requests of a machine |
//! | `requests/failures.rs` | how they fail in other worlds |
//! | `arguments.rs` | adds arguments to the call of a script in user data |
//! | `inputs.rs` | what the files of a node accept and tell apart |
//! | `changed_places.rs` | where the files of two versions differ |
//! | `changed_places/likely.rs` | which of these places can cause a difference |
//! | `one_kubelet.rs` | machines on which only one version starts a kubelet |
//! | `group.rs` | one entry for each difference, with all scenarios that show it |
//! | `report.rs` | the result of `nodejoin diff`, as data |

mod arguments;
mod blessed;
mod changed_places;
mod compared_worlds;
mod difference;
mod group;
mod inputs;
mod lines;
mod machine_snapshot;
mod noise;
mod one_kubelet;
mod relevance;
mod report;
mod representatives;
mod requests;
mod state;
mod step_changes;
mod surroundings;
mod traits;
mod world_name;
mod worlds;

pub use arguments::{ScriptArguments, value_for, values_for};
pub use blessed::BlessedStates;
pub use changed_places::likely::likely_places;
pub use changed_places::{ChangedPlace, changed_places};
pub use compared_worlds::{ComparedWorld, worlds, worlds_of_kubelet};
pub use difference::{MachineDifference, differences, settled_differences, unstable_differences};
pub(crate) use group::short_id;
pub use group::{Group, Shown, group};
pub use inputs::{ScriptInputs, compared_minors, type_named_twice};
pub use lines::ChangedLine;
pub(crate) use lines::edits;
pub use machine_snapshot::MachineSnapshot;
pub use one_kubelet::OnlyKubelet;
pub use relevance::ChangedWords;
pub use report::{ComparedScenario, Comparison, JoinOutcome, SideOutcome};
pub use representatives::{plainest, representatives};
pub use requests::MachineRequests;
pub(crate) use state::CALLS_OF;
pub use state::MachineState;
pub use step_changes::step_changes;
pub use traits::ScenarioTraits;
pub use worlds::{Dimension, WorldChange, world_changes};
