//! Serves one request: looks up its world by the source address, reads its body, and lets it be answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request as HttpRequest, Response as HttpResponse, StatusCode};
use hyper::body::Incoming;
use nodejoin_core::plan::outside::Scheme;
use nodejoin_net::read_body;
use tokio::time::Instant;

use super::body::ResponseBody;
use super::connection::{ConnectionDropped, Port, RequestConnection};
use super::http_proxy;
use super::pending_call::PendingCall;
use crate::http::Request;
use crate::router::Route;
use crate::upstream;
use crate::world::AwsEventKind;
use crate::world_registry::{SharedInstance, WorldRegistry};

/// No request of a node to an emulated service is larger.
const MAX_BODY: usize = 1024 * 1024;
/// Timeout for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Path at which a node reads the run's id before its systemd starts.
const RUN_PATH: &str = "/nodejoin/run";
/// Path at which a node that boots ahead of its scenario reads the run's id. Its address belongs to no instance yet.
const AHEAD_PATH: &str = "/nodejoin/ahead";
/// Folder of the paths at which such a node waits for its scenario, one for each instance.
const GATE_FOLDER: &str = "/nodejoin/gate/";
/// A request waits this long at most; the node repeats it.
const GATE_WAIT: Duration = Duration::from_secs(20);

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
    let is_outside = matches!(connection.port.route(&head, &shared), Route::Outside(_));
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
