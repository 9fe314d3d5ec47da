//! Values of the cluster that no file states.

use super::report::{AdoptionKind, AdoptionLine};
use super::stated::Stated;
use crate::eks::STAND_IN_IPV6;
use crate::machine::{ClusterTraits, Machine, Traits};

/// The lines of a report that can have one.
const KINDS: [&str; 4] = ["cluster name ", "endpoint ", "service CIDR ", "region "];

/// Names the values of a cluster that neither the file nor its user data states. `own`: the user data without the part
/// that EKS adds.
pub(super) fn name_stand_ins(
    machine: &Machine,
    stated: &Stated,
    own: Option<&str>,
    report: &mut [AdoptionLine],
) {
    let traits = &machine.traits;
    for line in report
        .iter_mut()
        .filter(|line| line.kind == AdoptionKind::Adopted)
    {
        if let Some(why) = traits.stand_ins.get(&line.text) {
            line.kind = AdoptionKind::Chosen;
            line.text.push_str(&format!(", a stand-in: {why}"));
        }
    }
    let cluster = &traits.cluster;
    let made = made_up(traits);
    let has_endpoint = |text: &str| {
        let mut endpoints = made.iter().filter_map(|made| made.endpoint.as_deref());
        endpoints.any(|endpoint| text.contains(endpoint))
    };
    // The endpoint is one of AWS' examples, which a file can have, too.
    let is_of_file = machine.file.as_deref().is_some_and(has_endpoint);
    let has_stand_in = !is_of_file && made.iter().any(|made| made.endpoint == stated.endpoint);
    if !has_stand_in && own.is_none() {
        return;
    }
    // User data that a reader of the file rendered contains the stand-ins itself.
    let own = own.filter(|own| is_of_file || !has_endpoint(own));
    let is_made = |value: &str| {
        let values = made.iter().flat_map(|made| {
            [&made.name, &made.endpoint, &made.service_cidr]
                .into_iter()
                .flatten()
        });
        let is_region = |made: &ClusterTraits| {
            made.endpoint
                .as_ref()
                .is_some_and(|endpoint| endpoint.contains(value))
        };
        values.into_iter().any(|made| made == value)
            || value.starts_with(STAND_IN_IPV6)
            || made.iter().any(is_region)
    };
    let of_file = [
        &cluster.name,
        &cluster.endpoint,
        &cluster.service_cidr,
        &traits.region,
    ];
    // A region can follow from an endpoint that is stated.
    let is_stated = |value: &str| {
        of_file.iter().any(|stated| stated.as_deref() == Some(value))
            || own.is_some_and(|own| own.contains(value))
            || cluster
                .endpoint
                .as_ref()
                .is_some_and(|endpoint| endpoint.contains(value))
    };
    for line in report
        .iter_mut()
        .filter(|line| line.kind == AdoptionKind::Adopted)
    {
        let value = KINDS.iter().find_map(|kind| line.text.strip_prefix(kind));
        if value.is_some_and(|value| is_made(value) && !is_stated(value)) {
            line.kind = AdoptionKind::Chosen;
            line.text.push_str(", a stand-in: the file states none");
        }
    }
}

/// The clusters that readers of files make up: the one of no region, and that of the machine's region.
fn made_up(traits: &Traits) -> [ClusterTraits; 2] {
    let here = traits.region.as_deref().and_then(|region| region.parse().ok());
    [ClusterTraits::stand_in(), ClusterTraits::stand_in_at(here)]
}

/// Whether the service CIDR in the user data is that of a cluster that a reader of the file made up.
pub(super) fn has_stand_in_cidr(traits: &Traits, stated: &Stated) -> bool {
    let is_made = |made: &ClusterTraits| made.endpoint == stated.endpoint && made.service_cidr == stated.cidr;
    traits.cluster.service_cidr.is_none() && made_up(traits).iter().any(is_made)
}
