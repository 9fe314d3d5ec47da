//! Every service responds to every request, and nothing panics: requests from arbitrary parts and from parts that look
//! valid.

use std::time::{Duration, SystemTime};

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
    fn the_resolver_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let (world, _events) = world();
        let _ = dns::respond(&world, &bytes);
        let _ = dns::refuse(&bytes);
    }
}
