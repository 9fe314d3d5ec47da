//! The keys of a scenario file by which one world of `explore` differs from another.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::{Map, Value};

use super::stated_keys::without_defaults;
use crate::plan::Plan;

/// A key below the root of a scenario file, and its value in a plan.
type Facet = (&'static [&'static str], Value);

/// Keys that follow from the region or the address, unless the file sets them.
const FOLLOWING: [&[&str]; 3] = [
    &["instance", "availability_zone"],
    &["instance", "private_dns_name"],
    &["instance", "host_name"],
];
/// Keys whose values name the address of the instance.
const WITH_ADDRESS: [&[&str]; 3] = [
    &["instance", "network", "interfaces"],
    &["instance", "network", "ipv6"],
    &["instance", "host_name"],
];

/// Changes the keys of `base` to those of `world`.
pub(super) fn change(keys: &mut Map<String, Value>, base: &Plan, world: &Plan) {
    let partitions = (base.region.partition(), world.region.partition());
    if partitions.0 != partitions.1 {
        let (old, new) = (format!("arn:{}:", partitions.0), format!("arn:{}:", partitions.1));
        keys.values_mut().for_each(|value| rename(value, &old, &new));
    }
    let mut names_address = false;
    for ((path, before), (_, value)) in facets(base).into_iter().zip(facets(world)) {
        let follows = FOLLOWING.contains(&path) && base.region != world.region && !has(keys, path);
        if before == value || follows {
            continue;
        }
        names_address |= WITH_ADDRESS.contains(&path);
        put(keys, path, value);
    }
    if names_address {
        put(keys, &["instance", "private_ip"], text(base.instance.private_ip));
    }
    let new = world.faults.iter().skip(base.faults.len()).filter_map(|fault| {
        let fault = serde_json::to_value(fault).ok()?;
        without_defaults(fault)
    });
    let new: Vec<Value> = new.collect();
    if !new.is_empty() {
        match keys.entry("faults").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(faults) => faults.extend(new),
            other => *other = Value::Array(new),
        }
    }
    if !world.then.is_empty() {
        let steps = world.then.iter().map(|step| {
            let unit = step.unit.as_ref().map(|unit| ("unit".to_owned(), text(unit)));
            let expect = (step.expect != step.action.expected(step.unit.as_deref())).then(|| {
                let expect = serde_json::to_value(&step.expect).unwrap_or_default();
                let expect = without_defaults(expect);
                ("expect".to_owned(), expect.unwrap_or_else(|| Map::new().into()))
            });
            let keys = std::iter::once(("do".to_owned(), text(step.action)));
            Value::Object(keys.chain(unit).chain(expect).collect())
        });
        keys.insert("then".to_owned(), Value::Array(steps.collect()));
    }
    if let Some(inline) = changed_user_data(base, world) {
        match keys.get_mut("user_data") {
            Some(Value::Object(source)) => {
                ["file", "patch", "base64", "from", "select", "parts"]
                    .iter()
                    .for_each(|key| drop(source.remove(*key)));
                source.insert("inline".to_owned(), inline);
            }
            _ => drop(keys.insert("user_data".to_owned(), inline)),
        }
    }
}

/// Whether two plans are the same world for their user data.
#[must_use]
pub fn is_same_world(one: &Plan, other: &Plan) -> bool {
    let faults = |plan: &Plan| serde_json::to_value(&plan.faults).unwrap_or_default();
    let user_data = |plan: &Plan| plan.user_data.as_ref().map(|data| data.base64.clone());
    let others = |plan: &Plan| {
        // Names contain the address of the instance, which each scenario has of its own.
        let facets = facets(plan).into_iter();
        facets
            .filter(|(path, _)| !FOLLOWING.contains(path))
            .collect::<Vec<_>>()
    };
    let steps = |plan: &Plan| {
        let steps = plan.then.iter();
        steps
            .map(|step| (step.action, step.unit.clone(), step.without.clone()))
            .collect::<Vec<_>>()
    };
    steps(one) == steps(other)
        && others(one) == others(other)
        && faults(one) == faults(other)
        && one.dns_faults == other.dns_faults
        && user_data(one) == user_data(other)
}

fn facets(plan: &Plan) -> Vec<Facet> {
    let (instance, network, cluster) = (&plan.instance, &plan.instance.network, &plan.cluster);
    vec![
        (&["region"], text(plan.region.as_str())),
        (&["instance", "type"], text(&instance.instance_type)),
        (
            &["instance", "availability_zone"],
            text(&instance.availability_zone),
        ),
        (
            &["instance", "private_dns_name"],
            text(&instance.private_dns_name),
        ),
        (&["instance", "host_name"], text(&instance.host_name)),
        (&["instance", "life_cycle"], text(instance.life_cycle)),
        (&["instance", "vpc_cidrs"], text(&instance.vpc_cidrs)),
        (
            &["instance", "metadata", "tokens"],
            text(instance.metadata.tokens),
        ),
        (
            &["instance", "metadata", "legacy_redirect"],
            text(instance.metadata.legacy_redirect),
        ),
        (
            &["instance", "network", "named_after_requests"],
            text(network.named_after_requests),
        ),
        (
            &["instance", "network", "dhcp_domains"],
            text(&network.dhcp_domains),
        ),
        (&["instance", "network", "interfaces"], text(&network.interfaces)),
        (&["instance", "network", "ipv6"], text(&network.ipv6)),
        (&["cluster", "status"], text(&cluster.status)),
        (
            &["cluster", "service_ipv4_cidr"],
            text(&cluster.service_ipv4_cidr),
        ),
        (&["cluster", "eks", "ip_family"], text(cluster.eks.ip_family)),
        (
            &["cluster", "eks", "service_ipv6_cidr"],
            text(&cluster.eks.service_ipv6_cidr),
        ),
    ]
}

fn text(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// The user data of `world`, if it is other text than that of `base`.
fn changed_user_data(base: &Plan, world: &Plan) -> Option<Value> {
    let (before, after) = (base.user_data.as_ref()?, world.user_data.as_ref()?);
    if before.base64 == after.base64 {
        return None;
    }
    let bytes = STANDARD.decode(&after.base64).ok()?;
    Some(String::from_utf8(bytes).ok()?.into())
}

fn has(keys: &Map<String, Value>, path: &[&str]) -> bool {
    let [first, rest @ ..] = path else { return true };
    match keys.get(*first) {
        Some(_) if rest.is_empty() => true,
        Some(Value::Object(inner)) => has(inner, rest),
        _ => false,
    }
}

fn put(keys: &mut Map<String, Value>, path: &[&str], value: Value) {
    let [first, rest @ ..] = path else { return };
    if rest.is_empty() {
        keys.insert((*first).to_owned(), value);
        return;
    }
    let inner = keys.entry(*first).or_insert_with(|| Map::new().into());
    if !inner.is_object() {
        *inner = Map::new().into();
    }
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

/// Replaces a part of all texts.
fn rename(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) => *text = text.replace(old, new),
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, old, new)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| rename(entry, old, new)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::derived::{Derived, derived};
    use super::*;
    use crate::compare::{
        MachineRequests, MachineState, ScriptArguments, ScriptInputs, step_changes, world_changes,
    };
    use crate::input::files::Memory;
    use crate::plan::expect::Expect;
    use crate::scenario::load;

    #[test]
    fn every_world_is_the_one_that_its_file_describes() {
        let row = "rolearn: 'arn:aws:iam::111122223333:role/a', username: 'system:node:{{EC2PrivateDNSName}}', groups: [system:nodes]";
        let file = format!(
            "name: a\nuser_data: |\n  #!/bin/bash\n  /etc/eks/bootstrap.sh {{{{ cluster.name }}}}\n\
             cluster: {{ aws_auth: [{{ {row} }}] }}\nfaults: [{{ service: sts, effect: throttle, may_fire: true }}]\n"
        );
        let mut files = Memory::default().with("/s/a.yaml", file);
        let base = load(Path::new("/s/a.yaml"), Path::new("/s"), &files).unwrap();
        let argument = ScriptArguments {
            path: "/etc/eks/bootstrap.sh".to_owned(),
            arguments: "--use-max-pods false".to_owned(),
        };
        let arguments = [argument];
        let inputs = ScriptInputs {
            arguments: arguments.to_vec(),
            instance_types: ["i3.16xlarge".to_owned()].into(),
            ..ScriptInputs::default()
        };
        let mut changes = world_changes(&base, &MachineRequests::default(), &inputs);
        assert!(changes.len() > 20, "{changes:?}");
        changes.extend(step_changes(&base, &MachineState::default(), &arguments));
        let expect = Expect::default();
        let mut worlds: Vec<(String, Plan)> = changes
            .into_iter()
            .map(|change| {
                let mut world = base.clone();
                change.apply(&mut world);
                (change.name, world)
            })
            .collect();
        let mut failing = base.clone();
        failing.faults.push(crate::plan::fault::Fault {
            times: Some(1),
            ..base.faults[0].clone()
        });
        worlds.push(("a fault".to_owned(), failing));
        // A scenario cannot have a type that EC2 does not know.
        worlds.retain(|(name, _)| name != "unknown-type");
        for (name, world) in worlds {
            let copy = Derived {
                name: &name,
                about: "",
                expect: &expect,
                world: Some(&world),
                folder: Path::new("/s/new"),
            };
            let text = derived(&base, &copy, &files).unwrap();
            files = files.with("/s/new/x.yaml", text.clone());
            let loaded = load(Path::new("/s/new/x.yaml"), Path::new("/s"), &files)
                .unwrap_or_else(|error| panic!("{name}: {text}\n{error}"));
            // No key says which words user data loses for its second run.
            let is_described = !name.starts_with("user-data-after-");
            assert_eq!(
                is_same_world(&loaded, &world),
                is_described,
                "{name}: {text}\n{loaded:#?}"
            );
        }
    }
}
