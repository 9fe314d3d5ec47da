//! Node groups and Auto Scaling groups that use a launch template.

use super::launch_templates::used_template;
use super::template::Template;
use crate::architecture::is_arm64_ami_type;
use crate::ec2::{add_group_tags, add_group_type, is_all_spot};
use crate::error::ImportError;
use crate::group_refusals::{GroupWithTemplate, Spelling};
use crate::known_fields::meant;
use crate::machine::{AmiFamily, CapacityType, LaunchTemplateVersion, Machine, ManagedNodeGroup, StartedBy};
use crate::tree::Tree;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

/// The effects of taints in the API of EKS.
const EFFECTS: [&str; 3] = ["NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"];
/// The AMI types of the API of EKS.
const AMI_TYPES: [&str; 23] = [
    "AL2_x86_64",
    "AL2_x86_64_GPU",
    "AL2_ARM_64",
    "CUSTOM",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_ARM_64_FIPS",
    "BOTTLEROCKET_x86_64_FIPS",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA_FIPS",
    "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
    "WINDOWS_CORE_2019_x86_64",
    "WINDOWS_FULL_2019_x86_64",
    "WINDOWS_CORE_2022_x86_64",
    "WINDOWS_FULL_2022_x86_64",
    "WINDOWS_CORE_2025_x86_64",
    "WINDOWS_FULL_2025_x86_64",
    "AL2023_x86_64_STANDARD",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_NVIDIA",
];

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

    /// What EKS refuses although it is close to what it knows.
    fn problems(&self) -> Vec<String> {
        let effects = self.properties.items_at(&["Taints"]).iter();
        let effects = effects.filter_map(|taint| taint.text_at(&["Effect"]));
        let effects = effects.filter(|effect| !EFFECTS.contains(&effect.as_str()));
        let effects = effects.map(|effect| {
            format!(
                "EKS refuses the effect `{effect}` of a taint: write {}",
                EFFECTS.join(", ")
            )
        });
        let ami_type = self.properties.text_at(&["AmiType"]);
        let ami_type = ami_type.and_then(|stated| {
            let is_known = AMI_TYPES.contains(&stated.as_str());
            let near = meant(&stated, AMI_TYPES.iter().copied()).filter(|_| !is_known)?;
            // One that differs in numbers alone can be newer.
            let letters = |word: &str| word.replace(|c: char| c.is_ascii_digit(), "");
            if letters(near) == letters(&stated) {
                return None;
            }
            Some(format!(
                "EKS refuses the AMI type `{stated}`: did you mean `{near}`?"
            ))
        });
        effects.chain(ami_type).collect()
    }

    /// Adds what a node group states about its nodes. `has_arm64_image`: its launch template names an AMI for arm64.
    pub(super) fn describe(&self, machine: &mut Machine, has_arm64_image: bool) {
        machine.problems.extend(self.problems());
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
