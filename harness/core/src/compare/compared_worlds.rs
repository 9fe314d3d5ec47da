//! The worlds in which two versions of a scenario are compared.

use super::inputs::ScriptInputs;
use super::relevance::ChangedWords;
use super::requests::MachineRequests;
use super::step_changes::lasting_steps;
use super::worlds::{Dimension, WorldChange, change, world_changes};
use crate::kubernetes::version_in_range;
use crate::plan::Plan;

/// The most versions of the kubelet, each in a world of its own.
const MOST_KUBELETS: usize = 6;

/// A plan in another world.
#[derive(Debug, Clone)]
pub struct ComparedWorld {
    pub name: String,
    pub plan: Plan,
    /// How much it has to do with a change; 0 for nothing.
    pub relevance: f64,
}

/// The worlds of a plan in which two versions are compared. `requests` are those of the plan: they fail once. Arguments
/// in `inputs` that the user data does not pass yet have worlds of their own, too. `changed` are the words of a change.
#[must_use]
pub fn worlds(
    plan: &Plan,
    requests: &MachineRequests,
    inputs: &ScriptInputs,
    changed: &ChangedWords,
) -> Vec<ComparedWorld> {
    let mut changes = world_changes(plan, requests, inputs);
    changes.extend(lasting_steps(plan));
    changes.extend(kubelets(plan, inputs));
    changes.retain(|change| change.is_compared);
    let relevance = changed.relevance(&changes);
    let in_world = |(change, relevance): (WorldChange, f64)| {
        let mut plan = plan.clone();
        change.apply(&mut plan);
        ComparedWorld {
            name: change.name,
            plan,
            relevance,
        }
    };
    changes.into_iter().zip(relevance).map(in_world).collect()
}

/// Worlds of a plan with the newest of these kubelets: each of the requests that only it makes fails once, and what
/// they return differs. `before` are the requests with another kubelet.
#[must_use]
pub fn worlds_of_kubelet(
    plan: &Plan,
    before: &MachineRequests,
    requests: &MachineRequests,
) -> Vec<(String, Plan)> {
    let new = requests.without(before);
    if new.is_empty() {
        return Vec::new();
    }
    let is_about_new = |change: &WorldChange| {
        change.is_compared && [Dimension::Name, Dimension::Fault].contains(&change.dimension)
    };
    let changes = world_changes(plan, &new, &ScriptInputs::default()).into_iter();
    changes
        .filter(is_about_new)
        .map(|change| {
            let mut changed = plan.clone();
            change.apply(&mut changed);
            (change.name, changed)
        })
        .collect()
}

/// The kubelets that scripts tell apart, with the versions from which on they do.
fn kubelets(plan: &Plan, inputs: &ScriptInputs) -> Vec<WorldChange> {
    let of_overlays = plan.overlay_ranges.iter().map(|range| &range.kubelet);
    let ranges: Vec<_> = plan.kubelet.iter().chain(of_overlays).collect();
    let is_for = |minor: &&u32| {
        let version = format!("v1.{minor}.0");
        ranges.iter().all(|range| version_in_range(range, &version))
    };
    let newest: Vec<&u32> = inputs
        .kubelet_minors
        .iter()
        .rev()
        .filter(is_for)
        .take(MOST_KUBELETS)
        .collect();
    let changes = newest.into_iter().rev().map(|minor| {
        let version = format!("v1.{minor}.0");
        change(Dimension::Kubelet, &format!("kubelet-1.{minor}"), move |plan| {
            plan.probed_kubelet = Some(version.clone());
        })
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{AwsCall, Observation, ObservedEvent, TimelineEntry};
    use crate::plan::LifeCycle;
    use crate::plan::aws::IpFamily;
    use crate::plan::step::Action;
    use crate::testing::{plan, user_data_of};
    use crate::vocabulary::service::Service;

    fn world<'a>(worlds: &'a [ComparedWorld], name: &str) -> &'a Plan {
        let found = worlds.iter().find(|world| world.name == name);
        &found.unwrap_or_else(|| panic!("{name}")).plan
    }

    fn worlds(plan: &Plan, inputs: &ScriptInputs) -> Vec<ComparedWorld> {
        super::worlds(
            plan,
            &MachineRequests::default(),
            inputs,
            &ChangedWords::default(),
        )
    }

    #[test]
    fn a_machine_reboots_and_runs_its_user_data_again() {
        let mut plan = plan();
        plan.user_data = Some(user_data_of("#!/bin/sh\n"));
        let worlds = worlds(&plan, &ScriptInputs::default());
        let action = |name| world(&worlds, name).then[0].action;
        assert_eq!(action("reboot"), Action::Reboot);
        assert_eq!(action("user-data-twice"), Action::RunUserDataAgain);
        assert!(!worlds.iter().any(|world| world.name.starts_with("restart-")));
    }

    #[test]
    fn a_kubelet_that_scripts_tell_apart_has_a_world_if_the_scenario_is_for_it() {
        let inputs = ScriptInputs {
            kubelet_minors: (20..=27).collect(),
            ..ScriptInputs::default()
        };
        let kubelets = |plan: &Plan| {
            let worlds = worlds(plan, &inputs).into_iter();
            let worlds = worlds.filter(|world| world.name.starts_with("kubelet-"));
            worlds
                .map(|world| world.plan.probed_kubelet.unwrap())
                .collect::<Vec<_>>()
        };
        let mut plan = plan();
        let newest = ["v1.22.0", "v1.23.0", "v1.24.0", "v1.25.0", "v1.26.0", "v1.27.0"];
        assert_eq!(kubelets(&plan), newest);
        plan.kubelet = Some("<1.24".parse().unwrap());
        assert_eq!(kubelets(&plan), ["v1.20.0", "v1.21.0", "v1.22.0", "v1.23.0"]);
    }

    #[test]
    fn requests_that_only_a_newer_kubelet_leads_to_fail_and_differ() {
        let requests = |operations: &[&str]| {
            let calls = operations.iter().zip(1..).map(|(operation, at)| TimelineEntry {
                at,
                what: ObservedEvent::Aws(AwsCall {
                    operation: (*operation).to_owned(),
                    status: 200,
                    ..AwsCall::refused_connection(Service::Ec2, 0)
                }),
            });
            MachineRequests::of(&Observation {
                timeline: calls.collect(),
                ..Observation::default()
            })
        };
        let (before, after) = (requests(&["A"]), requests(&["A", "DescribeInstances"]));
        let worlds = worlds_of_kubelet(&plan(), &before, &after);
        let names: Vec<&str> = worlds.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "late-name",
            "dhcp-domain",
            "throttled-ec2-describeinstances",
            "unavailable-ec2-describeinstances",
            "denied-once-ec2-describeinstances",
        ];
        assert_eq!(names, expected);
        assert!(worlds_of_kubelet(&plan(), &after, &after).is_empty());
    }

    #[test]
    fn a_type_of_a_table_has_a_world() {
        let inputs = ScriptInputs {
            instance_types: ["i3.16xlarge".to_owned()].into(),
            ..ScriptInputs::default()
        };
        let worlds = worlds(&plan(), &inputs);
        assert_eq!(
            world(&worlds, "i3.16xlarge").instance.instance_type,
            "i3.16xlarge"
        );
    }

    #[test]
    fn a_world_changes_what_follows_from_its_property() {
        let worlds = worlds(&plan(), &ScriptInputs::default());
        let moved = world(&worlds, "us-east-1");
        assert!(moved.instance.private_dns_name.ends_with(".ec2.internal"));
        assert_eq!(moved.instance.availability_zone, "us-east-1a");
        let china = world(&worlds, "cn-north-1");
        assert!(
            china
                .cluster
                .aws_auth
                .iter()
                .all(|row| row.rolearn.starts_with("arn:aws-cn:")),
            "{:?}",
            china.cluster.aws_auth
        );
        let ipv6 = world(&worlds, "ipv6");
        assert_eq!(ipv6.cluster.eks.ip_family, IpFamily::Ipv6);
        assert_eq!(ipv6.instance.network.ipv6.len(), 1);
    }

    #[test]
    fn a_world_that_the_plan_has_already_is_none() {
        let mut plan = plan();
        plan.instance.life_cycle = LifeCycle::Spot;
        let names: Vec<String> = worlds(&plan, &ScriptInputs::default())
            .into_iter()
            .map(|world| world.name)
            .collect();
        assert!(!names.contains(&"spot".to_owned()), "{names:?}");
        assert!(names.contains(&"ipv6".to_owned()), "{names:?}");
    }
}
