//! Number of nodes that run at the same time, and the host limits that they share.

use crate::plan::Plan;
pub use crate::vocabulary::inotify::{instances_for, nodes_allowed, remedy};

/// Maximum number of nodes that run at the same time with this number of jobs. An exclusive scenario runs alone.
#[must_use]
pub fn max_concurrent_nodes(plans: &[Plan], jobs: usize) -> usize {
    let count = |plan: &Plan| plan.others.len() + 1;
    let (alone, beside): (Vec<&Plan>, Vec<&Plan>) = plans.iter().partition(|plan| plan.is_exclusive());
    let mut beside: Vec<usize> = beside.into_iter().map(count).collect();
    beside.sort_unstable_by(|one, other| other.cmp(one));
    let together = beside.iter().take(jobs.max(1)).sum();
    alone.into_iter().map(count).max().unwrap_or(0).max(together)
}

/// What to say before scenarios start that need more than the host has, by its `fs.inotify.max_user_instances`.
#[must_use]
pub fn too_many(nodes: usize, instances: u64) -> Option<String> {
    let (nodes, carried) = (nodes as u64, nodes_allowed(instances));
    (nodes > carried).then(|| {
        format!(
            "{nodes} nodes run at once here, and fs.inotify.max_user_instances={instances} of this host carries about {carried}: the \
             others will lack inotify instances; {}, or let fewer run at once",
            remedy(nodes)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn with(nodes: usize) -> Plan {
        let one = plan();
        Plan {
            others: vec![one.instance.clone(); nodes - 1],
            ..one
        }
    }

    #[test]
    fn the_largest_scenarios_may_run_together_and_an_exclusive_one_alone() {
        let plans = [with(1), with(4), with(2)];
        for (jobs, wanted) in [(0, 4), (1, 4), (2, 6), (9, 7)] {
            assert_eq!(max_concurrent_nodes(&plans, jobs), wanted, "{jobs}");
        }
        let mut alone = with(20);
        alone.cluster.restart_api_server_after = Some(10);
        assert_eq!(max_concurrent_nodes(&[with(4), alone, with(3)], 2), 20);
        assert_eq!(max_concurrent_nodes(&[], 2), 0);
    }

    #[test]
    fn the_default_of_debian_allows_twelve_nodes() {
        assert_eq!((nodes_allowed(128), nodes_allowed(8)), (12, 0));
        assert!(nodes_allowed(1024) > 100);
        assert_eq!((instances_for(20), instances_for(500)), (1024, 8192));
        assert_eq!(too_many(12, 128), None);
        let warning = too_many(20, 128).unwrap();
        assert!(
            warning.contains("sudo sysctl -w fs.inotify.max_user_instances=1024"),
            "{warning}"
        );
    }
}
