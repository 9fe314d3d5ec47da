//! The block devices of an instance.

use crate::plan::ids::derived_id;
use crate::plan::{InstancePlan, VolumePlan};
use crate::vocabulary::instance_store::instance_store;

/// A disk of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceDisk {
    /// Name of its device in `/dev`.
    pub name: String,
    /// Name in the block device mapping, such as `/dev/sdb`. `None`: it has no other.
    pub mapped: Option<String>,
    pub kib: u64,
    pub serial: String,
    pub kind: DiskKind,
}

/// What stores the data of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskKind {
    /// The EBS volume with the root file system.
    Root,
    /// Another EBS volume, empty at the start.
    Volume,
    /// A disk of the instance store, empty at the start.
    Store,
}

impl InstancePlan {
    /// Id of the root volume.
    #[must_use]
    pub fn root_volume_id(&self) -> String {
        derived_id("vol", self.id.as_str())
    }

    /// Id of an EBS volume besides the root volume, by its name in the block device mapping.
    #[must_use]
    pub fn volume_id(&self, device: &str) -> String {
        derived_id("vol", &format!("{}{device}", self.id))
    }

    /// The disks of the instance: the root volume, with its size in KiB, then other EBS volumes, then those of the
    /// instance store. EC2 promises no order of NVMe names.
    #[must_use]
    pub fn disks(&self, root_kib: u64) -> Vec<InstanceDisk> {
        let is_xen = self
            .type_figures()
            .is_some_and(|figures| figures.hypervisor.as_deref() == Some("xen"));
        let root = InstanceDisk {
            name: if is_xen { "xvda" } else { "nvme0n1" }.to_owned(),
            mapped: None,
            kib: root_kib,
            serial: self.root_volume_id().replace('-', ""),
            kind: DiskKind::Root,
        };
        let volumes = (1..).zip(&self.volumes).map(|(number, volume)| InstanceDisk {
            // Xen's driver names a device by its letters.
            name: match is_xen {
                true => format!("xvd{}", VolumePlan::letters(&volume.device).unwrap_or_default()),
                false => format!("nvme{number}n1"),
            },
            mapped: Some(volume.device.clone()),
            kib: u64::from(volume.gib) << 20,
            serial: self.volume_id(&volume.device).replace('-', ""),
            kind: DiskKind::Volume,
        });
        let mut disks: Vec<InstanceDisk> = std::iter::once(root).chain(volumes).collect();
        self.add_store(&mut disks);
        disks
    }

    fn add_store(&self, disks: &mut Vec<InstanceDisk>) {
        let name = self.type_like.as_ref().unwrap_or(&self.instance_type);
        let Some(store) = instance_store(name) else { return };
        let names: Vec<String> = match store.is_nvme {
            true => (0..)
                .map(|number: u8| format!("nvme{number}n1"))
                .take(64)
                .collect(),
            false => ('b'..='z').map(|letter| format!("xvd{letter}")).collect(),
        };
        let is_free = |name: &String| disks.iter().all(|disk| disk.name != *name);
        let free: Vec<String> = names.into_iter().filter(is_free).collect();
        for (number, name) in (0..store.disks).zip(free) {
            let serial = derived_id("AWS", &format!("{}/{number}", self.id));
            disks.push(InstanceDisk {
                name,
                mapped: None,
                kib: store.gigabytes * 1_000_000_000 / 1024,
                serial: serial.replace('-', "").to_uppercase(),
                kind: DiskKind::Store,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(instance_type: &str) -> Vec<(String, u64)> {
        let instance = InstancePlan {
            instance_type: instance_type.to_owned(),
            ..crate::testing::plan().instance
        };
        let disks = instance.disks(20 << 20).into_iter();
        disks.map(|disk| (disk.name, disk.kib)).collect()
    }

    #[test]
    fn names_are_those_of_the_hypervisor() {
        let of = |name: &str, kib: u64| (name.to_owned(), kib);
        let root = 20 << 20;
        assert_eq!(disks("m5.large"), [of("nvme0n1", root)]);
        assert_eq!(
            disks("m5d.large"),
            [of("nvme0n1", root), of("nvme1n1", 73_242_187)]
        );
        assert_eq!(disks("i3.large"), [of("xvda", root), of("nvme0n1", 463_867_187)]);
        assert_eq!(disks("m3.large"), [of("xvda", root), of("xvdb", 31_250_000)]);
        assert_eq!(disks("d3en.12xlarge").len(), 25);
    }

    #[test]
    fn volumes_stand_between_the_root_volume_and_the_instance_store() {
        let names = |instance_type: &str| {
            let mut instance = crate::testing::plan().instance;
            instance.instance_type = instance_type.to_owned();
            instance.volumes = vec![VolumePlan {
                device: "/dev/sdb".to_owned(),
                gib: 100,
            }];
            let disks = instance.disks(1);
            let volume = disks.iter().find(|disk| disk.kind == DiskKind::Volume).unwrap();
            assert_eq!(
                (volume.mapped.as_deref(), volume.kib),
                (Some("/dev/sdb"), 100 << 20)
            );
            let names = disks.into_iter().map(|disk| disk.name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("m5.large"), "nvme0n1 nvme1n1");
        assert_eq!(names("m5d.large"), "nvme0n1 nvme1n1 nvme2n1");
        assert_eq!(names("i3.large"), "xvda xvdb nvme0n1");
        assert_eq!(names("m3.large"), "xvda xvdb xvdc");
    }
}
