//! A request's way: its world by its source address, the fault that meets it, the answer, the event.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{Request as HttpRequest, Response, StatusCode};
use hyper::body::Incoming;
use nodejoin_core::observation::AwsCall;
use nodejoin_core::plan::fault::Effect;
use tokio::time::Instant;

use super::body::AnswerBody;
use super::effects::{self, Ending};
use super::line::Line;
use super::worlds::{Shared, Worlds, moment};
use crate::exchange::{Answer, Request, ServiceError};
use crate::faults::Asked;
use crate::router::Route;
use crate::world::{AwsEventKind, Target};
use nodejoin_net::read_body;

/// No AWS request that a node makes is larger.
const LARGEST_BODY: usize = 1024 * 1024;
/// A body that does not arrive within this time is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// A connection that never gets an answer is closed after this time: no client of a node waits longer.
const LONGEST_HANG: Duration = Duration::from_secs(600);
/// Where a node asks which run answers it, before its own system starts.
const RUN_PATH: &str = "/nodejoin/run";

/// The port that a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Port {
    /// The metadata service's.
    Metadata,
    /// The one of all others.
    Services,
}

/// The connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Dropped {
    /// A fault says so.
    #[error("the connection ends without an answer, as the scenario's fault says")]
    Fault,
    /// The instance has no IPv6 endpoint.
    #[error("the instance's metadata options have the IPv6 endpoint off")]
    NoIpv6,
    /// The client did not send its request.
    #[error("reading the request")]
    Unread(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The client was too slow.
    #[error("the request's body did not arrive")]
    TooSlow,
}

/// Answers one request of a connection.
pub(super) async fn request(
    worlds: Arc<Worlds>,
    source: IpAddr,
    port: Port,
    line: Line,
    incoming: HttpRequest<Incoming>,
) -> Result<Response<AnswerBody>, Dropped> {
    let Some(shared) = worlds.at(source) else {
        return Ok(unattached());
    };
    if source.is_ipv6() && !shared.lock().world.instance.metadata.ipv6 {
        return Err(Dropped::NoIpv6);
    }
    let at = worlds.now();
    if port == Port::Metadata && incoming.uri().path() == RUN_PATH {
        shared.lock().tell(at, AwsEventKind::Isolated);
        return Ok(bare(StatusCode::OK, worlds.run().to_string()));
    }
    let started = Instant::now();
    let (request, too_large) = read(incoming, worlds.time_factor.limit(PATIENCE)).await?;
    let call = Call {
        shared,
        port,
        line,
        request,
        at,
        started,
    };
    call.run(too_large, &worlds).await
}

/// One request with everything its event needs.
struct Call {
    shared: Shared,
    port: Port,
    line: Line,
    request: Request,
    at: SystemTime,
    started: Instant,
}

impl Call {
    async fn run(self, too_large: bool, worlds: &Worlds) -> Result<Response<AnswerBody>, Dropped> {
        let route = match self.port {
            Port::Metadata => Route::Metadata,
            Port::Services => Route::of(&self.request, &self.shared.lock().world),
        };
        let target = route.identify(&self.request);
        let met = self.meet(&target);
        let (fault, effect) = (
            met.as_ref().map(|(place, _)| *place),
            met.map(|(_, effect)| effect),
        );
        if let Some(ending) = effect.as_ref().and_then(effects::ending) {
            self.tell(&route, &target, fault, None);
            return Err(self.end(ending).await);
        }
        if let Some(Effect::DelayMs(delay)) = effect {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        let error = effect
            .as_ref()
            .and_then(|effect| effects::error(effect, target.service));
        let answer = match error {
            Some(error) => route.error(&self.request, error),
            None => self.answer(&route, &target, too_large, effect.as_ref(), worlds),
        };
        let answer = effects::changed(answer, effect.as_ref());
        self.tell(&route, &target, fault, Some(&answer));
        self.set_hops(&answer);
        let body = match effect {
            Some(Effect::CutAfter(length)) => AnswerBody::cut_after(answer.body.clone(), length),
            _ => AnswerBody::whole(answer.body.clone()),
        };
        Ok(respond(&answer, body))
    }

    /// Ends the connection without an answer.
    async fn end(&self, ending: Ending) -> Dropped {
        match ending {
            Ending::Closed => {}
            // Where the socket does not take it, the client sees an ordinary end, which is no answer either.
            Ending::Reset => drop(self.line.reset_at_the_end()),
            Ending::Hanging => tokio::time::sleep(LONGEST_HANG).await,
        }
        Dropped::Fault
    }

    /// The answer to a token request survives only so many hops.
    fn set_hops(&self, answer: &Answer) {
        if let Some(hops) = answer.hops
            && let Err(error) = self.line.set_hops(hops)
        {
            tracing::warn!(%error, hops, "limiting the hops of an answer failed");
        }
    }

    fn meet(&self, target: &Target) -> Option<(usize, Effect)> {
        let mut instance = self.shared.lock();
        let seconds = moment(&instance, self.at).seconds();
        let asked = Asked {
            service: target.service,
            operation: &target.operation,
            path: &self.request.path,
            seconds,
            at: self.at,
        };
        instance.faults.meet(asked)
    }

    fn answer(
        &self,
        route: &Route,
        target: &Target,
        too_large: bool,
        effect: Option<&Effect>,
        worlds: &Worlds,
    ) -> Answer {
        if too_large {
            let error = ServiceError::new(
                413,
                "RequestEntityTooLarge",
                "The request is larger than this service takes",
            );
            return route.error(&self.request, error);
        }
        let mut instance = self.shared.lock();
        // The time after a delay, not before it: credentials may have expired meanwhile.
        let now = effects::seen(moment(&instance, worlds.now()), effect);
        route.answer(&mut instance, &self.request, target, now)
    }

    fn tell(&self, route: &Route, target: &Target, fault: Option<usize>, answer: Option<&Answer>) {
        let error = answer.and_then(|answer| answer.error.as_ref());
        let authorization = match answer {
            Some(answer) => answer.authorization.clone(),
            None => {
                route
                    .error(&self.request, ServiceError::new(0, "", ""))
                    .authorization
            }
        };
        let call = AwsCall {
            service: target.service,
            operation: target.operation.clone(),
            method: self.request.method.to_string(),
            host: self.request.host_name(),
            path: self.request.path.clone(),
            status: answer.map_or(0, |answer| answer.status),
            error: error.map(|error| error.code.clone()),
            message: error.map(|error| error.message.clone()),
            subject: target.subject.clone(),
            known: target.known,
            fault,
            authorization,
            took_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        tracing::debug!(
            service = call.service.word(),
            operation = call.operation,
            status = call.status,
            "answered"
        );
        self.shared.lock().tell(self.at, AwsEventKind::Aws(call));
    }
}

/// Reads a request with its body, unless that is too large.
async fn read(incoming: HttpRequest<Incoming>, patience: Duration) -> Result<(Request, bool), Dropped> {
    let (parts, body) = incoming.into_parts();
    let body = tokio::time::timeout(patience, read_body(body, LARGEST_BODY)).await;
    let body = body
        .map_err(|_| Dropped::TooSlow)?
        .map_err(|error| Dropped::Unread(error.into()))?;
    let too_large = body.is_none();
    // A request may carry its host in its target, as through a proxy.
    let host = parts.uri.authority().map(ToString::to_string);
    let host = host.or_else(|| {
        parts
            .headers
            .get("host")
            .and_then(|host| host.to_str().ok())
            .map(ToOwned::to_owned)
    });
    let request = Request {
        method: parts.method,
        host: host.unwrap_or_default(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body: body.unwrap_or_default(),
    };
    Ok((request, too_large))
}

fn respond(answer: &Answer, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        // A header value may hold a client's own words, which need not be allowed there: then it is left out.
        if let Ok(value) = http::HeaderValue::from_str(value) {
            response.headers_mut().append(*name, value);
        }
    }
    response
}

/// What a source without a world gets: its node asks again.
fn unattached() -> Response<AnswerBody> {
    bare(
        StatusCode::SERVICE_UNAVAILABLE,
        "no instance has this address yet\n".to_owned(),
    )
}

fn bare(status: StatusCode, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(text.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert("content-type", http::HeaderValue::from_static("text/plain"));
    response
        .headers_mut()
        .insert("connection", http::HeaderValue::from_static("close"));
    response
}
