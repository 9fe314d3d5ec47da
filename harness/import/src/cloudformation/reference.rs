//! What `Ref` and `Fn::GetAtt` return: parameters, pseudo parameters, and the names of resources.

use super::template::{Template, at, invalid, nothing, text};
use crate::error::ImportError;
use crate::known_fields::meant_name;
use crate::machine::StandIn;
use crate::tree::{Tree, TreeValue};

/// What CloudFormation fills in by region and account; `--set` takes precedence.
const PSEUDO: &[(&str, &str)] = &[
    ("AWS::Region", "us-west-2"),
    ("AWS::AccountId", "111122223333"),
    ("AWS::Partition", "aws"),
    ("AWS::URLSuffix", "amazonaws.com"),
    ("AWS::StackName", "nodejoin"),
    (
        "AWS::StackId",
        "arn:aws:cloudformation:us-west-2:111122223333:stack/nodejoin/00000000-0000-0000-0000-000000000000",
    ),
];
/// A cluster of CloudFormation, and the custom resource of the CDK.
const CLUSTERS: &[&str] = &["AWS::EKS::Cluster", "Custom::AWSCDK-EKS-Cluster"];
/// Properties that hold the name which `Ref` returns.
const NAMES: &[&str] = &[
    "RoleName",
    "InstanceProfileName",
    "AutoScalingGroupName",
    "LaunchTemplateName",
    "NodegroupName",
    "Name",
];

impl Template<'_> {
    /// `Ref`.
    pub(super) fn reference(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let name = argument.text().unwrap_or_default();
        if name == "AWS::NoValue" {
            return Ok(nothing(argument));
        }
        if let Some(value) = self.pseudo(name) {
            return Ok(text(argument, value));
        }
        if let Some(parameter) = self.document.at(&["Parameters", name]) {
            return self.parameter(argument, name, parameter);
        }
        match self.resource(name) {
            Some(resource) => self.nested(argument, || self.physical_name(argument, name, resource)),
            None => Err(invalid(
                argument,
                format!("the template has no parameter or resource `{name}`"),
                match self.near(name) {
                    Some(near) => {
                        format!("write `{near}`; a variable of the shell in `Fn::Sub` is `${{!{name}}}`")
                    }
                    None => "a shell variable in `Fn::Sub` is written `${!NAME}`".to_owned(),
                },
            )),
        }
    }

    /// The name of the template that another one means with a typing error.
    fn near(&self, name: &str) -> Option<&str> {
        let entries = |key: &str| self.document.get(key).map(Tree::entries).unwrap_or_default();
        let names = entries("Parameters").iter().chain(entries("Resources"));
        let own = names.map(|(name, _)| name.as_str());
        meant_name(name, own.chain(PSEUDO.iter().map(|(pseudo, _)| *pseudo)))
    }

    /// The value of a pseudo parameter.
    pub(super) fn pseudo(&self, name: &str) -> Option<String> {
        let (_, default) = PSEUDO.iter().find(|(pseudo, _)| *pseudo == name)?;
        let stated = self.set.get(name).or_else(|| self.of_place(name));
        Some(stated.cloned().unwrap_or_else(|| (*default).to_owned()))
    }

    /// What the file states about the place of the stack.
    fn of_place(&self, pseudo: &str) -> Option<&String> {
        match pseudo {
            "AWS::Region" => self.place.region.as_ref(),
            "AWS::AccountId" => self.place.account.as_ref(),
            _ => None,
        }
    }

    /// The pseudo parameters without a value of the user, as a report names them.
    pub(super) fn stand_ins(&self) -> impl Iterator<Item = (String, StandIn)> {
        let named = [("AWS::Region", "region"), ("AWS::AccountId", "account")];
        named.into_iter().filter_map(|(pseudo, what)| {
            let is_stated = self.set.contains_key(pseudo) || self.of_place(pseudo).is_some();
            let value = self.pseudo(pseudo).filter(|_| !is_stated)?;
            Some((format!("{what} {value}"), StandIn::NotStated))
        })
    }

    /// The resource that `Ref` or `Fn::GetAtt` refers to.
    pub(super) fn referred(&self, tree: &Tree) -> Option<&Tree> {
        let attribute = tree.get("Fn::GetAtt");
        let name = tree
            .text_at(&["Ref"])
            .or_else(|| attribute?.text_at(&["0"]))
            .or_else(|| Some(attribute?.text()?.split_once('.')?.0.to_owned()))?;
        self.resource(&name)
    }

    fn parameter(&self, argument: &Tree, name: &str, parameter: &Tree) -> Result<Tree, ImportError> {
        let default = parameter.get("Default").and_then(Tree::text);
        let Some(value) = self.set.get(name).map(String::as_str).or(default) else {
            return self.lacking(
                argument,
                ("parameter ", name),
                format!("parameter `{name}` has no default"),
                format!("give its value: `--set {name}=VALUE`"),
            );
        };
        let kind = parameter.text_at(&["Type"]).unwrap_or_default();
        // Those of AWS are about AMIs, whose ids matter less than their names.
        let is_name = kind.starts_with("AWS::SSM::Parameter::Value") && !value.starts_with("/aws/service/");
        if is_name && !self.set.contains_key(name) {
            return self.lacking(
                argument,
                ("parameter ", name),
                format!("parameter `{name}` has the value of `{value}` of SSM, which only AWS knows"),
                format!("give the value: `--set {name}=VALUE`"),
            );
        }
        if kind == "CommaDelimitedList" || kind.starts_with("List<") {
            let items = value.split(',').map(|item| text(argument, item.trim()));
            return Ok(at(argument, TreeValue::List(items.collect())));
        }
        Ok(text(argument, value))
    }

    fn physical_name(&self, argument: &Tree, name: &str, resource: &Tree) -> Result<Tree, ImportError> {
        if let Some(value) = self.set.get(name) {
            return Ok(text(argument, value));
        }
        if is_cluster(resource) {
            return Ok(text(argument, self.cluster_name(resource)));
        }
        let property = NAMES.iter().find_map(|key| resource.at(&["Properties", key]));
        if let Some(property) = property {
            return self.evaluate(property);
        }
        let made_up = format!("{}-{name}", self.pseudo("AWS::StackName").unwrap_or_default());
        self.note(format!(
            "`{made_up}` stands for the id that CloudFormation gives `{name}` (`--set {name}=VALUE` for another one)"
        ));
        Ok(text(argument, made_up))
    }

    /// The name of a cluster, which CloudFormation makes up if the template does not state it.
    pub(super) fn cluster_name(&self, cluster: &Tree) -> String {
        cluster_property(cluster, "Name")
            .and_then(|property| self.text_of(property).ok())
            .or_else(|| self.cluster.name.clone())
            .unwrap_or_default()
    }

    /// The version of the cluster with this name, if the template defines one such cluster.
    pub(super) fn cluster_version(&self, name: &str) -> Option<String> {
        let clusters = self.resources().iter().map(|(_, resource)| resource);
        let mut named = clusters.filter(|one| is_cluster(one) && self.cluster_name(one) == name);
        let cluster = named.next().filter(|_| named.next().is_none())?;
        let version = self.evaluate_known(cluster_property(cluster, "Version")?);
        version.text().map(str::to_owned)
    }

    /// The name that the template states for its only cluster.
    pub(super) fn only_cluster(&self) -> Option<&str> {
        let clusters = self.resources().iter().map(|(_, resource)| resource);
        let mut clusters = clusters.filter(|resource| is_cluster(resource));
        let cluster = clusters.next().filter(|_| clusters.next().is_none())?;
        let is_sure = cluster.get("Condition").is_none();
        cluster_property(cluster, "Name")?.text().filter(|_| is_sure)
    }

    /// `Fn::GetAtt`.
    pub(super) fn attribute(&self, argument: &Tree) -> Result<Tree, ImportError> {
        if let Some(text) = argument.text() {
            let (resource, attribute) = text.split_once('.').unwrap_or((text, ""));
            return self.attribute_of(argument, resource, attribute);
        }
        let [resource, attribute] =
            super::evaluate::arguments(argument, "Fn::GetAtt", "[RESOURCE, ATTRIBUTE]")?;
        let attribute = self.text_of(attribute)?;
        self.attribute_of(argument, resource.text().unwrap_or_default(), &attribute)
    }

    pub(super) fn attribute_of(
        &self,
        origin: &Tree,
        resource: &str,
        attribute: &str,
    ) -> Result<Tree, ImportError> {
        let name = format!("{resource}.{attribute}");
        if let Some(value) = self.set.get(&name) {
            return Ok(text(origin, value));
        }
        self.check_attribute(origin, resource, attribute)?;
        let value = self
            .resource(resource)
            .and_then(|tree| self.known_attribute(origin, resource, tree, attribute));
        match value {
            Some(value) => Ok(text(origin, value)),
            None => self.lacking(
                origin,
                ("", &name),
                format!("CloudFormation knows `{name}` when it has created the resource"),
                format!("give its value: `--set {name}=VALUE`"),
            ),
        }
    }

    fn known_attribute(&self, origin: &Tree, name: &str, resource: &Tree, attribute: &str) -> Option<String> {
        if is_cluster(resource) {
            return match attribute {
                "Endpoint" => self.cluster.endpoint.clone(),
                "CertificateAuthorityData" => self.cluster.certificate_authority.clone(),
                _ => None,
            };
        }
        let kind = resource.text_at(&["Type"])?;
        let physical = || {
            self.nested(origin, || self.physical_name(origin, name, resource))
                .ok()
        };
        let arn = |what: &str| {
            let account = self.pseudo("AWS::AccountId")?;
            let partition = self.pseudo("AWS::Partition")?;
            Some(format!(
                "arn:{partition}:iam::{account}:{what}/{}",
                physical()?.text()?
            ))
        };
        match (kind.as_str(), attribute) {
            ("AWS::IAM::Role", "Arn") => arn("role"),
            ("AWS::IAM::InstanceProfile", "Arn") => arn("instance-profile"),
            ("AWS::EC2::LaunchTemplate", "LatestVersionNumber" | "DefaultVersionNumber") => {
                Some("1".to_owned())
            }
            _ => None,
        }
    }
}

pub(super) fn is_cluster(resource: &Tree) -> bool {
    let kind = resource.text_at(&["Type"]).unwrap_or_default();
    CLUSTERS.contains(&kind.as_str())
}

/// A property of a cluster; the custom resource of the CDK takes those of the API, in lower case.
pub(super) fn cluster_property<'t>(cluster: &'t Tree, name: &str) -> Option<&'t Tree> {
    let mut lower = name.to_owned();
    if let Some(first) = lower.get_mut(0..1) {
        first.make_ascii_lowercase();
    }
    cluster
        .at(&["Properties", name])
        .or_else(|| cluster.at(&["Properties", "Config", &lower]))
}
