//! Host names of AWS services, and of resources of customers.

mod not_emulated;
mod parts;
mod resource;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::region::Region;
use nodejoin_core::vocabulary::aws_service::AwsService;

use self::parts::{EndpointKind, is_account, is_region, without_suffix};

/// The service behind a host name of AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostName {
    Emulated(Endpoint),
    NotEmulated(AwsService),
    /// A customer's resource, such as a function's URL or a stage of an API: only the scenario knows its responses.
    Resource(AwsService),
}

impl HostName {
    /// Parses a host name in lower case and without a port. Returns `None` for a name that AWS does not have.
    pub(crate) fn parse(host: &str) -> Option<Self> {
        let behind = behind_interface_endpoint(host);
        let host = behind.as_deref().unwrap_or(host);
        match Endpoint::parse(host).or_else(|| s3(host)) {
            Some(endpoint) => Some(Self::Emulated(endpoint)),
            None => not_emulated::service(host)
                .map(Self::NotEmulated)
                .or_else(|| resource(host).map(Self::Resource)),
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
    /// Whether the host name has no region, so that buckets of every region are there.
    pub(crate) is_global: bool,
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
            (EndpointKind::Ipv4, ["fips", "eks", region]) => (Service::Eks, *region, None),
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
        let exists = exists && (!labels.contains("fips") || has_fips(service, region));
        exists.then(|| Self {
            service,
            region: region.to_owned(),
            account,
            bucket: None,
            is_global: false,
        })
    }
}

/// Whether a service has a FIPS name of its own in a region: botocore's `endpoints.json` (1.44). In GovCloud, the plain
/// names of EKS, EC2, STS and CloudFormation are those of FIPS.
fn has_fips(service: Service, region: &str) -> bool {
    const ALL: [&str; 4] = ["us-east-1", "us-east-2", "us-west-1", "us-west-2"];
    let is_plain = [Service::Eks, Service::Ec2, Service::Sts, Service::Cloudformation].contains(&service);
    let is_of_registry = [Service::Ecr, Service::Registry].contains(&service);
    match region {
        "us-gov-east-1" | "us-gov-west-1" => !is_plain,
        "ca-central-1" | "ca-west-1" => service == Service::Ec2 || !(is_plain || is_of_registry),
        region => ALL.contains(&region),
    }
}

/// The service of a resource of a customer, such as `ID.execute-api.eu-west-1.amazonaws.com`.
fn resource(host: &str) -> Option<AwsService> {
    let (labels, kind, partition) = without_suffix(host)?;
    resource::service(labels, kind, |name| is_region(name, partition))
}

/// The host name of the service behind an interface endpoint of a VPC, which has the names of its service and more.
fn behind_interface_endpoint(host: &str) -> Option<String> {
    let (labels, _, partition) = without_suffix(host)?;
    let service = resource::behind_interface_endpoint(labels)?;
    Some(format!("{service}.{}", partition.dns_suffix))
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
        is_global: region.is_none(),
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

#[cfg(test)]
mod tests;
