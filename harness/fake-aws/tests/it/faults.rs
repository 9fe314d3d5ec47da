//! Faults, from the view of clients and in the transcript.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::support::clients::{AwsClients, curl, curl_host, error};
use crate::support::{Fakes, HERE, calls, world};
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_fake_aws::{FakeAws, StoppedClock, World};

const PATH: &str = "/latest/meta-data/instance-id";
/// curl's exit codes for a connection without a response, a partial response, a reset and a timeout.
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
async fn curl_sees_each_effect() {
    let fault_of = |status| Effect::Error {
        status,
        code: None,
        message: None,
    };
    let of_status = |status, body: &str| Effect::Response {
        status,
        body: body.to_owned(),
    };
    let table = [
        (fault_of(503), 0, 503, 359),
        (fault_of(429), 0, 429, 355),
        (Effect::Throttle, 0, 503, 359),
        (Effect::Close, EMPTY_REPLY, 0, 0),
        (Effect::Reset, RESET, 0, 0),
        (Effect::CutAfter(5), PARTIAL_FILE, 200, 5),
        (Effect::CutAfter(0), PARTIAL_FILE, 200, 0),
        (Effect::CutAfter(500), 0, 200, 19),
        (Effect::DelayMs(200), 0, 200, 19),
        (Effect::EmptyBody, 0, 200, 0),
        (Effect::Body("other".into()), 0, 200, 5),
        (of_status(200, "<html>"), 0, 200, 6),
        (of_status(204, ""), 0, 204, 0),
        (of_status(302, "moved"), 0, 302, 5),
        (of_status(503, "busy"), 0, 503, 4),
        (Effect::ContentType("text/html".into()), 0, 200, 19),
        (Effect::ClockAheadSeconds(-60), 0, 200, 19),
    ];
    for (effect, exit, status, length) in table {
        let mut fakes = Fakes::start(with(vec![imds(effect.clone())]));
        let started = Instant::now();
        let response = curl(&[&fakes.metadata(PATH)]).await;
        assert_eq!(
            (response.exit, response.status, response.body.len()),
            (exit, status, length),
            "{effect:?}"
        );
        let content_type = response.header("content-type");
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
        assert_eq!(fakes.server.detach(&id), BTreeMap::from([(0, 1)]));
        assert_eq!(curl(&[&fakes.metadata(PATH)]).await.status, 503, "detached");
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_response_does_not_delay_shutdown() {
    let mut fakes = Fakes::start(with(vec![imds(Effect::Hang)]));
    let response = curl(&["--max-time", "1", &fakes.metadata(PATH)]).await;
    assert_eq!((response.exit, response.status), (TIMED_OUT, 0));
    assert_eq!(fakes.calls()[0].fault, Some(0));
    assert_eq!(curl(&[&fakes.metadata(PATH)]).await.status, 200, "once is enough");
    fakes.end().await;
}

/// The responses to requests with valid signatures, through boto3.
#[tokio::test(flavor = "multi_thread")]
async fn faults_change_what_services_see() {
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
def output(service, call, more):
    client = boto3.client(service, config=Config(retries={"total_max_attempts": 1}))
    try:
        answer = getattr(client, call)(**more)
        named = service != "ec2" or answer["Reservations"][0]["Instances"][0]["PrivateDnsName"] != ""
        return "accepted" if named else "no name"
    except botocore.exceptions.ClientError as e:
        error = e.response["Error"]
        return "%s %s %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], error["Code"], error["Message"])
print(json.dumps([[output(*c) for c in calls] for _ in range(2)]))
"#;
    for (effect, expected) in table {
        let fakes = Fakes::start(|world| world.faults = by(&effect));
        let aws = AwsClients::of(&fakes).await;
        let results: Vec<Vec<String>> = serde_json::from_str(&aws.python(program).await).unwrap();
        for (results, expected) in results[0].iter().zip(expected) {
            assert!(results.starts_with(expected), "{effect:?}: {results}");
        }
        assert!(
            results[1].iter().all(|second| second == "accepted"),
            "{effect:?}: {results:?}"
        );
        fakes.end().await;
    }
}

/// The metadata service returns expired credentials, and then hides the role's paths.
#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_service_returns_expired_credentials_and_hides_a_new_role() {
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
    let aws = AwsClients::of(&fakes).await;
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
    let output = error(&aws.cli_with(&["sts", "get-caller-identity"], &environment).await);
    assert!(output.contains("(ExpiredToken)"), "{output}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_wire_format_of_their_service() {
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
    for (index, (service, status, url, text)) in hosts.into_iter().enumerate() {
        let response = curl_host(&fakes, &[&format!("https://{url}")]).await;
        assert_eq!(response.status, status, "{url}");
        assert!(response.text().contains(text), "{}", response.text());
        let call = fakes.calls().pop().unwrap();
        assert_eq!(
            (call.service, call.fault, call.status),
            (service.into(), Some(index), status)
        );
    }
    fakes.end().await;
}

/// Seconds count from the attachment of the node's address, by the fakes' clock.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_ends_after_its_duration() {
    let clock = Arc::new(StoppedClock::at(SystemTime::now()));
    let (mut plan, mut events) = world();
    with(vec![Fault {
        times: None,
        from_seconds: Some(1.0),
        until_seconds: Some(30.0),
        ..imds(Effect::Close)
    }])(&mut plan);
    let id = plan.instance.id.clone();
    let server = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, clock.clone())
        .unwrap()
        .listen()
        .unwrap();
    server.admit(plan);
    clock.advance(Duration::from_secs(100));
    server.attach(HERE, &id);
    let url = format!("http://{}{PATH}", server.metadata);
    for (later, exit) in [(0, 0), (1, EMPTY_REPLY), (28, EMPTY_REPLY), (1, 0)] {
        clock.advance(Duration::from_secs(later));
        assert_eq!(curl(&[&url]).await.exit, exit);
    }
    assert_eq!(calls(&mut events).len(), 4);
    server.shut_down().await;
}

/// Rules in the node refuse connections; the fakes close those that were open before, and record what the node reports.
#[tokio::test(flavor = "multi_thread")]
async fn refused_connections_are_recorded_and_open_ones_close() {
    let mut fakes = Fakes::start(with(vec![Fault {
        service: Service::Eks,
        times: None,
        ..imds(Effect::Refuse)
    }]));
    let url = "https://eks.eu-west-1.amazonaws.com/clusters/demo";
    // curl sends its second request again, on a new connection, when the open one closes.
    let both = curl_host(&fakes, &[url, url]).await;
    assert_eq!((both.exit, both.status), (0, 403));
    let statuses = |fakes: &mut Fakes| -> Vec<(String, u16, Option<usize>)> {
        let calls = fakes.calls().into_iter();
        calls
            .map(|call| (call.operation, call.status, call.fault))
            .collect()
    };
    let describe = |status, fault| ("DescribeCluster".to_owned(), status, fault);
    let expected = [describe(403, None), describe(0, Some(0)), describe(403, None)];
    assert_eq!(statuses(&mut fakes), expected);
    let id = "i-0b22a22eec53b9321".parse().unwrap();
    let refusals = fakes.server.refusals(&id);
    for total in [1, 1, 3] {
        refusals.record(SystemTime::now(), Service::Eks, total);
    }
    refusals.record(SystemTime::now(), Service::Sts, 5);
    assert_eq!(statuses(&mut fakes), vec![("connect".to_owned(), 0, Some(0)); 3]);
    assert_eq!(fakes.server.detach(&id), BTreeMap::from([(0, 4)]));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_credentials_expire_by_the_clock() {
    let clock = Arc::new(StoppedClock::at(SystemTime::now()));
    let (plan, _events) = world();
    let id = plan.instance.id.clone();
    let server = FakeAws::bind_with_clock(&"testrun01".parse().unwrap(), HERE, clock.clone())
        .unwrap()
        .listen()
        .unwrap();
    server.admit(plan);
    server.attach(HERE, &id);
    let root = format!("http://{}", server.metadata);
    let ttl = "X-aws-ec2-metadata-token-ttl-seconds: 60";
    let token = curl(&["-X", "PUT", "-H", ttl, &format!("{root}/latest/api/token")])
        .await
        .text();
    let header = format!("X-aws-ec2-metadata-token: {token}");
    let request = async |path: &str| curl(&["-H", &header, &format!("{root}{path}")]).await;
    clock.advance(Duration::from_secs(58));
    let response = request(PATH).await;
    assert_eq!(
        (
            response.status,
            response.header("x-aws-ec2-metadata-token-ttl-seconds")
        ),
        (200, Some("1"))
    );
    clock.advance(Duration::from_secs(2));
    assert_eq!(request(PATH).await.status, 401, "EC2UG: an expired token");
    server.shut_down().await;
}
