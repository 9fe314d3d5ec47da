//! Host names of the services that the fake does not emulate.

use std::borrow::Cow;

use nodejoin_core::vocabulary::aws_service::AwsService;

use super::parts::{is_account, is_region, without_suffix};

/// Names that differ from the one in the list of services. Source: the host names of boto3 1.44.8 in all partitions.
const ALIASES: [(&str, &str); 9] = [
    ("aos", "es"),
    ("api.iot-tunneling", "api.tunneling.iot"),
    ("cn.transcribe", "transcribe"),
    ("data.ats.iot", "data-ats.iot"),
    ("data.iot", "data-ats.iot"),
    ("detective", "api.detective"),
    ("ecr-public", "api.ecr-public"),
    ("entitlement-marketplace", "entitlement.marketplace"),
    ("metering-marketplace", "metering.marketplace"),
];
/// Names in the partition `aws` without a region.
const GLOBAL: [(&str, &str); 4] = [
    ("global.health", "health"),
    ("queue", "sqs"),
    ("rds", "rds"),
    ("sdb", "sdb"),
];
/// What a name without a region may end with instead: IAM and Route 53 in AWS GovCloud, and the newer names of some.
const NO_REGION: [&str; 2] = ["global", "us-gov"];

/// The service of a host name such as `ssm.eu-west-1.amazonaws.com` or `iam.amazonaws.com`. Version 1 of the AWS CLI
/// uses older names of three services: `eu-west-1.queue`, `eu-west-1.elasticmapreduce`, and `rds` without a region.
pub(super) fn service(host: &str) -> Option<AwsService> {
    let (labels, _, partition) = without_suffix(host)?;
    let is_region = |name: &str| is_region(name, partition);
    match labels.rsplit_once('.') {
        Some((name, region)) if is_region(region) => {
            let name = name.strip_suffix(".dualstack").unwrap_or(name);
            // S3 Control has the account in its host names.
            let of_account = || name.split_once('.').filter(|(account, _)| is_account(account));
            named(name).or_else(|| named(of_account()?.1))
        }
        Some((region, "queue")) if is_region(region) => AwsService::of_host("sqs"),
        Some((region, name @ "elasticmapreduce")) if is_region(region) => named(name),
        Some((name, end)) if NO_REGION.contains(&end) => named(name).filter(|service| service.is_global()),
        _ => {
            let mut global = GLOBAL.iter().filter(|_| partition.name == "aws");
            match global.find(|(name, _)| *name == labels) {
                Some((_, service)) => AwsService::of_host(service),
                None => named(labels).filter(|service| service.is_global()),
            }
        }
    }
}

/// The service of this name, of its FIPS variant, or of one of its other names.
fn named(name: &str) -> Option<AwsService> {
    let name = without_fips(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    AwsService::of_host(alias.map_or(&name, |(_, listed)| listed))
}

/// A name without the mark of its FIPS variant: `kms-fips`, `data.iot-fips` and `fips.batch`.
fn without_fips(name: &str) -> Cow<'_, str> {
    if !name.contains("fips") {
        return Cow::Borrowed(name);
    }
    let name = name.strip_prefix("fips.").unwrap_or(name);
    let labels = name
        .split('.')
        .map(|label| label.strip_suffix("-fips").unwrap_or(label));
    Cow::Owned(labels.collect::<Vec<_>>().join("."))
}
