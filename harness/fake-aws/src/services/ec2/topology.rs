//! DescribeInstanceTopology: the position of instances in EC2's network. Types without a topology are left out.

use super::instance_ids;
use super::inventory::Ec2Instance;
use super::page::{self, Described};
use crate::http::QueryParameters;
use crate::wire::xml::Xml;

/// Writes the response.
///
/// # Errors
/// An id or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let ids = parameters.list("InstanceId");
    instance_ids::check(&ids, instances)?;
    let is_requested =
        |instance: &&Ec2Instance<'_>| ids.is_empty() || ids.contains(&instance.plan.id.as_str());
    let found = instances.iter().filter(is_requested);
    let found: Vec<_> = found
        .filter(|instance| !instance.plan.network.nodes.is_empty())
        .collect();
    page::write(
        body,
        "instanceSet",
        found,
        parameters,
        1..=100,
        |item, instance| {
            let (region, plan) = (&instance.world.region, &instance.plan);
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
