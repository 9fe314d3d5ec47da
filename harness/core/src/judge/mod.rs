//! Compares an observation with what a scenario expects.
//!
//! | file | content |
//! | --- | --- |
//! | `progress.rs` | whether to wait for more events |
//! | `running_join.rs` | decides while the join runs whether to keep waiting |
//! | `probe.rs` | the same for a probe |
//! | `lost.rs` | expectations that no later event can meet |
//! | `decide.rs` | the verdict at the end of a join |
//! | `checks.rs` | the list of checks for both |
//! | `alternatives.rs` | the check of `one_of` |
//! | `same_machine.rs` | the checks of `same_as` and `golden.machine` |
//! | `joined_node.rs` | the Node that a verdict shows |
//! | `join.rs` | checks of phase, cause, authentication, AWS calls, faults |
//! | `certificates.rs` | checks of certificate signing requests and port 10250 |
//! | `node.rs` | checks of the Node object |
//! | `ownership.rs` | checks of who set its labels and taints, and of the audit log |
//! | `node_state.rs` | checks of kubelet, user data, pod |
//! | `files.rs` | checks of files, folders, links and sockets |
//! | `units.rs` | checks of systemd units |
//! | `notes.rs` | problems of a node that joined nevertheless |
//! | `label_notes.rs` | notes on labels whose value is what a program prints for nothing |
//! | `lost_registration.rs` | notes on labels, taints and pods of flags that the Node of a trial lacks |
//! | `object_notes.rs` | notes on objects of S3 that do not exist |
//! | `golden.rs` | the difference between a node and its snapshot |
//! | `verdict.rs` | the verdict as data |
//! | `blame.rs` | the line of the caller's files that a verdict belongs to |
//! | `aggregate.rs` | one verdict for all nodes of a scenario, and for a join with its steps |

mod aggregate;
mod alternatives;
pub mod blame;
mod certificates;
mod checks;
mod decide;
mod files;
mod golden;
mod join;
mod joined_node;
mod label_notes;
mod lost;
mod lost_registration;
mod node;
mod node_state;
mod notes;
mod object_notes;
mod ownership;
mod probe;
mod progress;
mod running_join;
mod same_machine;
#[cfg(test)]
mod tests;
mod units;
pub mod verdict;

pub use aggregate::{Joined, of_nodes, of_steps};
pub use decide::{judge, judge_step};
pub use progress::Progress;
pub use running_join::progress;
pub use same_machine::{
    MACHINE_SNAPSHOT, add_check, machine_snapshot, same_machine, unusable_machine_snapshot,
};

use crate::judge::verdict::Check;

fn check(key: impl Into<String>, held: bool, expected: impl Into<String>, seen: impl Into<String>) -> Check {
    Check {
        key: key.into(),
        held,
        expected: expected.into(),
        seen: seen.into(),
    }
}

/// Joins items for a report; `none` for an empty list.
fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

/// The API server adds `system:authenticated` to every user.
fn groups_without_authenticated(groups: &[String]) -> Vec<String> {
    groups
        .iter()
        .filter(|group| *group != "system:authenticated")
        .cloned()
        .collect()
}

/// Whether two lists contain the same items in any order.
fn same<T: Ord + Clone>(left: &[T], right: &[T]) -> bool {
    let sorted = |items: &[T]| {
        let mut items = items.to_vec();
        items.sort();
        items.dedup();
        items
    };
    sorted(left) == sorted(right)
}
