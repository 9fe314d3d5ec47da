//! DescribeInstanceTopology: where in EC2's network an instance hangs. Of types without a topology nothing is told.

use super::machines::Machine;
use super::{instances, page};
use crate::exchange::{Parameters, ServiceError};
use crate::wire::xml::Xml;

/// Writes the answer.
///
/// # Errors
/// For ids that do not exist or are none, and pages that cannot be.
pub fn describe(body: Xml, machines: &[Machine<'_>], parameters: &Parameters) -> Result<Xml, ServiceError> {
    let ids = parameters.list("InstanceId");
    instances::check_ids(&ids, machines)?;
    let is_asked = |machine: &&Machine<'_>| ids.is_empty() || ids.contains(&machine.plan.id.as_str());
    let found = machines.iter().filter(is_asked);
    let found: Vec<_> = found
        .filter(|machine| !machine.plan.network.nodes.is_empty())
        .collect();
    page::write(
        body,
        "instanceSet",
        found,
        parameters,
        1..=100,
        |item, machine| {
            let (region, plan) = (&machine.world.region, &machine.plan);
            item.text("instanceId", &plan.id)
                .text("instanceType", &plan.instance_type)
                .items("networkNodeSet", &plan.network.nodes, |item, node| {
                    item.bare(node)
                })
                .text("availabilityZone", &plan.availability_zone)
                .text("zoneId", region.zone_id(&plan.availability_zone))
        },
    )
}
