//! The AWS regions that have EKS, their partitions, host name suffixes and zone ids.
//!
//! Regions: the endpoints of `eks` in botocore's `endpoints.json` (1.44). Suffixes: its `partitions.json`. Resource
//! suffixes: the dual-stack registries of ECR. AWS publishes no zone ids of the isolated partitions and of `aws-eusc`;
//! theirs follow the same rule.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::vocabulary::nearest::nearest;

/// A group of regions with its own accounts, ARNs and host names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The second field of its ARNs, such as `aws-cn`.
    pub name: &'static str,
    /// What the names of its regions start with; empty for `aws`, which has several.
    region_prefix: &'static str,
    /// Suffix of service host names over IPv4.
    pub dns_suffix: &'static str,
    /// Suffix of service host names over IPv4 and IPv6.
    pub dual_stack_suffix: &'static str,
    /// Suffix of the host names of customers' resources over IPv4 and IPv6.
    pub resource_suffix: Option<&'static str>,
}

static AWS: Partition = Partition {
    name: "aws",
    region_prefix: "",
    dns_suffix: "amazonaws.com",
    dual_stack_suffix: "api.aws",
    resource_suffix: Some("on.aws"),
};
static CHINA: Partition = Partition {
    name: "aws-cn",
    region_prefix: "cn-",
    dns_suffix: "amazonaws.com.cn",
    dual_stack_suffix: "api.amazonwebservices.com.cn",
    resource_suffix: Some("on.amazonwebservices.com.cn"),
};
static US_GOV: Partition = Partition {
    name: "aws-us-gov",
    region_prefix: "us-gov-",
    dns_suffix: "amazonaws.com",
    dual_stack_suffix: "api.aws",
    resource_suffix: Some("on.aws"),
};
static EUSC: Partition = Partition {
    name: "aws-eusc",
    region_prefix: "eusc-",
    dns_suffix: "amazonaws.eu",
    dual_stack_suffix: "api.amazonwebservices.eu",
    resource_suffix: None,
};
static ISO: Partition = Partition {
    name: "aws-iso",
    region_prefix: "us-iso-",
    dns_suffix: "c2s.ic.gov",
    dual_stack_suffix: "api.aws.ic.gov",
    resource_suffix: None,
};
static ISO_B: Partition = Partition {
    name: "aws-iso-b",
    region_prefix: "us-isob-",
    dns_suffix: "sc2s.sgov.gov",
    dual_stack_suffix: "api.aws.scloud",
    resource_suffix: None,
};
static ISO_E: Partition = Partition {
    name: "aws-iso-e",
    region_prefix: "eu-isoe-",
    dns_suffix: "cloud.adc-e.uk",
    dual_stack_suffix: "api.cloud-aws.adc-e.uk",
    resource_suffix: None,
};
static ISO_F: Partition = Partition {
    name: "aws-iso-f",
    region_prefix: "us-isof-",
    dns_suffix: "csp.hci.ic.gov",
    dual_stack_suffix: "api.aws.hci.ic.gov",
    resource_suffix: None,
};

static PARTITIONS: [&Partition; 8] = [&AWS, &CHINA, &US_GOV, &EUSC, &ISO, &ISO_B, &ISO_E, &ISO_F];

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct RegionRow {
    name: &'static str,
    partition: &'static Partition,
    zone_id_prefix: &'static str,
}

const fn row(name: &'static str, partition: &'static Partition, zone_id_prefix: &'static str) -> RegionRow {
    RegionRow {
        name,
        partition,
        zone_id_prefix,
    }
}

#[rustfmt::skip]
static REGIONS: &[RegionRow] = &[
    row("af-south-1", &AWS, "afs1"),
    row("ap-east-1", &AWS, "ape1"),
    row("ap-east-2", &AWS, "ape2"),
    row("ap-northeast-1", &AWS, "apne1"),
    row("ap-northeast-2", &AWS, "apne2"),
    row("ap-northeast-3", &AWS, "apne3"),
    row("ap-south-1", &AWS, "aps1"),
    row("ap-south-2", &AWS, "aps2"),
    row("ap-southeast-1", &AWS, "apse1"),
    row("ap-southeast-2", &AWS, "apse2"),
    row("ap-southeast-3", &AWS, "apse3"),
    row("ap-southeast-4", &AWS, "apse4"),
    row("ap-southeast-5", &AWS, "apse5"),
    row("ap-southeast-6", &AWS, "apse6"),
    row("ap-southeast-7", &AWS, "apse7"),
    row("ca-central-1", &AWS, "cac1"),
    row("ca-west-1", &AWS, "caw1"),
    row("cn-north-1", &CHINA, "cnn1"),
    row("cn-northwest-1", &CHINA, "cnnw1"),
    row("eu-central-1", &AWS, "euc1"),
    row("eu-central-2", &AWS, "euc2"),
    row("eu-isoe-west-1", &ISO_E, "euisoew1"),
    row("eu-north-1", &AWS, "eun1"),
    row("eu-south-1", &AWS, "eus1"),
    row("eu-south-2", &AWS, "eus2"),
    row("eu-west-1", &AWS, "euw1"),
    row("eu-west-2", &AWS, "euw2"),
    row("eu-west-3", &AWS, "euw3"),
    row("eusc-de-east-1", &EUSC, "euscdee1"),
    row("il-central-1", &AWS, "ilc1"),
    row("me-central-1", &AWS, "mec1"),
    row("me-south-1", &AWS, "mes1"),
    row("mx-central-1", &AWS, "mxc1"),
    row("sa-east-1", &AWS, "sae1"),
    row("us-east-1", &AWS, "use1"),
    row("us-east-2", &AWS, "use2"),
    row("us-gov-east-1", &US_GOV, "usge1"),
    row("us-gov-west-1", &US_GOV, "usgw1"),
    row("us-iso-east-1", &ISO, "usisoe1"),
    row("us-iso-west-1", &ISO, "usisow1"),
    row("us-isob-east-1", &ISO_B, "usisobe1"),
    row("us-isob-west-1", &ISO_B, "usisobw1"),
    row("us-isof-east-1", &ISO_F, "usisofe1"),
    row("us-isof-south-1", &ISO_F, "usisofs1"),
    row("us-west-1", &AWS, "usw1"),
    row("us-west-2", &AWS, "usw2"),
];

impl Partition {
    /// All partitions, `aws` first.
    #[must_use]
    pub fn all() -> &'static [&'static Self] {
        &PARTITIONS
    }

    /// The partition that a region's name belongs to by its form, as in AWS' SDKs; the region need not exist.
    #[must_use]
    pub fn of_region_name(name: &str) -> &'static Self {
        let has_prefix = |partition: &&&'static Self| {
            !partition.region_prefix.is_empty() && name.starts_with(partition.region_prefix)
        };
        PARTITIONS.iter().find(has_prefix).unwrap_or(&&AWS)
    }
}

/// An AWS region that has EKS.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Region(&'static RegionRow);

/// A region name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown AWS region `{name}`")]
pub struct UnknownRegion {
    name: String,
}

impl UnknownRegion {
    /// The region that was most likely meant.
    #[must_use]
    pub fn hint(&self) -> String {
        match nearest(&self.name, REGIONS.iter().map(|row| row.name)) {
            Some(right) => format!("did you mean `{right}`?"),
            None => "expected a region with EKS, such as `eu-west-1`".to_owned(),
        }
    }
}

impl Region {
    /// The region of a scenario that names none.
    pub const DEFAULT: &str = "eu-west-1";

    /// Every region with EKS, in the order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        REGIONS.iter().map(Self)
    }

    /// The region's name, such as `eu-west-1`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.0.name
    }

    /// The suffix of the region's AWS host names.
    #[must_use]
    pub fn dns_suffix(&self) -> &'static str {
        self.0.partition.dns_suffix
    }

    /// The partition in the region's ARNs, such as `aws-cn`.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        self.0.partition.name
    }

    /// The domain of private DNS names. `us-east-1` is the one exception to the rule.
    #[must_use]
    pub fn private_domain(&self) -> String {
        match self.0.name {
            "us-east-1" => "ec2.internal".to_owned(),
            name => format!("{name}.compute.internal"),
        }
    }

    /// The private DNS name of an instance by its address, such as `ip-192-168-40-16.eu-west-1.compute.internal`.
    #[must_use]
    pub fn private_dns_name(&self, address: Ipv4Addr) -> String {
        let address = address.to_string().replace('.', "-");
        format!("ip-{address}.{}", self.private_domain())
    }

    /// The id of an availability zone, such as `euw1-az1` for `eu-west-1a`. Real accounts map letters to ids in their
    /// own order; here `a` is always 1.
    #[must_use]
    pub fn zone_id(&self, zone: &str) -> String {
        let letter = zone
            .strip_prefix(self.0.name)
            .and_then(|rest| rest.bytes().next())
            .unwrap_or(b'a');
        format!("{}-az{}", self.0.zone_id_prefix, letter.saturating_sub(b'a') + 1)
    }
}

impl FromStr for Region {
    type Err = UnknownRegion;

    fn from_str(name: &str) -> Result<Self, UnknownRegion> {
        REGIONS
            .iter()
            .find(|row| row.name == name)
            .map(Self)
            .ok_or_else(|| UnknownRegion {
                name: name.to_owned(),
            })
    }
}

impl TryFrom<String> for Region {
    type Error = UnknownRegion;

    fn try_from(name: String) -> Result<Self, UnknownRegion> {
        name.parse()
    }
}

impl From<Region> for String {
    fn from(region: Region) -> Self {
        region.0.name.to_owned()
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.0.name).finish()
    }
}

impl JsonSchema for Region {
    fn schema_name() -> Cow<'static, str> {
        "Region".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = REGIONS.iter().map(|row| row.name).collect();
        json_schema!({ "type": "string", "format": "aws-region", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str) -> Region {
        name.parse().unwrap()
    }

    #[test]
    fn each_region_belongs_to_the_partition_of_its_name() {
        for region in Region::all() {
            let partition = Partition::of_region_name(region.as_str());
            assert_eq!(region.partition(), partition.name, "{region}");
        }
        assert_eq!(Partition::of_region_name("xx-nowhere-1").name, "aws");
    }

    #[test]
    fn partitions_have_their_own_suffixes() {
        for (name, partition, suffix) in [
            ("eu-west-1", "aws", "amazonaws.com"),
            ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
            ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
            ("us-iso-east-1", "aws-iso", "c2s.ic.gov"),
        ] {
            assert_eq!(
                (region(name).partition(), region(name).dns_suffix()),
                (partition, suffix)
            );
        }
    }

    #[test]
    fn only_us_east_1_has_a_private_domain_without_its_name() {
        assert_eq!(region("us-east-1").private_domain(), "ec2.internal");
        assert_eq!(region("us-east-2").private_domain(), "us-east-2.compute.internal");
    }

    #[test]
    fn zone_ids_abbreviate_the_region() {
        for (name, zone, expected) in [
            ("eu-west-1", "eu-west-1a", "euw1-az1"),
            ("us-east-1", "us-east-1c", "use1-az3"),
            ("ap-southeast-2", "ap-southeast-2b", "apse2-az2"),
            ("ap-southeast-6", "ap-southeast-6a", "apse6-az1"),
            ("us-gov-west-1", "us-gov-west-1a", "usgw1-az1"),
        ] {
            assert_eq!(region(name).zone_id(zone), expected);
        }
    }

    #[test]
    fn an_unknown_region_names_the_nearest_one() {
        let error = "eu-wets-1".parse::<Region>().unwrap_err();
        assert_eq!(error.to_string(), "unknown AWS region `eu-wets-1`");
        assert_eq!(error.hint(), "did you mean `eu-west-1`?");
    }

    #[test]
    fn the_table_is_sorted_and_has_no_duplicates() {
        assert!(REGIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
