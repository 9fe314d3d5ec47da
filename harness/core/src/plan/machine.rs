//! The processors and the memory that the operating system of an instance finds.

use crate::plan::InstancePlan;
use crate::vocabulary::ec2_type::Ec2Type;

/// Share of an instance's memory, in thousandths, that Linux reports as `MemTotal`, and a constant part that it does
/// not: firmware and kernel keep the rest. An estimate, fitted to capacities in public outputs of `kubectl describe
/// node` of machines of these sizes, some of which name no type: t3.medium 3967476Ki, m5.large 7865400Ki, c5.2xlarge
/// 15835156Ki, m5.xlarge 15919124Ki, m5.2xlarge 32067240Ki, m5.4xlarge 64792280Ki. A test allows 2 %.
const USABLE_THOUSANDTHS: u64 = 955;
const KEPT_KIB: u64 = 64 * 1024;

/// The processors and the memory of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineSize {
    /// Logical processors.
    pub vcpus: u32,
    /// Logical processors of each core.
    pub threads_per_core: u32,
    /// `MemTotal` in /proc/meminfo.
    pub memory_kib: u64,
}

impl MachineSize {
    fn of(figures: &Ec2Type) -> Self {
        let vcpus = figures.vcpus.max(1);
        let threads = match figures.cores {
            Some(cores) if cores > 0 => vcpus / cores,
            // EC2 reports no cores of these types. Only processors of Intel and AMD have several threads.
            _ if figures.architectures.iter().any(|name| name == "arm64") => 1,
            _ => 2,
        };
        let threads_per_core = if vcpus.is_multiple_of(threads) { threads } else { 1 };
        let nominal = figures.memory_mib * 1024;
        Self {
            vcpus,
            threads_per_core,
            memory_kib: (nominal * USABLE_THOUSANDTHS / 1000).saturating_sub(KEPT_KIB),
        }
    }
}

impl InstancePlan {
    /// The machine of the instance type.
    #[must_use]
    pub fn machine(&self) -> Option<MachineSize> {
        self.type_figures().map(|figures| MachineSize::of(&figures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ec2_type::{EC2_TYPES, ec2_type};

    fn size(name: &str) -> MachineSize {
        MachineSize::of(ec2_type(name).unwrap())
    }

    #[test]
    fn memory_is_within_two_percent_of_published_nodes() {
        for (name, published) in [
            ("t3.medium", 3_967_476),
            ("m5.large", 7_865_400),
            ("c5.2xlarge", 15_835_156),
            ("m5.xlarge", 15_919_124),
            ("m5.2xlarge", 32_067_240),
            ("m5.4xlarge", 64_792_280_u64),
        ] {
            let memory = size(name).memory_kib;
            assert!(
                memory.abs_diff(published) * 100 < published * 2,
                "{name}: {memory}"
            );
        }
    }

    #[test]
    fn threads_are_those_of_the_type() {
        let of = |name| (size(name).vcpus, size(name).threads_per_core);
        assert_eq!(of("m5.large"), (2, 2));
        assert_eq!(of("m7i.xlarge"), (4, 2));
        assert_eq!(of("m6g.large"), (2, 1));
        assert_eq!(of("t2.micro"), (1, 1));
    }

    #[test]
    fn every_type_has_whole_cores_and_memory() {
        for figures in EC2_TYPES.iter() {
            let size = MachineSize::of(figures);
            assert!(
                size.vcpus.is_multiple_of(size.threads_per_core),
                "{}",
                figures.name
            );
            assert!(size.memory_kib > 200 * 1024, "{}", figures.name);
        }
    }
}
