//! Any request to any service gets a response with an HTTP status, and nothing panics.
//!
//! An input is a request as text: method, path and query in the first line, then headers, an empty line, and the body.
//! Its first byte selects the host.
#![no_main]

mod world;

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::{World, fuzzing};

const HOSTS: [&str; 16] = [
    "169.254.169.254",
    "eks.eu-west-1.amazonaws.com",
    "sts.eu-west-1.amazonaws.com",
    "ec2.eu-west-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
    "cloudformation.eu-west-1.amazonaws.com",
    "unknown.example.com",
    "ssm.eu-west-1.amazonaws.com",
    "secretsmanager.eu-west-1.amazonaws.com",
    "s3.eu-west-1.amazonaws.com",
    "bucket.s3.amazonaws.com",
    "autoscaling.eu-west-1.amazonaws.com",
    "logs.eu-west-1.amazonaws.com",
    "eks-auth.eu-west-1.amazonaws.com",
    "eu-west-1.queue.amazonaws.com",
];

static WORLD: LazyLock<World> = LazyLock::new(world::world);

// Generating the keys of the identity document takes seconds, which must not count against an input.
fuzz_target!(init: nodejoin_fake_aws::identity::make_keys(), |input: &[u8]| {
    let Some(request) = read(input) else { return };
    let status = fuzzing::status(WORLD.clone(), request);
    assert!((200..=599).contains(&status), "{status}");
});

fn read(input: &[u8]) -> Option<Request<Bytes>> {
    let (host, rest) = input.split_first()?;
    let text = String::from_utf8_lossy(rest);
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let mut words = lines.next()?.splitn(2, ' ');
    let method = Method::from_bytes(words.next()?.as_bytes()).ok()?;
    let (path, query) = words
        .next()
        .and_then(|target| target.split_once('?'))
        .unwrap_or(("/", ""));
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    });
    let host = HOSTS[usize::from(*host) % HOSTS.len()];
    let target = format!("http://{host}/{}?{query}", path.trim_start_matches('/'));
    let mut request = Request::new(Bytes::copy_from_slice(body.as_bytes()));
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().ok()?;
    *request.headers_mut() = pairs.collect::<HeaderMap>();
    Some(request)
}
