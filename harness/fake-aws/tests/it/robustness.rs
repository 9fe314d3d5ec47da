//! Clients that send too much, too slowly, too early or incompletely receive a response or a clean close, without
//! memory growth.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::support::clients::{curl, curl_host};
use crate::support::{Fakes, in_own_process};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::error::Elapsed;

const EC2: &str = "ec2.eu-west-1.amazonaws.com";

/// Memory of this process in bytes: the second number of `statm` counts pages of 4 KiB.
fn memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

async fn secure(fakes: &Fakes) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(fakes.server.ca_pem.as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(fakes.server.tls).await.unwrap();
    let name = ServerName::try_from(EC2).unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_bodies_cause_the_error_of_the_service() {
    let mut fakes = Fakes::start(|_| {});
    let target = "X-Amz-Target: AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
    let deep = "[".repeat(100_000);
    let table: [(&str, &[&str], &str, &str); 6] = [
        (
            "ec2.eu-west-1",
            &[],
            "<DescribeInstances>",
            "<Code>MissingAction</Code>",
        ),
        (
            "ec2.eu-west-1",
            &[],
            "Action=DescribeInstances&InstanceId.x=%ff",
            "<Code>MissingParameter</Code>",
        ),
        ("sts.eu-west-1", &[], "{\"Action\":", "<Code>MissingAction</Code>"),
        (
            "api.ecr.eu-west-1",
            &["-H", target],
            "{\"registryIds\":",
            "MissingAuthenticationToken",
        ),
        (
            "api.ecr.eu-west-1",
            &["-H", target],
            &deep,
            "MissingAuthenticationToken",
        ),
        (
            "cloudformation.eu-west-1",
            &[],
            "Action=SignalResource&StackName=%00",
            "MissingAuthenticationToken",
        ),
    ];
    for (host, options, body, output) in table {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body");
        std::fs::write(&file, body).unwrap();
        let data = format!("@{}", file.display());
        let url = format!("https://{host}.amazonaws.com/");
        let response = curl_host(&fakes, &[options, &["--data-binary", &data, &url]].concat()).await;
        assert!(
            (400..500).contains(&response.status),
            "{host}: {}",
            response.status
        );
        assert!(response.text().contains(output), "{host}: {}", response.text());
    }
    assert_eq!(fakes.calls().len(), 6);
    fakes.end().await;
}

/// Sends forty bodies of ten mebibytes.
#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_use_no_memory() {
    if !in_own_process("robustness::large_bodies_use_no_memory") {
        return;
    }
    let fakes = Fakes::start(|_| {});
    let chunk = vec![b'x'; 1024 * 1024];
    let before = memory();
    for _ in 0..40 {
        let mut stream = secure(&fakes).await;
        let head = format!(
            "POST / HTTP/1.1\r\nHost: {EC2}\r\nContent-Length: {}\r\n\r\n",
            10 * chunk.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..10 {
            // The server responds and closes before it has read everything.
            if stream.write_all(&chunk).await.is_err() {
                break;
            }
        }
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 * 1024 * 1024, "grew by {grown} bytes after 400 MiB");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_connections_use_no_memory() {
    if !in_own_process("robustness::tokens_and_connections_use_no_memory") {
        return;
    }
    let mut fakes = Fakes::start(|_| {});
    let request =
        "PUT /latest/api/token HTTP/1.1\r\nHost: x\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n";
    let request_token = async |to: SocketAddr| {
        let mut stream = TcpStream::connect(to).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut received = String::new();
        stream.read_to_string(&mut received).await.unwrap();
        assert!(received.starts_with("HTTP/1.1 200"), "{received}");
    };
    for _ in 0..200 {
        request_token(fakes.server.metadata).await;
    }
    fakes.calls();
    let before = memory();
    for _ in 0..2_000 {
        request_token(fakes.server.metadata).await;
        fakes.calls();
    }
    let grown = memory().saturating_sub(before);
    assert!(
        grown < 8 * 1024 * 1024,
        "grew by {grown} bytes after 2,000 tokens"
    );
    fakes.end().await;
}

/// The client sends one byte at a time.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_does_not_delay_others() {
    let fakes = Fakes::start(|_| {});
    let mut slow = TcpStream::connect(fakes.server.metadata).await.unwrap();
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    for (index, byte) in request.bytes().enumerate() {
        slow.write_all(&[byte]).await.unwrap();
        slow.flush().await.unwrap();
        if index % 16 == 0 {
            assert_eq!(curl(&[&fakes.metadata("/latest/api/token")]).await.status, 405);
        }
    }
    let mut received = String::new();
    slow.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 405"), "{received}");
    fakes.end().await;
}

/// Services keep a connection open between requests.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_served_in_order() {
    let fakes = Fakes::start(|_| {});
    let mut stream = secure(&fakes).await;
    let request =
        |action: &str, more: &str| format!("GET /?Action={action} HTTP/1.1\r\nHost: {EC2}\r\n{more}\r\n");
    let all = [
        request("First", ""),
        request("Second", ""),
        request("Third", "Connection: close\r\n"),
    ]
    .concat();
    stream.write_all(all.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    // The connection may end without TLS' close notification.
    let _ = stream.read_to_end(&mut received).await;
    let received = String::from_utf8_lossy(&received).into_owned();
    let places: Vec<_> = ["First", "Second", "Third"]
        .map(|word| received.find(word))
        .into();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{received}"
    );
    assert_eq!(received.matches("HTTP/1.1 501").count(), 3);
    fakes.end().await;
}

/// A client may close its side after a request and still receives the response.
#[tokio::test(flavor = "multi_thread")]
async fn half_closed_and_abandoned_connections_are_handled() {
    let mut fakes = Fakes::start(|_| {});
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    for half in 0..request.len() {
        let mut stream = TcpStream::connect(fakes.server.metadata).await.unwrap();
        stream.write_all(&request.as_bytes()[..half]).await.unwrap();
        drop(stream);
    }
    let mut stream = TcpStream::connect(fakes.server.metadata).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 405"), "{received}");
    assert_eq!(fakes.calls().len(), 1, "half a request is none");
    fakes.end().await;
}

/// What a client sends before it falls silent.
const BEGINNINGS: [(&str, &str); 5] = [
    ("nothing", ""),
    ("half a line", "GET /la"),
    ("half of the headers", "GET / HTTP/1.1\r\nHost: x\r\nAccep"),
    (
        "half a body",
        "POST / HTTP/1.1\r\nHost: ec2.eu-west-1.amazonaws.com\r\nContent-Length: 10\r\n\r\nabc",
    ),
    (
        "half a chunk",
        "POST / HTTP/1.1\r\nHost: ec2.eu-west-1.amazonaws.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ),
];

/// Waits until the server closes a connection, without waiting for its timeout: with the clock paused, time moves on to
/// the next timer as soon as nothing else can happen. Without a timer, only the timeout of the test is left.
async fn until_closed(mut stream: impl AsyncRead + Unpin) -> Result<(), Elapsed> {
    tokio::time::pause();
    let mut rest = Vec::new();
    // A close without TLS' notification and a reset are errors.
    let closed = tokio::time::timeout(Duration::from_secs(3600), stream.read_to_end(&mut rest)).await;
    tokio::time::resume();
    closed.map(drop)
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let mut fakes = Fakes::start(|_| {});
    let mut open: Vec<(String, Box<dyn AsyncRead + Unpin>)> = Vec::new();
    for (name, beginning) in BEGINNINGS {
        for (port, address) in [("metadata", fakes.server.metadata), ("TLS", fakes.server.tls)] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            open.push((format!("{name} to {port}"), Box::new(stream)));
        }
        let mut stream = secure(&fakes).await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        open.push((format!("{name} in TLS"), Box::new(stream)));
    }
    for (name, beginning) in [("nothing", &b""[..]), ("half a query", &[0, 30, 1])] {
        let mut stream = TcpStream::connect(fakes.server.dns).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        open.push((format!("{name} to DNS"), Box::new(stream)));
    }
    // A connection that stays open after its first request.
    let mut served = secure(&fakes).await;
    let request = format!("GET /?Action=First HTTP/1.1\r\nHost: {EC2}\r\n\r\n");
    served.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    served.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 501");
    open.push(("a pause between requests".to_owned(), Box::new(served)));
    for (name, stream) in open {
        assert!(until_closed(stream).await.is_ok(), "{name}: still open");
    }
    assert_eq!(fakes.calls().len(), 1, "half a request is none");
    fakes.end().await;
}

/// Silent connections take all that the server accepts at a time.
#[tokio::test]
async fn a_client_is_served_once_silent_connections_are_closed() {
    let fakes = Fakes::start(|_| {});
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(fakes.server.metadata).await.unwrap());
    }
    let mut last = TcpStream::connect(fakes.server.metadata).await.unwrap();
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    last.write_all(request.as_bytes()).await.unwrap();
    tokio::time::pause();
    let mut received = String::new();
    let answered = tokio::time::timeout(Duration::from_secs(3600), last.read_to_string(&mut received)).await;
    tokio::time::resume();
    assert!(answered.is_ok(), "the silent connections stay open");
    assert!(received.starts_with("HTTP/1.1 405"), "{received}");
    drop(silent);
    fakes.end().await;
}
