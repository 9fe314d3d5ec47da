//! Manifests whose fields are those of AWS' APIs: AWS Controllers for Kubernetes (ACK), and Crossplane's first
//! provider.
//!
//! They become a CloudFormation template, which states the same resources in the same words.

use crate::cloudformation;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported, UnreadMachine};
use crate::tree::{Tree, TreeValue};

/// Services, kinds, and the type of the resource in CloudFormation.
const KINDS: &[(&str, &str, &str)] = &[
    ("ec2", "LaunchTemplate", "AWS::EC2::LaunchTemplate"),
    ("ec2", "Instance", "AWS::EC2::Instance"),
    ("eks", "Nodegroup", "AWS::EKS::Nodegroup"),
    ("eks", "NodeGroup", "AWS::EKS::Nodegroup"),
    ("eks", "Cluster", "AWS::EKS::Cluster"),
    ("eks", "AccessEntry", "AWS::EKS::AccessEntry"),
    (
        "autoscaling",
        "AutoScalingGroup",
        "AWS::AutoScaling::AutoScalingGroup",
    ),
];

/// Words in capitals, which CloudFormation writes as other words.
const ACRONYMS: &[(&str, &str)] = &[
    // Before `ID`, which it contains.
    ("CIDR", "Cidr"),
    ("ID", "Id"),
    ("ARN", "Arn"),
    ("IPv", "Ipv"),
    ("IPFamily", "IpFamily"),
    ("EBS", "Ebs"),
    ("AMI", "Ami"),
];

/// Maps of a user's own keys.
const OWN_KEYS: [&str; 2] = ["labels", "tags"];

/// Whether a manifest is a resource of these controllers.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    service(document).is_some()
}

/// Reads a stream of manifests.
pub(crate) fn read(input: &Import<'_>, manifests: &[&Tree]) -> Result<Imported, ImportError> {
    let resources = manifests
        .iter()
        .filter_map(|document| resource(document, manifests));
    let resources = manifests[0].replaced(TreeValue::Map(resources.collect()));
    let template = manifests[0].replaced(TreeValue::Map(vec![("Resources".to_owned(), resources)]));
    let mut set = input.set.clone();
    if let Some(region) = manifests.iter().find_map(|document| region(document)) {
        set.entry("AWS::Region".to_owned()).or_insert(region);
    }
    let input = Import { set: &set, ..*input };
    let imported = cloudformation::read(&input, &template).map_err(|error| match error {
        ImportError::NoMachine { .. } => ImportError::NoMachine {
            format: FileFormat::Ack.to_string(),
            why: "no manifest of it starts machines with user data".to_owned(),
            hint: "give the LaunchTemplate, the Nodegroup, the AutoScalingGroup or the Instance".to_owned(),
        },
        other => in_words_of_manifests(other),
    })?;
    let unread = imported.unread.into_iter();
    Ok(Imported {
        unread: unread
            .map(|unread| UnreadMachine {
                error: in_words_of_manifests(unread.error),
                ..unread
            })
            .collect(),
        format: FileFormat::Ack,
        ..imported
    })
}

/// Manifests have no functions of CloudFormation.
fn in_words_of_manifests(error: ImportError) -> ImportError {
    match error {
        ImportError::Invalid {
            line,
            column,
            problem,
            hint,
        } if hint.contains("Fn::Base64") => ImportError::Invalid {
            line,
            column,
            problem,
            hint: "give the base64 of the user data, as `base64 -w 0 FILE` prints it".to_owned(),
        },
        other => other,
    }
}

/// The service in the API group of a manifest, such as `ec2`.
fn service(document: &Tree) -> Option<String> {
    let api = document.text_at(&["apiVersion"])?;
    let (group, _) = api.split_once('/')?;
    let service = [".services.k8s.aws", ".aws.crossplane.io"]
        .iter()
        .find_map(|end| group.strip_suffix(end))?;
    Some(service.to_owned())
}

/// The region in which the controller of the manifest works.
fn region(document: &Tree) -> Option<String> {
    let annotated = document.text_at(&["metadata", "annotations", "services.k8s.aws/region"]);
    annotated.or_else(|| spec(document)?.text_at(&["region"]))
}

/// The resource of CloudFormation that a manifest stands for, with a logical id.
fn resource(document: &Tree, manifests: &[&Tree]) -> Option<(String, Tree)> {
    let (service, kind) = (service(document)?, document.text_at(&["kind"])?);
    let (.., type_name) = KINDS
        .iter()
        .find(|(of, name, _)| *of == service && *name == kind)?;
    let spec = spec(document)?;
    let name = name(document);
    let mut properties: Vec<(String, Tree)> = spec.entries().iter().map(in_api_case).collect();
    let mut state = |key: &str, text: &str| {
        properties.retain(|(name, _)| name != key);
        properties.push((key.to_owned(), spec.replaced_by_text(text)));
    };
    let own_name = spec.text_at(&["name"]).unwrap_or_else(|| name.clone());
    match kind.as_str() {
        "LaunchTemplate" => {
            let name = spec.text_at(&["launchTemplateName"]).unwrap_or(own_name);
            state("LaunchTemplateName", &name);
            let data = ["data", "launchTemplateData"]
                .iter()
                .find_map(|key| spec.get(key));
            if let Some(data) = data {
                properties.retain(|(key, _)| key != "Data" && key != "LaunchTemplateData");
                properties.push(("LaunchTemplateData".to_owned(), api_case(data)));
            }
        }
        "Nodegroup" | "NodeGroup" => {
            state("NodegroupName", &own_name);
            if let Some(cluster) = cluster_name(spec, manifests) {
                state("ClusterName", &cluster);
            }
            refer_by_name(&mut properties, "Name", spec, manifests);
        }
        "AutoScalingGroup" => refer_by_name(&mut properties, "LaunchTemplateName", spec, manifests),
        "Cluster" => state("Name", &own_name),
        _ => {
            if let Some(cluster) = cluster_name(spec, manifests) {
                state("ClusterName", &cluster);
            }
        }
    }
    let resource = vec![
        ("Type".to_owned(), document.replaced_by_text(type_name)),
        ("Properties".to_owned(), spec.replaced(TreeValue::Map(properties))),
    ];
    let resource = document.replaced(TreeValue::Map(resource));
    Some((format!("{kind}/{name}"), resource))
}

/// What the manifest states; Crossplane's has it one level below.
fn spec(document: &Tree) -> Option<&Tree> {
    document
        .at(&["spec", "forProvider"])
        .or_else(|| document.get("spec"))
}

fn name(document: &Tree) -> String {
    ["name", "generateName"]
        .iter()
        .find_map(|key| document.text_at(&["metadata", key]))
        .unwrap_or_else(|| "unnamed".to_owned())
}

/// The name of the cluster, also of one that a reference means.
fn cluster_name(spec: &Tree, manifests: &[&Tree]) -> Option<String> {
    let stated = spec.text_at(&["clusterName"]);
    stated.or_else(|| {
        let reference = spec
            .text_at(&["clusterRef", "from", "name"])
            .or_else(|| spec.text_at(&["clusterNameRef", "name"]))?;
        let cluster = manifests.iter().find(|document| {
            service(document).as_deref() == Some("eks")
                && document.text_at(&["kind"]).as_deref() == Some("Cluster")
                && name(document) == reference
        });
        let own = cluster.and_then(|cluster| spec_name(cluster));
        Some(own.unwrap_or(reference))
    })
}

fn spec_name(document: &Tree) -> Option<String> {
    spec(document)?.text_at(&["name"])
}

/// Lets a group refer to its launch template by the name, under this key, if it states the id of one of the manifests.
fn refer_by_name(properties: &mut Vec<(String, Tree)>, key: &str, spec: &Tree, manifests: &[&Tree]) {
    let Some(template) = template_name(spec, manifests) else {
        return;
    };
    let name = (key.to_owned(), spec.replaced_by_text(&template));
    properties.retain(|(key, _)| key != "LaunchTemplate");
    let reference = spec.replaced(TreeValue::Map(vec![name]));
    properties.push(("LaunchTemplate".to_owned(), reference));
}

/// The name of the launch template with the id that a group states, from the status of the template.
fn template_name(spec: &Tree, manifests: &[&Tree]) -> Option<String> {
    let id = ["id", "launchTemplateID"]
        .iter()
        .find_map(|key| spec.text_at(&["launchTemplate", key]))?;
    let template = manifests.iter().find(|document| {
        document.text_at(&["kind"]).as_deref() == Some("LaunchTemplate")
            && document.text_at(&["status", "id"]).as_ref() == Some(&id)
    })?;
    Some(spec_name(template).unwrap_or_else(|| name(template)))
}

fn in_api_case((key, value): &(String, Tree)) -> (String, Tree) {
    let is_own = OWN_KEYS.contains(&key.as_str()) && value.is_map();
    let value = if is_own { value.clone() } else { api_case(value) };
    (api_name(key), value)
}

fn api_case(tree: &Tree) -> Tree {
    let value = match &tree.value {
        TreeValue::Map(entries) => TreeValue::Map(entries.iter().map(in_api_case).collect()),
        TreeValue::List(items) => TreeValue::List(items.iter().map(api_case).collect()),
        scalar @ TreeValue::Scalar { .. } => scalar.clone(),
    };
    tree.replaced(value)
}

/// The name of a field in CloudFormation, such as `ImageId` of `imageID`.
fn api_name(key: &str) -> String {
    let (first, rest) = key.split_at(key.chars().next().map_or(0, char::len_utf8));
    let capital = format!("{}{rest}", first.to_uppercase());
    ACRONYMS
        .iter()
        .fold(capital, |name, (from, to)| name.replace(from, to))
}
