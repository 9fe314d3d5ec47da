//! More instances of a scenario: replicas, and replacements.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

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

/// The plan on an instance of its own, so that it runs beside the given one. The same plan when the identity of the
/// instance is written elsewhere in it, such as in user data, or when the subnet is full.
#[must_use]
pub fn with_own_instance(plan: &Plan, id: &ScenarioId, taken: &mut BTreeSet<Ipv4Addr>) -> Plan {
    let first = &plan.instance;
    if names_instance(plan) {
        return plan.clone();
    }
    taken.insert(first.private_ip);
    let Some(own) = replica(first, id, &plan.region, taken) else {
        return plan.clone();
    };
    let renamed = |name: &str| {
        name.replace(first.id.as_str(), own.id.as_str())
            .replace(&label(first.private_ip), &label(own.private_ip))
    };
    Plan {
        instance: InstancePlan {
            private_dns_name: renamed(&first.private_dns_name),
            host_name: renamed(&first.host_name),
            ..own
        },
        ..plan.clone()
    }
}

/// Whether anything besides the instance itself contains what identifies it.
fn names_instance(plan: &Plan) -> bool {
    let (id, ip) = (plan.instance.id.to_string(), plan.instance.private_ip);
    let identity = [id, ip.to_string(), label(ip)];
    let Ok(mut all) = serde_json::to_value(plan) else {
        return true;
    };
    if let Some(fields) = all.as_object_mut() {
        fields.remove("instance");
    }
    let bytes = plan.user_data.as_ref().map(|data| STANDARD.decode(&data.base64));
    let user_data = bytes.and_then(Result::ok).unwrap_or_default();
    let text = format!("{all}{}", String::from_utf8_lossy(&user_data));
    identity.iter().any(|value| text.contains(value.as_str()))
}

/// An address as the names of instances contain it, such as `10-0-1-23`.
fn label(ip: Ipv4Addr) -> String {
    ip.to_string().replace('.', "-")
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
            without: None,
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
    fn a_plan_gets_an_instance_of_its_own_with_the_form_of_its_names() {
        let mut plan = plan();
        let first = plan.instance.clone();
        plan.instance.host_name = format!("ip-{}.corp.example.com", label(first.private_ip));
        let own = with_own_instance(&plan, &"a/b@spot".parse().unwrap(), &mut BTreeSet::new());
        let ip = own.instance.private_ip;
        assert_ne!(ip, first.private_ip);
        assert_ne!(own.instance.id, first.id);
        assert_ne!(own.instance.mac, first.mac);
        assert_eq!(own.instance.private_dns_name, plan.region.private_dns_name(ip));
        assert_eq!(
            own.instance.host_name,
            format!("ip-{}.corp.example.com", label(ip))
        );
    }

    #[test]
    fn a_plan_whose_user_data_names_the_instance_keeps_it() {
        let mut plan = plan();
        let ip = plan.instance.private_ip;
        plan.user_data = Some(crate::testing::user_data_of(&format!("echo {ip}")));
        let own = with_own_instance(&plan, &"a/b@spot".parse().unwrap(), &mut BTreeSet::new());
        assert_eq!(own, plan);
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
