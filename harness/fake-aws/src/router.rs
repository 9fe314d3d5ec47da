//! Routes a request from its host name to a service, and from its operation to a response.

use http::Method;
use nodejoin_core::observation::{CalledService, TLS_PROXY};
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::outside::{Scheme, is_host_of};
use nodejoin_core::vocabulary::aws_service::AwsService;
use nodejoin_core::vocabulary::outside_name;

use crate::clock::RequestTime;
use crate::endpoint::{Endpoint, HostName};
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::outside;
use crate::services::{
    ServiceRequest, autoscaling, cloudformation, ec2, ecr, eks, eks_auth, imds, logs, monitoring, registry,
    s3, secretsmanager, ssm, sts,
};
use crate::sigv4::request_signature;
use crate::wire::{self, WireFormat, errors};
use crate::world::World;

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Metadata,
    Service(Endpoint),
    /// A service of AWS that the fake does not emulate.
    NotEmulated(AwsService),
    /// A customer's resource in a service.
    Resource(AwsService),
    /// A node's request to a host outside.
    Outside(Scheme),
    /// A request for a tunnel inside of TLS: its client takes the fakes for a proxy that expects TLS.
    TlsProxy,
    /// The host name belongs to no service. The resolver has no address for it, so that only a client with an address
    /// of its own sends such a request.
    Unknown,
}

impl Route {
    /// Routes a request on the TLS port by its host name.
    pub(crate) fn of_host(request: &Request) -> Self {
        match HostName::parse(&request.host_name()) {
            Some(HostName::Emulated(endpoint)) => Self::Service(endpoint),
            Some(HostName::NotEmulated(service)) => Self::NotEmulated(service),
            Some(HostName::Resource(service)) => Self::Resource(service),
            None => Self::Unknown,
        }
    }

    /// Routes a request on the TLS port. A loopback address stands for the account's own registry: clients there are
    /// not nodes.
    pub(crate) fn of(request: &Request, world: &World) -> Self {
        match Self::of_host(request) {
            Self::Unknown if registry::is_loopback_request(request) => Self::Service(Endpoint {
                service: Service::Registry,
                region: world.region.to_string(),
                account: Some(world.account.to_string()),
                bucket: None,
                is_global: false,
            }),
            route => route,
        }
    }

    /// Routes a request of an account's client, which reaches the hosts of recorded URLs through `CONNECT`.
    pub(crate) fn of_client(request: &Request, world: &World) -> Self {
        if request.method == Method::CONNECT {
            return Self::TlsProxy;
        }
        match Self::of(request, world) {
            Self::Unknown if is_host_of(&world.outside, &request.host_name()) => Self::Outside(Scheme::Https),
            route => route,
        }
    }

    /// Routes a request of a node: every name outside leads to the TLS port, too, and so do port 80 of public addresses
    /// and port 443 of those that the scenario names.
    pub(crate) fn of_node(request: &Request, world: &World, scheme: Scheme) -> Self {
        if request.method == Method::CONNECT && scheme == Scheme::Https {
            return Self::TlsProxy;
        }
        let host = request.host_name();
        let is_outside = outside_name::is_host(&host) || outside_name::is_public_address(&host);
        match Self::of(request, world) {
            Self::Unknown if is_outside => Self::Outside(scheme),
            route => route,
        }
    }

    fn called_service(&self) -> CalledService {
        match self {
            Self::Metadata => Service::Imds.into(),
            Self::Service(endpoint) => endpoint.service.into(),
            Self::NotEmulated(service) | Self::Resource(service) => CalledService::NotEmulated(*service),
            Self::Outside(_) | Self::TlsProxy => CalledService::Outside,
            Self::Unknown => CalledService::Unknown,
        }
    }

    /// Reads the operation from a request without answering it.
    pub(crate) fn identify(&self, request: &Request) -> RequestTarget {
        if let Self::Outside(scheme) = self {
            return outside::identify(*scheme, request);
        }
        if *self == Self::TlsProxy {
            let operation = format!("{} {}", request.method, request.host.to_ascii_lowercase());
            return RequestTarget::unknown(CalledService::Outside, operation);
        }
        match self.called_service() {
            CalledService::Known(Service::Imds) => imds::identify(request),
            CalledService::Known(Service::Eks) => eks::identify(request),
            CalledService::Known(Service::Sts) => sts::identify(request),
            CalledService::Known(Service::Ec2) => ec2::identify(request),
            CalledService::Known(Service::Ecr) => ecr::identify(request),
            CalledService::Known(Service::Registry) => registry::identify(request),
            CalledService::Known(Service::Cloudformation) => cloudformation::identify(request),
            CalledService::Known(Service::Ssm) => ssm::identify(request),
            CalledService::Known(Service::Secretsmanager) => secretsmanager::identify(request),
            CalledService::Known(Service::S3) => s3::identify(request),
            CalledService::Known(Service::Autoscaling) => autoscaling::identify(request),
            CalledService::Known(Service::Logs) => logs::identify(request),
            CalledService::Known(Service::Monitoring) => monitoring::identify(request),
            CalledService::Known(Service::EksAuth) => eks_auth::identify(request),
            service @ CalledService::NotEmulated(_) => not_emulated::identify(service, request),
            CalledService::Outside | CalledService::Unknown => {
                let operation = format!("{} {}", request.method, request.path);
                RequestTarget::unknown(self.called_service(), operation)
            }
        }
    }

    pub(crate) fn respond(&self, instance: &mut Instance, request: &Request, time: RequestTime) -> Response {
        let result = match self {
            Self::Metadata => return imds::respond(instance, request, time),
            Self::Service(endpoint) => {
                let call = ServiceRequest {
                    request,
                    endpoint,
                    time,
                };
                service_response(instance, call)
            }
            Self::NotEmulated(service) => Err(not_emulated::error(
                service.word(),
                &self.identify(request).operation,
            )),
            Self::Resource(service) => Err(not_emulated::resource(
                &request.host_name(),
                service.word(),
                &self.identify(request).operation,
            )),
            Self::TlsProxy => Err(ServiceError::new(
                501,
                TLS_PROXY,
                "the HTTP proxy of nodejoin accepts no TLS before CONNECT: write http:// in its URL",
            )),
            Self::Outside(_) | Self::Unknown => Err(ServiceError::new(
                404,
                "UnknownHost",
                format!("{} is not the host name of an AWS service", request.host_name()),
            )),
        };
        let mut response = result.unwrap_or_else(|error| self.error(request, error));
        response.authorization = request_signature::claimed_access_key_id(request);
        response
    }

    /// Writes an error in the wire format of this route's service.
    pub(crate) fn error(&self, request: &Request, error: ServiceError) -> Response {
        let mut response = errors::response(self.wire_format(request), error, wire::accepts_json(request));
        response.authorization = match self {
            Self::Metadata => Some(imds::authorization(request).to_owned()),
            Self::Service(_)
            | Self::NotEmulated(_)
            | Self::Resource(_)
            | Self::Outside(_)
            | Self::TlsProxy
            | Self::Unknown => request_signature::claimed_access_key_id(request),
        };
        response
    }

    pub(crate) fn wire_format(&self, request: &Request) -> WireFormat {
        match self.called_service() {
            CalledService::Known(Service::Monitoring) => monitoring::wire_format(request),
            CalledService::Known(service) => wire_format(service),
            CalledService::NotEmulated(service) => not_emulated::wire_format(service.word(), request),
            CalledService::Outside | CalledService::Unknown => WireFormat::Ec2,
        }
    }
}

/// The wire format of a service's responses.
pub(crate) fn wire_format(service: Service) -> WireFormat {
    match service {
        Service::Imds => WireFormat::Metadata,
        Service::Eks | Service::EksAuth => WireFormat::RestJson,
        Service::Sts => sts::WIRE_FORMAT,
        Service::Ec2 => WireFormat::Ec2,
        Service::Ecr | Service::Ssm | Service::Secretsmanager | Service::Logs => WireFormat::Json11,
        Service::S3 => WireFormat::S3,
        Service::Autoscaling => autoscaling::WIRE_FORMAT,
        // Clients choose one of three protocols; this is the oldest.
        Service::Monitoring => monitoring::QUERY,
        Service::Registry => WireFormat::Registry,
        Service::Cloudformation => cloudformation::WIRE_FORMAT,
    }
}

fn service_response(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    match call.endpoint.service {
        Service::Imds => Ok(imds::respond(instance, call.request, call.time)),
        Service::Eks => eks::respond(instance, call),
        Service::Sts => sts::respond(instance, call),
        Service::Ec2 => ec2::respond(instance, call),
        Service::Ecr => ecr::respond(instance, call),
        Service::Registry => registry::respond(instance, call),
        Service::Cloudformation => cloudformation::respond(instance, call),
        Service::Ssm => ssm::respond(instance, call),
        Service::Secretsmanager => secretsmanager::respond(instance, call),
        Service::S3 => s3::respond(instance, call),
        Service::Autoscaling => autoscaling::respond(instance, call),
        Service::Logs => logs::respond(instance, call),
        Service::Monitoring => monitoring::respond(instance, call),
        Service::EksAuth => eks_auth::respond(instance, call),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(host: &str, query: &str) -> Request {
        Request {
            method: http::Method::GET,
            host: host.to_owned(),
            path: "/".to_owned(),
            query: query.to_owned(),
            headers: http::HeaderMap::new(),
            body: bytes::Bytes::new(),
        }
    }

    #[test]
    fn query_protocols_identify_every_operation() {
        for (service, host) in [
            (Service::Sts, "sts"),
            (Service::Ec2, "ec2"),
            (Service::Cloudformation, "cloudformation"),
            (Service::Autoscaling, "autoscaling"),
            (Service::Monitoring, "monitoring"),
        ] {
            for operation in service.operations() {
                let host = format!("{host}.eu-west-1.amazonaws.com");
                let request = get(&host, &format!("Action={operation}"));
                let target = Route::of_host(&request).identify(&request);
                assert!(target.known && target.operation == *operation, "{target:?}");
            }
        }
    }

    #[test]
    fn a_request_without_an_action_has_its_method_and_its_path() {
        for host in ["ec2", "ssm"] {
            let request = get(&format!("{host}.eu-west-1.amazonaws.com"), "");
            let target = Route::of_host(&request).identify(&request);
            assert_eq!(
                (target.operation.as_str(), target.known),
                ("GET /", false),
                "{host}"
            );
        }
    }

    #[test]
    fn a_tunnel_inside_of_tls_is_no_request_to_its_host() {
        let (world, _) = crate::testing::world();
        let now = std::time::SystemTime::UNIX_EPOCH;
        let mut instance = Instance::launch(world.clone(), now);
        let time = instance.request_time(now);
        let request = Request {
            method: Method::CONNECT,
            path: String::new(),
            ..get("EC2.eu-west-1.amazonaws.com:443", "")
        };
        for route in [
            Route::of_node(&request, &world, Scheme::Https),
            Route::of_client(&request, &world),
        ] {
            let target = route.identify(&request);
            assert_eq!(
                (target.service, target.operation.as_str(), target.known),
                (
                    CalledService::Outside,
                    "CONNECT ec2.eu-west-1.amazonaws.com:443",
                    false
                )
            );
            let response = route.respond(&mut instance, &request, time);
            assert_eq!(
                (response.status, response.error.unwrap().code.as_str()),
                (501, TLS_PROXY)
            );
        }
        assert_ne!(Route::of_node(&request, &world, Scheme::Http), Route::TlsProxy);
    }

    #[test]
    fn a_request_to_no_service_is_recorded_as_unknown() {
        let request = get("example.com", "Action=DescribeInstances");
        let target = Route::of_host(&request).identify(&request);
        assert_eq!(
            (target.service, target.operation.as_str(), target.known),
            (CalledService::Unknown, "GET /", false)
        );
    }
}
