//! DescribeAvailabilityZones: the zones `a`, `b` and `c` of a region, and the zone of the instance.

use std::collections::BTreeSet;

use nodejoin_core::plan::region::Region;

use super::page::Described;
use super::resource::{self, Ec2Resource, Ec2View, ResourceType};
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

const LETTERS: [&str; 3] = ["a", "b", "c"];

/// An availability zone.
#[derive(Debug)]
struct Zone {
    region: String,
    name: String,
    zone_id: String,
}

/// Writes the response.
///
/// # Errors
/// A zone or a filter is invalid.
pub(super) fn describe(body: Xml, view: &Ec2View<'_>, parameters: &QueryParameters) -> Described {
    let zones = of(view);
    let unknown = unknown(&zones, &parameters.list("ZoneId"), |zone| &zone.zone_id);
    if !unknown.is_empty() {
        let message = format!("Invalid availability zone-id: [{}]", unknown.join(", "));
        return Err(ServiceError::new(400, "InvalidParameterValue", message));
    }
    let ids = parameters.list("ZoneId");
    let found = resource::select(view.world, zones, parameters)?;
    let found = found
        .into_iter()
        .filter(|zone| ids.is_empty() || ids.contains(&zone.zone_id.as_str()));
    Ok(body.items(Zone::TYPE.set, found, |item, zone| zone.write(item)))
}

fn unknown<'a>(zones: &[Zone], names: &[&'a str], of: impl Fn(&Zone) -> &String) -> Vec<&'a str> {
    let is_known = |name: &str| zones.iter().any(|zone| of(zone) == name);
    names.iter().copied().filter(|name| !is_known(name)).collect()
}

fn of(view: &Ec2View<'_>) -> Vec<Zone> {
    let name = &view.endpoint.region;
    let Ok(region) = name.parse::<Region>() else {
        return Vec::new();
    };
    let mut names: BTreeSet<String> = LETTERS.iter().map(|letter| format!("{name}{letter}")).collect();
    if view.is_home() {
        names.insert(view.world.instance.availability_zone.clone());
    }
    let zone = |zone: String| Zone {
        region: name.clone(),
        zone_id: region.zone_id(&zone),
        name: zone,
    };
    names.into_iter().map(zone).collect()
}

impl Ec2Resource for Zone {
    const TYPE: ResourceType = ResourceType {
        name: "availability-zone",
        ids: "ZoneName",
        set: "availabilityZoneInfo",
        missing: "InvalidParameterValue",
        missing_message: "Invalid availability zone: [{}]",
    };

    fn id(&self) -> &str {
        &self.name
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let value = match filter {
            "zone-name" => &self.name,
            "zone-id" => &self.zone_id,
            "region-name" | "group-name" | "network-border-group" => &self.region,
            "state" => "available",
            "zone-type" => "availability-zone",
            "opt-in-status" => "opt-in-not-required",
            _ => return None,
        };
        Some(vec![value.to_owned()])
    }

    fn write(&self, item: Xml) -> Xml {
        item.text("zoneName", &self.name)
            .text("zoneState", "available")
            .text("zoneId", &self.zone_id)
            .text("regionName", &self.region)
            .text("groupName", &self.region)
            .text("networkBorderGroup", &self.region)
            .text("zoneType", "availability-zone")
            .text("optInStatus", "opt-in-not-required")
            .element("messageSet", |set| set)
    }
}
