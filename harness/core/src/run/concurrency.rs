//! How many nodes run beside each other, and what of the host they share.

use crate::plan::Plan;

/// Inotify instances that a node takes: three of systemd's, one each of dbus, the journal's reader, containerd and docker, the others
/// the kubelet's.
const INSTANCES_OF_NODE: u64 = 9;
/// What the engine and the host's own services take of root's.
const INSTANCES_OF_HOST: u64 = 16;
/// What is worth setting: it costs nothing that is not used.
const WORTH: u64 = 1024;

/// The most nodes that run at once, where so many scenarios do. One that nothing may run beside is alone with its own.
#[must_use]
pub fn nodes_at_once(plans: &[Plan], jobs: usize) -> usize {
    let count = |plan: &Plan| plan.others.len() + 1;
    let (alone, beside): (Vec<&Plan>, Vec<&Plan>) = plans.iter().partition(|plan| plan.is_exclusive());
    let mut beside: Vec<usize> = beside.into_iter().map(count).collect();
    beside.sort_unstable_by(|one, other| other.cmp(one));
    let together = beside.iter().take(jobs.max(1)).sum();
    alone.into_iter().map(count).max().unwrap_or(0).max(together)
}

/// How many nodes a host's `fs.inotify.max_user_instances` carries at once.
#[must_use]
pub fn nodes_carried(instances: u64) -> u64 {
    instances.saturating_sub(INSTANCES_OF_HOST) / INSTANCES_OF_NODE
}

/// What to set `fs.inotify.max_user_instances` to for so many nodes.
#[must_use]
pub fn instances_for(nodes: u64) -> u64 {
    let needed = INSTANCES_OF_HOST + nodes * INSTANCES_OF_NODE;
    needed.next_power_of_two().max(WORTH)
}

/// The line that sets it.
#[must_use]
pub fn remedy(nodes: u64) -> String {
    format!(
        "sudo sysctl -w fs.inotify.max_user_instances={}",
        instances_for(nodes)
    )
}

/// What to say before scenarios start that need more than the host has, by its `fs.inotify.max_user_instances`.
#[must_use]
pub fn too_many(nodes: usize, instances: u64) -> Option<String> {
    let (nodes, carried) = (nodes as u64, nodes_carried(instances));
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
    use crate::plan::tests::plan;

    fn with(nodes: usize) -> Plan {
        let one = plan();
        Plan {
            others: vec![one.instance.clone(); nodes - 1],
            ..one
        }
    }

    #[test]
    fn the_largest_scenarios_meet_and_one_that_runs_alone_meets_nobody() {
        let plans = [with(1), with(4), with(2)];
        for (jobs, wanted) in [(0, 4), (1, 4), (2, 6), (9, 7)] {
            assert_eq!(nodes_at_once(&plans, jobs), wanted, "{jobs}");
        }
        let mut alone = with(20);
        alone.cluster.restart_api_server_after = Some(10);
        assert_eq!(nodes_at_once(&[with(4), alone, with(3)], 2), 20);
        assert_eq!(nodes_at_once(&[], 2), 0);
    }

    #[test]
    fn a_host_as_debian_sets_it_carries_twelve_nodes() {
        assert_eq!((nodes_carried(128), nodes_carried(8)), (12, 0));
        assert!(nodes_carried(1024) > 100);
        assert_eq!((instances_for(20), instances_for(500)), (1024, 8192));
        assert_eq!(too_many(12, 128), None);
        let told = too_many(20, 128).unwrap();
        assert!(
            told.contains("sudo sysctl -w fs.inotify.max_user_instances=1024"),
            "{told}"
        );
    }
}
