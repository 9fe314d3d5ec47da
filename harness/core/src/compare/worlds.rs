//! Other worlds for the user data of a scenario: each changes one property of the instance, the cluster or the account.

use super::inputs::ScriptInputs;
use super::requests::MachineRequests;
use super::requests::failures::failures;
use super::world_name::{slug, without_values};
use crate::plan::aws::IpFamily;
use crate::plan::ec2::InterfacePlan;
use crate::plan::{LifeCycle, Plan, StatusStep, Tokens};
use crate::vocabulary::cluster_status::ClusterStatus;
use crate::vocabulary::region::Region;

/// Instance types of the classes that scripts distinguish: the smallest, an older one without Nitro, a processor of
/// another architecture, GPUs with several network cards, bare metal, and two that are newer than most tables, one of
/// them with several cards.
const TYPES: [&str; 7] = [
    "t3.nano",
    "m4.16xlarge",
    "m6g.large",
    "p4d.24xlarge",
    "c5.metal",
    "m8i.large",
    "p6-b200.48xlarge",
];
/// A type that no table has.
const UNKNOWN_TYPE: &str = "x9z.large";
/// The world of a zone whose name is not that of its region and a letter.
pub(super) const LOCAL_ZONE: &str = "local-zone";
/// A region of each partition that the AWS CLI of the node images knows (2.9), the one with another private domain, and
/// one that is newer than most tables. In a partition that it does not know, it asks a host that does not exist.
const REGIONS: [&str; 7] = [
    "us-east-1",
    "ap-southeast-2",
    "mx-central-1",
    "cn-north-1",
    "us-gov-west-1",
    "us-iso-east-1",
    "us-isob-east-1",
];
/// Seconds from the start of a node until its cluster is active: it asks before, and AWS' waiter asks twice.
const UNTIL_ACTIVE: f64 = 15.0;
/// CIDRs of services and of the VPC that lead to another DNS address.
const SERVICE_CIDRS: [&str; 2] = ["10.100.0.0/16", "192.168.128.0/17"];
const VPC_CIDRS: [&[&str]; 2] = [&["10.0.0.0/16"], &["192.168.0.0/16", "10.1.0.0/16"]];

/// One property of a world, which differs from the world of the scenario.
pub struct WorldChange {
    /// What it changes; a world has at most one change of each dimension.
    pub dimension: Dimension,
    /// The name in the id of a world.
    pub name: String,
    /// Whether a node should join with it nevertheless. It need not join if a request never succeeds; it should not
    /// start with wrong values then.
    pub is_survivable: bool,
    /// Whether two versions are compared with it: it ends soon, and a script can be expected to end in one way.
    pub is_compared: bool,
    apply: Box<dyn Fn(&mut Plan) + Send + Sync>,
}

/// What can differ between worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    InstanceType,
    Region,
    Network,
    LifeCycle,
    Tokens,
    Name,
    Cluster,
    Interfaces,
    Redirects,
    Arguments,
    Kubelet,
    Fault,
    /// What happens after the start; not combined with others.
    Step,
}

impl WorldChange {
    /// Whether it is worth its worlds with others: failures that no node survives, and steps, stand alone.
    #[must_use]
    pub fn is_combined(&self) -> bool {
        self.is_survivable && self.dimension != Dimension::Step
    }

    /// Changes a plan.
    pub fn apply(&self, plan: &mut Plan) {
        (self.apply)(plan);
    }
}

impl std::fmt::Debug for WorldChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.dimension, self.name)
    }
}

/// Every property that can differ from the world of a plan, and every failure of its requests. Failures that no node
/// survives come last.
#[must_use]
pub fn world_changes(plan: &Plan, requests: &MachineRequests, inputs: &ScriptInputs) -> Vec<WorldChange> {
    let mut changes = machine_changes(inputs);
    changes.extend(network_changes());
    changes.extend(inputs.arguments.iter().cloned().map(|one| {
        change(
            Dimension::Arguments,
            &slug(&without_values(&one.arguments)),
            move |plan| {
                if let Some(changed) = plan.user_data.as_ref().and_then(|data| one.added_to(data)) {
                    plan.user_data = Some(changed);
                }
            },
        )
    }));
    changes.extend(failures(requests).into_iter().map(|failure| WorldChange {
        is_survivable: failure.is_survivable,
        is_compared: failure.is_compared,
        ..change(Dimension::Fault, &failure.name, move |plan| {
            plan.faults.extend(failure.faults.iter().cloned());
        })
    }));
    changes.retain(|change| {
        let mut changed = plan.clone();
        change.apply(&mut changed);
        changed != *plan
    });
    changes
}

pub(super) fn change(
    dimension: Dimension,
    name: &str,
    apply: impl Fn(&mut Plan) + Send + Sync + 'static,
) -> WorldChange {
    WorldChange {
        dimension,
        name: name.to_owned(),
        is_survivable: true,
        is_compared: true,
        apply: Box::new(apply),
    }
}

/// Changes of the instance and its region.
fn machine_changes(inputs: &ScriptInputs) -> Vec<WorldChange> {
    let of_tables = inputs.instance_types.iter().map(String::as_str);
    let of_tables = of_tables.filter(|name| !TYPES.contains(name));
    let types = TYPES.into_iter().chain(of_tables).chain([UNKNOWN_TYPE]);
    let types = types.map(str::to_owned).map(|name| {
        let world = match name.as_str() {
            UNKNOWN_TYPE => "unknown-type".to_owned(),
            name => name.to_owned(),
        };
        change(Dimension::InstanceType, &world, move |plan| {
            plan.instance.instance_type.clone_from(&name);
        })
    });
    let named = inputs.regions.iter().map(String::as_str);
    let named = named.filter(|name| !REGIONS.contains(name));
    let regions = REGIONS
        .into_iter()
        .chain(named)
        .map(str::to_owned)
        .map(|name| change(Dimension::Region, &name.clone(), move |plan| move_to(plan, &name)));
    let others = [
        change(Dimension::Region, LOCAL_ZONE, |plan| {
            plan.instance.availability_zone = format!("{}-lax-1a", plan.region);
        }),
        change(Dimension::LifeCycle, "spot", |plan| {
            plan.instance.life_cycle = LifeCycle::Spot;
        }),
        change(Dimension::Tokens, "tokens-optional", |plan| {
            plan.instance.metadata.tokens = Tokens::Optional;
        }),
        change(Dimension::Redirects, "folders-redirect", |plan| {
            plan.instance.metadata.legacy_redirect = true;
        }),
        change(Dimension::Name, "late-name", |plan| {
            plan.instance.network.named_after_requests = 1;
        }),
        change(Dimension::Name, "dhcp-domain", named_by_dhcp),
        WorldChange {
            // EKS creates node groups of an active cluster only; a script need not wait for one.
            is_survivable: false,
            ..change(Dimension::Cluster, "cluster-in-creation", |plan| {
                plan.cluster.status = in_creation();
            })
        },
    ];
    types.chain(regions).chain(others).collect()
}

/// Changes of the VPC, the services and the interfaces.
fn network_changes() -> Vec<WorldChange> {
    let services = SERVICE_CIDRS.into_iter().map(|cidr| {
        change(Dimension::Network, &format!("services-{}", slug(cidr)), |plan| {
            plan.cluster.service_ipv4_cidr = Some(cidr.to_owned());
        })
    });
    // Without the CIDR of services, a script guesses the DNS address by the VPC.
    let unknown_services = [
        change(Dimension::Network, "no-service-cidr", |plan| {
            plan.cluster.service_ipv4_cidr = None;
        }),
        change(Dimension::Network, "no-service-cidr-vpc-10.0.0.0-16", |plan| {
            plan.cluster.service_ipv4_cidr = None;
            plan.instance.vpc_cidrs = vec!["10.0.0.0/16".to_owned()];
        }),
    ];
    let vpcs = VPC_CIDRS.into_iter().map(|cidrs| {
        let name = format!("vpc-{}", slug(&cidrs.join("-")));
        change(Dimension::Network, &name, |plan| {
            plan.instance.vpc_cidrs = cidrs.iter().map(|cidr| (*cidr).to_owned()).collect();
        })
    });
    let others = [
        change(Dimension::Network, "ipv6", to_ipv6),
        change(Dimension::Interfaces, "two-interfaces", add_interface),
        // A node address of IPv6 comes from the paths of an interface.
        change(Dimension::Network, "ipv6-two-interfaces", |plan| {
            to_ipv6(plan);
            add_interface(plan);
        }),
    ];
    services
        .chain(unknown_services)
        .chain(vpcs)
        .chain(others)
        .collect()
}

/// A cluster that becomes active after user data has asked for it.
fn in_creation() -> Vec<StatusStep> {
    let step = |status, until_seconds| StatusStep {
        status,
        until_seconds,
    };
    vec![
        step(ClusterStatus::Creating, Some(UNTIL_ACTIVE)),
        step(ClusterStatus::Active, None),
    ]
}

fn named_by_dhcp(plan: &mut Plan) {
    let name = plan.instance.private_dns_name.split('.').next();
    let name = name.unwrap_or_default().to_owned();
    plan.instance.host_name = format!("{name}.corp.example.com");
    plan.instance.network.dhcp_domains = vec!["corp.example.com".to_owned()];
}

/// Moves everything that the region determines.
fn move_to(plan: &mut Plan, region: &str) {
    let Ok(region) = region.parse::<Region>() else {
        return;
    };
    let before = std::mem::replace(&mut plan.region, region.clone());
    let instance = &mut plan.instance;
    let own = before.private_dns_name(instance.private_ip);
    let new = region.private_dns_name(instance.private_ip);
    for name in [&mut instance.private_dns_name, &mut instance.host_name] {
        if *name == own {
            name.clone_from(&new);
        }
    }
    if let Some(zone) = instance.availability_zone.strip_prefix(before.as_str()) {
        instance.availability_zone = format!("{region}{zone}");
    }
    let of_partition = |arn: &mut String| {
        let (old, new) = (before.partition(), region.partition());
        if let Some(rest) = arn.strip_prefix(&format!("arn:{old}:")) {
            *arn = format!("arn:{new}:{rest}");
        }
    };
    plan.cluster
        .aws_auth
        .iter_mut()
        .for_each(|row| of_partition(&mut row.rolearn));
    plan.cluster
        .access_entries
        .iter_mut()
        .for_each(|entry| of_partition(&mut entry.principal_arn));
}

/// Adds an interface that the metadata service lists before the primary one: it sorts them by MAC address.
fn add_interface(plan: &mut Plan) {
    let mut address = plan.instance.private_ip.octets();
    address[3] ^= 0x40;
    plan.instance.network.interfaces.push(InterfacePlan {
        mac: "00:00:5e:00:53:01".to_owned(),
        private_ips: vec![address.into()],
        network_card: 0,
        device_index: None,
    });
}

fn to_ipv6(plan: &mut Plan) {
    plan.cluster.eks.ip_family = IpFamily::Ipv6;
    plan.cluster
        .eks
        .service_ipv6_cidr
        .get_or_insert_with(|| "fd30:1c53:5f8a::/108".to_owned());
    plan.cluster.service_ipv4_cidr = None;
    if plan.instance.network.ipv6.is_empty() {
        let octets = plan.instance.private_ip.octets();
        let last = (u16::from(octets[2]) << 8) | u16::from(octets[3]);
        let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0x1234, 0x1a00, 0, 0, 0, last);
        plan.instance.network.ipv6 = vec![address];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ec2_type::ec2_type;

    #[test]
    fn every_type_and_region_of_a_world_exists() {
        for name in TYPES {
            assert!(ec2_type(name).is_some(), "{name}");
        }
        let regions = REGIONS.map(|name| name.parse::<Region>().unwrap());
        let partitions: std::collections::BTreeSet<&str> = regions.iter().map(Region::partition).collect();
        let known = ["aws", "aws-cn", "aws-iso", "aws-iso-b", "aws-us-gov"];
        assert_eq!(partitions.into_iter().collect::<Vec<_>>(), known);
    }
}
