//! The name of the cluster of a trial: that of the file, of its tags, or of the user data.

use super::bootstrap_call::BOOTSTRAP;
use super::impossible_name::impossible_name;
use super::mistyped_names::mistyped_name;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::several_names::other_names;
use super::stated::Stated;
use crate::machine::{ClusterTraits, Machine, Traits};
use crate::words::CLUSTER_TAG;

/// Texts that a run replaces by the name of its cluster.
const FILLED_IN: [&str; 2] = ["{{ cluster.name", "{{cluster.name"];

/// The name, and its lines in the report.
pub(super) fn cluster_name(
    machine: &Machine,
    stated: &Stated,
    report: &mut Vec<AdoptionLine>,
) -> Option<String> {
    let traits = &machine.traits;
    let of_file = of_file(traits, stated).or_else(|| stated.name.clone());
    let Some(name) = of_file.or_else(|| stated.passed.likely.clone()) else {
        note_unknown(machine, stated, report);
        return None;
    };
    if let Some(other) = stated.name.as_ref().filter(|other| **other != name) {
        let text = format!(
            "the user data names the cluster {other}, the rest of the file {name}: the run's cluster is {name}; \
             `--with 'cluster: {{ name: {other} }}'` if the user data is right"
        );
        line(report, AdoptionKind::Problem, text);
    }
    line(report, AdoptionKind::Adopted, format!("cluster name {name}"));
    // A tag can be that of a cluster outside of EKS.
    let is_of_eks = [&traits.cluster.name, &stated.name].contains(&&Some(name.clone()));
    if let Some(problem) = impossible_name(&name, stated).filter(|_| is_of_eks) {
        line(report, AdoptionKind::Problem, problem);
    }
    if let Some(problem) = mistyped_name(stated) {
        line(report, AdoptionKind::Problem, problem);
    }
    if let Some(text) = other_names(stated, &name) {
        line(report, AdoptionKind::Note, text);
    }
    Some(name)
}

fn of_file(traits: &Traits, stated: &Stated) -> Option<String> {
    let tags: Vec<&str> = traits
        .tags
        .keys()
        .filter_map(|key| key.strip_prefix(CLUSTER_TAG))
        .collect();
    // Several tags, or a name that is not filled in, do not say which cluster is meant.
    let of_tag = match tags[..] {
        [one] if !one.contains(['$', '{', '<']) => Some(one.to_owned()),
        _ => None,
    };
    // Karpenter's part has a stand-in where the file names no cluster.
    let stand_in = ClusterTraits::stand_in().name;
    let of_tag = of_tag.filter(|name| Some(name) != stand_in.as_ref() || stated.name.is_none());
    traits.cluster.name.clone().or(of_tag)
}

/// Names the option with which the cluster gets the name that a program of EKS gets in the user data.
fn note_unknown(machine: &Machine, stated: &Stated, report: &mut Vec<AdoptionLine>) {
    let own = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default());
    let is_filled_in = FILLED_IN.iter().any(|name| own.contains(name));
    let is_code = |line: &str| !line.trim_start().starts_with('#');
    let has_call = stated
        .text
        .lines()
        .any(|line| is_code(line) && line.contains(BOOTSTRAP));
    let needs_name = has_call || !stated.calls.is_empty() || !stated.commands.is_empty();
    if needs_name && !is_filled_in {
        let text = "cluster name: that of the scenario, as only a run shows the one that the user data names; \
                    `--with 'cluster: { name: ... }'` for yours";
        line(report, AdoptionKind::Chosen, text);
    }
}
