//! The cluster of another stack of the folder, which a machine joins.

use super::access::add_access_of_other;
use super::exports::FolderStack;
use super::properties::{add_cluster, named_cluster};
use super::template::Template;
use crate::machine::Machine;

/// Adds what the other stacks of its place state about the cluster of a machine. `own`: the index of its own one.
pub(super) fn add_other_stacks(
    stacks: &[FolderStack],
    templates: &[Template<'_>],
    own: usize,
    machine: &mut Machine,
) {
    let Some(name) = named_cluster(machine) else {
        return;
    };
    let Some(place) = stacks.get(own).map(|stack| &stack.place) else {
        return;
    };
    let all = stacks.iter().zip(templates).enumerate();
    let others: Vec<&Template<'_>> = all
        .filter(|(index, (stack, _))| *index != own && stack.place == *place)
        .map(|(_, (_, template))| template)
        .collect();
    let is_defined_here = templates
        .get(own)
        .is_some_and(|template| template.has_cluster(&name));
    if !is_defined_here {
        for other in others.iter().filter(|other| other.has_cluster(&name)) {
            add_cluster(other, &name, machine);
        }
    }
    for other in others {
        add_access_of_other(other, &name, machine);
    }
}
