//! The region of the scenario, from the endpoint, the file, values that the user set, or the user data.

use std::collections::BTreeMap;

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::plan::region::Region;

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
    let of_endpoint = || {
        let host = endpoint?.host();
        Region::all().find(|region| host.contains(&format!(".{region}.")))
    };
    let of_traits = || traits.region.as_ref().and_then(|region| region.parse().ok());
    let region: Option<Region> = of_endpoint()
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

/// The region that commands or settings of a text name.
fn region_in(text: &str) -> Option<Region> {
    let forms = |region: &Region| {
        [
            format!("-region {region}"),
            format!("--region={region}"),
            format!("REGION={region}"),
            format!("REGION=\"{region}\""),
            format!("REGION='{region}'"),
            format!("set region {region}"),
            format!("region: {region}"),
            format!(":eks:{region}:"),
            format!(".ecr.{region}."),
            format!("{region}.eks.amazonaws."),
        ]
    };
    Region::all().find(|region| forms(region).iter().any(|form| text.contains(form)))
}
