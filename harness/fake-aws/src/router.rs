//! From a host name to a service, and from a request to its answer.

use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::region::{Partition, Region};

use crate::clock::Moment;
use crate::exchange::{Answer, Request, ServiceError};
use crate::services::{cloudformation, ec2, ecr, eks, imds, registry, sts};
use crate::sigv4::signed;
use crate::wire::{Shape, errors};
use crate::world::{Instance, Target, World};

/// A service's endpoint, as its host name tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Service.
    pub service: Service,
    /// Region that signatures must be scoped to.
    pub region: String,
    /// Account, in a registry's name.
    pub account: Option<String>,
}

/// What the host names below a suffix are.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Those of a service, over IPv4.
    Ipv4,
    /// Those of a service, over IPv4 and IPv6.
    DualStack,
    /// Those of a customer's own resource, over both.
    DualStackResource,
}

impl Endpoint {
    /// The endpoint of a host name, in lower case and without a port; `None` where no service of the fake has that name.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        let (labels, kind, partition) = without_suffix(host)?;
        let parts: Vec<&str> = labels.split('.').collect();
        let (service, region, account) = match (kind, parts.as_slice()) {
            (Kind::Ipv4, ["sts"]) if partition.name == "aws" => (Service::Sts, "us-east-1", None),
            (Kind::Ipv4, ["ec2"]) if partition.name == "aws" => (Service::Ec2, "us-east-1", None),
            (Kind::Ipv4, ["api", "ecr", region]) | (Kind::DualStack, ["ecr", region]) => {
                (Service::Ecr, *region, None)
            }
            (Kind::Ipv4, [account, "dkr", "ecr", region])
            | (Kind::DualStackResource, [account, "dkr-ecr", region])
                if is_account(account) =>
            {
                (Service::Registry, *region, Some((*account).to_owned()))
            }
            (Kind::Ipv4 | Kind::DualStack, [name, region]) => (
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
        })
    }

    /// The shape of the service's answers.
    #[must_use]
    pub fn shape(service: Service) -> Shape {
        match service {
            Service::Imds => Shape::Metadata,
            Service::Eks => Shape::RestJson,
            Service::Sts => sts::SHAPE,
            Service::Ec2 => Shape::Ec2,
            Service::Ecr => Shape::Json11,
            Service::Registry => Shape::Registry,
            Service::Cloudformation => cloudformation::SHAPE,
        }
    }
}

/// Splits a host name at the suffix of its partition. The first partition stands for all that share its suffixes.
fn without_suffix(host: &str) -> Option<(&str, Kind, &'static Partition)> {
    let labels = |suffix: &str| host.strip_suffix(suffix)?.strip_suffix('.');
    Partition::all().iter().find_map(|partition| {
        let ipv4 = labels(partition.dns_suffix).map(|labels| (labels, Kind::Ipv4));
        let dual_stack = || labels(partition.dual_stack_suffix).map(|labels| (labels, Kind::DualStack));
        let resource = || labels(partition.resource_suffix?).map(|labels| (labels, Kind::DualStackResource));
        let (labels, kind) = ipv4.or_else(dual_stack).or_else(resource)?;
        Some((labels, kind, *partition))
    })
}

/// The operations of a service that the fake knows; the metadata service has paths instead.
#[must_use]
pub fn operations(service: Service) -> &'static [&'static str] {
    match service {
        Service::Imds => &[],
        Service::Eks => &[
            "DescribeAccessEntry",
            "DescribeCluster",
            "DescribeNodegroup",
            "ListAccessEntries",
            "ListClusters",
            "ListNodegroups",
        ],
        Service::Sts => &["AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity"],
        Service::Ec2 => &[
            "DescribeInstanceTypes",
            "DescribeInstances",
            "DescribeNetworkInterfaces",
            "DescribeTags",
        ],
        Service::Ecr => &["GetAuthorizationToken"],
        Service::Registry => &["blob", "manifest", "tags", "version"],
        Service::Cloudformation => &["DescribeStacks", "SignalResource"],
    }
}

fn service(name: &str) -> Option<Service> {
    match name {
        "eks" => Some(Service::Eks),
        "sts" => Some(Service::Sts),
        "ec2" => Some(Service::Ec2),
        "cloudformation" => Some(Service::Cloudformation),
        _ => None,
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit())
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The metadata service.
    Metadata,
    /// A service by its host name.
    Service(Endpoint),
    /// A host name that no service has. It resolves nowhere, so only a client that made up its own address gets here.
    Nowhere,
}

impl Route {
    /// Where a request on the TLS port goes.
    #[must_use]
    pub fn of_host(request: &Request) -> Self {
        Endpoint::of_host(&request.host_name()).map_or(Self::Nowhere, Self::Service)
    }

    /// The same, where the account's own registry is asked by a loopback address: whoever is at one is no node.
    #[must_use]
    pub fn of(request: &Request, world: &World) -> Self {
        match Self::of_host(request) {
            Self::Nowhere if registry::is_asked_at_loopback(request) => Self::Service(Endpoint {
                service: Service::Registry,
                region: world.region.to_string(),
                account: Some(world.account.to_string()),
            }),
            route => route,
        }
    }

    /// The service, as the transcript has it. It has no word for a host of no service: the host name tells.
    #[must_use]
    pub fn service(&self) -> Service {
        match self {
            Self::Metadata => Service::Imds,
            Self::Service(endpoint) => endpoint.service,
            Self::Nowhere => Service::Ec2,
        }
    }

    /// What a request asks for.
    #[must_use]
    pub fn identify(&self, request: &Request) -> Target {
        let Self::Service(endpoint) = self else {
            return match self {
                Self::Metadata => imds::identify(request),
                _ => Target::unknown(self.service(), format!("{} {}", request.method, request.path)),
            };
        };
        match endpoint.service {
            Service::Imds => imds::identify(request),
            Service::Eks => eks::identify(request),
            Service::Sts => sts::identify(request),
            Service::Ec2 => ec2::identify(request),
            Service::Ecr => ecr::identify(request),
            Service::Registry => registry::identify(request),
            Service::Cloudformation => cloudformation::identify(request),
        }
    }

    /// Answers a request.
    pub fn answer(
        &self,
        instance: &mut Instance,
        request: &Request,
        target: &Target,
        moment: Moment,
    ) -> Answer {
        let answered = match self {
            Self::Metadata => return imds::answer(instance, request, moment),
            Self::Service(endpoint) => service_answer(instance, request, target, endpoint, moment),
            Self::Nowhere => Err(ServiceError::new(
                404,
                "UnknownHost",
                format!("no service of AWS is called {}", request.host_name()),
            )),
        };
        let mut answer = answered.unwrap_or_else(|error| self.error(request, error));
        answer.authorization = signed::claimed_access_key_id(request);
        answer
    }

    /// An error in the shape of this route's service.
    #[must_use]
    pub fn error(&self, request: &Request, error: ServiceError) -> Answer {
        let shape = Endpoint::shape(self.service());
        let mut answer = errors::answer(shape, error, sts::wants_json(request));
        answer.authorization = match self {
            Self::Metadata => Some(imds::authorization(request).to_owned()),
            _ => signed::claimed_access_key_id(request),
        };
        answer
    }
}

fn service_answer(
    instance: &mut Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    match endpoint.service {
        Service::Imds => Ok(imds::answer(instance, request, moment)),
        Service::Eks => eks::answer(instance, request, target, endpoint, moment),
        Service::Sts => sts::answer(instance, request, target, endpoint, moment),
        Service::Ec2 => ec2::answer(instance, request, target, endpoint, moment),
        Service::Ecr => ecr::answer(instance, request, target, endpoint, moment),
        Service::Registry => registry::answer(instance, request, endpoint, moment),
        Service::Cloudformation => cloudformation::answer(instance, request, target, endpoint, moment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_the_query_protocols_are_all_known() {
        for (service, host) in [
            (Service::Sts, "sts"),
            (Service::Ec2, "ec2"),
            (Service::Cloudformation, "cloudformation"),
        ] {
            for operation in operations(service) {
                let request = Request {
                    method: http::Method::GET,
                    host: format!("{host}.eu-west-1.amazonaws.com"),
                    path: "/".to_owned(),
                    query: format!("Action={operation}"),
                    headers: http::HeaderMap::new(),
                    body: bytes::Bytes::new(),
                };
                let target = Route::of_host(&request).identify(&request);
                assert!(target.known && target.operation == *operation, "{target:?}");
            }
        }
    }

    #[test]
    fn hosts_lead_to_services() {
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
            ("s3.eu-west-1.amazonaws.com", None),
            ("registry.k8s.io", None),
        ];
        for (host, expected) in table {
            let found = Endpoint::of_host(host);
            assert_eq!(
                found.as_ref().map(|e| (e.service, e.region.as_str())),
                expected,
                "{host}"
            );
        }
    }
}
