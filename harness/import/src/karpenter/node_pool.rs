//! What a NodePool, or an older Provisioner, states.

use std::collections::BTreeMap;

use super::unknown_types::is_known;
use crate::machine::Taint;
use crate::tree::Tree;
use crate::words::{list, taint, texts};

const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const ARCHITECTURE: &str = "kubernetes.io/arch";
const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
const FAMILY: &str = "karpenter.k8s.aws/instance-family";
const SIZE: &str = "karpenter.k8s.aws/instance-size";
/// The domain of labels that Karpenter computes from the instance type.
const OF_TYPE: &str = "karpenter.k8s.aws/";

/// A pool of nodes.
#[derive(Debug)]
pub(super) struct NodePool<'a> {
    pub(super) name: String,
    /// Name of its class.
    pub(super) class: String,
    /// Key of its name among the labels of a node.
    pub(super) label: &'static str,
    pub(super) document: &'a Tree,
    /// What its nodes are made of.
    pub(super) template: &'a Tree,
    pub(super) kubelet: Option<&'a Tree>,
}

impl<'a> NodePool<'a> {
    /// Says which class the pool names, and where.
    pub(super) fn named_class(&self) -> String {
        let references = ["nodeClassRef", "providerRef"].iter();
        let name = references
            .filter_map(|key| self.template.at(&[key, "name"]))
            .next();
        let line = name.and_then(Tree::line);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!(
            "{place}the NodePool `{}` names the class `{}`",
            self.name, self.class
        )
    }

    /// The API group of its class.
    pub(super) fn group(&self) -> Option<&'a str> {
        self.template.at(&["nodeClassRef", "group"])?.text()
    }

    pub(super) fn of(document: &'a Tree) -> Option<Self> {
        let is_provisioner = match document.text_at(&["kind"])?.as_str() {
            "NodePool" => false,
            "Provisioner" => true,
            _ => return None,
        };
        let spec = document.get("spec")?;
        let template = if is_provisioner {
            spec
        } else {
            spec.at(&["template", "spec"])?
        };
        let kubelet = template
            .get("kubelet")
            .or_else(|| template.get("kubeletConfiguration"));
        let is_v1 = document.text_at(&["apiVersion"]).as_deref() == Some("karpenter.sh/v1");
        let class = ["nodeClassRef", "providerRef"]
            .iter()
            .find_map(|key| template.text_at(&[key, "name"]));
        Some(Self {
            name: document.text_at(&["metadata", "name"]).unwrap_or_default(),
            class: class.unwrap_or_default(),
            label: if is_provisioner {
                "karpenter.sh/provisioner-name"
            } else {
                "karpenter.sh/nodepool"
            },
            document,
            template,
            kubelet: kubelet.filter(|_| !is_v1),
        })
    }

    /// Labels of the pool, and requirements that allow one value. Those of the instance type are not among them:
    /// Karpenter does not know the type when it writes the user data.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let paths: [&[&str]; 2] = [&["spec", "template", "metadata", "labels"], &["spec", "labels"]];
        let mut labels: BTreeMap<String, String> = paths
            .iter()
            .flat_map(|path| texts(self.document.at(path)))
            .collect();
        let required = self.required().into_iter();
        labels.extend(required.filter(|(key, _)| !key.starts_with(OF_TYPE)));
        labels.insert(self.label.to_owned(), self.name.clone());
        labels
    }

    /// Labels of the instance type that only requirements state, as `KEY=VALUE`.
    pub(super) fn labels_of_type(&self) -> Vec<String> {
        let required = self.required().into_iter();
        let own = self.labels();
        let of_type = required.filter(|(key, _)| key.starts_with(OF_TYPE) && !own.contains_key(key));
        of_type.map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The requirements that allow one value.
    fn required(&self) -> Vec<(String, String)> {
        let required = |requirement: &Tree| {
            let is_in = requirement.text_at(&["operator"]).as_deref() == Some("In");
            match &list(requirement.items_at(&["values"]))[..] {
                [value] if is_in => Some((requirement.text_at(&["key"])?, value.clone())),
                _ => None,
            }
        };
        let requirements = self.template.items_at(&["requirements"]).iter();
        requirements.filter_map(required).collect()
    }

    pub(super) fn taints(&self) -> Vec<Taint> {
        let taints = ["taints", "startupTaints"]
            .iter()
            .flat_map(|key| self.template.items_at(&[key]));
        taints.filter_map(taint).collect()
    }

    /// The first instance type that requirements allow, and that EC2 has.
    pub(super) fn instance_type(&self) -> Option<String> {
        let allowed = list_of(self.instance_types());
        let known = allowed.iter().find(|name| is_known(name));
        let stated = known.or(allowed.first()).cloned();
        stated.or_else(|| self.type_of_family())
    }

    /// The first type of the families and sizes that requirements allow.
    fn type_of_family(&self) -> Option<String> {
        let sizes = list_of(self.allowed(SIZE));
        let families = list_of(self.allowed(FAMILY)).into_iter();
        let mut names = families.flat_map(|family| sizes.iter().map(move |size| format!("{family}.{size}")));
        names.find(|name| is_known(name))
    }

    /// The instance types that a requirement allows.
    pub(super) fn instance_types(&self) -> Vec<&'a Tree> {
        self.allowed(INSTANCE_TYPE)
    }

    /// Whether the requirements allow the architecture arm64 alone.
    pub(super) fn is_arm64(&self) -> bool {
        let allowed = list_of(self.allowed(ARCHITECTURE));
        !allowed.is_empty() && allowed.iter().all(|name| name == "arm64")
    }

    /// Karpenter prefers spot instances.
    pub(super) fn capacity_type(&self) -> String {
        let allowed = list_of(self.allowed(CAPACITY_TYPE));
        match allowed.iter().any(|word| word == "spot") {
            true => "spot".to_owned(),
            false => allowed
                .into_iter()
                .next()
                .unwrap_or_else(|| "on-demand".to_owned()),
        }
    }

    fn allowed(&self, key: &str) -> Vec<&'a Tree> {
        let requirements = self.template.items_at(&["requirements"]).iter();
        let found = requirements.filter(|requirement| {
            requirement.text_at(&["key"]).as_deref() == Some(key)
                && requirement.text_at(&["operator"]).as_deref() == Some("In")
        });
        found
            .flat_map(|requirement| requirement.items_at(&["values"]))
            .collect()
    }
}

fn list_of(values: Vec<&Tree>) -> Vec<String> {
    let texts = values.into_iter().filter_map(Tree::text);
    texts.map(str::to_owned).collect()
}
