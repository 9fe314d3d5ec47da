//! The region of the scenario, from the endpoint, the file, values that the user set, or the user data.

use std::collections::BTreeMap;

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::plan::region::Region;

use super::region_in_text::region_in;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use crate::machine::{ClusterTraits, Machine, Traits};

/// The machine in the region of a value that the user set, or of its user data. EKS adds its part for that region.
pub(super) fn with_region(machine: &Machine, set: &BTreeMap<String, String>) -> Machine {
    let mut machine = machine.clone();
    let of_set = || {
        const NAMES: [&str; 4] = ["region", "aws_region", "aws_default_region", "awsregion"];
        let of_name = |known: &str| set.iter().find(|(name, _)| name.eq_ignore_ascii_case(known));
        let (_, value) = NAMES.iter().find_map(|known| of_name(known))?;
        value.parse::<Region>().ok()
    };
    let made = ClusterTraits::stand_in().endpoint.unwrap_or_default();
    let of_text = || {
        let text = std::str::from_utf8(machine.user_data.as_deref()?).ok()?;
        region_in(&text.replace(&made, ""))
    };
    if machine.traits.region.is_none() {
        machine.traits.region = of_set().or_else(of_text).map(|region| region.to_string());
    }
    machine
}

/// The region of a trial, and its line in the report.
pub(super) fn region(
    traits: &Traits,
    stated: &Stated,
    endpoint: Option<&EndpointUrl>,
    report: &mut Vec<AdoptionLine>,
) -> Option<Region> {
    let of_traits = || traits.region.as_ref().and_then(|region| region.parse().ok());
    let region: Option<Region> = of_endpoint(endpoint)
        .or_else(of_traits)
        .or_else(|| region_in(&stated.text));
    let (kind, text) = match &region {
        Some(region) => (AdoptionKind::Adopted, format!("region {region}")),
        None => {
            let default = Region::DEFAULT;
            let text =
                format!("region {default}, as the file states none; `--with 'region: ...'` for another");
            (AdoptionKind::Chosen, text)
        }
    };
    line(report, kind, text);
    region
}

fn of_endpoint(endpoint: Option<&EndpointUrl>) -> Option<Region> {
    let host = endpoint?.host();
    Region::all().find(|region| host.contains(&format!(".{region}.")))
}

/// Names the region of the file, or of a command about the cluster, if the endpoint is in another one. `machine`: the
/// one of the file.
pub(super) fn note_other_region(
    machine: &Machine,
    stated: &Stated,
    endpoint: Option<&EndpointUrl>,
    report: &mut Vec<AdoptionLine>,
) {
    note_other_command(stated, endpoint, report);
    let traits = &machine.traits;
    let of_file = traits
        .region
        .as_deref()
        .and_then(|region| region.parse::<Region>().ok());
    let Some((of_file, of_endpoint)) = of_file.zip(of_endpoint(endpoint)) else {
        return;
    };
    let is_stand_in = traits.stand_ins.contains_key(&format!("region {of_file}"));
    // The reader of a template can have it from a command of the user data, such as one for S3.
    let is_of_text = stated.text.contains(of_file.as_str());
    if of_file != of_endpoint && !is_stand_in && !is_of_text && !is_made_up(endpoint) {
        let text = format!(
            "the file states the region {of_file}, and the endpoint of the cluster is in {of_endpoint}: EKS does not find an instance of \
             another region than the cluster's and deletes its Node; the run is in {of_endpoint}"
        );
        line(report, AdoptionKind::Problem, text);
    }
}

/// Whether a reader of a file makes up the endpoint, of a cluster that the file does not state.
fn is_made_up(endpoint: Option<&EndpointUrl>) -> bool {
    let made = ClusterTraits::stand_in().endpoint.unwrap_or_default();
    let made = made.trim_start_matches("https://").split('.').next();
    endpoint.map(|endpoint| endpoint.host().split('.').next()) == Some(made)
}

/// A cluster is in the region of its endpoint. Another cluster can have its name in another region.
fn note_other_command(stated: &Stated, endpoint: Option<&EndpointUrl>, report: &mut Vec<AdoptionLine>) {
    if is_made_up(endpoint) {
        return;
    }
    let (Some(of_endpoint), Some(name)) = (of_endpoint(endpoint), stated.name.as_deref()) else {
        return;
    };
    let about_it = stated
        .commands
        .iter()
        .filter(|command| command.cluster() == Some(name));
    let other = about_it.filter_map(|command| {
        let region: Region = command.region()?.parse().ok()?;
        (region != of_endpoint).then_some((command.word, region))
    });
    for (word, region) in other.take(1) {
        let text = format!(
            "`{word}` of `aws eks` in the user data is about the cluster {name} in {region}, and the endpoint of the cluster is in \
             {of_endpoint}: these are two clusters; the run is in {of_endpoint}"
        );
        line(report, AdoptionKind::Problem, text);
    }
}
