//! Start, many and misbehaving clients, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::support::clients::{curl, curl_host};
use crate::support::{Fakes, HERE, world};
use nodejoin_fake_aws::{AwsEventKind, Clock, FakeAws};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes on a connection and returns everything up to its end.
async fn say(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut received = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut received))
        .await
        .expect("the connection ends");
    received
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_refused_before_listen() {
    let bound = FakeAws::bind(&"testrun01".parse().unwrap(), HERE).unwrap();
    for address in [bound.metadata, bound.tls, bound.dns] {
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    }
    let (metadata, server) = (bound.metadata, bound.listen().unwrap());
    TcpStream::connect(metadata).await.unwrap();
    server.shut_down().await;
    assert!(
        TcpStream::connect(metadata).await.is_err(),
        "and refuses them again at the end"
    );
}

/// A node verifies that the fakes of its own run respond.
#[tokio::test(flavor = "multi_thread")]
async fn an_attached_node_reads_the_id_of_the_run() {
    let (world, mut events) = world();
    let id = world.instance.id.clone();
    let server = FakeAws::bind(&"testrun01".parse().unwrap(), HERE)
        .unwrap()
        .listen()
        .unwrap();
    let url = format!("http://{}/nodejoin/run", server.metadata);
    assert_eq!(curl(&[&url]).await.status, 503);
    server.admit(world);
    assert_eq!(curl(&[&url]).await.status, 503);
    assert!(events.try_recv().is_err());
    server.attach(HERE, &id);
    let response = curl(&[&url]).await;
    assert_eq!((response.status, response.text().as_str()), (200, "testrun01"));
    assert_eq!(events.try_recv().unwrap().what, AwsEventKind::Isolated);
    server.shut_down().await;
}

/// A node that boots ahead of its scenario passes its gate when its own instance has its address, not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_boots_ahead_waits_for_its_own_instance() {
    let (before, _events_before) = world();
    let (mut world, mut events) = world();
    world.instance.id = "i-0aaaaaaaaaaaaaaa1".parse().unwrap();
    let (id, id_before) = (world.instance.id.clone(), before.instance.id.clone());
    let server = FakeAws::bind(&"testrun01".parse().unwrap(), HERE)
        .unwrap()
        .listen()
        .unwrap();
    let ahead = curl(&[&format!("http://{}/nodejoin/ahead", server.metadata)]).await;
    assert_eq!((ahead.status, ahead.text().as_str()), (200, "testrun01"));
    let url = format!("http://{}/nodejoin/gate/{id}", server.metadata);
    let waiting = tokio::spawn(async move { curl(&[&url]).await });
    server.admit(before);
    server.admit(world);
    // The instance that had the address before.
    server.attach(HERE, &id_before);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!waiting.is_finished());
    assert!(events.try_recv().is_err());
    server.attach(HERE, &id);
    let response = waiting.await.unwrap();
    assert_eq!((response.status, response.text().as_str()), (200, "testrun01"));
    assert_eq!(events.try_recv().unwrap().what, AwsEventKind::Isolated);
    server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_concurrent_token_requests_succeed() {
    let mut fakes = Fakes::start(|_| {});
    let request = b"PUT /latest/api/token HTTP/1.1\r\nHost: 169.254.169.254\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n";
    let tasks: Vec<_> = (0..1_000)
        .map(|_| tokio::spawn(say(fakes.server.metadata, request)))
        .collect();
    for task in tasks {
        assert!(task.await.unwrap().starts_with(b"HTTP/1.1 200 OK"));
    }
    assert_eq!(fakes.calls().len(), 1_000);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn misbehaving_clients_receive_a_response_or_a_clean_close() {
    let fakes = Fakes::start(|_| {});
    let metadata = fakes.server.metadata;
    let table: [(&[u8], &[u8]); 6] = [
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"HTTP/1.1 400"),
        (b"GET /latest/meta-data/ HTTP/1.0\r\n\r\n", b"HTTP/1.0 401"),
        (b"GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 401"),
        (b"GET /%00%ff/../.. HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 401"),
        (b"PUT /latest/api/token HTTP/1.1\r\nHost: \xff\xfe\r\nX-aws-ec2-metadata-token-ttl-seconds: \xff\r\n\r\n", b"HTTP/1.1 400"),
    ];
    for (output, expected) in table {
        let received = say(metadata, output).await;
        assert!(
            received.starts_with(expected),
            "{:?}: {:?}",
            String::from_utf8_lossy(output),
            String::from_utf8_lossy(&received)
        );
    }
    // Plain HTTP on the TLS port closes the connection.
    assert!(
        !say(fakes.server.tls, b"GET / HTTP/1.1\r\n\r\n")
            .await
            .starts_with(b"HTTP")
    );
    fakes.end().await;
}

/// Two requests in one write, on one connection that stays open.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_on_a_half_closed_connection_are_served() {
    let mut fakes = Fakes::start(|_| {});
    let mut stream = TcpStream::connect(fakes.server.metadata).await.unwrap();
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    stream
        .write_all(format!("{request}{request}").as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    assert!(
        received.starts_with("HTTP/1.1 405"),
        "the metadata service closes after one answer: {received}"
    );
    assert_eq!(fakes.calls().len(), 1);
    fakes.end().await;
}

/// The client reads nothing before it has sent everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_is_drained_so_that_the_error_arrives() {
    const LENGTH: usize = 40 * 1024 * 1024;
    let fakes = Fakes::start(|_| {});
    let mut stream = TcpStream::connect(fakes.server.metadata).await.unwrap();
    let head = format!("PUT /latest/api/token HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; LENGTH]).await.unwrap();
    let mut received = vec![0; 12];
    stream.read_exact(&mut received).await.unwrap();
    assert_eq!(received, b"HTTP/1.1 413");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_ten_mebibytes_is_rejected() {
    let mut fakes = Fakes::start(|_| {});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    std::fs::write(&file, vec![b'x'; 10 * 1024 * 1024]).unwrap();
    let data = format!("@{}", file.display());
    let response = curl_host(
        &fakes,
        &[
            "-H",
            "Expect:",
            "--data-binary",
            &data,
            "https://ec2.eu-west-1.amazonaws.com/",
        ],
    )
    .await;
    assert_eq!(response.status, 413, "curl ended with {}", response.exit);
    assert_eq!(fakes.calls()[0].error.as_deref(), Some("RequestEntityTooLarge"));
    let malformed = curl_host(
        &fakes,
        &[
            "-X",
            "POST",
            "-d",
            "%%%=&&&=&Action",
            "https://ec2.eu-west-1.amazonaws.com/",
        ],
    )
    .await;
    assert!(malformed.text().contains("<Code>MissingAction</Code>"));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_connections_do_not_delay_shutdown() {
    let fakes = Fakes::start(|_| {});
    let mut idle = Vec::new();
    for address in [fakes.server.metadata, fakes.server.tls, fakes.server.dns] {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    let started = Instant::now();
    fakes.end().await;
    // An idle connection is closed after 30 s.
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// A clock that panics on demand: the caller's only code in a connection's task.
#[derive(Debug, Default)]
struct Trap(AtomicBool);

impl Clock for Trap {
    fn now(&self) -> SystemTime {
        assert!(!self.0.load(Ordering::SeqCst), "the trap has sprung");
        SystemTime::now()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_one_connection_is_raised_at_shutdown() {
    let trap = Arc::new(Trap::default());
    let (world, _events) = world();
    let id = world.instance.id.clone();
    let server = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, trap.clone())
        .unwrap()
        .listen()
        .unwrap();
    server.admit(world);
    server.attach(HERE, &id);
    let url = format!("http://{}/nodejoin/run", server.metadata);
    trap.0.store(true, Ordering::SeqCst);
    assert_eq!(curl(&[&url]).await.status, 0);
    trap.0.store(false, Ordering::SeqCst);
    assert_eq!(curl(&[&url]).await.status, 200);
    let raised = tokio::spawn(server.shut_down()).await.unwrap_err();
    assert!(raised.is_panic());
}
