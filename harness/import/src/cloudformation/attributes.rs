//! Attributes that the types of resources do not have.

use super::template::{Template, invalid};
use crate::error::ImportError;
use crate::known_fields::meant_name;
use crate::tree::{Tree, TreeValue};

const CLUSTER: &str = "AWS::EKS::Cluster";
const LAUNCH_TEMPLATE: &str = "AWS::EC2::LaunchTemplate";
/// The attributes of types: the read-only properties of their schemas, which `Fn::GetAtt` returns alone. Of a node
/// group it returns every property.
const ATTRIBUTES: [(&str, &[&str]); 4] = [
    (
        CLUSTER,
        &[
            "Arn",
            "CertificateAuthorityData",
            "ClusterSecurityGroupId",
            "EncryptionConfigKeyArn",
            "Endpoint",
            "Id",
            "KubernetesNetworkConfig.ServiceIpv6Cidr",
            "OpenIdConnectIssuerUrl",
        ],
    ),
    (
        LAUNCH_TEMPLATE,
        &["DefaultVersionNumber", "LatestVersionNumber", "LaunchTemplateId"],
    ),
    ("AWS::IAM::InstanceProfile", &["Arn"]),
    ("AWS::IAM::Role", &["Arn", "RoleId"]),
];
/// Beginnings of attributes that are taken for them.
const BEGINNINGS: [(&str, &str); 4] = [
    ("CertificateAuthority", "CertificateAuthorityData"),
    ("DefaultVersion", "DefaultVersionNumber"),
    ("LatestVersion", "LatestVersionNumber"),
    ("OpenIdConnectIssuer", "OpenIdConnectIssuerUrl"),
];
/// A property of a cluster that is not an attribute (cloudformation-coverage-roadmap#2022).
const NETWORK: &str = "KubernetesNetworkConfig.ServiceIpv4Cidr";

/// What is to be written in place of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeRemedy {
    Attribute(&'static str),
    /// The name, which `Ref` returns.
    Reference,
    /// The range of services, which only the property of the cluster has.
    Network,
}

impl Template<'_> {
    /// Checks that the type of a resource has an attribute.
    ///
    /// # Errors
    /// CloudFormation refuses the template.
    pub(super) fn check_attribute(
        &self,
        origin: &Tree,
        resource: &str,
        attribute: &str,
    ) -> Result<(), ImportError> {
        let Some((kind, known)) = self.type_without(resource, attribute) else {
            return Ok(());
        };
        let Some(remedy) = remedy(kind, known, attribute) else {
            return Err(invalid(
                origin,
                format!(
                    "nodejoin knows no attribute `{attribute}` of {kind}: if it has none, CloudFormation refuses the template"
                ),
                format!(
                    "write one of {}; for a newer attribute, give its value: `--set {resource}.{attribute}=VALUE`",
                    known.join(", ")
                ),
            ));
        };
        Err(invalid(
            origin,
            format!("{kind} has no attribute `{attribute}`: CloudFormation refuses the template"),
            remedy.hint(resource),
        ))
    }

    /// What is wrong with the attributes to which the resources refer, which concerns all machines of the template.
    pub(super) fn attribute_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (_, resource) in self.resources() {
            let holds = resource.get("Condition").map(|name| self.condition(name));
            let is_created = matches!(holds, None | Some(Ok(true)));
            if let Some(properties) = resource.get("Properties").filter(|_| is_created) {
                self.add_problems(properties, &mut problems);
            }
        }
        problems
    }

    fn add_problems(&self, tree: &Tree, problems: &mut Vec<String>) {
        match &tree.value {
            TreeValue::Scalar { .. } => {}
            TreeValue::List(items) => items.iter().for_each(|item| self.add_problems(item, problems)),
            TreeValue::Map(entries) => match &entries[..] {
                [(name, argument)] if name == "Fn::If" => {
                    if let [condition, yes, no] = argument.items()
                        && let Ok(holds) = self.condition(condition)
                    {
                        self.add_problems(if holds { yes } else { no }, problems);
                    }
                }
                [(name, argument)] if name == "Fn::GetAtt" => {
                    self.add_problem(argument, &named(argument), problems)
                }
                [(name, argument)] if name == "Fn::Sub" => {
                    for name in substituted(argument) {
                        self.add_problem(argument, name, problems);
                    }
                    // The values of the names.
                    argument
                        .items()
                        .iter()
                        .for_each(|item| self.add_problems(item, problems));
                }
                _ => entries
                    .iter()
                    .for_each(|(_, value)| self.add_problems(value, problems)),
            },
        }
    }

    /// `name`: a resource and an attribute, such as `Role.Arn`.
    fn add_problem(&self, origin: &Tree, name: &str, problems: &mut Vec<String>) {
        let Some((resource, attribute)) = name.split_once('.').filter(|_| !self.set.contains_key(name))
        else {
            return;
        };
        let wrong = self.type_without(resource, attribute);
        let remedy = wrong.and_then(|(kind, known)| Some((kind, remedy(kind, known, attribute)?)));
        let Some((kind, remedy)) = remedy else { return };
        let line = origin.line().map(|line| format!("line {line}: "));
        let problem = format!(
            "{}CloudFormation refuses the template, as {kind} has no attribute `{attribute}`: {}",
            line.unwrap_or_default(),
            remedy.hint(resource)
        );
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// The type of a resource that does not have an attribute, and the attributes that it has.
    fn type_without(
        &self,
        resource: &str,
        attribute: &str,
    ) -> Option<(&'static str, &'static [&'static str])> {
        let kind = self.resource(resource)?.text_at(&["Type"])?;
        let (kind, known) = *ATTRIBUTES.iter().find(|(one, _)| *one == kind)?;
        (!known.contains(&attribute)).then_some((kind, known))
    }
}

impl AttributeRemedy {
    fn hint(self, resource: &str) -> String {
        match self {
            Self::Attribute(right) => format!("write `{resource}.{right}`"),
            Self::Reference => {
                format!("write `!Ref {resource}`, in `Fn::Sub` `${{{resource}}}`, which is the name")
            }
            Self::Network => format!(
                "write the range of services itself, or a parameter that the property `KubernetesNetworkConfig` of `{resource}` has, too: \
                 only the range of an IPv6 cluster is an attribute"
            ),
        }
    }
}

/// What is meant by an attribute that a type does not have.
fn remedy(kind: &str, known: &[&'static str], attribute: &str) -> Option<AttributeRemedy> {
    if kind == CLUSTER && attribute == NETWORK {
        return Some(AttributeRemedy::Network);
    }
    let of_type = kind.rsplit("::").next().unwrap_or(kind);
    // As `Role` in `RoleArn`.
    let is_of_type = |before: &str| of_type.ends_with(before);
    let plain = attribute.replace('.', "");
    let is_meant = |one: &&&str| {
        let is_longer = plain.strip_suffix(**one).is_some_and(is_of_type);
        let is_shorter = one.strip_suffix(plain.as_str()).is_some_and(is_of_type);
        let is_beginning = BEGINNINGS.contains(&(plain.as_str(), **one));
        one.eq_ignore_ascii_case(&plain) || is_longer || is_shorter || is_beginning
    };
    let meant = known.iter().find(is_meant).copied();
    if let Some(right) = meant.or_else(|| meant_name(attribute, known.iter().copied())) {
        return Some(AttributeRemedy::Attribute(right));
    }
    let before_name = attribute.strip_suffix("Name").filter(|_| kind != LAUNCH_TEMPLATE);
    before_name
        .is_some_and(is_of_type)
        .then_some(AttributeRemedy::Reference)
}

/// The resource and the attribute of `Fn::GetAtt`, with a point between them; empty for other values.
fn named(argument: &Tree) -> String {
    match argument.items() {
        [resource, attribute] => {
            let texts = resource.text().zip(attribute.text());
            texts
                .map(|(resource, attribute)| format!("{resource}.{attribute}"))
                .unwrap_or_default()
        }
        _ => argument.text().unwrap_or_default().to_owned(),
    }
}

/// The names in the text of `Fn::Sub` that it fills in by the template.
fn substituted(argument: &Tree) -> Vec<&str> {
    let text = argument.text().or_else(|| argument.items().first()?.text());
    let own = argument.items().get(1).map(Tree::entries).unwrap_or_default();
    let parts = text.unwrap_or_default().split("${").skip(1);
    let names = parts.filter_map(|part| Some(part.split_once('}')?.0.trim()));
    names
        .filter(|name| !name.starts_with('!') && !own.iter().any(|(key, _)| key == name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_a_type_does_not_have_mean_others() {
        use AttributeRemedy::{Attribute, Network, Reference};
        for (kind, attribute, expected) in [
            (CLUSTER, "Enpoint", Some(Attribute("Endpoint"))),
            (CLUSTER, "ClusterEndpoint", Some(Attribute("Endpoint"))),
            (
                CLUSTER,
                "CertificateAuthority.Data",
                Some(Attribute("CertificateAuthorityData")),
            ),
            (
                CLUSTER,
                "CertificateAuthority",
                Some(Attribute("CertificateAuthorityData")),
            ),
            (
                CLUSTER,
                "SecurityGroupId",
                Some(Attribute("ClusterSecurityGroupId")),
            ),
            (CLUSTER, NETWORK, Some(Network)),
            (CLUSTER, "ClusterName", Some(Reference)),
            // The role of the cluster is a property.
            (CLUSTER, "RoleArn", None),
            (CLUSTER, "EncryptionConfig", None),
            (CLUSTER, "Version", None),
            ("AWS::IAM::Role", "RoleArn", Some(Attribute("Arn"))),
            ("AWS::IAM::Role", "RoleName", Some(Reference)),
            ("AWS::IAM::InstanceProfile", "ProfileArn", Some(Attribute("Arn"))),
            (LAUNCH_TEMPLATE, "Id", Some(Attribute("LaunchTemplateId"))),
            (
                LAUNCH_TEMPLATE,
                "LatestVersion",
                Some(Attribute("LatestVersionNumber")),
            ),
            (LAUNCH_TEMPLATE, "LaunchTemplateName", None),
        ] {
            let mut types = ATTRIBUTES.into_iter();
            let (_, known) = types.find(|(one, _)| *one == kind).unwrap();
            assert_eq!(remedy(kind, known, attribute), expected, "{kind} {attribute}");
        }
    }
}
