//! Compares what was seen with what must be seen.
//!
//! | file | question |
//! | --- | --- |
//! | `progress.rs` | while the join runs: is there anything left to wait for? |
//! | `decide.rs` | at its end: passed or failed, and which checks decided |
//! | `join.rs` | phase, cause, authentication, AWS calls, faults |
//! | `certificates.rs` | certificate signing requests, and what port 10250 serves |
//! | `node.rs` | the Node object |
//! | `ownership.rs` | who set its labels and taints, and what else the audit log has |
//! | `verdict.rs` | the result, as data |
//! | `blame.rs` | which line of the user's own files a verdict belongs to |
//! | `aggregate.rs` | one verdict of many: of all nodes, of a join and the steps after it |
//! | `node_state.rs` | files, units, kubelet, user data, pod: what is collected at the end |

mod aggregate;
pub mod blame;
mod certificates;
mod decide;
pub(crate) mod join;
mod node;
mod node_state;
mod ownership;
mod progress;
#[cfg(test)]
mod tests;
pub mod verdict;

pub use aggregate::{Joined, of_nodes, of_steps};
pub use decide::{judge, judge_step};
pub(crate) use join::role_of;
pub use progress::{Progress, progress};

use crate::judge::verdict::Check;

/// A check of `key`.
fn check(key: impl Into<String>, held: bool, expected: impl Into<String>, seen: impl Into<String>) -> Check {
    Check {
        key: key.into(),
        held,
        expected: expected.into(),
        seen: seen.into(),
    }
}

/// Words for a report: `none` where there are none.
fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

/// Whether two lists hold the same things in any order.
fn same<T: Ord + Clone>(left: &[T], right: &[T]) -> bool {
    let sorted = |items: &[T]| {
        let mut items = items.to_vec();
        items.sort();
        items.dedup();
        items
    };
    sorted(left) == sorted(right)
}
