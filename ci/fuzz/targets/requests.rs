//! Any request to any service gets a response with an HTTP status, and nothing panics.
//!
//! An input is a request as text: method, path and query in the first line, then headers, an empty line, and the body.
//! Its first byte selects the host.
#![no_main]

mod world;

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::clock::{Moment, Twist};
use nodejoin_fake_aws::exchange::Request;
use nodejoin_fake_aws::router::Route;
use nodejoin_fake_aws::{Instance, World};

const HOSTS: [&str; 8] = [
    "169.254.169.254",
    "eks.eu-west-1.amazonaws.com",
    "sts.eu-west-1.amazonaws.com",
    "ec2.eu-west-1.amazonaws.com",
    "api.ecr.eu-west-1.amazonaws.com",
    "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
    "cloudformation.eu-west-1.amazonaws.com",
    "nobody.example.com",
];

static WORLD: LazyLock<World> = LazyLock::new(world::world);

// Generating the keys of the identity document takes seconds, which must not count against an input.
fuzz_target!(init: nodejoin_fake_aws::identity::make_keys(), |input: &[u8]| {
    let Some(request) = read(input) else { return };
    let launched = SystemTime::UNIX_EPOCH + Duration::from_secs(1_778_155_200);
    let mut instance = Instance::launch(WORLD.clone(), launched);
    let moment = Moment {
        now: launched.into(),
        elapsed: Duration::from_secs(1),
        twist: Twist::None,
    };
    let route = match request.host.as_str() {
        "169.254.169.254" => Route::Metadata,
        _ => Route::of_host(&request),
    };
    let target = route.identify(&request);
    let status = route.answer(&mut instance, &request, &target, moment).status;
    assert!((200..=599).contains(&status), "{status}");
});

fn read(input: &[u8]) -> Option<Request> {
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
    Some(Request {
        method,
        host: HOSTS[usize::from(*host) % HOSTS.len()].to_owned(),
        path: format!("/{}", path.trim_start_matches('/')),
        query: query.to_owned(),
        headers: pairs.collect::<HeaderMap>(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    })
}
