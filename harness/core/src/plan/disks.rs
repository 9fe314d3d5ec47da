//! The block devices of an instance.

use crate::plan::InstancePlan;
use crate::plan::ids::derived_id;
use crate::vocabulary::instance_store::instance_store;

/// A disk of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceDisk {
    /// Name of its device in `/dev`.
    pub name: String,
    pub kib: u64,
    pub serial: String,
    pub kind: DiskKind,
}

/// What stores the data of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskKind {
    /// The EBS volume with the root file system.
    Root,
    /// A disk of the instance store, empty at the start.
    Store,
}

impl InstancePlan {
    /// Id of the root volume.
    #[must_use]
    pub fn root_volume_id(&self) -> String {
        derived_id("vol", self.id.as_str())
    }

    /// The disks of the instance: the root volume, with its size in KiB, then those of the instance store.
    #[must_use]
    pub fn disks(&self, root_kib: u64) -> Vec<InstanceDisk> {
        let is_xen = self
            .type_figures()
            .is_some_and(|figures| figures.hypervisor.as_deref() == Some("xen"));
        let root = InstanceDisk {
            name: if is_xen { "xvda" } else { "nvme0n1" }.to_owned(),
            kib: root_kib,
            serial: self.root_volume_id().replace('-', ""),
            kind: DiskKind::Root,
        };
        std::iter::once(root).chain(self.store(is_xen)).collect()
    }

    fn store(&self, is_xen: bool) -> impl Iterator<Item = InstanceDisk> {
        let name = self.type_like.as_ref().unwrap_or(&self.instance_type);
        let store = instance_store(name);
        let first = u8::from(!is_xen);
        // The letters of Xen begin after the root volume.
        let device = move |is_nvme, number: u8| match is_nvme {
            true => format!("nvme{}n1", first + number),
            false => format!("xvd{}", char::from(b'b' + number)),
        };
        let id = self.id.clone();
        (0..24).map_while(move |number: u8| {
            let store = store.filter(|store| u32::from(number) < store.disks)?;
            let serial = derived_id("AWS", &format!("{id}/{number}"));
            Some(InstanceDisk {
                name: device(store.is_nvme, number),
                kib: store.gigabytes * 1_000_000_000 / 1024,
                serial: serial.replace('-', "").to_uppercase(),
                kind: DiskKind::Store,
            })
        })
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
}
