//! More instances of a scenario: replicas, and replacements.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::derived_defaults::DerivedDefaults;
use super::file::{InstanceFile, StepFile};
use super::instance;
use crate::plan::aws::GROUP_TAG;
use crate::plan::expect::Expect;
use crate::plan::step::{Action, StepPlan};
use crate::plan::{InstancePlan, Plan};
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ids::ScenarioId;
use crate::vocabulary::region::Region;

/// All instances except the first. They share its subnet and all values that do not identify an instance.
pub(super) fn of(first: &InstancePlan, count: u32, id: &ScenarioId, region: &Region) -> Vec<InstancePlan> {
    let mut taken = BTreeSet::from([first.private_ip]);
    (1..count.min(MAX_NODES))
        .filter_map(|number| replica(first, &nth(id, number)?, region, &mut taken))
        .collect()
}

/// The instances of an account file after the first. They share its subnet, its image and its cluster.
pub(super) fn listed(files: &[InstanceFile], plan: &Plan) -> Vec<InstancePlan> {
    let first = &plan.instance;
    let fixed = files.iter().filter_map(|file| file.private_ip);
    let mut taken: BTreeSet<Ipv4Addr> = fixed.chain([first.private_ip]).collect();
    let others = (1..).zip(files.iter().skip(1));
    others
        .filter_map(|(number, file)| one_listed(file, number, plan, &mut taken))
        .collect()
}

fn one_listed(
    file: &InstanceFile,
    number: u32,
    plan: &Plan,
    taken: &mut BTreeSet<Ipv4Addr>,
) -> Option<InstancePlan> {
    let (first, id) = (&plan.instance, nth(&plan.id, number)?);
    let unique = DerivedDefaults::of(&id);
    let subnet: Cidr = first.subnet_cidr.parse().ok()?;
    let mut file = file.clone();
    if file.private_ip.is_none() {
        file.private_ip = Some(free(&subnet, unique.address(&subnet), taken)?);
    }
    file.ami.get_or_insert_with(|| first.ami.clone());
    let mut own = instance::instance(&file, &plan.region, &plan.cluster.name, &unique);
    if let Some(group) = first.tags.get(GROUP_TAG) {
        own.tags
            .entry(GROUP_TAG.to_owned())
            .or_insert_with(|| group.clone());
    }
    Some(InstancePlan {
        availability_zone: first.availability_zone.clone(),
        subnet_cidr: first.subnet_cidr.clone(),
        vpc_cidrs: first.vpc_cidrs.clone(),
        vpc_id: first.vpc_id.clone(),
        subnet_id: first.subnet_id.clone(),
        security_group_id: first.security_group_id.clone(),
        ..own
    })
}

/// The maximum number of nodes in a scenario.
pub(super) const MAX_NODES: u32 = 100;

fn nth(id: &ScenarioId, number: u32) -> Option<ScenarioId> {
    format!("{id}.{number}").parse().ok()
}

fn replica(
    first: &InstancePlan,
    id: &ScenarioId,
    region: &Region,
    taken: &mut BTreeSet<Ipv4Addr>,
) -> Option<InstancePlan> {
    let unique = DerivedDefaults::of(id);
    let subnet: Cidr = first.subnet_cidr.parse().ok()?;
    let private_ip = free(&subnet, unique.address(&subnet), taken)?;
    let name = region.private_dns_name(private_ip);
    Some(InstancePlan {
        id: unique.aws_id("i").parse().ok()?,
        private_ip,
        private_dns_name: name.clone(),
        host_name: name,
        mac: unique.mac(),
        network_interface_id: unique.aws_id("eni"),
        ..first.clone()
    })
}

/// The first free address from this one on, which is then marked as taken.
fn free(subnet: &Cidr, from: Ipv4Addr, taken: &mut BTreeSet<Ipv4Addr>) -> Option<Ipv4Addr> {
    let all = (0..subnet.size()).map(|offset| u32::from(from).wrapping_add(offset));
    let found = all.map(Ipv4Addr::from).find(|address| {
        subnet.contains(*address) && !subnet.is_reserved(*address) && !taken.contains(address)
    })?;
    taken.insert(found);
    Some(found)
}

/// The steps, each with the instance that exists after it.
pub(super) fn steps(steps: &[StepFile], first: &InstancePlan, id: &ScenarioId) -> Vec<StepPlan> {
    let mut instance = first.clone();
    let mut plans = Vec::new();
    for (number, step) in (1..).zip(steps) {
        if step.action == Action::ReplaceInstance {
            instance = replacement(&instance, id, number).unwrap_or(instance);
        }
        let expect = match step.expect == Expect::default() {
            true => step.action.expected(step.unit.as_deref()),
            false => step.expect.clone(),
        };
        plans.push(StepPlan {
            action: step.action,
            unit: step.unit.clone(),
            instance: instance.clone(),
            expect,
        });
    }
    plans
}

/// A replacement with the same private address. EC2 assigns a new id and interface.
fn replacement(before: &InstancePlan, id: &ScenarioId, number: u32) -> Option<InstancePlan> {
    let id = format!("{id}.replaced-{number}").parse().ok()?;
    let unique = DerivedDefaults::of(&id);
    Some(InstancePlan {
        id: unique.aws_id("i").parse().ok()?,
        mac: unique.mac(),
        network_interface_id: unique.aws_id("eni"),
        ..before.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn replicas_have_distinct_identities() {
        let (first, id) = (plan().instance, "a/b".parse().unwrap());
        let others = of(&first, 60, &id, &"eu-west-1".parse().unwrap());
        let all: Vec<&InstancePlan> = std::iter::once(&first).chain(&others).collect();
        let distinct =
            |of: fn(&InstancePlan) -> String| all.iter().map(|one| of(one)).collect::<BTreeSet<_>>().len();
        assert_eq!(all.len(), 60);
        for of in [
            (|one| one.id.to_string()) as fn(&InstancePlan) -> String,
            |one| one.private_ip.to_string(),
            |one| one.private_dns_name.clone(),
            |one| one.mac.clone(),
        ] {
            assert_eq!(distinct(of), 60);
        }
        assert_eq!(distinct(|one| one.vpc_id.clone()), 1);
        assert!(others.iter().all(|one| one.host_name == one.private_dns_name));
    }

    #[test]
    fn a_full_subnet_has_no_free_address() {
        let subnet: Cidr = "10.0.0.0/28".parse().unwrap();
        let mut taken = BTreeSet::new();
        let from = subnet.address(4);
        let found = std::iter::from_fn(|| free(&subnet, from, &mut taken)).count();
        assert_eq!(found, 11);
    }

    #[test]
    fn a_replacement_has_the_same_name_and_another_id() {
        let step = |action| StepFile {
            action,
            unit: None,
            about: None,
            expect: Expect::default(),
        };
        let (first, id) = (plan().instance, "a/b".parse().unwrap());
        let steps = steps(
            &[step(Action::ReplaceInstance), step(Action::Reboot)],
            &first,
            &id,
        );
        assert_ne!(steps[0].instance.id, first.id);
        assert_eq!(steps[0].instance.private_dns_name, first.private_dns_name);
        assert_eq!(steps[1].instance, steps[0].instance);
        assert_eq!(steps[1].expect, Action::Reboot.expected(None));
    }
}
