//! The AWS SDK for Rust against the fakes: metadata client and credentials of aws-config, STS and EKS, with real host
//! names. The connector leads every host to the fakes, as a node's network does.

use std::sync::Arc;

use crate::support::Fakes;
use aws_config::imds;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_eks::error::{DisplayErrorContext, ProvideErrorMetadata as _};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_fake_aws::World;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Opens a connection per request: plain for the metadata service, TLS with the host's name for all others.
#[derive(Debug, Clone)]
struct Redirected {
    tls: std::net::SocketAddr,
    config: Arc<rustls::ClientConfig>,
}

impl Redirected {
    fn to(fakes: &Fakes) -> SharedHttpClient {
        let mut roots = rustls::RootCertStore::empty();
        let ca = CertificateDer::from_pem_slice(fakes.server.ca_pem.as_bytes()).unwrap();
        roots.add(ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = Self {
            tls: fakes.server.tls,
            config: Arc::new(config),
        };
        http_client_fn(move |_, _| SharedHttpConnector::new(connector.clone()))
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, BoxError> {
        let request = request.try_into_http1x()?;
        let uri = request.uri().clone();
        let authority = uri.authority().ok_or("no host")?.clone();
        let (mut parts, body) = request.into_parts();
        parts.uri = uri.path_and_query().ok_or("no path")?.as_str().parse()?;
        parts.headers.entry("host").or_insert(authority.as_str().parse()?);
        let body = Full::new(Bytes::copy_from_slice(body.bytes().ok_or("a body that streams")?));
        let request = http::Request::from_parts(parts, body);
        if uri.scheme_str() == Some("http") {
            let stream = TcpStream::connect(authority.as_str()).await?;
            return send_request(stream, request).await;
        }
        let name = ServerName::try_from(authority.host().to_owned())?;
        let stream = TcpStream::connect(self.tls).await?;
        let stream = tokio_rustls::TlsConnector::from(self.config)
            .connect(name, stream)
            .await?;
        send_request(stream, request).await
    }
}

async fn send_request(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: http::Request<Full<Bytes>>,
) -> Result<HttpResponse, BoxError> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    connection.abort();
    Ok(HttpResponse::try_from(http::Response::from_parts(
        parts,
        SdkBody::from(body.to_vec()),
    ))?)
}

impl HttpConnector for Redirected {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = self.clone();
        HttpConnectorFuture::new(async move {
            let sent = connector.send(request).await;
            sent.map_err(ConnectorError::io)
        })
    }
}

fn metadata(fakes: &Fakes) -> imds::Client {
    let config = ProviderConfig::without_region().with_http_client(Redirected::to(fakes));
    imds::Client::builder()
        .configure(&config)
        .endpoint(format!("http://{}", fakes.server.metadata))
        .unwrap()
        .build()
}

fn sdk(fakes: &Fakes) -> SdkConfig {
    let credentials = ImdsCredentialsProvider::builder()
        .imds_client(metadata(fakes))
        .build();
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(Redirected::to(fakes))
        .sleep_impl(aws_smithy_async::rt::sleep::SharedAsyncSleep::new(
            aws_smithy_async::rt::sleep::TokioSleep::new(),
        ))
        .build()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_client_reads_values() {
    let mut fakes = Fakes::start(|_| {});
    let client = metadata(&fakes);
    let id = client.get("/latest/meta-data/instance-id").await.unwrap();
    assert_eq!(id.as_ref(), "i-0b22a22eec53b9321");
    let role = client
        .get("/latest/meta-data/iam/security-credentials/")
        .await
        .unwrap();
    assert_eq!(role.as_ref(), "demo-role");
    let missing = client.get("/latest/meta-data/ipv6").await.unwrap_err();
    assert!(
        DisplayErrorContext(&missing).to_string().contains("404"),
        "{missing:?}"
    );
    let tokens = fakes
        .calls()
        .iter()
        .filter(|call| call.operation == "api/token")
        .count();
    assert_eq!(tokens, 1, "a token is used until it expires");
    fakes.end().await;
}

/// smithy-rs' `imds_token_fail`: after 403 to a token request, the client does not continue without a token.
#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_client_fails_without_an_endpoint() {
    let fakes = Fakes::start(|world| world.instance.metadata.enabled = false);
    let refused = metadata(&fakes)
        .get("/latest/meta-data/instance-id")
        .await
        .unwrap_err();
    let output = DisplayErrorContext(&refused).to_string();
    assert!(output.contains("IMDS is disabled"), "{output}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sts_accepts_credentials_of_the_instance() {
    let fakes = Fakes::start(|_| {});
    let sts = aws_sdk_sts::Client::new(&sdk(&fakes));
    let identity = sts.get_caller_identity().send().await.unwrap();
    assert_eq!(
        identity.arn(),
        Some("arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321")
    );
    let refused = sts
        .assume_role()
        .role_arn("arn:aws:iam::111122223333:role/nobody")
        .role_session_name("me")
        .send()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some("AccessDenied"));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eks_returns_typed_errors() {
    let fakes = Fakes::start(|_| {});
    let eks = aws_sdk_eks::Client::new(&sdk(&fakes));
    let described = eks.describe_cluster().name("demo").send().await.unwrap();
    let cluster = described.cluster().unwrap();
    assert_eq!(cluster.status().unwrap().as_str(), "ACTIVE");
    assert!(cluster.created_at().unwrap().secs() > 1_500_000_000);
    assert_eq!(
        cluster.endpoint(),
        Some("https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com")
    );
    let missing = eks
        .describe_cluster()
        .name("other")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(missing.is_resource_not_found_exception(), "{missing:?}");
    assert_eq!(missing.message(), Some("No cluster found for name: other."));
    fakes.end().await;
}

/// The SDK retries twice; a third throttled response exceeds its attempts.
#[tokio::test(flavor = "multi_thread")]
async fn throttling_is_retried_three_times() {
    for (times, succeeds) in [(2, true), (3, false)] {
        let throttled = |world: &mut World| {
            world.faults = vec![Fault {
                service: Service::Eks,
                operation: Some("DescribeCluster".into()),
                path: None,
                after: 0,
                times: Some(times),
                from_seconds: None,
                until_seconds: None,
                effect: Effect::Throttle,
                may_fire: false,
                above_per_second: None,
            }];
        };
        let mut fakes = Fakes::start(throttled);
        let eks = aws_sdk_eks::Client::new(&sdk(&fakes));
        let response = eks.describe_cluster().name("demo").send().await;
        assert_eq!(response.is_ok(), succeeds, "{times}");
        if let Err(error) = response {
            assert_eq!(error.code(), Some("TooManyRequestsException"));
        }
        let fired = fakes.calls().iter().filter(|call| call.fault == Some(0)).count();
        assert_eq!(fired, times as usize);
        fakes.end().await;
    }
}
