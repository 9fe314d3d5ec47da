//! The machines of a template.

use super::access::add_access;
use super::groups::StackGroup;
use super::instances::{DirectUsers, instance, names_bootstrap};
use super::launch_templates::outside;
use super::properties::{
    add_named_cluster, add_type, base, has_arm64_image, is_windows, is_without_profile, read,
};
use super::template::{Template, invalid};
use crate::ec2::add_managed;
use crate::error::ImportError;
use crate::group_refusals::Spelling;
use crate::machine::Machine;
use crate::reading::Reading;
use crate::scaling_groups;
use crate::tree::Tree;

/// What is wrong with a file without machines, and what to give instead.
pub(super) const NOTHING: &str = "no resource of it starts machines with user data";
pub(super) const NOTHING_HINT: &str = "give the template of `AWS::EC2::LaunchTemplate`, `AWS::AutoScaling::LaunchConfiguration`, \
     `AWS::EC2::Instance` or `AWS::EKS::Nodegroup`; each nested stack is a template of its own";

const NODE_GROUP: &str = "AWS::EKS::Nodegroup";

/// Adds the machines of a template; `prefix` begins their names.
pub(super) fn add(template: &Template<'_>, prefix: &str, reading: &mut Reading) {
    let groups = StackGroup::all(template);
    let mut problems = template.attribute_problems();
    template.problems.borrow_mut().append(&mut problems);
    for (id, resource) in template.resources() {
        find_missing(template, &groups, id, resource);
    }
    for (id, resource) in template.resources() {
        let name = format!("{prefix}{id}");
        if id.starts_with("Fn::") {
            reading.add(&name, Err(loop_of_resources(id, resource)));
            continue;
        }
        match is_created(template, resource) {
            Ok(true) => add_resource(template, &groups, (id, resource), &name, reading),
            Ok(false) => reading.notes.extend(absent(template, resource, &name)),
            Err(error) => reading.add(&name, Err(error)),
        }
    }
    reading.notes.append(&mut template.notes.borrow_mut());
}

/// `Fn::ForEach`, which a transform of CloudFormation replaces by resources.
fn loop_of_resources(id: &str, resource: &Tree) -> ImportError {
    invalid(
        resource,
        format!("`{id}` stands for resources that CloudFormation makes of it"),
        "give the template that it makes: `aws cloudformation get-template --template-stage Processed`",
    )
}

/// Finds what the user data of a machine lacks, before the first value ends its evaluation.
fn find_missing(template: &Template<'_>, groups: &[StackGroup<'_>], id: &str, resource: &Tree) {
    let properties = resource.get("Properties").filter(|_| is_machine(resource));
    let Some(properties) = properties else { return };
    let data = properties.get("LaunchTemplateData").unwrap_or(properties);
    let is_absent = matches!(is_created(template, resource), Ok(false));
    let is_windows = is_windows(template, &users(template, groups, id, properties), data);
    if let Some(field) = data.get("UserData").filter(|_| !is_absent && !is_windows) {
        template.find_missing(field);
    }
}

/// The note about a machine whose condition does not hold: trials of the others say nothing about it.
fn absent(template: &Template<'_>, resource: &Tree, name: &str) -> Option<String> {
    let is_group = resource.text_at(&["Type"]).as_deref() == Some(NODE_GROUP);
    if !is_group && !names_bootstrap(template, resource) {
        return None;
    }
    let condition = resource.text_at(&["Condition"])?;
    let values = template.parameters_of(&condition);
    let options: Vec<String> = values.iter().map(|name| format!("--set {name}=VALUE")).collect();
    let remedy = match options.is_empty() {
        true => String::new(),
        false => format!("; `{}` changes it", options.join(" ")),
    };
    Some(format!(
        "`{name}` is not tried: its condition `{condition}` does not hold{remedy}"
    ))
}

/// Whether the condition of a machine's resource holds.
fn is_created(template: &Template<'_>, resource: &Tree) -> Result<bool, ImportError> {
    match resource.get("Condition").filter(|_| is_machine(resource)) {
        Some(name) => template.condition(name),
        None => Ok(true),
    }
}

fn is_machine(resource: &Tree) -> bool {
    let kind = resource.text_at(&["Type"]).unwrap_or_default();
    [
        "AWS::EC2::LaunchTemplate",
        "AWS::AutoScaling::LaunchConfiguration",
        "AWS::EC2::Instance",
        NODE_GROUP,
    ]
    .contains(&kind.as_str())
}

fn add_resource(
    template: &Template<'_>,
    groups: &[StackGroup<'_>],
    (id, resource): (&str, &Tree),
    name: &str,
    reading: &mut Reading,
) {
    let Some(properties) = resource.get("Properties") else {
        return;
    };
    let named = |mut machine: Machine| {
        add_named_cluster(template, &mut machine);
        add_access(template, &mut machine);
        machine
            .problems
            .extend(template.problems.borrow().iter().cloned());
        Machine {
            name: name.to_owned(),
            literals: template.literals.borrow().clone(),
            ..machine
        }
    };
    match resource.text_at(&["Type"]).unwrap_or_default().as_str() {
        kind @ ("AWS::EC2::LaunchTemplate" | "AWS::AutoScaling::LaunchConfiguration") => {
            let machines = match kind {
                "AWS::EC2::LaunchTemplate" => templates(template, groups, id, properties),
                _ => configurations(template, groups, id, properties),
            };
            for (group, machine) in machines {
                let name = group.map_or_else(|| name.to_owned(), |group| format!("{name}/{group}"));
                let named = machine.map(|machine| Machine {
                    name: name.clone(),
                    ..named(machine)
                });
                reading.add(&name, named);
            }
        }
        "AWS::EC2::Instance" => reading.add(name, instance(template, properties).map(named)),
        NODE_GROUP => {
            if let Some(error) = outside(template, properties, &format!("node group `{id}`")) {
                reading.add(name, Err(error));
                return;
            }
            let group = groups
                .iter()
                .find(|group| group.name == id && !group.has_template());
            if let Some(group) = group {
                let mut machine = base(template, properties);
                let checked = group.check(template).map(|()| {
                    group.describe(&mut machine, false);
                    group.check_values(template, None, &mut machine);
                    named(machine)
                });
                reading.add(name, checked);
            }
        }
        // One with a launch template of the file is a part of that machine.
        "AWS::AutoScaling::AutoScalingGroup" => {
            let elsewhere = outside(template, properties, &format!("Auto Scaling group `{id}`"));
            let holds = resource.get("Condition").map(|name| template.condition(name));
            if let Some(error) = elsewhere.filter(|_| !matches!(holds, Some(Ok(false)))) {
                reading.add(name, Err(error));
            }
        }
        _ => {}
    }
}

/// The groups that start instances from a launch template or a launch configuration.
fn users<'g, 'a>(
    template: &Template<'_>,
    groups: &'g [StackGroup<'a>],
    id: &str,
    properties: &Tree,
) -> Vec<&'g StackGroup<'a>> {
    let name = ["LaunchTemplateName", "LaunchConfigurationName"]
        .iter()
        .find_map(|key| properties.get(key))
        .and_then(|name| template.text_of(name).ok());
    let users = groups.iter();
    users.filter(|group| group.starts(id, name.as_deref())).collect()
}

/// The name of its group, if there are several, and a machine.
type GroupMachine<'g> = (Option<&'g str>, Result<Machine, ImportError>);

/// A launch template of several groups is a machine for each of them. One that instances alone start from is a machine
/// for none: the instances are, unless they replace the user data by their own.
fn templates<'g>(
    template: &Template<'_>,
    groups: &'g [StackGroup<'_>],
    id: &str,
    properties: &Tree,
) -> Vec<GroupMachine<'g>> {
    let data = properties.get("LaunchTemplateData").unwrap_or(properties);
    let users = users(template, groups, id, properties);
    let direct = users.is_empty().then(|| DirectUsers::of(template, id));
    if direct
        .as_ref()
        .is_some_and(|direct| direct.replace(template, data))
    {
        return Vec::new();
    }
    let machine = match read(template, &users, data) {
        Ok(machine) => machine,
        Err(error) => return vec![(None, Err(error))],
    };
    if let Some(direct) = direct {
        let mut machine = machine;
        add_type(template, data, &mut machine.traits);
        // What starts from it directly is in no managed node group, and can add the AMI.
        if direct.is_empty() {
            add_managed(&mut machine, &template.evaluate_known(data), Spelling::Pascal);
        }
        return vec![(None, Ok(machine))];
    }
    let with_group = |group: &&'g StackGroup<'_>| {
        let name = (users.len() > 1).then_some(group.name);
        (name, of_group(template, group, data, machine.clone()))
    };
    users.iter().map(with_group).collect()
}

/// The machine of a launch template in one of its groups.
fn of_group(
    template: &Template<'_>,
    group: &StackGroup<'_>,
    data: &Tree,
    mut machine: Machine,
) -> Result<Machine, ImportError> {
    if group.is_node_group() {
        group.check(template)?;
        group.check_with(template, data)?;
        group.describe(&mut machine, has_arm64_image(template, data));
        group.check_values(template, Some(data), &mut machine);
        return Ok(machine);
    }
    group.describe_scaling(&mut machine);
    machine.traits.is_without_profile = is_without_profile(data);
    machine.traits.is_spot |= group.is_all_spot();
    machine.traits.instance_type = group.instance_type().or(machine.traits.instance_type.take());
    add_type(template, data, &mut machine.traits);
    if machine.traits.ami_id.is_none() {
        machine.problems.push(format!(
            "EC2 starts no instance of the launch template: it names no AMI, and the Auto Scaling group {} adds none; set `ImageId`",
            group.name
        ));
    }
    Ok(machine)
}

/// A launch configuration is a machine for each part of its groups whose instances differ.
fn configurations<'g>(
    template: &Template<'_>,
    groups: &'g [StackGroup<'_>],
    id: &str,
    properties: &Tree,
) -> Vec<GroupMachine<'g>> {
    let users = users(template, groups, id, properties);
    let machine = match read(template, &users, properties) {
        Ok(machine) => machine,
        Err(error) => return vec![(None, Err(error))],
    };
    let parts = scaling_groups::parts(&users, machine.user_data.as_deref(), |group: &StackGroup<'_>| {
        let mut machine = Machine::default();
        group.describe_scaling(&mut machine);
        machine.traits
    });
    let is_one = parts.len() == 1;
    let machines = parts.into_iter().map(|part| {
        let mut machine = machine.clone();
        machine.traits.is_without_profile = is_without_profile(properties);
        let name = part.first().filter(|_| !is_one).map(|group| group.name);
        for group in part {
            group.describe_scaling(&mut machine);
        }
        add_type(template, properties, &mut machine.traits);
        (name, Ok(machine))
    });
    machines.collect()
}
