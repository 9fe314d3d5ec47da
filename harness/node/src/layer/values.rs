//! The values that the entry program of a node reads: its machine and its network.

use std::time::Duration;

use nodejoin_core::plan::disks::{DiskKind, InstanceDisk};
use nodejoin_core::plan::ec2::InterfacePlan;
use nodejoin_core::plan::instance_type::has_nvidia_gpu;
use nodejoin_core::plan::link_local;
use nodejoin_core::plan::{InstancePlan, Network, Plan, Stubs};
use nodejoin_core::run::shell::quoted;
use nodejoin_core::run::time_factor::TimeFactor;

use crate::host_workarounds::HostWorkarounds;
use crate::outside;
use crate::refusals;
use crate::request::NodeRequest;

/// Percentage of free disk space of the host below which a kubelet starts without thresholds for it.
const LOW_DISK_PERCENT: u8 = 30;

/// How often the entry program reads the run's id from the metadata address, at most 20 times a second, until the
/// node's address is registered.
const METADATA_TRIES: u32 = 400;
/// Without it, systemd 256 and newer do not start on cgroup v1.
const FORCE_CGROUP_V1: &str = "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1";
/// Timeout of one of these reads.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);

/// Values for `enter`, as shell assignments.
pub(super) fn values(request: &NodeRequest<'_>, host: HostWorkarounds, factor: TimeFactor) -> String {
    let instance = &request.plan.instance;
    let machine = instance.machine();
    let network = match request.plan.network {
        Network::Isolated => "isolated",
        Network::Open => "open",
    };
    [
        ("RUN_ID", request.metadata_id.to_string()),
        ("INSTANCE_ID", instance.id.to_string()),
        ("NETWORK", network.to_owned()),
        (
            "CGROUP_V1",
            if host.permits_cgroup_v1 {
                "refused"
            } else {
                "will do"
            }
            .to_owned(),
        ),
        ("DISK_SHARE", LOW_DISK_PERCENT.to_string()),
        ("PROBE", if request.plan.is_probe { "yes" } else { "" }.to_owned()),
        (
            "VCPUS",
            machine.map_or_else(String::new, |size| size.vcpus.to_string()),
        ),
        (
            "THREADS",
            machine.map_or_else(String::new, |size| size.threads_per_core.to_string()),
        ),
        (
            "MEMORY_KIB",
            machine.map_or_else(String::new, |size| size.memory_kib.to_string()),
        ),
        ("DISK_KIB", disk_kib(request.plan).to_string()),
        ("DISKS", disks(request.plan)),
        ("PROCESSES", request.plan.limits.processes.to_string()),
        ("INIT", init(request)),
        (
            "INIT_ARGUMENTS",
            if host.forces_cgroup_v1 {
                FORCE_CGROUP_V1.to_owned()
            } else {
                String::new()
            },
        ),
        ("GATEWAY", request.network.gateway.to_string()),
        ("PRIVATE_IP", instance.private_ip.to_string()),
        ("IPV6", ipv6(request)),
        ("METADATA_IPV6", metadata_ipv6(request)),
        ("INTERFACES", interfaces(request)),
        ("MAC", instance.mac.clone()),
        ("GPU", pci_vendor(instance).to_owned()),
        ("HOST_NAME", instance.host_name.clone()),
        ("DOMAIN", request.plan.region.private_domain()),
        ("METADATA_IP", link_local::METADATA.to_string()),
        ("DNS_IP", link_local::RESOLVER.to_string()),
        ("TLS_IPS", refusals::tls_addresses(&request.plan.faults)),
        ("OUTSIDE_IP", link_local::OUTSIDE.to_string()),
        ("RECORDED_IPS", outside::recorded(request.plan)),
        ("NAMED_IPS", outside::named_in_user_data(request.plan)),
        ("HTTP_PROXY_AT", outside::http_proxy(request.plan)),
        (
            "INSIDE",
            outside::inside(
                request.plan,
                &request.network.subnet,
                request.api_server.map(|address| address.ip()),
            ),
        ),
        ("REFUSED", refusals::lines(&request.plan.faults)),
        ("NOWHERE_IP", link_local::UNREACHABLE.to_owned()),
        ("METADATA_TRIES", factor.tries(METADATA_TRIES).to_string()),
        (
            "METADATA_TIMEOUT",
            factor.scale(METADATA_TIMEOUT).as_secs().to_string(),
        ),
        ("METADATA_AT", request.metadata.to_string()),
        ("DNS_AT", request.dns.to_string()),
        ("TLS_AT", request.tls.to_string()),
        (
            "API_SERVER_AT",
            request
                .api_server
                .map_or_else(String::new, |address| address.to_string()),
        ),
    ]
    .iter()
    .map(|(name, value)| format!("{name}={}\n", quoted(value)))
    .collect()
}

/// Size of a root volume whose limit is not a quantity, which no valid plan has.
const NO_LIMIT_KIB: u64 = u64::MAX >> 16;

fn disk_kib(plan: &Plan) -> u64 {
    plan.limits.disk_kib().unwrap_or(NO_LIMIT_KIB)
}

/// A line for each disk: name, size in KiB, serial number, kind, and name in the block device mapping.
fn disks(plan: &Plan) -> String {
    let disks = plan.instance.disks(disk_kib(plan)).into_iter();
    let line = |disk: InstanceDisk| {
        let kind = match disk.kind {
            DiskKind::Root => "root",
            DiskKind::Volume => "volume",
            DiskKind::Store => "store",
        };
        let mapped = disk.mapped.map(|device| format!(" {device}")).unwrap_or_default();
        format!("{} {} {} {kind}{mapped}", disk.name, disk.kib, disk.serial)
    };
    disks.map(line).collect::<Vec<_>>().join("\n")
}

/// Whether programs of the harness stand in for `mkfs` and the like.
pub(crate) fn has_disk_tools(plan: &Plan) -> bool {
    let mut disks = plan.instance.disks(0).into_iter();
    plan.stubs == Stubs::Packages && disks.any(|disk| disk.kind != DiskKind::Root)
}

/// The first process of the image.
fn init(request: &NodeRequest<'_>) -> String {
    let found = request.image.facts.as_ref().and_then(|facts| facts.init.clone());
    found.unwrap_or_else(|| "/sbin/init".to_owned())
}

/// The IPv6 addresses of the instance, separated by spaces.
fn ipv6(request: &NodeRequest<'_>) -> String {
    let addresses = request.plan.instance.network.ipv6.iter().map(ToString::to_string);
    addresses.collect::<Vec<_>>().join(" ")
}

/// NVIDIA's PCI vendor id for an instance type with a GPU; empty for other types.
fn pci_vendor(instance: &InstancePlan) -> &'static str {
    if has_nvidia_gpu(&instance.instance_type) {
        "0x10de"
    } else {
        ""
    }
}

/// The IPv6 address of the metadata service; empty when the endpoint is disabled.
fn metadata_ipv6(request: &NodeRequest<'_>) -> String {
    if request.plan.instance.metadata.ipv6 {
        link_local::METADATA_IPV6.to_string()
    } else {
        String::new()
    }
}

/// A line for each interface after the primary one: MAC address, then private addresses.
fn interfaces(request: &NodeRequest<'_>) -> String {
    let interfaces = request.plan.instance.network.interfaces.iter();
    let line = |interface: &InterfacePlan| {
        let addresses = interface.private_ips.iter().map(ToString::to_string);
        let words = std::iter::once(interface.mac.clone()).chain(addresses);
        words.collect::<Vec<_>>().join(" ")
    };
    interfaces.map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_and_timeout_of_the_metadata_check_follow_the_time_factor() {
        let plan =
            nodejoin_core::scenario::default_account(&nodejoin_core::input::files::Disk::with_variables([]));
        let request = crate::request::test_request(&plan);
        for (factor, lines) in [
            ("1", ["METADATA_TRIES=400", "METADATA_TIMEOUT=2"]),
            ("2.5", ["METADATA_TRIES=1000", "METADATA_TIMEOUT=5"]),
        ] {
            let values = values(&request, HostWorkarounds::default(), factor.parse().unwrap());
            assert!(
                lines
                    .iter()
                    .all(|line| values.lines().any(|value| value == *line)),
                "{values}"
            );
        }
    }
}
