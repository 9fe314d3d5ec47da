//! Snapshots of every text that a user or a client reads: errors with their hints, refusals of changes, and AWS' error
//! bodies.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use nodejoin_core::plan::aws::SpotAction;
use nodejoin_core::plan::change::{Change, CredentialsCode, Setting, Throttle};
use nodejoin_core::plan::fault::Service;

use crate::changes;
use crate::clock::{RequestTime, StateView};
use crate::credentials::Principal;
use crate::error::FakeAwsError;
use crate::http::{Request, ServiceError};
use crate::iam::Signer;
use crate::instance::Instance;
use crate::router::{self, Route};
use crate::sigv4::error::SignatureError;
use crate::testing;
use crate::wire::defaults;

fn launched() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_778_155_200)
}

#[test]
fn errors_and_hints() {
    let bind = |kind: io::ErrorKind| FakeAwsError::Bind {
        what: "tls",
        address: "127.0.0.1:443".parse().unwrap(),
        source: kind.into(),
    };
    let errors = [
        bind(io::ErrorKind::AddrInUse),
        bind(io::ErrorKind::PermissionDenied),
        bind(io::ErrorKind::AddrNotAvailable),
        FakeAwsError::NoSharedPort {
            ip: "127.0.0.1".parse().unwrap(),
            tried: 32,
        },
        FakeAwsError::Certificate {
            name: "eks.amazonaws.com".to_owned(),
            source: rcgen::Error::CouldNotParseCertificate,
        },
        FakeAwsError::Tls(rustls::Error::HandshakeNotComplete),
        FakeAwsError::Image {
            repository: "eks/pause".to_owned(),
            source: io::ErrorKind::UnexpectedEof.into(),
        },
    ];
    let mut text = String::new();
    for error in errors {
        let hint = error.hint().unwrap_or_else(|| "-".to_owned());
        writeln!(text, "{error}\n    hint: {hint}").unwrap();
    }
    let sts = crate::sts_client::StsError {
        status: 403,
        code: "AccessDenied".to_owned(),
        message: "no".to_owned(),
        body: String::new(),
    };
    writeln!(text, "{sts}").unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn changes_and_their_refusals() {
    let throttle = |service, operation: Option<&str>, times| {
        Change::Throttle(Setting::Value(Throttle {
            service,
            operation: operation.map(ToOwned::to_owned),
            times,
        }))
    };
    let table = [
        Change::SpotNotice(Setting::Value(Some(SpotAction::Stop))),
        Change::SpotNotice(Setting::Default),
        Change::ClusterStatus(Setting::Value("ACTVE".into())),
        Change::ClusterStatus(Setting::Value("never".into())),
        Change::ClusterStatus(Setting::Value("FAILED".into())),
        throttle(Service::Eks, Some("DescribeClutser"), None),
        throttle(Service::Eks, Some("Never"), None),
        throttle(Service::Imds, Some("token"), None),
        throttle(Service::Imds, Some("/latest/*"), Some(1)),
        throttle(Service::Sts, None, Some(0)),
        throttle(Service::Sts, None, None),
        Change::UserData(Setting::Value(Some("!".into()))),
        Change::UserData(Setting::Value(Some("AAAA".repeat(5_462)))),
        Change::UserData(Setting::Value(None)),
        Change::Credentials(Setting::Value(CredentialsCode {
            code: "a b".into(),
            message: None,
        })),
        Change::InstanceTags(Setting::Value(true)),
        Change::AwsAuth(Setting::Default),
        Change::Everything,
        Change::Everything,
    ];
    let (mut world, default) = (testing::world().0, testing::world().0);
    world.instance.tags.insert("a/b".to_owned(), String::new());
    let mut text = String::new();
    for change in table {
        match changes::apply(&mut world, &default, &change, None, 7.0) {
            Ok(lines) => writeln!(text, "{}", lines.join("\n")),
            Err(refused) => writeln!(
                text,
                "refused: {}\n    hint: {}",
                refused.what,
                refused.hint.as_deref().unwrap_or("-")
            ),
        }
        .unwrap();
    }
    insta::assert_snapshot!(text);
}

fn line(text: &mut String, label: &str, error: &ServiceError) {
    writeln!(
        text,
        "{label}: {} {}: {}",
        error.status, error.code, error.message
    )
    .unwrap();
}

#[test]
fn refused_signatures() {
    let refusals = || {
        [
            SignatureError::Missing,
            SignatureError::Incomplete("INCOMPLETE".into()),
            SignatureError::IncompleteQuery("INCOMPLETE QUERY".into()),
            SignatureError::Denied("DENIED".into()),
            SignatureError::Version,
            SignatureError::UnknownKey,
            SignatureError::WrongToken,
            SignatureError::Scope("SCOPE".into()),
            SignatureError::Late("LATE".into()),
            SignatureError::ExpiredCredentials,
            SignatureError::Mismatch,
        ]
    };
    let mut text = String::new();
    for service in Service::ALL {
        for error in refusals() {
            let label = format!("{} {error:?}", service.word());
            line(
                &mut text,
                &label,
                &error.service_error(router::wire_format(service)),
            );
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn denied_actions_and_errors_of_faults() {
    let mut text = String::new();
    for service in Service::ALL {
        for (label, allow, deny) in [
            ("not allowed", Some(vec![]), vec![]),
            ("denied", None, vec!["*".to_owned()]),
        ] {
            let mut world = testing::world().0;
            let role = world.role.as_mut().unwrap();
            (role.allow, role.deny) = (allow, deny);
            let error = Signer::new(&world, &Principal::Instance)
                .permit(service, "service:Action", "arn:aws:resource")
                .unwrap_err();
            line(&mut text, &format!("{} {label}", service.word()), &error);
        }
        let label = format!("{} throttle", service.word());
        line(&mut text, &label, &defaults::throttled(service));
        for status in [400, 401, 403, 404, 429, 500, 503] {
            let label = format!("{} {status}", service.word());
            line(
                &mut text,
                &label,
                &defaults::fault_error(service, status, None, None),
            );
        }
    }
    insta::assert_snapshot!(text);
}

/// One request that fails for each service, and one to no service.
#[test]
fn error_bodies() {
    let table = [
        ("GET", "169.254.169.254", "/latest/meta-data/", "", ""),
        ("PUT", "169.254.169.254", "/latest/api/token", "", ""),
        ("GET", "eks.eu-west-1.amazonaws.com", "/nothing", "", ""),
        ("GET", "eks.eu-west-1.amazonaws.com", "/clusters/demo", "", ""),
        ("GET", "sts.amazonaws.com", "/", "Action=Nothing", ""),
        ("GET", "sts.amazonaws.com", "/", "", ""),
        (
            "GET",
            "sts.amazonaws.com",
            "/",
            "Action=GetCallerIdentity",
            "application/json",
        ),
        ("GET", "ec2.eu-west-1.amazonaws.com", "/", "Action=Nothing", ""),
        ("GET", "ec2.eu-west-1.amazonaws.com", "/", "", ""),
        (
            "GET",
            "ec2.eu-west-1.amazonaws.com",
            "/",
            "Action=DescribeInstances",
            "",
        ),
        ("POST", "api.ecr.eu-west-1.amazonaws.com", "/", "", ""),
        (
            "GET",
            "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
            "/v2/",
            "",
            "",
        ),
        (
            "DELETE",
            "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
            "/v2/x",
            "",
            "",
        ),
        (
            "GET",
            "cloudformation.eu-west-1.amazonaws.com",
            "/",
            "Action=Nothing",
            "",
        ),
        (
            "GET",
            "cloudformation.eu-west-1.amazonaws.com",
            "/",
            "Action=DescribeStacks",
            "",
        ),
        ("GET", "example.com", "/x", "", ""),
    ];
    let mut text = String::new();
    for (method, host, path, query, accept) in table {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(
                HeaderName::from_static("accept"),
                HeaderValue::from_static(accept),
            );
        }
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: bytes::Bytes::new(),
        };
        let mut instance = Instance::launch(testing::world().0, launched());
        let route = match host {
            "169.254.169.254" => Route::Metadata,
            _ => Route::of_host(&request),
        };
        let target = route.identify(&request);
        let time = RequestTime {
            now: launched().into(),
            elapsed: Duration::from_secs(1),
            view: StateView::Current,
        };
        let response = route.respond(&mut instance, &request, time);
        let body = without_ids(&String::from_utf8_lossy(response.body.in_memory()));
        writeln!(
            text,
            "{method} {host}{path}?{query}\n  operation `{}`, known: {}\n  {} {:?}\n  {body}",
            target.operation,
            target.known,
            response.status,
            response.error.map(|error| error.code)
        )
        .unwrap();
    }
    insta::assert_snapshot!(text);
}

/// Replaces request ids, which are random.
fn without_ids(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some((id, at)) =
        (0..rest.len()).find_map(|at| Some((rest.get(at..at + 36)?, at)).filter(|(id, _)| is_id(id)))
    {
        clean.push_str(&rest[..at]);
        clean.push_str("REQUEST-ID");
        rest = &rest[at + id.len()..];
    }
    clean + rest
}

fn is_id(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}
