//! The HTTPS server that the API server's webhooks call.
//!
//! | method, path | caller | behaviour |
//! | --- | --- | --- |
//! | POST /authenticate | token webhook | returns a TokenReview (v1 or v1beta1) with its status; 200, 403, 429, 503 |
//! | POST /audit | audit webhook | accepts an EventList; 200 |
//! | GET /healthz | people | `ok` |
//! | others | | 404; 405 for another method on these paths |
//!
//! It replaces aws-iam-authenticator's server on :21362 and the control plane's log collector. It listens only on the
//! address of the run's network. Every client there can review tokens and gets no other data.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use nodejoin_net::{read_body, serve_connections};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::iam::authenticator::{Authenticator, Decision};
use crate::observe::audit::{AuditLog, EventList};
use crate::pki::{Ca, Identity};
use crate::webhooks::probe::WebhookProbe;

/// A token has at most 4 KiB; the authenticator rejects longer ones itself.
const LARGEST_REVIEW: usize = 1024 * 1024;
/// The API server sends up to 400 events at once, each with up to two objects of up to 1.5 MiB, the limit of etcd.
/// Usual requests are a thousand times smaller.
const LARGEST_EVENTS: usize = 256 * 1024 * 1024;

/// The webhooks' socket, bound and not yet served: the API server's files need its address first.
pub(crate) struct BoundWebhooks {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    acceptor: TlsAcceptor,
}

/// The receivers of webhook requests.
pub(crate) struct Handlers {
    pub(crate) authenticator: Authenticator,
    /// `None` without a control plane, for the token webhook alone.
    pub(crate) audit: Option<AuditLog>,
    pub(crate) probe: Arc<WebhookProbe>,
}

#[derive(Deserialize)]
struct TokenReview {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    spec: TokenReviewSpec,
}

#[derive(Deserialize)]
struct TokenReviewSpec {
    #[serde(default)]
    token: String,
}

impl BoundWebhooks {
    /// Binds this address with a certificate of this CA. Port 0 selects a free port.
    pub(crate) async fn bind(address: SocketAddr, authority: &Ca) -> Result<Self, ClusterError> {
        let identity = authority.serving("nodejoin-webhooks", &[address.ip().to_string()])?;
        Self::bind_with(address, acceptor(&identity)?).await
    }

    /// Binds this address with the caller's TLS configuration.
    pub(crate) async fn bind_with(address: SocketAddr, acceptor: TlsAcceptor) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            acceptor,
        })
    }

    /// Serves until `cancel` fires, then panics with the first panic of a handler, if any.
    pub(crate) async fn serve(self, handlers: Arc<Handlers>, cancel: CancellationToken) {
        serve_connections(self.listener, cancel, |(stream, _)| {
            connection(stream, self.acceptor.clone(), Arc::clone(&handlers))
        })
        .await;
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, handlers: Arc<Handlers>) {
    // Responses are small, and the API server waits for each.
    let _ = stream.set_nodelay(true);
    let stream = match acceptor.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a webhook call failed its TLS handshake"),
    };
    let service = service_fn(move |request| {
        let handlers = Arc::clone(&handlers);
        async move { Ok::<_, Infallible>(handlers.route(request).await) }
    });
    let server = auto::Builder::new(TokioExecutor::new());
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a webhook connection ended");
    }
}

impl Handlers {
    async fn route(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/authenticate") => self.authenticate(request).await,
            (&Method::POST, "/audit") if self.audit.is_some() => self.audit(request).await,
            (_, "/authenticate") => text(StatusCode::METHOD_NOT_ALLOWED, "expected POST"),
            (_, "/audit") if self.audit.is_some() => text(StatusCode::METHOD_NOT_ALLOWED, "expected POST"),
            (&Method::GET, "/healthz") => text(StatusCode::OK, "ok"),
            _ => text(StatusCode::NOT_FOUND, "404 page not found"),
        }
    }

    async fn authenticate(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Some(review) = body::<TokenReview>(request, LARGEST_REVIEW).await else {
            return text(
                StatusCode::BAD_REQUEST,
                "expected a request body to be a TokenReview",
            );
        };
        self.probe.record_token(&review.spec.token);
        let (code, status) = match self.authenticator.decide(&review.spec.token).await {
            Decision::Accepted(user) => (StatusCode::OK, json!({ "authenticated": true, "user": user })),
            Decision::Rejected => (StatusCode::FORBIDDEN, json!({ "authenticated": false })),
            Decision::Down => return text(StatusCode::SERVICE_UNAVAILABLE, "the authenticator is down"),
            Decision::TryAgain => (StatusCode::TOO_MANY_REQUESTS, json!({ "authenticated": false })),
        };
        // aws-iam-authenticator omits kind and version; with them the response suits every version of API server.
        let version = review
            .api_version
            .unwrap_or_else(|| "authentication.k8s.io/v1beta1".to_owned());
        json_response(
            code,
            &json!({ "apiVersion": version, "kind": "TokenReview", "status": status }),
        )
    }

    async fn audit(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (body::<EventList>(request, LARGEST_EVENTS).await, &self.audit) {
            (Some(events), Some(audit)) => {
                events.uris().for_each(|uri| self.probe.record_uri(uri));
                audit.record(events);
                json_response(StatusCode::OK, &json!({}))
            }
            _ => text(StatusCode::BAD_REQUEST, "expected an EventList"),
        }
    }
}

/// Parses a body of at most `most` bytes.
async fn body<T: for<'de> Deserialize<'de>>(request: Request<Incoming>, most: usize) -> Option<T> {
    match read_body(request.into_body(), most).await {
        Ok(Some(bytes)) => parse(&bytes),
        Ok(None) => {
            tracing::warn!(most, "a webhook request exceeds the maximum size");
            None
        }
        // The API server closed the connection, as it does when its own client has.
        Err(error) => {
            tracing::debug!(%error, "an incomplete webhook body");
            None
        }
    }
}

fn parse<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes)
        .inspect_err(|error| tracing::warn!(%error, "invalid webhook body"))
        .ok()
}

/// The token of a review, parsed like a webhook request.
#[cfg(fuzzing)]
pub(crate) fn token_of(body: &[u8]) -> Option<String> {
    parse::<TokenReview>(body).map(|review| review.spec.token)
}

fn json_response(code: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    respond(code, "application/json; charset=UTF-8", value.to_string())
}

fn text(code: StatusCode, text: &str) -> Response<Full<Bytes>> {
    respond(code, "text/plain; charset=utf-8", text.to_owned())
}

fn respond(code: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

fn acceptor(identity: &Identity) -> Result<TlsAcceptor, ClusterError> {
    let unreadable = |error: rustls::pki_types::pem::Error| rustls::Error::General(error.to_string());
    let build = || {
        let certificate =
            CertificateDer::from_pem_slice(identity.certificate.as_bytes()).map_err(unreadable)?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.reveal().as_bytes()).map_err(unreadable)?;
        let mut config =
            rustls::ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    };
    build().map_err(|source| ClusterError::Tls {
        role: "the webhooks",
        source,
    })
}
