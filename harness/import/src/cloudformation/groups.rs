//! Node groups and Auto Scaling groups that use a launch template.

use std::collections::BTreeMap;

use super::template::Template;
use crate::ec2::key_and_value;
use crate::machine::{AmiFamily, Machine, ManagedNodeGroup};
use crate::tree::Tree;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

/// Where a group names its launch template or launch configuration.
const TEMPLATES: &[&[&str]] = &[
    &["LaunchTemplate", "Id"],
    &["LaunchTemplate", "Name"],
    &["LaunchTemplate", "LaunchTemplateId"],
    &["LaunchTemplate", "LaunchTemplateName"],
    &[
        "MixedInstancesPolicy",
        "LaunchTemplate",
        "LaunchTemplateSpecification",
        "LaunchTemplateId",
    ],
    &[
        "MixedInstancesPolicy",
        "LaunchTemplate",
        "LaunchTemplateSpecification",
        "LaunchTemplateName",
    ],
    &["LaunchConfigurationName"],
];

/// The properties of a node group or Auto Scaling group.
pub(super) struct StackGroup<'a> {
    pub(super) name: &'a str,
    pub(super) properties: Tree,
    is_node_group: bool,
    /// The launch template, by logical id or name.
    uses: Option<String>,
}

impl<'a> StackGroup<'a> {
    /// All groups of the template.
    pub(super) fn all(template: &Template<'a>) -> Vec<Self> {
        let resources = template.resources().iter();
        resources
            .filter_map(|(name, resource)| {
                let kind = resource.text_at(&["Type"])?;
                let is_node_group = kind == "AWS::EKS::Nodegroup";
                if !is_node_group && kind != "AWS::AutoScaling::AutoScalingGroup" {
                    return None;
                }
                let properties = resource.get("Properties")?;
                Some(Self {
                    name,
                    uses: used_template(template, properties),
                    properties: template.evaluate_known(properties),
                    is_node_group,
                })
            })
            .collect()
    }

    pub(super) fn is_node_group(&self) -> bool {
        self.is_node_group
    }

    pub(super) fn has_template(&self) -> bool {
        self.uses.is_some()
    }

    pub(super) fn is_windows(&self) -> bool {
        let stated = self.properties.text_at(&["AmiType"]);
        stated.as_deref().and_then(family_of_ami_type) == Some(AmiFamily::Windows)
    }

    /// Whether the group starts instances from the resource with this logical id and name.
    pub(super) fn starts(&self, id: &str, name: Option<&str>) -> bool {
        let used = self.uses.as_deref();
        used == Some(id) || (used.is_some() && used == name)
    }

    /// The tags that an Auto Scaling group gives its instances.
    pub(super) fn propagated_tags(&self) -> BTreeMap<String, String> {
        let tags = self.properties.items_at(&["Tags"]).iter();
        tags.filter(|tag| tag.get("PropagateAtLaunch").is_some_and(Tree::is_true))
            .filter_map(key_and_value)
            .collect()
    }

    /// Adds what a node group states about its nodes.
    pub(super) fn describe(&self, machine: &mut Machine) {
        let text = |key: &str| self.properties.text_at(&[key]);
        let traits = &mut machine.traits;
        traits.labels = texts(self.properties.get("Labels"));
        traits.taints = self
            .properties
            .items_at(&["Taints"])
            .iter()
            .filter_map(taint)
            .collect();
        let stated = text("AmiType").as_deref().and_then(family_of_ami_type);
        traits.ami_family = traits.ami_family.or(stated);
        traits.role = text("NodeRole");
        traits.cluster.name = text("ClusterName").or(traits.cluster.name.take());
        traits.cluster.version = text("Version").or(traits.cluster.version.take());
        let instance_types = list(self.properties.items_at(&["InstanceTypes"]));
        if traits.instance_type.is_none() {
            traits.instance_type = instance_types.first().cloned();
        }
        if traits.ami_id.is_none() && text("AmiType").as_deref() != Some("CUSTOM") {
            machine.managed = Some(ManagedNodeGroup {
                name: text("NodegroupName"),
                labels: traits.labels.clone(),
                taints: traits.taints.clone(),
                capacity_type: text("CapacityType").as_deref().and_then(capacity_type),
                instance_types,
                ..ManagedNodeGroup::default()
            });
        } else {
            traits.leave_group_to_eks();
        }
    }
}

/// The logical id that the group refers to, else the name as text.
fn used_template(template: &Template<'_>, properties: &Tree) -> Option<String> {
    let field = TEMPLATES.iter().find_map(|path| properties.at(path))?;
    field
        .text_at(&["Ref"])
        .filter(|name| template.resource(name).is_some())
        .or_else(|| field.text_at(&["Fn::GetAtt", "0"]))
        .or_else(|| template.text_of(field).ok())
}
