//! The client: a number of tasks that repeat one request, each over a connection that it opens again when it closes.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use nodejoin_fake_aws::AccountServer;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::failed::Failed;
use crate::sign::{HOST, RoleCredentials};

/// The request and the server that receives it.
#[derive(Clone)]
pub(crate) struct Line {
    address: SocketAddr,
    tls: Option<TlsConnector>,
    request: Request<Full<Bytes>>,
}

/// The measurements of one server.
#[derive(Default)]
pub(crate) struct Seen {
    latencies: Vec<Duration>,
    took: Duration,
}

impl Line {
    pub(crate) fn plain(address: SocketAddr, request: Request<Full<Bytes>>) -> Self {
        Self {
            address,
            tls: None,
            request,
        }
    }

    pub(crate) fn tls(account: &AccountServer, request: Request<Full<Bytes>>) -> Result<Self, Failed> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(account.ca_pem.as_bytes())?)?;
        let config =
            rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots)
                .with_no_client_auth();
        Ok(Self {
            address: account.services,
            tls: Some(TlsConnector::from(Arc::new(config))),
            request,
        })
    }

    /// Sends the request once; anything but a success is an error.
    pub(crate) async fn once(&self) -> Result<Response<Bytes>, Failed> {
        let mut sender = self.connect().await?;
        self.ask(&mut sender).await
    }

    async fn ask(&self, sender: &mut SendRequest<Full<Bytes>>) -> Result<Response<Bytes>, Failed> {
        let answer = sender.send_request(self.request.clone()).await?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            return Err(format!("{}: {}", head.status, String::from_utf8_lossy(&body)).into());
        }
        Ok(Response::from_parts(head, body))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failed> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => speak(stream).await,
            Some(tls) => speak(tls.connect(ServerName::try_from(HOST)?, stream).await?).await,
        }
    }
}

async fn speak<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, Failed>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // The sender reports the end of the connection.
        let _ = connection.await;
    });
    Ok(sender)
}

/// Runs this many clients concurrently for this long. An unsuccessful response ends the measurement.
pub(crate) async fn load(line: &Line, clients: usize, turn: Duration) -> Result<Seen, Failed> {
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        tasks.spawn(one(line.clone(), started + turn));
    }
    let mut seen = Seen::default();
    while let Some(ended) = tasks.join_next().await {
        seen.latencies.extend(ended??);
    }
    seen.took = started.elapsed();
    Ok(seen)
}

async fn one(line: Line, until: Instant) -> Result<Vec<Duration>, Failed> {
    let mut latencies = Vec::new();
    let mut open = None;
    while Instant::now() < until {
        let asked = Instant::now();
        let mut sender = match open.take() {
            Some(sender) => sender,
            None => line.connect().await?,
        };
        let answer = line.ask(&mut sender).await?;
        latencies.push(asked.elapsed());
        let closes = answer.version() < http::Version::HTTP_11
            || answer
                .headers()
                .get("connection")
                .is_some_and(|value| value == "close");
        if !closes && sender.ready().await.is_ok() {
            open = Some(sender);
        }
    }
    Ok(latencies)
}

impl Seen {
    pub(crate) fn add(&mut self, more: Self) {
        self.latencies.extend(more.latencies);
        self.took += more.took;
    }

    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    fn at(&self, share: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        let place = (sorted.len() as f64 * share) as usize;
        let latency = sorted.get(place.min(sorted.len().saturating_sub(1)));
        latency.copied().unwrap_or_default().as_secs_f64() * 1000.0
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, p50, p99) = (self.rate(), self.at(0.5), self.at(0.99));
        write!(f, "{rate:>8.0} a second, p50 {p50:.2} ms, p99 {p99:.2} ms")
    }
}

/// A session token of the metadata service.
pub(crate) async fn token(metadata: SocketAddr) -> Result<String, Failed> {
    let request = Request::put("/latest/api/token")
        .header("host", metadata.to_string())
        .header("x-aws-ec2-metadata-token-ttl-seconds", "21600")
        .body(Full::default())?;
    let answer = Line::plain(metadata, request).once().await?;
    Ok(String::from_utf8(answer.into_body().to_vec())?)
}

/// A metadata path with a token.
pub(crate) fn get(metadata: SocketAddr, path: &str, token: &str) -> Result<Request<Full<Bytes>>, Failed> {
    let request = Request::get(path)
        .header("host", metadata.to_string())
        .header("x-aws-ec2-metadata-token", token);
    Ok(request.body(Full::default())?)
}

/// The credentials of the instance's role.
pub(crate) async fn credentials(metadata: SocketAddr) -> Result<RoleCredentials, Failed> {
    let token = token(metadata).await?;
    let folder = "/latest/meta-data/iam/security-credentials/";
    let role = Line::plain(metadata, get(metadata, folder, &token)?)
        .once()
        .await?;
    let path = format!("{folder}{}", String::from_utf8_lossy(role.body()));
    let document = Line::plain(metadata, get(metadata, &path, &token)?)
        .once()
        .await?;
    RoleCredentials::read(document.body())
}
