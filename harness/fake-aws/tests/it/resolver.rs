//! DNS over UDP and TCP, and its events.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::clients::AwsClients;
use crate::support::{Fakes, HERE};
use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use nodejoin_core::observation::DnsQuery;
use nodejoin_fake_aws::FakeAws;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

fn query(name: &str, record: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), record));
    message.to_vec().unwrap()
}

async fn udp(to: SocketAddr, query: &[u8]) -> Option<Message> {
    let socket = UdpSocket::bind((HERE, 0)).await.unwrap();
    socket.send_to(query, to).await.unwrap();
    let mut response = [0; 1500];
    let received = tokio::time::timeout(Duration::from_millis(500), socket.recv(&mut response))
        .await
        .ok()?
        .unwrap();
    Some(Message::from_vec(&response[..received]).unwrap())
}

async fn tcp(stream: &mut TcpStream, query: &[u8]) -> Message {
    stream.write_u16(query.len().try_into().unwrap()).await.unwrap();
    stream.write_all(query).await.unwrap();
    let mut response = vec![0; stream.read_u16().await.unwrap().into()];
    stream.read_exact(&mut response).await.unwrap();
    Message::from_vec(&response).unwrap()
}

fn addresses(message: &Message) -> Vec<String> {
    message
        .answers
        .iter()
        .map(|record| record.data.to_string())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_resolve_over_udp_and_tcp() {
    let mut fakes = Fakes::start(|_| {});
    let dns = fakes.server.dns;
    let mut stream = TcpStream::connect(dns).await.unwrap();
    let known = query("eks.eu-west-1.amazonaws.com.", RecordType::A);
    assert_eq!(addresses(&udp(dns, &known).await.unwrap()), ["169.254.171.1"]);
    assert_eq!(addresses(&tcp(&mut stream, &known).await), ["169.254.171.1"]);
    let outside = tcp(&mut stream, &query("registry.k8s.io.", RecordType::A)).await;
    assert_eq!(addresses(&outside), ["169.254.171.2"]);
    let unknown = tcp(&mut stream, &query("db.corp.internal.", RecordType::A)).await;
    assert_eq!(unknown.metadata.response_code, ResponseCode::NXDomain);
    tcp(
        &mut stream,
        &query("registry.k8s.io.eu-west-1.compute.internal.", RecordType::A),
    )
    .await;
    let output = |name: &str, answered| DnsQuery {
        name: name.into(),
        record: "A".into(),
        answered,
        fault: None,
    };
    let eks = output("eks.eu-west-1.amazonaws.com", true);
    assert_eq!(
        fakes.names(),
        [
            eks.clone(),
            eks,
            output("registry.k8s.io", false),
            output("db.corp.internal", false)
        ]
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_queries_are_ignored_and_unknown_sources_refused() {
    let fakes = Fakes::start(|_| {});
    assert!(udp(fakes.server.dns, b"\0\x01nonsense").await.is_none());
    assert!(
        udp(
            fakes.server.dns,
            &query("eks.eu-west-1.amazonaws.com.", RecordType::A)
        )
        .await
        .is_some()
    );
    fakes.end().await;
    let server = FakeAws::bind(&"testrun01".parse().unwrap(), HERE)
        .unwrap()
        .listen()
        .unwrap();
    let refused = udp(server.dns, &query("eks.eu-west-1.amazonaws.com.", RecordType::A))
        .await
        .unwrap();
    assert_eq!(refused.metadata.response_code, ResponseCode::ServFail);
    server.shut_down().await;
}

/// The host names of every service of boto3, as its clients build them. Those of a partition's pseudo region, which
/// boto3 has for services without a region, exist nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn every_host_name_of_boto3_resolves() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.config, urllib.parse
session = boto3.Session(aws_access_key_id="x" * 16, aws_secret_access_key="y")
found = set()
for region, config in (
    ("us-gov-west-1", None),
    ("us-east-1", botocore.config.Config(use_fips_endpoint=True)),
):
    for service in session.get_available_services():
        try:
            client = session.client(service, region_name=region, config=config)
        except Exception:
            continue  # The service is not in this region, or not in this form.
        found.add(urllib.parse.urlparse(client.meta.endpoint_url).hostname)
print("\n".join(sorted(name for name in found if "-global." not in name)))
"#;
    let names = aws.python(program).await;
    assert!(names.lines().count() > 600, "{}", names.lines().count());
    let mut stream = TcpStream::connect(fakes.server.dns).await.unwrap();
    let mut missing = Vec::new();
    for name in names.lines() {
        if addresses(&tcp(&mut stream, &query(&format!("{name}."), RecordType::A)).await).is_empty() {
            missing.push(name);
        }
    }
    assert_eq!(missing, Vec::<&str>::new());
    fakes.end().await;
}
