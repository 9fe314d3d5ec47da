//! Names that EC2 derives from others: reservation ids, DNS names, the default security group.

use std::net::Ipv4Addr;

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::region::Region;
use sha2::{Digest, Sha256};

/// Name of the instance's security group.
pub const SECURITY_GROUP: &str = "default";

/// The reservation of an instance: the same for the same instance.
#[must_use]
pub fn reservation_id(instance: &InstancePlan) -> String {
    format!("r-0{}", &hex::encode(Sha256::digest(instance.id.as_str()))[..16])
}

/// The name that EC2's DNS gives to a private address.
#[must_use]
pub fn private_dns_name(region: &Region, address: Ipv4Addr) -> String {
    format!("ip-{}.{}", dashed(address), region.private_domain())
}

/// The name that EC2's DNS gives to a public address.
#[must_use]
pub fn public_dns_name(region: &Region, address: Ipv4Addr) -> String {
    let domain = match region.as_str() {
        "us-east-1" => "compute-1".to_owned(),
        other => format!("{other}.compute"),
    };
    format!("ec2-{}.{domain}.{}", dashed(address), region.dns_suffix())
}

fn dashed(address: Ipv4Addr) -> String {
    address.to_string().replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_addresses() {
        let address = Ipv4Addr::new(3, 4, 5, 6);
        let table = [
            (
                "us-east-1",
                "ip-3-4-5-6.ec2.internal",
                "ec2-3-4-5-6.compute-1.amazonaws.com",
            ),
            (
                "eu-west-1",
                "ip-3-4-5-6.eu-west-1.compute.internal",
                "ec2-3-4-5-6.eu-west-1.compute.amazonaws.com",
            ),
            (
                "cn-north-1",
                "ip-3-4-5-6.cn-north-1.compute.internal",
                "ec2-3-4-5-6.cn-north-1.compute.amazonaws.com.cn",
            ),
        ];
        for (region, private, public) in table {
            let region: Region = region.parse().unwrap();
            assert_eq!(private_dns_name(&region, address), private);
            assert_eq!(public_dns_name(&region, address), public);
        }
    }
}
