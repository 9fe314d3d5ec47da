//! DescribeVolumes: the root volume and the other volumes of each instance.

use super::inventory::Ec2Instance;
use super::resource::{Ec2Resource, Ec2View, ResourceType};
use crate::clock;
use crate::ec2_names;
use crate::wire::xml::Xml;

/// Name of the root device, in the metadata service too.
pub(super) const ROOT_DEVICE: &str = "/dev/xvda";
/// Size of the root volume of the EKS AMI, in GiB.
const SIZE: u32 = 20;
/// Its type, with the least operations and throughput of that type.
const VOLUME_TYPE: &str = "gp3";
const IOPS: u32 = 3_000;
const THROUGHPUT: u32 = 125;

/// A volume of an instance.
#[derive(Debug)]
pub(super) struct Volume<'a> {
    instance: &'a Ec2Instance<'a>,
    id: String,
    device: &'a str,
    gib: u32,
    /// Empty: it was made without one.
    snapshot: String,
}

/// The volumes of a region. That of a terminated instance is deleted.
#[must_use]
pub(super) fn of<'a>(view: &'a Ec2View<'a>) -> Vec<Volume<'a>> {
    view.instances.iter().flat_map(attached).collect()
}

/// The volumes of an instance, the root volume first.
fn attached<'a>(instance: &'a Ec2Instance<'a>) -> Vec<Volume<'a>> {
    if !instance.has_network() {
        return Vec::new();
    }
    let root = Volume {
        instance,
        id: ec2_names::root_volume_id(&instance.plan),
        device: ROOT_DEVICE,
        gib: SIZE,
        snapshot: ec2_names::snapshot_id(&instance.plan),
    };
    let others = instance.plan.volumes.iter().map(|volume| Volume {
        instance,
        id: instance.plan.volume_id(&volume.device),
        device: &volume.device,
        gib: volume.gib,
        snapshot: String::new(),
    });
    std::iter::once(root).chain(others).collect()
}

/// Writes the block devices of an instance, as a member of DescribeInstances.
pub(super) fn write_mapping(item: Xml, instance: &Ec2Instance<'_>) -> Xml {
    item.items("blockDeviceMapping", attached(instance), |item, volume| {
        item.text("deviceName", volume.device).element("ebs", |ebs| {
            ebs.text("volumeId", &volume.id)
                .text("status", "attached")
                .text("attachTime", clock::milliseconds(instance.launched))
                .text("deleteOnTermination", true)
        })
    })
}

impl Ec2Resource for Volume<'_> {
    const TYPE: ResourceType = ResourceType {
        name: "volume",
        ids: "VolumeId",
        set: "volumeSet",
        missing: "InvalidVolume.NotFound",
        missing_message: "The volume '{}' does not exist.",
    };

    fn id(&self) -> &str {
        &self.id
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let (world, plan) = (self.instance.world, &self.instance.plan);
        let value = match filter {
            "volume-id" => self.id.clone(),
            "size" => self.gib.to_string(),
            "status" => "in-use".to_owned(),
            "volume-type" => VOLUME_TYPE.to_owned(),
            "snapshot-id" => self.snapshot.clone(),
            "encrypted" | "multi-attach-enabled" | "fast-restored" => "false".to_owned(),
            "availability-zone" => plan.availability_zone.clone(),
            "availability-zone-id" => world.region.zone_id(&plan.availability_zone),
            "attachment.instance-id" => plan.id.to_string(),
            "attachment.device" => self.device.to_owned(),
            "attachment.status" => "attached".to_owned(),
            "attachment.delete-on-termination" => "true".to_owned(),
            _ => return None,
        };
        Some(vec![value])
    }

    fn write(&self, item: Xml) -> Xml {
        let plan = &self.instance.plan;
        let created = clock::milliseconds(self.instance.launched);
        item.text("volumeId", &self.id)
            .text("size", self.gib)
            .text("snapshotId", &self.snapshot)
            .text("availabilityZone", &plan.availability_zone)
            .text(
                "availabilityZoneId",
                self.instance.world.region.zone_id(&plan.availability_zone),
            )
            .text("status", "in-use")
            .text("createTime", &created)
            .items("attachmentSet", [()], |item, ()| {
                item.text("volumeId", &self.id)
                    .text("instanceId", &plan.id)
                    .text("device", self.device)
                    .text("status", "attached")
                    .text("attachTime", &created)
                    .text("deleteOnTermination", true)
            })
            .text("volumeType", VOLUME_TYPE)
            .text("iops", IOPS)
            .text("throughput", THROUGHPUT)
            .text("encrypted", false)
            .text("multiAttachEnabled", false)
    }
}
