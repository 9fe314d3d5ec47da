//! Instances and fleets, also those that start from a launch template of the same file.

use super::launch_templates::{is_of_type, launch_template, outside};
use super::properties::{add_type, contains, is_without_profile, read};
use super::template::{Template, at};
use crate::ec2::{key_and_value, names_cluster, not_a_node};
use crate::error::ImportError;
use crate::machine::{Machine, System};
use crate::text::joins;
use crate::tree::{Tree, TreeValue};

const INSTANCE: &str = "AWS::EC2::Instance";
/// Fleets, and where each has its launch templates.
const FLEETS: [(&str, &[&str]); 2] = [
    ("AWS::EC2::EC2Fleet", &["LaunchTemplateConfigs"]),
    (
        "AWS::EC2::SpotFleet",
        &["SpotFleetRequestConfigData", "LaunchTemplateConfigs"],
    ),
];

/// What the text of user data has that bootstraps a node, in small letters.
const BOOTSTRAP_WORDS: [&str; 5] = [
    "/etc/eks/bootstrap.sh",
    "nodeadm init",
    "kubeadm join",
    "node.eks.aws/",
    "[settings.kubernetes",
];

/// The machine of an instance. One without signs of a cluster is not tried.
pub(super) fn instance(template: &Template<'_>, properties: &Tree) -> Result<Machine, ImportError> {
    let whole = with_launch_template(template, properties);
    let mut machine = read(template, &[], &whole)?;
    let known = template.evaluate_known(properties);
    let tags = known.items_at(&["Tags"]).iter().filter_map(key_and_value);
    machine.traits.tags.extend(tags);
    let is_known =
        properties.get("LaunchTemplate").is_none() || launch_template(template, properties).is_some();
    machine.traits.is_without_profile = is_known && is_without_profile(&whole);
    add_type(template, &whole, &mut machine.traits);
    if bootstraps(template, &whole, &machine) {
        return Ok(machine);
    }
    let tags = &machine.traits.tags;
    let elsewhere = outside(template, properties, "the instance").filter(|_| inherits(properties));
    Err(match elsewhere {
        Some(error) if names_cluster(tags) => error,
        Some(_) => ImportError::OutOfScope {
            line: properties.line(),
            what: "an instance that is not a node",
            why: "no tag names a cluster, and its user data is in a launch template outside of the file",
            hint: "if it is a node, give the output of `aws ec2 describe-launch-template-versions`",
        },
        None => not_a_node(properties, tags),
    })
}

/// Whether the user data of a machine with these properties joins a cluster.
fn bootstraps(template: &Template<'_>, properties: &Tree, machine: &Machine) -> bool {
    let bytes = machine.user_data.as_deref().unwrap_or_default();
    let is_node_of_windows =
        machine.system == System::Windows && contains(template, properties, "start-eksbootstrap");
    joins(&String::from_utf8_lossy(bytes)) || is_node_of_windows
}

/// Whether an instance has the user data of its launch template: its own replaces it.
fn inherits(properties: &Tree) -> bool {
    properties.get("UserData").is_none()
}

/// The properties of an instance, and those of its launch template that it does not state itself.
fn with_launch_template(template: &Template<'_>, properties: &Tree) -> Tree {
    let used = launch_template(template, properties);
    let data = used.and_then(|(_, used)| used.at(&["Properties", "LaunchTemplateData"]));
    let Some(data) = data else {
        return properties.clone();
    };
    let own = properties.entries();
    let is_own = |key: &String| own.iter().any(|(name, _)| name == key);
    let inherited = data.entries().iter().filter(|(key, _)| !is_own(key));
    let entries = own.iter().chain(inherited).cloned();
    at(properties, TreeValue::Map(entries.collect()))
}

/// What starts from a launch template without a group.
pub(super) struct DirectUsers<'a> {
    /// The properties of instances.
    instances: Vec<&'a Tree>,
    has_fleet: bool,
}

impl<'a> DirectUsers<'a> {
    /// Those of the launch template with this logical id.
    pub(super) fn of(template: &Template<'a>, id: &str) -> Self {
        let is_created = |resource: &Tree| {
            let holds = resource.get("Condition").map(|name| template.condition(name));
            !matches!(holds, Some(Ok(false)))
        };
        let starts = |tree: &Tree| {
            let used = launch_template(template, tree);
            used.is_some_and(|(used, _)| used == id)
        };
        let mut users = Self {
            instances: Vec::new(),
            has_fleet: false,
        };
        for (_, resource) in template.resources() {
            let Some(properties) = resource.get("Properties") else {
                continue;
            };
            if is_of_type(resource, INSTANCE) && starts(properties) && is_created(resource) {
                users.instances.push(properties);
            }
            for (fleet, path) in FLEETS {
                users.has_fleet |= is_of_type(resource, fleet)
                    && properties.items_at(path).iter().any(starts)
                    && is_created(resource);
            }
        }
        users
    }

    pub(super) fn is_empty(&self) -> bool {
        self.instances.is_empty() && !self.has_fleet
    }

    /// Whether the instances stand for the launch template: one of them and nothing else has its user data, or it is
    /// not for nodes.
    pub(super) fn replace(&self, template: &Template<'_>, data: &Tree) -> bool {
        if self.instances.is_empty() {
            return false;
        }
        let has_heir = self.instances.iter().any(|properties| inherits(properties));
        (has_heir && !self.has_fleet) || !is_for_nodes(template, data)
    }
}

/// Whether a text of properties bootstraps nodes.
pub(super) fn names_bootstrap(template: &Template<'_>, properties: &Tree) -> bool {
    BOOTSTRAP_WORDS
        .iter()
        .any(|word| contains(template, properties, word))
}

/// Whether the data of a launch template bootstraps nodes. Without a value that the template does not state, its words
/// count.
fn is_for_nodes(template: &Template<'_>, data: &Tree) -> bool {
    match read(template, &[], data) {
        Ok(machine) => bootstraps(template, data, &machine),
        Err(_) => names_bootstrap(template, data),
    }
}
