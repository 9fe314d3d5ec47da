//! Faults as a client sees them, and as the transcript tells them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use nodejoin_core::fault::{Effect, Fault, Service};
use nodejoin_core::plan::{StatusStep, Tokens};
use nodejoin_fake_aws::clock::StoppedClock;
use nodejoin_fake_aws::{FakeAws, World};
use support::clients::{curl, curl_host};
use support::{Fakes, HERE, calls, world};

const PATH: &str = "/latest/meta-data/instance-id";
/// What curl says of a connection that ended without an answer, and of one that ended too early.
const EMPTY_REPLY: i32 = 52;
const PARTIAL_FILE: i32 = 18;

fn imds(effect: Effect) -> Fault {
    Fault {
        service: Service::Imds,
        operation: None,
        path: None,
        after: 0,
        times: Some(1),
        until_seconds: None,
        effect,
        may_fire: false,
    }
}

fn with(faults: Vec<Fault>) -> impl FnOnce(&mut World) {
    |world| {
        world.instance.metadata.tokens = Tokens::Optional;
        world.faults = faults;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_effect_as_curl_sees_it() {
    let error = |status| Effect::Error {
        status,
        code: None,
        message: None,
    };
    let table = [
        (error(503), 0, 503, 359),
        (error(429), 0, 429, 355),
        (Effect::Refuse, EMPTY_REPLY, 0, 0),
        (Effect::CutAfter(5), PARTIAL_FILE, 200, 5),
        (Effect::CutAfter(0), PARTIAL_FILE, 200, 0),
        (Effect::CutAfter(500), 0, 200, 19),
        (Effect::DelayMs(200), 0, 200, 19),
    ];
    for (effect, exit, status, length) in table {
        let mut fakes = Fakes::start(with(vec![imds(effect.clone())]));
        let started = Instant::now();
        let answer = curl(&[&fakes.metadata(PATH)]).await;
        assert_eq!(
            (answer.exit, answer.status, answer.body.len()),
            (exit, status, length),
            "{effect:?}"
        );
        let slow = started.elapsed() >= Duration::from_millis(200);
        assert!(slow || !matches!(effect, Effect::DelayMs(_)));
        assert_eq!(curl(&[&fakes.metadata(PATH)]).await.status, 200, "once is enough");
        let calls = fakes.calls();
        assert_eq!((calls[0].fault, calls[0].status), (Some(0), status), "{effect:?}");
        assert_eq!(
            (calls[1].fault, calls[1].authorization.as_deref()),
            (None, Some("v1"))
        );
        let id = "i-0b22a22eec53b9321".parse().unwrap();
        assert_eq!(fakes.listening.detach(&id), BTreeMap::from([(0, 1)]));
        assert_eq!(curl(&[&fakes.metadata(PATH)]).await.status, 503, "detached");
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_shape_of_their_service() {
    let hosts = [
        (
            Service::Eks,
            429,
            "eks.eu-west-1.amazonaws.com/clusters/demo",
            "Too Many Requests",
        ),
        (
            Service::Ec2,
            503,
            "ec2.eu-west-1.amazonaws.com/?Action=DescribeInstances",
            "<Code>RequestLimitExceeded</Code>",
        ),
        (
            Service::Sts,
            400,
            "sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity",
            "<Code>Throttling</Code>",
        ),
        (
            Service::Ecr,
            500,
            "api.ecr.eu-west-1.amazonaws.com/",
            "\"__type\":\"ServerException\"",
        ),
        (
            Service::Registry,
            429,
            "111122223333.dkr.ecr.eu-west-1.amazonaws.com/v2/",
            "\"code\":\"TOOMANYREQUESTS\"",
        ),
    ];
    let fault = |service, status| Fault {
        service,
        ..imds(Effect::Error {
            status,
            code: None,
            message: None,
        })
    };
    let faults = hosts
        .iter()
        .map(|(service, status, ..)| fault(*service, *status))
        .collect();
    let mut fakes = Fakes::start(with(faults));
    for (place, (service, status, url, text)) in hosts.into_iter().enumerate() {
        let answer = curl_host(&fakes, &[&format!("https://{url}")]).await;
        assert_eq!(answer.status, status, "{url}");
        assert!(answer.text().contains(text), "{}", answer.text());
        let call = fakes.calls().pop().unwrap();
        assert_eq!(
            (call.service, call.fault, call.status),
            (service, Some(place), status)
        );
    }
    fakes.end().await;
}

/// Seconds count from the moment the node's address is attached, by the fakes' clock.
#[tokio::test(flavor = "multi_thread")]
async fn what_holds_until_a_time() {
    let clock = Arc::new(StoppedClock::at(SystemTime::now()));
    let (mut plan, mut events) = world();
    with(vec![Fault {
        times: None,
        until_seconds: Some(30.0),
        ..imds(Effect::Refuse)
    }])(&mut plan);
    let id = plan.instance.id.clone();
    let listening = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, clock.clone())
        .unwrap()
        .listen()
        .unwrap();
    listening.admit(plan);
    clock.advance(Duration::from_secs(100));
    listening.attach(HERE, &id);
    let url = format!("http://{}{PATH}", listening.metadata);
    for (later, exit) in [(0, EMPTY_REPLY), (29, EMPTY_REPLY), (1, 0)] {
        clock.advance(Duration::from_secs(later));
        assert_eq!(curl(&[&url]).await.exit, exit);
    }
    assert_eq!(calls(&mut events).len(), 3);
    listening.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_credentials_expire_by_the_clock() {
    let clock = Arc::new(StoppedClock::at(SystemTime::now()));
    let (plan, _events) = world();
    let id = plan.instance.id.clone();
    let listening = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, clock.clone())
        .unwrap()
        .listen()
        .unwrap();
    listening.admit(plan);
    listening.attach(HERE, &id);
    let root = format!("http://{}", listening.metadata);
    let ttl = "X-aws-ec2-metadata-token-ttl-seconds: 60";
    let token = curl(&["-X", "PUT", "-H", ttl, &format!("{root}/latest/api/token")])
        .await
        .text();
    let header = format!("X-aws-ec2-metadata-token: {token}");
    let ask = async |path: &str| curl(&["-H", &header, &format!("{root}{path}")]).await;
    clock.advance(Duration::from_secs(58));
    let answer = ask(PATH).await;
    assert_eq!(
        (
            answer.status,
            answer.header("x-aws-ec2-metadata-token-ttl-seconds")
        ),
        (200, Some("1"))
    );
    clock.advance(Duration::from_secs(2));
    assert_eq!(ask(PATH).await.status, 401, "EC2UG: an expired token");
    listening.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_follows_its_steps() {
    let step = |status: &str, until: Option<f64>| StatusStep {
        status: status.into(),
        until_seconds: until,
    };
    let steps = [
        step("CREATING", Some(10.0)),
        step("UPDATING", Some(20.0)),
        step("ACTIVE", None),
    ];
    let (mut plan, _events) = world();
    plan.cluster.status = steps.to_vec();
    // The pure function, without a socket: what a service is.
    use nodejoin_fake_aws::clock::Moment;
    use nodejoin_fake_aws::{Instance, services::eks};
    let instance = Instance::launch(plan, SystemTime::now());
    for (seconds, status) in [
        (0, "CREATING"),
        (9, "CREATING"),
        (10, "UPDATING"),
        (20, "ACTIVE"),
        (9_999, "ACTIVE"),
    ] {
        let moment = Moment {
            now: SystemTime::now().into(),
            elapsed: Duration::from_secs(seconds),
        };
        assert_eq!(
            eks::status(&instance.world, moment.seconds()),
            status,
            "after {seconds} s"
        );
    }
}
