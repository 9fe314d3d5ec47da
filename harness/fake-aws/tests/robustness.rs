//! Clients that send too much, too slowly, too early or half: an answer or a clean end, and memory that stays where it was.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use support::Fakes;
use support::clients::{curl, curl_host};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const EC2: &str = "ec2.eu-west-1.amazonaws.com";

/// Memory of this process, which is the fakes', in bytes: the second number of `statm` is in pages of 4 KiB.
fn memory() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

async fn secure(fakes: &Fakes) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(fakes.listening.ca_pem.as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(fakes.listening.tls).await.unwrap();
    let name = ServerName::try_from(EC2).unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

/// Bodies that no service can read, by curl: the error of the service, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_xml_json_or_form() {
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
    for (host, options, body, told) in table {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body");
        std::fs::write(&file, body).unwrap();
        let data = format!("@{}", file.display());
        let url = format!("https://{host}.amazonaws.com/");
        let answer = curl_host(&fakes, &[options, &["--data-binary", &data, &url]].concat()).await;
        assert!((400..500).contains(&answer.status), "{host}: {}", answer.status);
        assert!(answer.text().contains(told), "{host}: {}", answer.text());
    }
    assert_eq!(fakes.calls().len(), 6);
    fakes.end().await;
}

/// Forty bodies of ten mebibytes: none is kept.
#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_take_no_memory() {
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
            // The server answers and closes long before it has read everything.
            if stream.write_all(&chunk).await.is_err() {
                break;
            }
        }
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 * 1024 * 1024, "grew by {grown} bytes after 400 MiB");
    fakes.end().await;
}

/// 2,000 tokens and connections later the process is as large as before: neither is remembered.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_connections_take_no_memory() {
    let mut fakes = Fakes::start(|_| {});
    let request =
        "PUT /latest/api/token HTTP/1.1\r\nHost: x\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n";
    let ask = async |to: SocketAddr| {
        let mut stream = TcpStream::connect(to).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    };
    for _ in 0..200 {
        ask(fakes.listening.metadata).await;
    }
    fakes.calls();
    let before = memory();
    for _ in 0..2_000 {
        ask(fakes.listening.metadata).await;
        fakes.calls();
    }
    let grown = memory().saturating_sub(before);
    assert!(
        grown < 8 * 1024 * 1024,
        "grew by {grown} bytes after 2,000 tokens"
    );
    fakes.end().await;
}

/// A client that sends one byte at a time is waited for, and delays nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_delays_nobody() {
    let fakes = Fakes::start(|_| {});
    let mut slow = TcpStream::connect(fakes.listening.metadata).await.unwrap();
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    for (place, byte) in request.bytes().enumerate() {
        slow.write_all(&[byte]).await.unwrap();
        slow.flush().await.unwrap();
        if place % 16 == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(curl(&[&fakes.metadata("/latest/api/token")]).await.status, 405);
        }
    }
    let mut heard = String::new();
    slow.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 405"), "{heard}");
    fakes.end().await;
}

/// Services keep a connection open: requests in one go are answered one after the other, in their order.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let fakes = Fakes::start(|_| {});
    let mut stream = secure(&fakes).await;
    let ask =
        |action: &str, more: &str| format!("GET /?Action={action} HTTP/1.1\r\nHost: {EC2}\r\n{more}\r\n");
    let all = [
        ask("First", ""),
        ask("Second", ""),
        ask("Third", "Connection: close\r\n"),
    ]
    .concat();
    stream.write_all(all.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    // The end of TLS may come without its farewell.
    let _ = stream.read_to_end(&mut heard).await;
    let heard = String::from_utf8_lossy(&heard).into_owned();
    let places: Vec<_> = ["First", "Second", "Third"].map(|word| heard.find(word)).into();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{heard}"
    );
    assert_eq!(heard.matches("HTTP/1.1 400").count(), 3);
    fakes.end().await;
}

/// A client that has closed its side after a request still gets the answer; one that leaves in between leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn half_closed_and_left_connections() {
    let mut fakes = Fakes::start(|_| {});
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    for half in 0..request.len() {
        let mut stream = TcpStream::connect(fakes.listening.metadata).await.unwrap();
        stream.write_all(&request.as_bytes()[..half]).await.unwrap();
        drop(stream);
    }
    let mut stream = TcpStream::connect(fakes.listening.metadata).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 405"), "{heard}");
    assert_eq!(fakes.calls().len(), 1, "half a request is none");
    fakes.end().await;
}
