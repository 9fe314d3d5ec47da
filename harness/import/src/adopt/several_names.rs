//! Calls of the bootstrap script with several names of the cluster.

use std::collections::BTreeSet;

use super::cluster_names::is_cluster_name;
use super::stated::Stated;

/// A sentence about the names that a run does not have. `name`: the one that it has.
pub(super) fn other_names(stated: &Stated, name: &str) -> Option<String> {
    let names = stated.calls.iter().filter_map(|call| call.cluster.as_deref());
    let names: BTreeSet<&str> = names.filter(|name| is_cluster_name(name)).collect();
    let other = names.iter().find(|other| **other != name)?;
    if !names.contains(name) {
        return None;
    }
    let all: Vec<&str> = names.iter().copied().collect();
    Some(format!(
        "calls of bootstrap.sh name several clusters, {}: only a run shows which call runs, and the run's cluster is {name}, so that a \
         node with another name does not join; `--with 'cluster: {{ name: {other} }}'` for {other}",
        all.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_the_branches_of_a_case_can_name_two_clusters() {
        let of = |other: &str| {
            let script = format!(
                "#!/bin/bash\ncase $(uname -m) in\n aarch64) /etc/eks/bootstrap.sh arm ;;\n *) /etc/eks/bootstrap.sh {other} ;;\nesac\n"
            );
            other_names(&Stated::of(script.as_bytes()), "arm")
        };
        assert_eq!(
            of("amd").as_deref(),
            Some(
                "calls of bootstrap.sh name several clusters, amd, arm: only a run shows which call runs, and the run's cluster is arm, so \
                 that a node with another name does not join; `--with 'cluster: { name: amd }'` for amd"
            )
        );
        assert_eq!(of("arm"), None);
        assert_eq!(of("$NAME"), None);
    }
}
