//! Requests to every service, with whatever in their parts: each has to be answered.
#![no_main]

mod world;

use std::time::{Duration, SystemTime};

use arbitrary::Arbitrary;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::Instance;
use nodejoin_fake_aws::clock::{Moment, Twist};
use nodejoin_fake_aws::exchange::Request;
use nodejoin_fake_aws::router::Route;
use time::OffsetDateTime;

const HOSTS: [&str; 7] = [
    "169.254.169.254",
    "eks.eu-west-1.amazonaws.com",
    "sts.eu-west-1.amazonaws.com",
    "ec2.eu-west-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
    "cloudformation.eu-west-1.amazonaws.com",
];
const HEADERS: [&str; 9] = [
    "authorization",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-target",
    "x-amz-content-sha256",
    "x-aws-ec2-metadata-token",
    "x-aws-ec2-metadata-token-ttl-seconds",
    "x-forwarded-for",
    "accept",
];

#[derive(Debug, Arbitrary)]
struct Sent<'a> {
    host: u8,
    method: u8,
    path: &'a str,
    query: &'a str,
    headers: Vec<(u8, &'a [u8])>,
    body: &'a [u8],
}

fuzz_target!(|sent: Sent<'_>| {
    let methods = [Method::GET, Method::POST, Method::PUT, Method::HEAD, Method::DELETE];
    let headers: HeaderMap = sent
        .headers
        .iter()
        .filter_map(|(name, value)| {
            let name = HeaderName::from_static(HEADERS[usize::from(*name) % HEADERS.len()]);
            Some((name, HeaderValue::from_bytes(value).ok()?))
        })
        .collect();
    let request = Request {
        method: methods[usize::from(sent.method) % methods.len()].clone(),
        host: HOSTS[usize::from(sent.host) % HOSTS.len()].to_owned(),
        path: format!("/{}", sent.path),
        query: sent.query.to_owned(),
        headers,
        body: bytes::Bytes::copy_from_slice(sent.body),
    };
    let mut instance = Instance::launch(world::world(), SystemTime::UNIX_EPOCH + Duration::from_secs(1_778_155_200));
    let moment = Moment {
        now: OffsetDateTime::from(instance.launched),
        elapsed: Duration::from_secs(1),
        twist: Twist::None,
    };
    let route = match request.host.as_str() {
        "169.254.169.254" => Route::Metadata,
        _ => Route::of_host(&request),
    };
    let target = route.identify(&request);
    let answer = route.answer(&mut instance, &request, &target, moment);
    assert!((200..=599).contains(&answer.status));
});
