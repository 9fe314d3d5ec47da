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

/// The plan on an instance of its own, so that it runs beside the given one. Where the plan names the instance, such as
/// in user data or expectations, it names the other one. The same plan if files for its image name the instance, or if
/// the subnet is full.
#[must_use]
pub fn with_own_instance(plan: &Plan, id: &ScenarioId, taken: &mut BTreeSet<Ipv4Addr>) -> Plan {
    let first = &plan.instance;
    taken.insert(first.private_ip);
    let Some(own) = replica(first, id, &plan.region, taken) else {
        return plan.clone();
    };
    let names = InstanceNames::of(first, &own);
    let image = serde_json::to_string(&plan.image);
    if image.is_ok_and(|image| names.replaced(&image) == image)
        && let Some(renamed) = names.renamed(plan)
    {
        let instance = InstancePlan {
            private_dns_name: names.replaced(&first.private_dns_name),
            host_name: names.replaced(&first.host_name),
            ..own
        };
        return Plan { instance, ..renamed };
    }
    plan.clone()
}

/// What identifies an instance in texts, each with that of another instance.
struct InstanceNames([(String, String); 5]);

impl InstanceNames {
    fn of(first: &InstancePlan, own: &InstancePlan) -> Self {
        let names = |one: &InstancePlan| {
            [
                one.id.to_string(),
                one.private_ip.to_string(),
                label(one.private_ip),
                one.mac.clone(),
                one.network_interface_id.clone(),
            ]
        };
        let mut own = names(own).into_iter();
        Self(names(first).map(|name| (name, own.next().unwrap_or_default())))
    }

    /// The plan with the other names, except in its own id and instance.
    fn renamed(&self, plan: &Plan) -> Option<Plan> {
        let text = serde_json::to_string(plan).ok()?;
        let mut renamed: Plan = serde_json::from_str(&self.replaced(&text)).ok()?;
        if let Some(user_data) = &mut renamed.user_data {
            let bytes = STANDARD.decode(&user_data.base64).ok()?;
            if let Ok(text) = String::from_utf8(bytes) {
                user_data.base64 = STANDARD.encode(self.replaced(&text));
            }
        }
        Some(Plan {
            id: plan.id.clone(),
            ..renamed
        })
    }

    fn replaced(&self, text: &str) -> String {
        let start = text.to_owned();
        self.0
            .iter()
            .fold(start, |text, (name, own)| with_name(&text, name, own))
    }
}

/// The text with another name in place of this one, where it is not part of a longer number.
fn with_name(text: &str, name: &str, own: &str) -> String {
    let mut parts = text.split(name);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_in_number = replaced.ends_with(|last: char| last.is_ascii_digit())
            || part.starts_with(|next: char| next.is_ascii_digit());
        replaced.push_str(if is_in_number { name } else { own });
        replaced.push_str(part);
    }
    replaced
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
    use crate::plan::OverlayFile;
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
    fn a_plan_that_names_its_instance_names_the_other_one() {
        let mut plan = plan();
        let ip = plan.instance.private_ip;
        let text = |plan: &Plan| {
            let bytes = STANDARD.decode(&plan.user_data.as_ref().unwrap().base64);
            String::from_utf8(bytes.unwrap()).unwrap()
        };
        let named =
            |ip: Ipv4Addr, longer: Ipv4Addr| format!("echo {ip} {longer}0 ip-{}.example.com", label(ip));
        plan.user_data = Some(crate::testing::user_data_of(&named(ip, ip)));
        plan.expect.node.get_or_insert_default().name = Some(format!("ip-{}", label(ip)));
        let own = with_own_instance(&plan, &"a/b@spot".parse().unwrap(), &mut BTreeSet::new());
        let own_ip = own.instance.private_ip;
        assert_ne!(own_ip, ip);
        assert_eq!(text(&own), named(own_ip, ip));
        assert_eq!(
            own.expect.node.unwrap().name,
            Some(format!("ip-{}", label(own_ip)))
        );
        assert_eq!(own.id, plan.id);
    }

    #[test]
    fn a_plan_whose_files_name_the_instance_keeps_it() {
        let mut plan = plan();
        plan.image.overlay.push(OverlayFile {
            from: "a".to_owned(),
            to: format!("/etc/{}", plan.instance.private_ip),
            mode: 0o644,
            removed: false,
            may_be_missing: false,
            patched: None,
        });
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
