//! References of MachineDeployments and MachinePools to manifests that the file does not define.

use super::managed_pool::is_alone;
use super::manifests::{TEMPLATE, infrastructure_of, is_of_kind, name_of};
use crate::tree::Tree;

/// The kinds of manifests that start machines.
const OWNERS: [&str; 3] = ["MachineDeployment", "MachinePool", "MachineSet"];

/// Notes about machines whose manifests are not in the file.
pub(super) fn missing(documents: &[&Tree]) -> Vec<String> {
    let mut notes = Vec::new();
    let is_owner = |document: &&&Tree| OWNERS.iter().any(|kind| is_of_kind(document, kind));
    for owner in documents.iter().filter(is_owner) {
        let Some(spec) = owner.at(&TEMPLATE) else { continue };
        // EKS bootstraps the nodes of such a pool without the configuration.
        let has_config = !infrastructure_of(documents, spec).is_some_and(is_alone);
        let config = spec.at(&["bootstrap", "configRef"]).filter(|_| has_config);
        let references = config.into_iter().chain(spec.get("infrastructureRef"));
        notes.extend(references.filter_map(|reference| note(documents, owner, reference)));
    }
    notes
}

fn note(documents: &[&Tree], owner: &Tree, reference: &Tree) -> Option<String> {
    let text = |key: &str| reference.text_at(&[key]);
    let (kind, name) = text("kind").zip(text("name"))?;
    let of_kind = documents.iter().filter(|document| is_of_kind(document, &kind));
    let names: Vec<String> = of_kind.filter_map(|document| name_of(document)).collect();
    if names.contains(&name) {
        return None;
    }
    let only = match &names[..] {
        [only] => format!("; the only one is `{only}`"),
        _ => String::new(),
    };
    let line = reference.line().map(|line| format!("line {line}: "));
    Some(format!(
        "{}{} `{}` names the {kind} `{name}`, which the file does not define{only}: unless it exists elsewhere, Cluster API starts none of \
         its machines",
        line.unwrap_or_default(),
        owner.text_at(&["kind"]).unwrap_or_default(),
        name_of(owner).unwrap_or_default(),
    ))
}
