//! Every service responds to every request, and nothing panics: requests from arbitrary parts and from parts that look
//! valid.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use time::OffsetDateTime;

use crate::clock::{RequestTime, StateView};
use crate::dns;
use crate::http::Request;
use crate::instance::Instance;
use crate::router::Route;
use crate::testing::world;

const HOSTS: [&str; 8] = [
    "169.254.169.254",
    "eks.eu-west-1.amazonaws.com",
    "sts.eu-west-1.amazonaws.com",
    "ec2.eu-west-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
    "cloudformation.eu-west-1.amazonaws.com",
    "unknown.example.com",
];

const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/PutMetricData";

/// Parts that services look for, so that a request passes their first check.
const WORDS: [&str; 24] = [
    "/latest/api/token",
    "/latest/meta-data/",
    "/clusters/",
    "/v2/",
    "/manifests/",
    "/blobs/",
    "sha256:",
    "//",
    "%",
    "%2",
    "?",
    "&",
    "Action=",
    "DescribeInstances",
    "AssumeRole",
    "SignalResource",
    "Filter.1.Name=",
    "InstanceId.4294967296=",
    "X-Amz-Signature=",
    "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=",
    "CFN_V1 ",
    "Basic QVdTOng=",
    "{\"registryIds\":[",
    "\u{0}",
];

/// The status of the response to a request, without its socket.
fn status(request: &Request) -> u16 {
    let (world, _events) = world();
    let mut instance = Instance::launch(world, SystemTime::UNIX_EPOCH + Duration::from_secs(1_778_155_200));
    let time = RequestTime {
        now: OffsetDateTime::from(instance.launched),
        elapsed: Duration::from_secs(1),
        view: StateView::Current,
    };
    let route = match request.host.as_str() {
        "169.254.169.254" => Route::Metadata,
        _ => Route::of_host(request),
    };
    let _ = route.identify(request);
    route.respond(&mut instance, request, time).status
}

fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
    let sendable = pairs.iter().filter_map(|(name, value)| {
        Some((
            HeaderName::from_static(name),
            HeaderValue::from_bytes(value.as_bytes()).ok()?,
        ))
    });
    sendable.collect()
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned);
    proptest::collection::vec(prop_oneof![word, ".{0,6}"], 0..6).prop_map(|parts| parts.concat())
}

/// Bytes that start as the body of a PutMetricData does.
fn cbor() -> impl Strategy<Value = Vec<u8>> {
    let start = prop::sample::select(vec![
        &b"\xbf\x69Namespace\x61n\x6aMetricData\x9f\xa2\x6aMetricName"[..],
        b"\xa1\x6aMetricData\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xa1\x69Namespace\x7b\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"\xa1\x69Namespace\x7f",
    ]);
    (start, proptest::collection::vec(any::<u8>(), 0..60)).prop_map(|(start, rest)| [start, &rest].concat())
}

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn services_respond_to_every_request(
        host in prop::sample::select(HOSTS.to_vec()), method in "[A-Z]{1,7}", path in text(), query in text(),
        pairs in proptest::collection::vec((prop::sample::select(vec![
            "authorization", "x-amz-date", "x-amz-security-token", "x-amz-target", "x-aws-ec2-metadata-token",
            "x-aws-ec2-metadata-token-ttl-seconds", "x-forwarded-for", "accept", "content-type",
        ]), text()), 0..4),
        body in prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), text().prop_map(String::into_bytes)],
    ) {
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            host: host.to_owned(),
            path: format!("/{path}"),
            query,
            headers: headers(&pairs),
            body: body.into(),
        };
        let status = status(&request);
        prop_assert!((200..=599).contains(&status), "{}", status);
    }

    #[test]
    fn bodies_of_every_encoding_get_a_response(
        protocol in 0..3_u8, is_compressed: bool, is_declared: bool,
        body in prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), cbor()],
    ) {
        let (host, path, name, value) = match protocol {
            0 => ("monitoring", CBOR_PATH, "smithy-protocol", "rpc-v2-cbor"),
            1 => ("monitoring", "/", "x-amz-target", "GraniteServiceVersion20100801.PutMetricData"),
            _ => ("logs", "/", "x-amz-target", "Logs_20140328.PutLogEvents"),
        };
        let mut pairs = vec![(name, value.to_owned())];
        if is_declared {
            pairs.push(("content-encoding", "gzip".to_owned()));
        }
        let request = Request {
            method: Method::POST,
            host: format!("{host}.eu-west-1.amazonaws.com"),
            path: path.to_owned(),
            query: String::new(),
            headers: headers(&pairs),
            body: if is_compressed { compressed(&body) } else { body }.into(),
        };
        let status = status(&request);
        prop_assert!((400..=599).contains(&status), "{}", status);
    }

    #[test]
    fn the_resolver_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (world, _events) = world();
        let _ = dns::respond(&world, &bytes, |_| None);
        let _ = dns::refuse(&bytes);
    }
}
