//! What EKS refuses of a managed node group with a launch template, by its API reference and its user guide.

use crate::error::ImportError;
use crate::group_values::{LISTS, MAPPINGS, wrong_shape};
use crate::tree::Tree;

/// The AMI type that EKS accepts for a launch template with an AMI.
const CUSTOM: &str = "CUSTOM";
/// The market type that a launch template of a node group can have.
const CAPACITY_BLOCK: &str = "capacity-block";

/// A node group and its launch template: the settings that exclude each other, where the file states them.
#[derive(Debug, Default)]
pub(crate) struct GroupWithTemplate<'a> {
    pub(crate) template: TemplateSettings<'a>,
    pub(crate) instance_types: Option<&'a Tree>,
    pub(crate) disk_size: Option<&'a Tree>,
    pub(crate) remote_access: Option<&'a Tree>,
    pub(crate) ami_type: Option<&'a Tree>,
    pub(crate) version: Option<&'a Tree>,
    pub(crate) release_version: Option<&'a Tree>,
}

/// Settings of a launch template.
#[derive(Debug, Default)]
pub(crate) struct TemplateSettings<'a> {
    pub(crate) image: Option<&'a Tree>,
    pub(crate) instance_type: Option<&'a Tree>,
    pub(crate) instance_profile: Option<&'a Tree>,
    /// That of a network interface.
    pub(crate) subnet: Option<&'a Tree>,
    pub(crate) shutdown_behavior: Option<&'a Tree>,
    pub(crate) hibernation: Option<&'a Tree>,
    pub(crate) market_type: Option<&'a Tree>,
}

/// How a format spells the names of settings, which differ in nothing else.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spelling {
    /// `InstanceType`, of CloudFormation.
    Pascal,
    /// `instanceType`, of Pulumi.
    Camel,
    /// `instance_type`, of Terraform, where a block is a list of one item.
    Snake,
}

impl Spelling {
    fn of(self, name: &str) -> String {
        match self {
            Self::Pascal => name[..1].to_uppercase() + &name[1..],
            Self::Camel => name.to_owned(),
            Self::Snake => name
                .chars()
                .flat_map(|c| {
                    c.is_uppercase()
                        .then_some('_')
                        .into_iter()
                        .chain(c.to_lowercase())
                })
                .collect(),
        }
    }

    /// The value at a path in camel case, if it is text that is not empty, a list with items or a mapping with keys.
    fn find<'a>(self, tree: &'a Tree, path: &[&str]) -> Option<&'a Tree> {
        let found = path.iter().try_fold(tree, |tree, name| {
            tree.items().first().unwrap_or(tree).get(&self.of(name))
        })?;
        let is_given = found.text().is_some_and(|text| !text.is_empty())
            || !found.items().is_empty()
            || !found.entries().is_empty();
        is_given.then_some(found)
    }
}

impl<'a> GroupWithTemplate<'a> {
    /// The settings of a launch template and of a group of it.
    pub(crate) fn of(template: &'a Tree, group: &'a Tree, spelling: Spelling) -> Self {
        let of_group = |path: &[&str]| spelling.find(group, path);
        Self {
            template: TemplateSettings::of(template, spelling),
            instance_types: of_group(&["instanceTypes"]),
            disk_size: of_group(&["diskSize"]),
            remote_access: of_group(&["remoteAccess", "ec2SshKey"]),
            ami_type: of_group(&["amiType"]),
            version: of_group(&["version"]),
            release_version: of_group(&["releaseVersion"]),
        }
    }

    /// Checks a node group by its name.
    ///
    /// # Errors
    /// EKS creates no such group.
    pub(crate) fn check(&self, name: &str) -> Result<(), ImportError> {
        let rules = self.template.rules().into_iter().chain(self.rules_of_group());
        let mut broken = rules.filter_map(|(place, problem, hint)| Some((place?, problem, hint)));
        let Some((place, problem, hint)) = broken.next() else {
            return Ok(());
        };
        let others: Vec<String> = broken
            .map(|(place, problem, _)| {
                let line = place.line().map(|line| format!(" (line {line})"));
                format!("; {problem}{}", line.unwrap_or_default())
            })
            .collect();
        let hint = match others.is_empty() {
            true => hint.to_owned(),
            false => format!("{hint}; the other settings must go as well"),
        };
        Err(ImportError::Invalid {
            line: place.line(),
            column: None,
            problem: format!(
                "EKS refuses the node group `{name}`: {problem}{}",
                others.concat()
            ),
            hint,
        })
    }

    /// What the group must not have because of its launch template.
    fn rules_of_group(&self) -> [(Option<&Tree>, &'static str, &'static str); 6] {
        let template = &self.template;
        let has_image = template.image.is_some();
        [
            (
                self.instance_types.filter(|_| template.instance_type.is_some()),
                "both the group and its launch template state instance types",
                "state them in one place",
            ),
            (
                self.disk_size,
                "it states a disk size and has a launch template",
                "state the size in the block device mappings of the launch template",
            ),
            (
                self.remote_access,
                "it states remote access and has a launch template",
                "state key pair and security groups in the launch template",
            ),
            (
                self.ami_type
                    .filter(|tree| has_image && tree.text() != Some(CUSTOM)),
                "it states an AMI type, and its launch template names an AMI",
                "remove the AMI type, or write CUSTOM",
            ),
            (
                self.version.filter(|_| has_image),
                "it states a Kubernetes version, and its launch template names an AMI",
                "remove the version: it is that of the AMI",
            ),
            (
                self.release_version.filter(|_| has_image),
                "it states a release version of the AMI, and its launch template names an AMI",
                "remove the release version",
            ),
        ]
    }
}

impl<'a> TemplateSettings<'a> {
    fn of(template: &'a Tree, spelling: Spelling) -> Self {
        let of_template = |path: &[&str]| spelling.find(template, path);
        let interfaces = of_template(&["networkInterfaces"]).map(Tree::items);
        let mut interfaces = interfaces.unwrap_or_default().iter();
        Self {
            image: of_template(&["imageId"]),
            instance_type: of_template(&["instanceType"]),
            instance_profile: of_template(&["iamInstanceProfile", "arn"])
                .or_else(|| of_template(&["iamInstanceProfile", "name"])),
            subnet: interfaces.find_map(|interface| spelling.find(interface, &["subnetId"])),
            shutdown_behavior: of_template(&["instanceInitiatedShutdownBehavior"]),
            hibernation: of_template(&["hibernationOptions", "configured"]),
            market_type: of_template(&["instanceMarketOptions", "marketType"]),
        }
    }

    /// What a launch template of a node group must not have.
    fn rules(&self) -> [(Option<&'a Tree>, &'static str, &'static str); 5] {
        let is_market = |tree: &&Tree| tree.text() != Some(CAPACITY_BLOCK);
        [
            (
                self.instance_profile,
                "its launch template has an instance profile",
                "remove it from the launch template: the group states the role of its nodes",
            ),
            (
                self.subnet,
                "a network interface of its launch template has a subnet",
                "remove it from the launch template: the group states the subnets",
            ),
            (
                self.shutdown_behavior,
                "its launch template states what an instance does at shutdown",
                "remove it from the launch template: EKS ends the instances of the group itself",
            ),
            (
                self.hibernation.filter(|tree| tree.is_true()),
                "its launch template lets instances hibernate",
                "remove it from the launch template: EKS ends the instances of the group itself",
            ),
            (
                self.market_type.filter(is_market),
                "its launch template has instance market options",
                "remove them from the launch template, and set the capacity type of the group to SPOT",
            ),
        ]
    }
}

/// Why EKS refuses every node group with a launch template that no group of the file uses.
pub(crate) fn notes_of_template(template: &Tree, spelling: Spelling) -> Vec<String> {
    let rules = TemplateSettings::of(template, spelling).rules().into_iter();
    let broken = rules.filter_map(|(place, problem, hint)| Some((place?, problem, hint)));
    let note = |(place, problem, hint): (&Tree, &str, &str)| {
        let line = place.line().map(|line| format!(" (line {line})"));
        format!(
            "EKS refuses every managed node group with this launch template: {}{}; {hint}",
            problem.replace("its launch template", "it"),
            line.unwrap_or_default()
        )
    };
    broken.map(note).collect()
}

/// The problems of properties of a node group that have another shape than EKS takes. `group`: as it is written.
pub(crate) fn wrong_shapes(group: &Tree, spelling: Spelling) -> Vec<String> {
    let shapes = LISTS.map(|name| (name, true)).into_iter();
    let shapes = shapes.chain(MAPPINGS.map(|name| (name, false)));
    let problems = shapes.filter_map(|(name, is_list)| {
        let name = spelling.of(name);
        wrong_shape(&name, group.get(&name)?, is_list)
    });
    problems.collect()
}
