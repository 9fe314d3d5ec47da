//! What uses what.

use std::collections::{BTreeMap, BTreeSet};

/// Names of modules or files, each with those that it uses.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// Whether one uses the other, directly or through others.
pub(crate) fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    false
}
