//! Node groups and Auto Scaling groups that use a launch template.

use super::launch_templates::used_template;
use super::role::group_rights;
use super::template::Template;
use crate::architecture::{self, is_arm64_ami_type};
use crate::ec2::{add_group_tags, add_group_type, check_overrides, is_all_spot};
use crate::error::ImportError;
use crate::group_refusals::{GroupWithTemplate, Spelling, wrong_shapes};
use crate::group_values::{GroupValues, other_cluster};
use crate::machine::{AmiFamily, CapacityType, LaunchTemplateVersion, Machine, ManagedNodeGroup, StartedBy};
use crate::tree::Tree;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

/// The properties of a node group or Auto Scaling group.
pub(super) struct StackGroup<'a> {
    pub(super) name: &'a str,
    pub(super) properties: Tree,
    is_node_group: bool,
    /// The launch template, by logical id or name, if the template states it.
    uses: Option<String>,
    names_template: bool,
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
                let used = used_template(template, properties);
                Some(Self {
                    name,
                    names_template: !matches!(used, Ok(None)),
                    uses: used.ok().flatten(),
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
        self.names_template
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

    /// Adds what an Auto Scaling group gives its instances.
    pub(super) fn describe_scaling(&self, machine: &mut Machine) {
        machine.started_by = StartedBy::ScalingGroups;
        let tags = self.properties.items_at(&["Tags"]);
        add_group_tags(&mut machine.traits, tags, ["Key", "Value", "PropagateAtLaunch"]);
        let overrides = ["MixedInstancesPolicy", "LaunchTemplate", "Overrides"];
        let overrides = self.properties.items_at(&overrides);
        check_overrides(
            machine,
            overrides,
            ["InstanceType", "LaunchTemplateSpecification"],
        );
    }

    /// Whether a mixed group starts spot instances alone.
    pub(super) fn is_all_spot(&self) -> bool {
        let path = ["MixedInstancesPolicy", "InstancesDistribution"];
        let keys = ["OnDemandBaseCapacity", "OnDemandPercentageAboveBaseCapacity"];
        is_all_spot(self.properties.at(&path), keys)
    }

    /// The first instance type of a mixed group, which takes precedence over that of the launch template.
    pub(super) fn instance_type(&self) -> Option<String> {
        let path = [
            "MixedInstancesPolicy",
            "LaunchTemplate",
            "Overrides",
            "0",
            "InstanceType",
        ];
        self.properties.text_at(&path)
    }

    /// Checks that the labels and taints of a node group are known.
    ///
    /// # Errors
    /// They need a value that the template does not state.
    pub(super) fn check(&self, template: &Template<'_>) -> Result<(), ImportError> {
        let properties = template
            .resource(self.name)
            .and_then(|resource| resource.get("Properties"));
        for key in ["Labels", "Taints"] {
            if let Some(tree) = properties.and_then(|properties| properties.get(key)) {
                template.evaluate(tree)?;
            }
        }
        Ok(())
    }

    /// Checks that a node group and the data of its launch template do not exclude each other.
    ///
    /// # Errors
    /// EKS refuses the group.
    pub(super) fn check_with(&self, template: &Template<'_>, data: &Tree) -> Result<(), ImportError> {
        // Only CloudFormation knows the attribute, which has a value.
        let profile = data.at(&["IamInstanceProfile", "Arn"]);
        let profile = profile.filter(|arn| arn.get("Fn::GetAtt").is_some());
        let data = template.evaluate_known(data);
        let mut group = GroupWithTemplate::of(&data, &self.properties, Spelling::Pascal);
        group.template.instance_profile = group.template.instance_profile.or(profile);
        group.check(self.name)
    }

    /// What EKS refuses of a node group that states no instance type. `data`: that of its launch template. A function
    /// can add one.
    fn missing_type(&self, data: Option<&Tree>) -> Option<String> {
        let of_template = ["InstanceType", "InstanceRequirements"];
        let is_in_template = data.is_some_and(|data| of_template.iter().any(|key| states(data, key)));
        let is_stated = is_in_template || states(&self.properties, "InstanceTypes");
        architecture::missing_type(&self.properties.text_at(&["AmiType"])?).filter(|_| !is_stated)
    }

    /// Adds what EKS refuses of a node group, and the rights of its role. `data`: that of its launch template.
    pub(super) fn check_values(&self, template: &Template<'_>, data: Option<&Tree>, machine: &mut Machine) {
        let written = template
            .resource(self.name)
            .and_then(|resource| resource.get("Properties"));
        let written = written.unwrap_or(&self.properties);
        let problems = &mut machine.problems;
        problems.extend(wrong_shapes(written, Spelling::Pascal));
        problems.extend(self.values(template, data).problems());
        problems.extend(self.missing_type(data));
        let named = written.get("ClusterName").and_then(Tree::text);
        let clusters = named.zip(template.only_cluster());
        // References of ACK name manifests. Their groups have names that no logical id has.
        let clusters = clusters.filter(|_| !self.name.contains('/'));
        let doubt = clusters.and_then(|(named, only)| other_cluster(named, only));
        machine.notes.extend(doubt);
        if let Some(role) = written.get("NodeRole") {
            machine.traits.role_rights = group_rights(template, role);
        }
    }

    fn values(&self, template: &Template<'_>, data: Option<&Tree>) -> GroupValues {
        let text = |key: &str| self.properties.text_at(&[key]);
        let has_image = data.is_some_and(|data| states(data, "ImageId"));
        let data = data
            .filter(|_| !has_image)
            .map(|data| template.evaluate_known(data));
        let effects = self.properties.items_at(&["Taints"]).iter();
        GroupValues {
            ami_type: text("AmiType"),
            has_default_ami: !has_image && !states(&self.properties, "AmiType"),
            capacity_type: text("CapacityType"),
            version: text("Version"),
            cluster_version: text("ClusterName").and_then(|name| template.cluster_version(&name)),
            instance_types: list(self.properties.items_at(&["InstanceTypes"])),
            type_of_template: data.and_then(|data| data.text_at(&["InstanceType"])),
            labels: texts(self.properties.get("Labels")),
            effects: effects.filter_map(|taint| taint.text_at(&["Effect"])).collect(),
            role: text("NodeRole"),
            exists: false,
        }
    }

    /// Adds what a node group states about its nodes. `has_arm64_image`: its launch template names an AMI for arm64.
    pub(super) fn describe(&self, machine: &mut Machine, has_arm64_image: bool) {
        machine.started_by = StartedBy::NodeGroup;
        let text = |key: &str| self.properties.text_at(&[key]);
        let traits = &mut machine.traits;
        traits.labels = texts(self.properties.get("Labels"));
        traits.taints = self
            .properties
            .items_at(&["Taints"])
            .iter()
            .filter_map(taint)
            .collect();
        let ami_type = text("AmiType");
        let stated = ami_type.as_deref().and_then(family_of_ami_type);
        traits.ami_family = traits.ami_family.or(stated);
        traits.role = text("NodeRole");
        traits.cluster.name = text("ClusterName").or(traits.cluster.name.take());
        traits.cluster.version = text("Version").or(traits.cluster.version.take());
        let instance_types = list(self.properties.items_at(&["InstanceTypes"]));
        let is_arm64 = has_arm64_image || ami_type.as_deref().is_some_and(is_arm64_ami_type);
        add_group_type(traits, &instance_types, is_arm64);
        let capacity = text("CapacityType").as_deref().and_then(capacity_type);
        traits.is_spot = capacity == Some(CapacityType::Spot);
        if traits.ami_id.is_none() && ami_type.as_deref() != Some("CUSTOM") {
            machine.managed = Some(ManagedNodeGroup {
                name: text("NodegroupName"),
                labels: traits.labels.clone(),
                taints: traits.taints.clone(),
                capacity_type: capacity,
                instance_types,
                launch_template: self.has_template().then(LaunchTemplateVersion::stand_in),
            });
        } else {
            traits.leave_group_to_eks();
        }
    }
}

/// Whether properties have a key, or a function in place of them that can have it.
fn states(properties: &Tree, key: &str) -> bool {
    let mut keys = properties.entries().iter().map(|(key, _)| key);
    keys.any(|own| own == key || own.starts_with("Fn::"))
}
