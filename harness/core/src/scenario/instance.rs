//! Resolves the first instance of a scenario.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::derived_defaults::DerivedDefaults;
use super::file::InstanceFile;
use crate::plan::InstancePlan;
use crate::plan::instance_type::DEFAULT_INSTANCE_TYPE;
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::region::Region;

const DEFAULT_VPC_NETWORK: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 0);

/// Resolves the instance of a scenario.
pub(super) fn instance(
    file: &InstanceFile,
    region: &Region,
    cluster: &str,
    unique: &DerivedDefaults<'_>,
) -> InstancePlan {
    let addresses = addresses(file, unique);
    let private_dns_name = file
        .private_dns_name
        .clone()
        .unwrap_or_else(|| region.private_dns_name(addresses.private_ip));
    InstancePlan {
        id: file.id.clone().unwrap_or_else(|| {
            unique
                .aws_id("i")
                .parse()
                .expect("a derived id has the format of EC2")
        }),
        instance_type: file
            .instance_type
            .clone()
            .unwrap_or_else(|| DEFAULT_INSTANCE_TYPE.to_owned()),
        type_like: file.type_like.clone(),
        type_data: file.type_data.clone(),
        ami: file.ami.clone().unwrap_or_else(|| unique.aws_id("ami")),
        private_ip: addresses.private_ip,
        host_name: file.host_name.clone().unwrap_or_else(|| private_dns_name.clone()),
        private_dns_name,
        mac: file
            .mac
            .as_ref()
            .map_or_else(|| unique.mac(), |mac| mac.to_lowercase()),
        availability_zone: file
            .availability_zone
            .clone()
            .unwrap_or_else(|| format!("{region}a")),
        subnet_cidr: addresses.subnet.to_string(),
        vpc_cidrs: addresses.vpc.iter().map(Cidr::to_string).collect(),
        vpc_id: unique.aws_id("vpc"),
        subnet_id: unique.aws_id("subnet"),
        network_interface_id: unique.aws_id("eni"),
        security_group_id: unique.aws_id("sg"),
        volumes: file.volumes.clone(),
        tags: tags(file, cluster),
        life_cycle: file.life_cycle,
        metadata: file.metadata.clone(),
        network: file.network.clone(),
        clock_ahead_seconds: file.clock_ahead_seconds,
    }
}

/// Adds the tag that names the cluster. Kubelets with the in-tree AWS provider require exactly one. EC2 rejects keys
/// with a slash if the metadata service returns tags.
fn tags(file: &InstanceFile, cluster: &str) -> BTreeMap<String, String> {
    let mut tags = file.tags.clone();
    let names_a_cluster = tags.keys().any(|key| key.starts_with("kubernetes.io/cluster/"));
    if !names_a_cluster && !file.metadata.instance_tags {
        tags.insert(format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned());
    }
    tags
}

struct Addresses {
    private_ip: Ipv4Addr,
    subnet: Cidr,
    vpc: Vec<Cidr>,
}

/// Address, subnet and VPC. Missing ones are derived from the others.
fn addresses(file: &InstanceFile, unique: &DerivedDefaults<'_>) -> Addresses {
    let vpc = file.vpc_cidrs.clone().unwrap_or_default();
    let around = file
        .subnet_cidr
        .or(vpc.first().copied())
        .unwrap_or_else(|| Cidr::around(DEFAULT_VPC_NETWORK, 16));
    let private_ip = file.private_ip.unwrap_or_else(|| unique.address(&around));
    let subnet = file.subnet_cidr.unwrap_or_else(|| Cidr::around(private_ip, 19));
    let vpc = if vpc.is_empty() {
        vec![Cidr::around(subnet.address(0), 16)]
    } else {
        vpc
    };
    Addresses {
        private_ip,
        subnet,
        vpc,
    }
}
