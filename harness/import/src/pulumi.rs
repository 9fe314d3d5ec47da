//! Pulumi: `pulumi stack export` and `pulumi preview --json`.

use nodejoin_core::plan::Tokens;

use crate::ec2::{add_managed, not_a_node, tokens};
use crate::error::ImportError;
use crate::machine::{FileFormat, Imported, Machine, ManagedNodeGroup, Traits};
use crate::reading::Reading;
use crate::text::{from_base64, joins};
use crate::tree::Tree;
use crate::words::{arn_parts, capacity_type, family_of_ami_type, list, taint, texts};

/// In place of a value that is known after the update only.
const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
/// The key of an object that holds a secret.
const SECRET: &str = "4dabf18193072939515e22adb298388d";

/// A resource of a stack, or of a preview.
struct PulumiResource<'a> {
    urn: String,
    kind: String,
    inputs: &'a Tree,
    outputs: Option<&'a Tree>,
}

/// Whether a document is one of Pulumi.
pub(crate) fn is_document(document: &Tree) -> bool {
    document.at(&["deployment", "resources"]).is_some()
        || document
            .items_at(&["steps"])
            .iter()
            .any(|step| step.get("urn").is_some())
}

/// Reads a stack or a preview.
pub(crate) fn read(document: &Tree) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::Pulumi);
    let resources = resources(document);
    for resource in &resources {
        let name = resource.name();
        match resource.kind.as_str() {
            "aws:ec2/launchTemplate:LaunchTemplate" => add_template(&resources, resource, &mut reading),
            "aws:ec2/launchConfiguration:LaunchConfiguration" => {
                reading.add(&name, resource.machine());
            }
            "aws:ec2/instance:Instance" => reading.add(&name, resource.instance()),
            "aws:eks/nodeGroup:NodeGroup" if resource.inputs.get("launchTemplate").is_none() => {
                let mut machine = resource.base();
                resource.describe(&mut machine);
                reading.add(&name, Ok(machine));
            }
            _ => {}
        }
    }
    reading.finish(
        "no resource of it starts machines with user data",
        "give the stack of `aws.ec2.LaunchTemplate`, `aws.ec2.LaunchConfiguration`, `aws.ec2.Instance` or \
         `aws.eks.NodeGroup`: `pulumi stack export --show-secrets`",
    )
}

fn resources(document: &Tree) -> Vec<PulumiResource<'_>> {
    let states = document.items_at(&["deployment", "resources"]).iter();
    let steps = document.items_at(&["steps"]).iter();
    let steps = steps.filter(|step| step.text_at(&["op"]).as_deref() != Some("delete"));
    let states = states.chain(steps.filter_map(|step| step.get("newState")));
    states
        .filter_map(|state| {
            Some(PulumiResource {
                urn: state.text_at(&["urn"])?,
                kind: state.text_at(&["type"])?,
                inputs: state.get("inputs")?,
                outputs: state.get("outputs"),
            })
        })
        .collect()
}

fn add_template(resources: &[PulumiResource<'_>], template: &PulumiResource<'_>, reading: &mut Reading) {
    let name = template.name();
    let groups: Vec<_> = resources.iter().filter(|group| group.uses(template)).collect();
    let mut machine = template.machine();
    if let (Ok(machine), true) = (&mut machine, groups.is_empty()) {
        add_managed(machine);
    }
    if groups.is_empty() {
        reading.add(&name, machine.clone());
    }
    for group in groups {
        let described = machine.clone().map(|mut machine| {
            group.describe(&mut machine);
            machine
        });
        reading.add(&name, described);
    }
}

impl PulumiResource<'_> {
    /// The last part of the URN.
    fn name(&self) -> String {
        self.urn.rsplit("::").next().unwrap_or_default().to_owned()
    }

    /// An input, or an output that the provider computes.
    fn text(&self, path: &[&str]) -> Option<String> {
        let own = self.inputs.text_at(path).or_else(|| self.outputs?.text_at(path));
        own.filter(|text| text != UNKNOWN)
    }

    fn machine(&self) -> Result<Machine, ImportError> {
        let mut machine = self.base();
        let is_plain = self.kind != "aws:ec2/launchTemplate:LaunchTemplate";
        for (key, is_plain) in [("userDataBase64", false), ("userData", is_plain)] {
            let Some(field) = self.inputs.get(key) else {
                continue;
            };
            machine.line = field.line();
            let text = self.known(field)?;
            let bytes = match is_plain {
                true => text.as_bytes().to_vec(),
                false => from_base64(text, field.line())?,
            };
            machine.user_data = Some(bytes).filter(|bytes| !bytes.is_empty());
        }
        Ok(machine)
    }

    /// Most instances of a stack are not nodes: one without signs of a cluster is not tried.
    fn instance(&self) -> Result<Machine, ImportError> {
        let machine = self.machine()?;
        let bytes = machine.user_data.clone().unwrap_or_default();
        match joins(&String::from_utf8_lossy(&bytes)) {
            true => Ok(machine),
            false => Err(not_a_node(self.inputs)),
        }
    }

    /// The text of a field, if the document has it.
    fn known<'t>(&self, field: &'t Tree) -> Result<&'t str, ImportError> {
        if field.get(SECRET).is_some() {
            return Err(ImportError::Invalid {
                line: field.line(),
                column: None,
                problem: format!("the user data of `{}` is a secret", self.name()),
                hint: "export it in clear: `pulumi stack export --show-secrets`".to_owned(),
            });
        }
        let text = field.text().unwrap_or_default();
        match text.contains(UNKNOWN) {
            true => Err(ImportError::UnknownUntilApply {
                machine: self.name(),
                hint: "give the stack after the update: `pulumi stack export --show-secrets`".to_owned(),
            }),
            false => Ok(text),
        }
    }

    /// What the resource states besides the user data.
    fn base(&self) -> Machine {
        let option = |key: &str| self.text(&["metadataOptions", key]);
        let (region, account) = arn_parts(&self.text(&["arn"]).unwrap_or_default());
        let specifications = self.inputs.items_at(&["tagSpecifications"]).iter();
        let of_instances =
            specifications.filter(|tags| tags.text_at(&["resourceType"]).as_deref() == Some("instance"));
        let mut tags = texts(
            self.inputs
                .get("tags")
                .filter(|_| self.kind.contains("instance:")),
        );
        tags.extend(of_instances.flat_map(|specification| texts(specification.get("tags"))));
        let profile = [
            &["iamInstanceProfile", "arn"][..],
            &["iamInstanceProfile", "name"],
            &["iamInstanceProfile"],
        ];
        Machine {
            name: self.name(),
            line: self.inputs.line(),
            traits: Traits {
                ami_id: self.text(&["imageId"]).or_else(|| self.text(&["ami"])),
                instance_type: self.text(&["instanceType"]),
                instance_profile: profile.iter().find_map(|path| self.text(path)),
                region,
                account,
                tags,
                http_tokens: option("httpTokens")
                    .as_deref()
                    .and_then(tokens)
                    .or_else(|| self.default_tokens()),
                hop_limit: option("httpPutResponseHopLimit").and_then(|limit| limit.parse().ok()),
                ..Traits::default()
            },
            ..Machine::default()
        }
    }

    fn default_tokens(&self) -> Option<Tokens> {
        self.kind
            .contains("launchConfiguration")
            .then_some(Tokens::Optional)
    }

    /// Whether the node group starts instances from the template.
    fn uses(&self, template: &PulumiResource<'_>) -> bool {
        let same = |key: &str| {
            let used = self.text(&["launchTemplate", key]);
            used.is_some() && used == template.text(&[key])
        };
        self.kind == "aws:eks/nodeGroup:NodeGroup" && (same("id") || same("name"))
    }

    /// Adds what a node group states about its nodes.
    fn describe(&self, machine: &mut Machine) {
        let traits = &mut machine.traits;
        let ami_type = self.text(&["amiType"]).unwrap_or_default();
        traits.ami_family = traits.ami_family.or_else(|| family_of_ami_type(&ami_type));
        traits.labels = texts(self.inputs.get("labels"));
        traits.taints = self
            .inputs
            .items_at(&["taints"])
            .iter()
            .filter_map(taint)
            .collect();
        traits.role = self.text(&["nodeRoleArn"]);
        traits.cluster.name = self.text(&["clusterName"]);
        traits.cluster.version = self.text(&["version"]);
        let instance_types = list(self.inputs.items_at(&["instanceTypes"]));
        traits.instance_type = traits.instance_type.take().or(instance_types.first().cloned());
        if traits.ami_id.is_none() && ami_type != "CUSTOM" {
            machine.managed = Some(ManagedNodeGroup {
                name: self.text(&["nodeGroupName"]),
                labels: traits.labels.clone(),
                taints: traits.taints.clone(),
                capacity_type: self.text(&["capacityType"]).as_deref().and_then(capacity_type),
                instance_types,
                ..ManagedNodeGroup::default()
            });
        } else {
            traits.leave_group_to_eks();
        }
    }
}
