//! Host names of AWS services.

use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::region::{Partition, Region};
use nodejoin_core::vocabulary::aws_service::AwsService;

/// The service behind a host name of AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostName {
    Emulated(Endpoint),
    NotEmulated(AwsService),
}

impl HostName {
    /// Parses a host name in lower case and without a port. Returns `None` for a name that AWS does not have.
    pub(crate) fn parse(host: &str) -> Option<Self> {
        match Endpoint::parse(host).or_else(|| s3(host)) {
            Some(endpoint) => Some(Self::Emulated(endpoint)),
            None => not_emulated(host).map(Self::NotEmulated),
        }
    }
}

/// A service's endpoint, as its host name describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) service: Service,
    /// The region in the credential scope of signatures.
    pub(crate) region: String,
    /// Account, in a registry's host name.
    pub(crate) account: Option<String>,
    /// Bucket, in S3's host name.
    pub(crate) bucket: Option<String>,
}

/// The kind of host names below a suffix.
#[derive(Debug, Clone, Copy)]
enum EndpointKind {
    /// A service, over IPv4.
    Ipv4,
    /// A service, over IPv4 and IPv6.
    DualStack,
    /// A customer's own resource, over both.
    DualStackResource,
}

impl Endpoint {
    /// Parses a host name in lower case and without a port. Returns `None` for a host name of no service of the fake.
    pub(crate) fn parse(host: &str) -> Option<Self> {
        let (labels, kind, partition) = without_suffix(host)?;
        let parts: Vec<&str> = labels.split('.').collect();
        let (service, region, account) = match (kind, parts.as_slice()) {
            (EndpointKind::Ipv4, ["sts"]) if partition.name == "aws" => (Service::Sts, "us-east-1", None),
            (EndpointKind::Ipv4, ["ec2"]) if partition.name == "aws" => (Service::Ec2, "us-east-1", None),
            (EndpointKind::Ipv4, ["api", "ecr" | "ecr-fips", region] | ["ecr-fips", region])
            | (EndpointKind::DualStack, ["ecr" | "ecr-fips", region]) => (Service::Ecr, *region, None),
            (EndpointKind::Ipv4, [account, "dkr", "ecr" | "ecr-fips", region])
            | (EndpointKind::DualStackResource, [account, "dkr-ecr" | "dkr-ecr-fips", region])
                if is_account(account) =>
            {
                (Service::Registry, *region, Some((*account).to_owned()))
            }
            (EndpointKind::Ipv4 | EndpointKind::DualStack, [name, region]) => (
                service(name.strip_suffix("-fips").unwrap_or(name))?,
                *region,
                None,
            ),
            _ => return None,
        };
        let exists = region
            .parse()
            .is_ok_and(|region: Region| region.dns_suffix() == partition.dns_suffix);
        exists.then(|| Self {
            service,
            region: region.to_owned(),
            account,
            bucket: None,
        })
    }
}

/// The service of a host name such as `ssm.eu-west-1.amazonaws.com` or `iam.amazonaws.com`. Version 1 of the AWS CLI
/// uses older names of three services: `eu-west-1.queue`, `eu-west-1.elasticmapreduce`, and `rds` without a region.
fn not_emulated(host: &str) -> Option<AwsService> {
    let (labels, _, partition) = without_suffix(host)?;
    match labels.rsplit_once('.') {
        Some((name, region)) if is_region(region, partition) => {
            let name = name.strip_suffix("-fips").unwrap_or(name);
            // S3 Control has the account in its host names.
            let of_account = || name.split_once('.').filter(|(account, _)| is_account(account));
            AwsService::of_host(name).or_else(|| AwsService::of_host(of_account()?.1))
        }
        Some((region, "queue")) if is_region(region, partition) => AwsService::of_host("sqs"),
        Some((region, name @ "elasticmapreduce")) if is_region(region, partition) => {
            AwsService::of_host(name)
        }
        _ => match (labels, partition.name) {
            ("queue", "aws") => AwsService::of_host("sqs"),
            ("rds", "aws") => AwsService::of_host("rds"),
            _ => AwsService::of_host(labels).filter(|service| service.is_global()),
        },
    }
}

/// The endpoint of S3, with or without a bucket: `BUCKET.s3.dualstack.REGION`, `s3-REGION`, `BUCKET.s3`.
fn s3(host: &str) -> Option<Endpoint> {
    let (labels, _, partition) = without_suffix(host)?;
    let is_region = |name: &str| is_region(name, partition);
    let mut labels: Vec<&str> = labels.split('.').collect();
    let mut region = labels.pop_if(|last| is_region(last));
    labels.pop_if(|last| *last == "dualstack");
    let last = labels.pop()?;
    if !["s3", "s3-fips", "s3-accelerate"].contains(&last) {
        region = last.strip_prefix("s3-").filter(|name| is_region(name));
        region?;
    }
    Some(Endpoint {
        service: Service::S3,
        region: region.unwrap_or("us-east-1").to_owned(),
        account: None,
        bucket: (!labels.is_empty()).then(|| labels.join(".")),
    })
}

fn is_region(name: &str, partition: &Partition) -> bool {
    let region = name.parse::<Region>();
    region.is_ok_and(|region| region.dns_suffix() == partition.dns_suffix)
}

/// Splits a host name at the suffix of its partition. Partitions that share suffixes match as the first of them.
fn without_suffix(host: &str) -> Option<(&str, EndpointKind, &'static Partition)> {
    let labels = |suffix: &str| host.strip_suffix(suffix)?.strip_suffix('.');
    Partition::all().iter().find_map(|partition| {
        let ipv4 = labels(partition.dns_suffix).map(|labels| (labels, EndpointKind::Ipv4));
        let dual_stack =
            || labels(partition.dual_stack_suffix).map(|labels| (labels, EndpointKind::DualStack));
        let resource =
            || labels(partition.resource_suffix?).map(|labels| (labels, EndpointKind::DualStackResource));
        let (labels, kind) = ipv4.or_else(dual_stack).or_else(resource)?;
        Some((labels, kind, *partition))
    })
}

fn service(name: &str) -> Option<Service> {
    match name {
        "eks" => Some(Service::Eks),
        "sts" => Some(Service::Sts),
        "ec2" => Some(Service::Ec2),
        "cloudformation" => Some(Service::Cloudformation),
        "ssm" => Some(Service::Ssm),
        "secretsmanager" => Some(Service::Secretsmanager),
        "autoscaling" => Some(Service::Autoscaling),
        "logs" => Some(Service::Logs),
        "monitoring" => Some(Service::Monitoring),
        "eks-auth" => Some(Service::EksAuth),
        _ => None,
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_the_host_names_of_s3() {
        let table = [
            ("s3.eu-west-1.amazonaws.com", Some(("eu-west-1", None))),
            ("s3-eu-west-1.amazonaws.com", Some(("eu-west-1", None))),
            ("b.s3-eu-west-1.amazonaws.com", Some(("eu-west-1", Some("b")))),
            (
                "a.b.s3.dualstack.eu-west-1.amazonaws.com",
                Some(("eu-west-1", Some("a.b"))),
            ),
            ("b.s3.amazonaws.com", Some(("us-east-1", Some("b")))),
            (
                "b.s3.cn-north-1.amazonaws.com.cn",
                Some(("cn-north-1", Some("b"))),
            ),
            ("b.s3.eu-west-9.amazonaws.com", None),
            ("s3-control.eu-west-1.amazonaws.com", None),
        ];
        for (host, expected) in table {
            let found = s3(host);
            let parts = found
                .as_ref()
                .map(|s3| (s3.region.as_str(), s3.bucket.as_deref()));
            assert_eq!(parts, expected, "{host}");
        }
    }

    #[test]
    fn host_names_of_other_services_are_those_of_aws() {
        let table = [
            ("sqs.eu-west-1.amazonaws.com", Some("sqs")),
            ("sqs.eu-west-1.api.aws", Some("sqs")),
            ("kms-fips.us-east-1.amazonaws.com", Some("kms")),
            ("api.pricing.us-east-1.amazonaws.com", Some("api.pricing")),
            ("iam.amazonaws.com", Some("iam")),
            ("eu-west-1.queue.amazonaws.com", Some("sqs")),
            ("cn-north-1.queue.amazonaws.com.cn", Some("sqs")),
            ("queue.amazonaws.com", Some("sqs")),
            (
                "eu-west-1.elasticmapreduce.amazonaws.com",
                Some("elasticmapreduce"),
            ),
            ("rds.amazonaws.com", Some("rds")),
            (
                "111122223333.s3-control.eu-west-1.amazonaws.com",
                Some("s3-control"),
            ),
            ("x.s3-control.eu-west-1.amazonaws.com", None),
            ("queue.amazonaws.com.cn", None),
            ("eu-west-9.queue.amazonaws.com", None),
            ("eu-west-1.kms.amazonaws.com", None),
            // Names that do not resolve outside either.
            ("sqs.amazonaws.com", None),
            ("sqs.eu-west-9.amazonaws.com", None),
            ("sqqs.eu-west-1.amazonaws.com", None),
            ("abc.gr7.eu-west-1.eks.amazonaws.com", None),
            ("sqs.eu-west-1.example.com", None),
        ];
        for (host, expected) in table {
            let found = not_emulated(host).map(AwsService::word);
            assert_eq!(found, expected, "{host}");
        }
    }

    #[test]
    fn host_names_identify_services() {
        let table = [
            ("eks.eu-west-1.amazonaws.com", Some((Service::Eks, "eu-west-1"))),
            ("sts.amazonaws.com", Some((Service::Sts, "us-east-1"))),
            ("sts.eu-west-1.amazonaws.com", Some((Service::Sts, "eu-west-1"))),
            (
                "sts-fips.us-east-1.amazonaws.com",
                Some((Service::Sts, "us-east-1")),
            ),
            (
                "ec2.cn-north-1.amazonaws.com.cn",
                Some((Service::Ec2, "cn-north-1")),
            ),
            ("ec2.cn-north-1.amazonaws.com", None),
            (
                "api.ecr.eu-west-1.amazonaws.com",
                Some((Service::Ecr, "eu-west-1")),
            ),
            (
                "602401143452.dkr.ecr.eu-west-1.amazonaws.com",
                Some((Service::Registry, "eu-west-1")),
            ),
            (
                "602401143452.dkr.ecr-fips.us-east-1.amazonaws.com",
                Some((Service::Registry, "us-east-1")),
            ),
            (
                "602401143452.dkr-ecr-fips.us-east-1.on.aws",
                Some((Service::Registry, "us-east-1")),
            ),
            (
                "ecr-fips.us-east-1.amazonaws.com",
                Some((Service::Ecr, "us-east-1")),
            ),
            (
                "api.ecr-fips.us-gov-west-1.amazonaws.com",
                Some((Service::Ecr, "us-gov-west-1")),
            ),
            ("ecr-fips.us-east-1.api.aws", Some((Service::Ecr, "us-east-1"))),
            (
                "eks-auth.eu-west-1.api.aws",
                Some((Service::EksAuth, "eu-west-1")),
            ),
            (
                "eks-auth-fips.us-east-1.amazonaws.com",
                Some((Service::EksAuth, "us-east-1")),
            ),
            ("x.dkr.ecr.eu-west-1.amazonaws.com", None),
            ("sts.eu-west-1.api.aws", Some((Service::Sts, "eu-west-1"))),
            ("sts.api.aws", None),
            (
                "sts.cn-north-1.api.amazonwebservices.com.cn",
                Some((Service::Sts, "cn-north-1")),
            ),
            ("sts.eu-west-1.api.amazonwebservices.com.cn", None),
            ("sts.cn-north-1.api.aws", None),
            ("ecr.eu-west-1.api.aws", Some((Service::Ecr, "eu-west-1"))),
            ("ecr.eu-west-1.amazonaws.com", None),
            ("api.ecr.eu-west-1.api.aws", None),
            (
                "602401143452.dkr-ecr.eu-west-1.on.aws",
                Some((Service::Registry, "eu-west-1")),
            ),
            ("602401143452.dkr-ecr.eu-west-1.amazonaws.com", None),
            (
                "602401143452.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn",
                Some((Service::Registry, "cn-north-1")),
            ),
            (
                "cloudformation.us-gov-west-1.amazonaws.com",
                Some((Service::Cloudformation, "us-gov-west-1")),
            ),
            ("eks.eu-west-9.amazonaws.com", None),
            (
                "eks.ap-southeast-6.amazonaws.com",
                Some((Service::Eks, "ap-southeast-6")),
            ),
            (
                "eks.us-iso-east-1.c2s.ic.gov",
                Some((Service::Eks, "us-iso-east-1")),
            ),
            ("eks.us-iso-east-1.amazonaws.com", None),
            ("logs.eu-west-1.api.aws", Some((Service::Logs, "eu-west-1"))),
            ("s3.eu-west-1.amazonaws.com", None),
            ("registry.k8s.io", None),
        ];
        for (host, expected) in table {
            let parsed = Endpoint::parse(host);
            assert_eq!(
                parsed.as_ref().map(|e| (e.service, e.region.as_str())),
                expected,
                "{host}"
            );
        }
    }
}
