//! One request, from its route to its response and its event.

use std::time::{Duration, SystemTime};

use http::{Response as HttpResponse, StatusCode};
use hyper::ext::ReasonPhrase;
use nodejoin_core::observation::{AwsCall, CalledService};
use nodejoin_core::plan::answer::AnswerableRequest;
use nodejoin_core::vocabulary::not_emulated::UPSTREAM_CODE;
use nodejoin_core::vocabulary::upstream::UpstreamUrl;
use tokio::time::Instant;

use super::body::ResponseBody;
use super::connection::{ConnectionDropped, RequestConnection};
use crate::answers::FoundAnswer;
use crate::effects::{Applied, Disconnect, applied};
use crate::faults::RequestSummary;
use crate::http::{Request, Response, ServiceError};
use crate::instance::Instance;
use crate::operation::RequestTarget;
use crate::router::Route;
use crate::sigv4::request_signature;
use crate::world::AwsEventKind;
use crate::world_registry::{SharedInstance, WorldRegistry};
use crate::{not_emulated, outside, upstream};

/// Closes a hanging connection after this time: no client of a node waits longer.
const LONGEST_HANG: Duration = Duration::from_secs(600);
/// Codes of the fake's own errors for a call that it does not answer.
const UNANSWERED: [&str; 2] = [not_emulated::CODE, UPSTREAM_CODE];

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
pub(super) struct PendingCall {
    pub(super) shared: SharedInstance,
    pub(super) connection: RequestConnection,
    pub(super) request: Request,
    pub(super) at: SystemTime,
    pub(super) started: Instant,
}

impl PendingCall {
    pub(super) async fn run(
        self,
        too_large: bool,
        worlds: &WorldRegistry,
    ) -> Result<HttpResponse<ResponseBody>, ConnectionDropped> {
        let route = self.connection.port.route(&self.request, &self.shared);
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
            // An answer belongs to a request in the tunnel.
            None if route == Route::TlsProxy => None,
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
            | Route::TlsProxy
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
            Route::Metadata | Route::Outside(_) | Route::TlsProxy | Route::Unknown => None,
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
            | Route::TlsProxy
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
