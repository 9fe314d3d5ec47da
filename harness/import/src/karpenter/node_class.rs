//! What an EC2NodeClass, or an older AWSNodeTemplate, states.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use crate::amazon_linux::is_without_eks;
use crate::architecture::is_for_arm64;
use crate::ec2::{tokens, volumes};
use crate::error::ImportError;
use crate::machine::{AmiFamily, FileFormat, Traits};
use crate::text::{format, is_node_config};
use crate::tree::Tree;
use crate::words::{texts, version_of_image};

/// Owners of the AMIs of Amazon Linux.
const OWNERS: [&str; 2] = ["amazon", "137112412989"];

/// A class of nodes.
#[derive(Debug)]
pub(super) struct NodeClass<'a> {
    pub(super) name: String,
    pub(super) kind: String,
    version: String,
    pub(super) document: &'a Tree,
}

impl<'a> NodeClass<'a> {
    pub(super) fn of(document: &'a Tree) -> Option<Self> {
        let kind = document.text_at(&["kind"])?;
        if !["EC2NodeClass", "AWSNodeTemplate"].contains(&kind.as_str()) {
            return None;
        }
        Some(Self {
            name: document.text_at(&["metadata", "name"]).unwrap_or_default(),
            kind,
            version: document
                .text_at(&["apiVersion"])?
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned(),
            document,
        })
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.document.text_at(&["spec", key])
    }

    /// Whether Karpenter expects the taint `karpenter.sh/unregistered`.
    pub(super) fn is_v1(&self) -> bool {
        self.version == "v1"
    }

    pub(super) fn user_data(&self) -> Option<&'a Tree> {
        self.document.at(&["spec", "userData"])
    }

    /// The AMI family: `amiFamily`, else by the alias of an AMI.
    ///
    /// # Errors
    /// The class states neither, or an unknown family.
    pub(super) fn family(&self) -> Result<AmiFamily, ImportError> {
        let stated = self.text("amiFamily").or_else(|| self.word_of_alias());
        let default = (self.kind == "AWSNodeTemplate").then(|| "AL2".to_owned());
        let Some(word) = stated.or(default) else {
            return Err(self.invalid(
                "states no AMI family".to_owned(),
                "set `spec.amiFamily`, or an `alias` in `spec.amiSelectorTerms`",
            ));
        };
        family(&word).ok_or_else(|| {
            self.invalid(
                format!("has the unknown AMI family `{word}`"),
                "set `spec.amiFamily` to AL2, AL2023, Bottlerocket, Custom, Windows2019, Windows2022 or Windows2025",
            )
        })
    }

    /// The family of the AMI that an alias selects.
    pub(super) fn family_of_alias(&self) -> Option<AmiFamily> {
        family(&self.word_of_alias()?)
    }

    fn word_of_alias(&self) -> Option<String> {
        self.alias()?.split('@').next().map(str::to_owned)
    }

    /// Such as `al2023@latest`.
    fn alias(&self) -> Option<String> {
        let terms = self.document.items_at(&["spec", "amiSelectorTerms"]).iter();
        terms.filter_map(|term| term.text_at(&["alias"])).next()
    }

    /// Whether parameters of SSM name its AMIs, all for arm64.
    pub(super) fn is_arm64(&self) -> bool {
        let terms = self.document.items_at(&["spec", "amiSelectorTerms"]);
        let is_arm64 = |term: &Tree| {
            let parameter = term.text_at(&["ssmParameter"]);
            parameter.is_some_and(|parameter| is_for_arm64(&parameter))
        };
        !terms.is_empty() && terms.iter().all(is_arm64)
    }

    /// The names of AMIs that it selects, if it selects all by name.
    pub(super) fn image_names(&self) -> Vec<String> {
        let terms = self.document.items_at(&["spec", "amiSelectorTerms"]).iter();
        let names: Option<Vec<_>> = terms.map(|term| term.text_at(&["name"])).collect();
        names.unwrap_or_default()
    }

    /// The names of AMIs or of their parameters of SSM, if it selects all by one of both.
    fn images(&self) -> Vec<String> {
        let terms = self.document.items_at(&["spec", "amiSelectorTerms"]).iter();
        let images: Option<Vec<_>> = terms.map(image_of_term).collect();
        images.unwrap_or_default()
    }

    /// An AMI of Amazon Linux without the programs of EKS that a term selects. One of another owner can have any name.
    fn image_without_eks(&self) -> Option<String> {
        let is_of_amazon = |term: &&Tree| {
            let owner = term.text_at(&["owner"]);
            owner.is_none_or(|owner| OWNERS.contains(&owner.as_str()))
        };
        let terms = self.document.items_at(&["spec", "amiSelectorTerms"]).iter();
        let mut images = terms.filter(is_of_amazon).filter_map(image_of_term);
        images.find(|image| is_without_eks(image))
    }

    /// Karpenter up to 0.32 starts instances with the launch template that an AWSNodeTemplate names, and writes no user
    /// data.
    ///
    /// # Errors
    /// The class names one.
    pub(super) fn check_launch_template(&self) -> Result<(), ImportError> {
        let template = self.document.at(&["spec", "launchTemplate"]);
        let template = template.filter(|_| self.kind == "AWSNodeTemplate");
        let Some((tree, name)) = template.and_then(|tree| Some((tree, tree.text()?))) else {
            return Ok(());
        };
        if !name.is_empty() {
            return Err(ImportError::InLaunchTemplate {
                line: tree.line(),
                owner: format!("{} `{}`", self.kind, self.name),
                template: name.to_owned(),
            });
        }
        // The SDK of AWS refuses names of less than three letters.
        Err(ImportError::Invalid {
            line: tree.line(),
            column: None,
            problem: format!(
                "{} `{}` has an empty `launchTemplate`: Karpenter takes it for the name of a launch template, and starts no instance",
                self.kind, self.name
            ),
            hint: "remove the field, or name the launch template".to_owned(),
        })
    }

    /// Karpenter passes the user data of the family `Custom` on as it is, also to Bottlerocket.
    ///
    /// # Errors
    /// An alias selects an AMI of Bottlerocket, and the user data is that of another system.
    pub(super) fn check_custom_user_data(&self) -> Result<(), ImportError> {
        let is_custom = self.family()? == AmiFamily::Custom;
        let alias = self.alias().filter(|_| is_custom);
        let alias = alias.filter(|_| self.family_of_alias() == Some(AmiFamily::Bottlerocket));
        let user_data = self.user_data().and_then(|tree| Some((tree, tree.text()?)));
        let (Some(alias), Some((tree, text))) = (alias, user_data) else {
            return Ok(());
        };
        let other = match format(text) {
            Some(FileFormat::BottlerocketSettings) => None,
            None => is_node_config(text).then_some(FileFormat::NodeConfig),
            other => other,
        };
        let Some(other) = other else { return Ok(()) };
        Err(ImportError::Invalid {
            line: tree.line(),
            column: None,
            problem: format!(
                "{} `{}` selects an AMI of Bottlerocket by the alias `{alias}`, and its `spec.userData` is {other}: Bottlerocket takes \
                 settings in TOML alone",
                self.kind, self.name
            ),
            hint: "name an alias of AL2023 or AL2, or write settings such as `[settings.kubernetes]`"
                .to_owned(),
        })
    }

    pub(super) fn invalid(&self, problem: String, hint: &str) -> ImportError {
        ImportError::Invalid {
            line: self.document.line(),
            column: None,
            problem: format!("{} `{}` {problem}", self.kind, self.name),
            hint: hint.to_owned(),
        }
    }

    /// What the class states about its instances. Karpenter's defaults are stricter than those of EC2.
    pub(super) fn traits(&self) -> Traits {
        let option = |key: &str| self.document.text_at(&["spec", "metadataOptions", key]);
        let default_hops = if self.is_v1() { 1 } else { 2 };
        let hops = option("httpPutResponseHopLimit").and_then(|limit| limit.parse().ok());
        Traits {
            role: self.text("role"),
            instance_profile: self.text("instanceProfile"),
            tags: self.tags(),
            volumes: volumes(
                self.document.items_at(&["spec", "blockDeviceMappings"]),
                ["deviceName", "ebs", "volumeSize"],
            ),
            http_tokens: option("httpTokens")
                .as_deref()
                .and_then(tokens)
                .or(Some(Tokens::Required)),
            hop_limit: Some(hops.unwrap_or(default_hops)),
            http_endpoint: option("httpEndpoint").map(|state| state == "enabled"),
            image_name: self.image_without_eks(),
            image_version: one_of_all(self.images().iter().map(|image| version_of_image(image))),
            ami_id: self
                .document
                .items_at(&["spec", "amiSelectorTerms"])
                .iter()
                .find_map(|term| term.text_at(&["id"])),
            ..Traits::default()
        }
    }

    fn tags(&self) -> BTreeMap<String, String> {
        texts(self.document.at(&["spec", "tags"]))
    }
}

/// The name of the AMI that a term selects, or of its parameter of SSM.
fn image_of_term(term: &Tree) -> Option<String> {
    let mut keys = ["name", "ssmParameter"].iter();
    keys.find_map(|key| term.text_at(&[key]))
}

/// The value that all of them have.
pub(super) fn one_of_all<T: PartialEq>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut values = values.collect::<Option<Vec<T>>>()?.into_iter();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

fn family(word: &str) -> Option<AmiFamily> {
    match word.to_ascii_lowercase().as_str() {
        "al2" => Some(AmiFamily::Al2),
        "al2023" => Some(AmiFamily::Al2023),
        "ubuntu" => Some(AmiFamily::Ubuntu),
        "bottlerocket" => Some(AmiFamily::Bottlerocket),
        "custom" => Some(AmiFamily::Custom),
        "windows2019" | "windows2022" | "windows2025" => Some(AmiFamily::Windows),
        _ => None,
    }
}
