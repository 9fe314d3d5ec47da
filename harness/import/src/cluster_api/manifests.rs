//! Finds the manifests that belong together.

use crate::tree::Tree;

/// The path of a machine's specification in a MachineDeployment, a MachinePool and a template.
pub(super) const TEMPLATE: [&str; 3] = ["spec", "template", "spec"];
/// The kind of managed node groups.
pub(super) const MANAGED_POOL: &str = "AWSManagedMachinePool";

pub(super) fn is_of_kind(document: &Tree, kind: &str) -> bool {
    document.text_at(&["kind"]).as_deref() == Some(kind)
}

pub(super) fn of_kind<'a>(documents: &[&'a Tree], kind: &str) -> Option<&'a Tree> {
    let mut documents = documents.iter().copied();
    documents.find(|document| is_of_kind(document, kind))
}

/// The name of a manifest.
pub(super) fn name_of(document: &Tree) -> Option<String> {
    document.text_at(&["metadata", "name"])
}

/// The machines of each MachineDeployment or MachinePool that refers to this name at this path.
pub(super) fn owners<'a>(documents: &[&'a Tree], path: &[&str], name: &str) -> Vec<&'a Tree> {
    let specs = documents.iter().filter_map(|document| document.at(&TEMPLATE));
    specs
        .filter(|spec| spec.text_at(path).as_deref() == Some(name))
        .collect()
}

/// The AWSMachineTemplate, AWSMachinePool or AWSManagedMachinePool of machines.
pub(super) fn infrastructure_of<'a>(documents: &[&'a Tree], owner: &Tree) -> Option<&'a Tree> {
    let name = owner.text_at(&["infrastructureRef", "name"])?;
    let stated = owner.text_at(&["infrastructureRef", "kind"]);
    let mut documents = documents.iter().copied();
    documents.find(|document| {
        let kind = document.text_at(&["kind"]).unwrap_or_default();
        let is_machine = kind.starts_with("AWSMachine") || kind == MANAGED_POOL;
        let is_meant = stated.as_ref().is_none_or(|stated| *stated == kind);
        is_machine && is_meant && name_of(document).as_ref() == Some(&name)
    })
}
