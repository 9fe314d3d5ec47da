//! Serves one request: looks up its world by the source address, applies a fault, responds, and records an event.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::request::Parts;
use http::{Request as HttpRequest, Response as HttpResponse, StatusCode};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use nodejoin_core::observation::{AwsCall, CalledService};
use nodejoin_core::plan::answer::AnswerableRequest;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::outside::Scheme;
use nodejoin_core::vocabulary::not_emulated::UPSTREAM_CODE;
use nodejoin_core::vocabulary::upstream::UpstreamUrl;
use nodejoin_net::read_body;
use tokio::time::Instant;

use super::body::ResponseBody;
use super::http_proxy;
use super::shared_socket::SharedSocket;
use crate::answers::FoundAnswer;
use crate::effects::{Applied, Disconnect, applied};
use crate::faults::RequestSummary;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::outside;
use crate::router::Route;
use crate::sigv4::request_signature;
use crate::upstream;
use crate::world::AwsEventKind;
use crate::world_registry::{SharedInstance, WorldRegistry};

/// No request of a node to an emulated service is larger.
const MAX_BODY: usize = 1024 * 1024;
/// Timeout for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Closes a hanging connection after this time: no client of a node waits longer.
const LONGEST_HANG: Duration = Duration::from_secs(600);
/// Codes of the fake's own errors for a call that it does not answer.
const UNANSWERED: [&str; 2] = [not_emulated::CODE, UPSTREAM_CODE];
/// Path at which a node reads the run's id before its systemd starts.
const RUN_PATH: &str = "/nodejoin/run";
/// Path at which a node that boots ahead of its scenario reads the run's id. Its address belongs to no instance yet.
const AHEAD_PATH: &str = "/nodejoin/ahead";
/// Folder of the paths at which such a node waits for its scenario, one for each instance.
const GATE_FOLDER: &str = "/nodejoin/gate/";
/// A request waits this long at most; the node repeats it.
const GATE_WAIT: Duration = Duration::from_secs(20);

/// The port that received a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Port {
    /// The metadata service of the instance whose node has the source address.
    Metadata,
    /// The metadata service of one instance.
    MetadataOf(InstanceId),
    /// All other services, for the clients of an account.
    Services,
    /// All other services and hosts outside, for a node.
    Node(Scheme),
}

impl Port {
    fn is_metadata(&self) -> bool {
        match self {
            Self::Metadata | Self::MetadataOf(_) => true,
            Self::Services | Self::Node(_) => false,
        }
    }
}

/// The connection of a request.
#[derive(Debug)]
pub(super) struct RequestConnection {
    pub(super) source: IpAddr,
    pub(super) port: Port,
    pub(super) socket: SharedSocket,
    /// Whether the request is its first.
    pub(super) opened: bool,
}

/// The connection closes without a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionDropped {
    #[error("a fault of the scenario ends the connection without a response")]
    Fault,
    #[error("the scenario does not answer this request to the outside")]
    Outside,
    #[error("services of AWS serve HTTPS only")]
    PlainHttp,
    #[error("the instance's metadata options disable the IPv6 endpoint")]
    NoIpv6,
    #[error("cannot read the request")]
    Unreadable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("timeout while reading the body of the request")]
    Timeout,
}

/// Serves one request of a connection.
pub(super) async fn request(
    worlds: Arc<WorldRegistry>,
    connection: RequestConnection,
    incoming: HttpRequest<Incoming>,
) -> Result<HttpResponse<ResponseBody>, ConnectionDropped> {
    let source = connection.source;
    if connection.port.is_metadata()
        && let Some(response) = ahead(&worlds, source, incoming.uri().path()).await
    {
        return Ok(response);
    }
    let attached = match &connection.port {
        Port::MetadataOf(instance) => worlds.instance(instance),
        Port::Metadata | Port::Services | Port::Node(_) => worlds.at(source),
    };
    let Some(shared) = attached else {
        return Ok(unattached());
    };
    if source.is_ipv6() && !shared.lock().world.instance.metadata.ipv6 {
        return Err(ConnectionDropped::NoIpv6);
    }
    let at = worlds.now();
    if connection.port.is_metadata() && incoming.uri().path() == RUN_PATH {
        shared.lock().record(at, AwsEventKind::Isolated);
        return Ok(plain_text(StatusCode::OK, worlds.run().to_string()));
    }
    let started = Instant::now();
    let (parts, body) = incoming.into_parts();
    // The target of a request to a proxy contains the host.
    let is_for_a_proxy = parts.uri.authority().is_some();
    let head = head(parts);
    let limit = body_limit(&connection.port, &head, &shared);
    let is_outside = matches!(route(&connection.port, &head, &shared), Route::Outside(_));
    if connection.port == Port::Node(Scheme::Http) && !is_outside {
        if is_for_a_proxy && shared.lock().world.http_proxy.is_some() {
            http_proxy::record_unreachable(&shared, at, &head);
            let reason = "this proxy does not reach the host of the request\n";
            return Ok(plain_text(StatusCode::BAD_GATEWAY, reason.to_owned()));
        }
        return Err(ConnectionDropped::PlainHttp);
    }
    // No answer of a host outside depends on the body, and a refusal comes at once.
    let (request, too_large) = match is_outside {
        true => (head, false),
        false => read(head, body, limit, worlds.time_factor.scale(BODY_TIMEOUT)).await?,
    };
    let shared = match &connection.port {
        Port::Services => worlds.sender(shared, &request),
        Port::Metadata | Port::MetadataOf(_) | Port::Node(_) => shared,
    };
    let call = PendingCall {
        shared,
        connection,
        request,
        at,
        started,
    };
    call.run(too_large, &worlds).await
}

/// The response to a node that boots ahead of its scenario; `None` for other requests.
async fn ahead(worlds: &WorldRegistry, source: IpAddr, path: &str) -> Option<HttpResponse<ResponseBody>> {
    let run = || plain_text(StatusCode::OK, worlds.run().to_string());
    if path == AHEAD_PATH {
        return Some(run());
    }
    let instance = path.strip_prefix(GATE_FOLDER)?.parse().ok()?;
    let attached = worlds.attached(source, &instance);
    let Ok(shared) = tokio::time::timeout(GATE_WAIT, attached).await else {
        return Some(unattached());
    };
    shared.lock().record(worlds.now(), AwsEventKind::Isolated);
    Some(run())
}

/// The entries of the plan that shaped a response.
#[derive(Debug, Clone, Copy, Default)]
struct Reason {
    fault: Option<usize>,
    answer: Option<usize>,
    is_upstream: bool,
    /// Whether it is a file of `outside`.
    is_recorded: bool,
}

/// A request and the context of its event.
struct PendingCall {
    shared: SharedInstance,
    connection: RequestConnection,
    request: Request,
    at: SystemTime,
    started: Instant,
}

impl PendingCall {
    async fn run(
        self,
        too_large: bool,
        worlds: &WorldRegistry,
    ) -> Result<HttpResponse<ResponseBody>, ConnectionDropped> {
        let route = route(&self.connection.port, &self.request, &self.shared);
        let target = route.identify(&self.request);
        let (index, fault) = self.fire(&target);
        if let Some(disconnect) = fault.disconnect {
            self.record(
                &route,
                &target,
                Reason {
                    fault: index,
                    ..Reason::default()
                },
                None,
            );
            return Err(self.disconnect(disconnect).await);
        }
        if !fault.delay.is_zero() {
            tokio::time::sleep(fault.delay).await;
        }
        let found = match &fault.error {
            Some(_) => None,
            None => self.answer(&target),
        };
        let mut is_upstream = false;
        let recorded = self.recorded(&route);
        if recorded.is_none() && found.is_none() && matches!(route, Route::Outside(_)) {
            self.record(&route, &target, Reason::default(), None);
            return Err(ConnectionDropped::Outside);
        }
        let is_recorded = recorded.is_some();
        let response = match (&fault.error, &found, recorded) {
            (Some(error), _, _) => route.error(&self.request, error.clone()),
            (None, Some(found), _) => self.answered(found, &route, &fault, worlds),
            (None, None, Some(recorded)) => recorded,
            (None, None, None) => match self.upstream(&route, &target) {
                Some(url) if !too_large => {
                    let forwarded = self.forwarded(url, &route, &target, worlds).await;
                    is_upstream = forwarded.is_ok();
                    forwarded.unwrap_or_else(|error| route.error(&self.request, error))
                }
                Some(_) | None => self.respond(&route, too_large, &fault, worlds),
            },
        };
        let response = fault.rewritten(response);
        let reason = Reason {
            fault: index,
            answer: found.map(|found| found.index),
            is_upstream,
            is_recorded,
        };
        self.record(&route, &target, reason, Some(&response));
        self.set_hop_limit(&response);
        let body = match fault.cut_after {
            Some(length) => ResponseBody::cut_after(response.body.clone(), length, worlds.time_factor),
            None => ResponseBody::complete(response.body.clone()),
        };
        Ok(http_response(&response, body))
    }

    /// Ends the connection without a response.
    async fn disconnect(&self, disconnect: Disconnect) -> ConnectionDropped {
        match disconnect {
            Disconnect::Close | Disconnect::Refuse => {}
            // If the socket rejects the option, the client sees an ordinary close, also without a response.
            Disconnect::Reset => drop(self.connection.socket.reset_on_close()),
            Disconnect::Hang => tokio::time::sleep(LONGEST_HANG).await,
        }
        ConnectionDropped::Fault
    }

    /// Applies the hop limit of a token response.
    fn set_hop_limit(&self, response: &Response) {
        if let Some(hops) = response.hop_limit
            && let Err(error) = self.connection.socket.set_hop_limit(hops)
        {
            tracing::warn!(%error, hops, "cannot set the hop limit of a response");
        }
    }

    /// Fires the fault that is due for this request; returns its index and what it changes.
    fn fire(&self, target: &RequestTarget) -> (Option<usize>, Applied) {
        // Faults name a service; a request to none matches no fault.
        let CalledService::Known(service) = target.service else {
            return (None, Applied::default());
        };
        let mut instance = self.shared.lock();
        let seconds = instance.request_time(self.at).seconds();
        let summary = RequestSummary {
            service: target.service,
            operation: &target.operation,
            path: &self.request.path,
            seconds,
            at: self.at,
            opened: self.connection.opened,
        };
        match instance.faults.fire(summary) {
            Some(fired) => (Some(fired.index), applied(&fired.effect, service)),
            None => (None, Applied::default()),
        }
    }

    /// The scenario's own answer to this request.
    fn answer(&self, target: &RequestTarget) -> Option<FoundAnswer> {
        let mut instance = self.shared.lock();
        let seconds = instance.request_time(self.at).seconds();
        instance.answers.find(AnswerableRequest {
            host: &self.request.host_name(),
            service: target.service.word(),
            operation: &target.operation,
            method: self.request.method.as_str(),
            path: &self.request.path,
            seconds,
        })
    }

    /// The recorded answer of a host outside.
    fn recorded(&self, route: &Route) -> Option<Response> {
        match route {
            Route::Outside(scheme) => outside::respond(&self.shared.lock().world, *scheme, &self.request),
            Route::Metadata
            | Route::Service(_)
            | Route::NotEmulated(_)
            | Route::Resource(_)
            | Route::Unknown => None,
        }
    }

    /// The emulator that answers the service of this request.
    fn upstream(&self, route: &Route, target: &RequestTarget) -> Option<UpstreamUrl> {
        match route {
            Route::Service(_) | Route::NotEmulated(_) | Route::Resource(_) => {
                let instance = self.shared.lock();
                instance.world.aws.upstream_of(target.service.word())
            }
            Route::Metadata | Route::Outside(_) | Route::Unknown => None,
        }
    }

    /// The response of an emulator, if the signature and the permissions allow the request.
    async fn forwarded(
        &self,
        url: UpstreamUrl,
        route: &Route,
        target: &RequestTarget,
        worlds: &WorldRegistry,
    ) -> Result<Response, ServiceError> {
        {
            let instance = self.shared.lock();
            let now = instance.request_time(worlds.now()).now;
            let wire_format = route.wire_format(&self.request);
            upstream::authorize(&instance, &self.request, target, wire_format, now)?;
        }
        let timeout = worlds.time_factor.scale(upstream::TIMEOUT);
        let mut response = upstream::forward(url, &self.request, target.service.word(), timeout).await?;
        response.authorization = request_signature::claimed_access_key_id(&self.request);
        Ok(response)
    }

    /// The answer, unless the metadata service rejects the request's token.
    fn answered(
        &self,
        found: &FoundAnswer,
        route: &Route,
        fault: &Applied,
        worlds: &WorldRegistry,
    ) -> Response {
        if *route == Route::Metadata {
            let response = self.respond(route, false, fault, worlds);
            if [401, 403].contains(&response.status) {
                return response;
            }
        }
        found.response(&self.request)
    }

    fn respond(&self, route: &Route, too_large: bool, fault: &Applied, worlds: &WorldRegistry) -> Response {
        if too_large {
            let error = ServiceError::new(
                413,
                "RequestEntityTooLarge",
                "The request is larger than this service accepts",
            );
            return route.error(&self.request, error);
        }
        // The time after a delay, not before it: credentials may have expired meanwhile.
        let now = worlds.now();
        let respond = |instance: &mut Instance| {
            let time = fault.seen(instance.request_time(now));
            route.respond(instance, &self.request, time)
        };
        match route {
            Route::Metadata => respond(&mut self.shared.lock()),
            Route::Service(_)
            | Route::NotEmulated(_)
            | Route::Resource(_)
            | Route::Outside(_)
            | Route::Unknown => self.shared.in_account(now, respond),
        }
    }

    fn record(&self, route: &Route, target: &RequestTarget, reason: Reason, response: Option<&Response>) {
        let error = response.and_then(|response| response.error.as_ref());
        let authorization = match response {
            Some(response) => response.authorization.clone(),
            None => {
                route
                    .error(&self.request, ServiceError::new(0, "", ""))
                    .authorization
            }
        };
        let is_not_emulated = error.is_some_and(|error| UNANSWERED.contains(&error.code.as_str()));
        let call = AwsCall {
            service: target.service,
            operation: target.operation.clone(),
            method: self.request.method.to_string(),
            host: self.request.host_name(),
            path: self.request.path.clone(),
            status: response.map_or(0, |response| response.status),
            error: error.map(|error| error.code.clone()),
            message: error.map(|error| error.message.clone()),
            subject: target.subject.clone(),
            known: reason.answer.is_some()
                || reason.is_upstream
                || reason.is_recorded
                || target.known && !is_not_emulated,
            fault: reason.fault,
            answer: reason.answer,
            upstream: reason.is_upstream,
            authorization,
            took_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        tracing::debug!(
            service = call.service.word(),
            operation = call.operation,
            status = call.status,
            "responded"
        );
        self.shared.lock().record(self.at, AwsEventKind::Aws(call));
    }
}

fn route(port: &Port, request: &Request, shared: &SharedInstance) -> Route {
    match port {
        Port::Metadata | Port::MetadataOf(_) => Route::Metadata,
        Port::Services => Route::of_client(request, &shared.lock().world),
        Port::Node(scheme) => Route::of_node(request, &shared.lock().world, *scheme),
    }
}

/// The limit of a body: uploads go to emulators only.
fn body_limit(port: &Port, head: &Request, shared: &SharedInstance) -> usize {
    if port.is_metadata() {
        return MAX_BODY;
    }
    let world = &shared.lock().world;
    let service = Route::of(head, world).identify(head).service;
    match world.aws.upstream_of(service.word()) {
        Some(_) => upstream::MAX_REQUEST_BODY,
        None => MAX_BODY,
    }
}

/// Reads the body of a request. The flag reports a body over the limit, which is dropped.
async fn read(
    head: Request,
    body: Incoming,
    limit: usize,
    timeout: Duration,
) -> Result<(Request, bool), ConnectionDropped> {
    let body = tokio::time::timeout(timeout, read_body(body, limit)).await;
    let body = body
        .map_err(|_| ConnectionDropped::Timeout)?
        .map_err(|error| ConnectionDropped::Unreadable(error.into()))?;
    let too_large = body.is_none();
    let body = body.unwrap_or_default();
    Ok((Request { body, ..head }, too_large))
}

/// A request before its body.
fn head(parts: Parts) -> Request {
    // Through a proxy, the request's target contains the host.
    let host = parts.uri.authority().map(ToString::to_string);
    let host = host.or_else(|| {
        parts
            .headers
            .get("host")
            .and_then(|host| host.to_str().ok())
            .map(ToOwned::to_owned)
    });
    Request {
        method: parts.method,
        host: host.unwrap_or_default(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: Bytes::new(),
    }
}

fn http_response(response: &Response, body: ResponseBody) -> HttpResponse<ResponseBody> {
    let mut http = HttpResponse::new(body);
    *http.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(reason) = response.reason {
        http.extensions_mut()
            .insert(ReasonPhrase::from_static(reason.as_bytes()));
    }
    for (name, value) in &response.headers {
        // A value may quote the client. One that is invalid in a header is left out.
        if let (Ok(name), Ok(value)) = (
            http::HeaderName::from_bytes(name.as_bytes()),
            http::HeaderValue::from_str(value),
        ) {
            http.headers_mut().append(name, value);
        }
    }
    http
}

/// The response to a source address without an instance: its node retries.
fn unattached() -> HttpResponse<ResponseBody> {
    plain_text(
        StatusCode::SERVICE_UNAVAILABLE,
        "no instance has this address yet\n".to_owned(),
    )
}

fn plain_text(status: StatusCode, text: String) -> HttpResponse<ResponseBody> {
    let mut response = HttpResponse::new(ResponseBody::complete(text.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert("content-type", http::HeaderValue::from_static("text/plain"));
    response
        .headers_mut()
        .insert("connection", http::HeaderValue::from_static("close"));
    response
}
