//! Faults as a client sees them, and as the transcript tells them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_core::plan::{StatusStep, Tokens};
use nodejoin_fake_aws::clock::StoppedClock;
use nodejoin_fake_aws::{FakeAws, World};
use support::clients::{Aws, curl, curl_host, error};
use support::{Fakes, HERE, calls, world};

const PATH: &str = "/latest/meta-data/instance-id";
/// What curl says of a connection that ended without an answer, too early, by a reset, and not at all.
const EMPTY_REPLY: i32 = 52;
const PARTIAL_FILE: i32 = 18;
const RESET: i32 = 56;
const TIMED_OUT: i32 = 28;

fn imds(effect: Effect) -> Fault {
    Fault {
        service: Service::Imds,
        operation: None,
        path: None,
        after: 0,
        times: Some(1),
        from_seconds: None,
        until_seconds: None,
        effect,
        may_fire: false,
        above_per_second: None,
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
    let fault_of = |status| Effect::Error {
        status,
        code: None,
        message: None,
    };
    let table = [
        (fault_of(503), 0, 503, 359),
        (fault_of(429), 0, 429, 355),
        (Effect::Throttle, 0, 503, 359),
        (Effect::Refuse, EMPTY_REPLY, 0, 0),
        (Effect::Reset, RESET, 0, 0),
        (Effect::CutAfter(5), PARTIAL_FILE, 200, 5),
        (Effect::CutAfter(0), PARTIAL_FILE, 200, 0),
        (Effect::CutAfter(500), 0, 200, 19),
        (Effect::DelayMs(200), 0, 200, 19),
        (Effect::EmptyBody, 0, 200, 0),
        (Effect::Body("other".into()), 0, 200, 5),
        (Effect::ContentType("text/html".into()), 0, 200, 19),
        (Effect::ClockAheadSeconds(-60), 0, 200, 19),
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
        let content_type = answer.header("content-type");
        let is_changed = matches!(
            effect,
            Effect::ContentType(_) | Effect::Error { .. } | Effect::Throttle
        );
        assert!(
            is_changed || status == 0 || content_type == Some("text/plain"),
            "{effect:?}"
        );
        assert!(!is_changed || content_type == Some("text/html"), "{effect:?}");
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
async fn a_hanging_answer_never_comes_and_delays_no_end() {
    let mut fakes = Fakes::start(with(vec![imds(Effect::Hang)]));
    let answer = curl(&["--max-time", "1", &fakes.metadata(PATH)]).await;
    assert_eq!((answer.exit, answer.status), (TIMED_OUT, 0));
    assert_eq!(fakes.calls()[0].fault, Some(0));
    assert_eq!(curl(&[&fakes.metadata(PATH)]).await.status, 200, "once is enough");
    fakes.end().await;
}

/// What a client with a right signature is told, by boto3.
#[tokio::test(flavor = "multi_thread")]
async fn what_services_see_otherwise_than_it_is() {
    let services = [Service::Eks, Service::Sts, Service::Ec2, Service::Ecr];
    let by = |effect: &Effect| {
        let fault = |service| Fault {
            service,
            times: Some(1),
            ..imds(effect.clone())
        };
        services.map(fault).to_vec()
    };
    let table = [
        (
            Effect::ExpiredCredentials,
            [
                "403 ExpiredTokenException",
                "403 ExpiredToken",
                "400 RequestExpired",
                "400 ExpiredTokenException",
            ],
        ),
        (
            Effect::Stale,
            [
                "404 ResourceNotFoundException",
                "403 InvalidClientTokenId",
                "no name",
                "400 UnrecognizedClientException",
            ],
        ),
        (
            Effect::ClockAheadSeconds(1_200),
            [
                "403 InvalidSignatureException Signature expired",
                "403 SignatureDoesNotMatch Signature expired",
                "400 RequestExpired Request has expired.",
                "400 InvalidSignatureException Signature expired",
            ],
        ),
        (
            Effect::ClockAheadSeconds(-1_200),
            [
                "403 InvalidSignatureException Signature not yet current",
                "403 SignatureDoesNotMatch Signature not yet current",
                "400 RequestExpired Request has expired.",
                "400 InvalidSignatureException Signature not yet current",
            ],
        ),
    ];
    let program = r#"
import boto3, json, botocore.exceptions
from botocore.config import Config
calls = [("eks", "describe_cluster", {"name": "demo"}), ("sts", "get_caller_identity", {}),
         ("ec2", "describe_instances", {}), ("ecr", "get_authorization_token", {})]
def told(service, call, more):
    client = boto3.client(service, config=Config(retries={"total_max_attempts": 1}))
    try:
        answer = getattr(client, call)(**more)
        named = service != "ec2" or answer["Reservations"][0]["Instances"][0]["PrivateDnsName"] != ""
        return "accepted" if named else "no name"
    except botocore.exceptions.ClientError as e:
        error = e.response["Error"]
        return "%s %s %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], error["Code"], error["Message"])
print(json.dumps([[told(*c) for c in calls] for _ in range(2)]))
"#;
    for (effect, expected) in table {
        let fakes = Fakes::start(|world| world.faults = by(&effect));
        let aws = Aws::of(&fakes).await;
        let seen: Vec<Vec<String>> = serde_json::from_str(&aws.python(program).await).unwrap();
        for (seen, expected) in seen[0].iter().zip(expected) {
            assert!(seen.starts_with(expected), "{effect:?}: {seen}");
        }
        assert!(
            seen[1].iter().all(|second| second == "accepted"),
            "{effect:?}: {seen:?}"
        );
        fakes.end().await;
    }
}

/// The metadata service hands out credentials that are known and of no use any more, and then the role's paths not at all.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_have_expired_and_a_role_that_has_not_come_around() {
    let role = "/latest/meta-data/iam/security-credentials/demo-role";
    let on_role = |effect| Fault {
        path: Some("/latest/meta-data/iam/*".into()),
        ..imds(effect)
    };
    let faults = vec![on_role(Effect::ExpiredCredentials), on_role(Effect::Stale)];
    let fakes = Fakes::start(with(faults));
    let expired: serde_json::Value =
        serde_json::from_str(&curl(&[&fakes.metadata(role)]).await.text()).unwrap();
    assert_eq!(
        curl(&[&fakes.metadata(role)]).await.status,
        404,
        "amazon-eks-ami#1970"
    );
    let fresh: serde_json::Value =
        serde_json::from_str(&curl(&[&fakes.metadata(role)]).await.text()).unwrap();
    assert!(expired["Expiration"].as_str() < fresh["LastUpdated"].as_str());
    let aws = Aws::of(&fakes).await;
    let text = |name: &str| expired[name].as_str().unwrap().to_owned();
    let environment = [
        ("AWS_ACCESS_KEY_ID", text("AccessKeyId")),
        ("AWS_SECRET_ACCESS_KEY", text("SecretAccessKey")),
        ("AWS_SESSION_TOKEN", text("Token")),
    ];
    let environment: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let told = error(&aws.cli_with(&["sts", "get-caller-identity"], &environment).await);
    assert!(told.contains("(ExpiredToken)"), "{told}");
    fakes.end().await;
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
        from_seconds: Some(1.0),
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
    for (later, exit) in [(0, 0), (1, EMPTY_REPLY), (28, EMPTY_REPLY), (1, 0)] {
        clock.advance(Duration::from_secs(later));
        assert_eq!(curl(&[&url]).await.exit, exit);
    }
    assert_eq!(calls(&mut events).len(), 4);
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
    use nodejoin_fake_aws::clock::{Moment, Twist};
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
            twist: Twist::None,
        };
        assert_eq!(
            eks::status(&instance.world, moment.seconds()),
            status,
            "after {seconds} s"
        );
    }
}
