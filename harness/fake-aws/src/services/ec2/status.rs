//! DescribeInstanceStatus: state and status checks of instances. The checks of an instance that runs have passed.

use nodejoin_core::plan::ec2::InstanceState;

use super::inventory::Ec2Instance;
use super::page::{self, Described};
use super::{filters, instance_ids};
use crate::http::QueryParameters;
use crate::wire::xml::Xml;

/// Start of the filters by scheduled events, of which there are none.
const EVENT: &str = "event.";

/// The result of an instance's status checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checks {
    Passed,
    Initializing,
    NotApplicable,
}

/// Writes the response.
///
/// # Errors
/// An id, a filter or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let ids = parameters.list("InstanceId");
    instance_ids::check(&ids, instances)?;
    instance_ids::check_page(&ids, parameters)?;
    let filters = filters::read(parameters);
    let has_all = parameters.get("IncludeAllInstances") == Some("true");
    let mut found = Vec::new();
    for instance in instances {
        let is_requested = ids.is_empty() || ids.contains(&instance.plan.id.as_str());
        let is_listed = has_all || instance.state == InstanceState::Running;
        if filters::pass(&filters, |name| values(instance, name))? && is_requested && is_listed {
            found.push(instance);
        }
    }
    page::write(body, "instanceStatusSet", found, parameters, 5..=1_000, write)
}

fn values(instance: &Ec2Instance<'_>, filter: &str) -> Option<Vec<String>> {
    let (code, state) = instance.state.code_and_name();
    let checks = Checks::of(instance.state);
    let value = match filter {
        "availability-zone" => instance.plan.availability_zone.clone(),
        "availability-zone-id" => zone_id(instance),
        "instance-state-code" => code.to_string(),
        "instance-state-name" => state.to_owned(),
        "instance-status.status" | "system-status.status" => checks.status().to_owned(),
        "instance-status.reachability" | "system-status.reachability" => {
            return Some(checks.reachability().map(ToOwned::to_owned).into_iter().collect());
        }
        name if name.starts_with(EVENT) => return Some(Vec::new()),
        _ => return None,
    };
    Some(vec![value])
}

fn write(item: Xml, instance: &Ec2Instance<'_>) -> Xml {
    let (code, state) = instance.state.code_and_name();
    let checks = Checks::of(instance.state);
    let summary = |element: Xml| {
        let element = element.text("status", checks.status());
        match checks.reachability() {
            Some(status) => element.items("details", [status], |detail, status| {
                detail.text("name", "reachability").text("status", status)
            }),
            None => element,
        }
    };
    item.text("instanceId", &instance.plan.id)
        .text("availabilityZone", &instance.plan.availability_zone)
        .text("availabilityZoneId", zone_id(instance))
        .element("instanceState", |element| {
            element.text("code", code).text("name", state)
        })
        .element("systemStatus", summary)
        .element("instanceStatus", summary)
        .element("attachedEbsStatus", summary)
}

fn zone_id(instance: &Ec2Instance<'_>) -> String {
    let region = &instance.world.region;
    region.zone_id(&instance.plan.availability_zone)
}

impl Checks {
    fn of(state: InstanceState) -> Self {
        match state {
            InstanceState::Running => Self::Passed,
            InstanceState::Pending => Self::Initializing,
            InstanceState::ShuttingDown
            | InstanceState::Terminated
            | InstanceState::Stopping
            | InstanceState::Stopped => Self::NotApplicable,
        }
    }

    fn status(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Initializing => "initializing",
            Self::NotApplicable => "not-applicable",
        }
    }

    fn reachability(self) -> Option<&'static str> {
        match self {
            Self::Passed => Some("passed"),
            Self::Initializing => Some("initializing"),
            Self::NotApplicable => None,
        }
    }
}
