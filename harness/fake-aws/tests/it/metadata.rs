//! The metadata service through curl: one row per fact, with its source.
//!
//! `EC2UG`: EC2 user guide, instancedata-data-retrieval and -data-categories. `capture`: recorded traffic of real
//! services, in smithy-rs' aws-config test data and in issues of the named projects. `CI`: cloud-init's EC2 datasource.

use std::net::Ipv4Addr;

use crate::support::clients::{Curled, curl, metadata, token};
use crate::support::{Fakes, calls};
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::fault::Service;
use nodejoin_fake_aws::World;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn put(fakes: &Fakes, path: &str, headers: &[&str]) -> Curled {
    let headers: Vec<&str> = headers.iter().flat_map(|header| ["-H", header]).collect();
    curl(&[&["-X", "PUT"], &headers[..], &[&fakes.metadata(path)]].concat()).await
}

fn optional(world: &mut World) {
    world.instance.metadata.tokens = Tokens::Optional;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_follow_the_rules_of_imdsv2() {
    let fakes = Fakes::start(|_| {});
    const TTL: &str = "X-aws-ec2-metadata-token-ttl-seconds";
    let ttl = |seconds: &str| format!("{TTL}: {seconds}");
    let (one, day, zero, more, word) = (ttl("1"), ttl("21600"), ttl("0"), ttl("21601"), ttl("ten"));
    let latest = "/latest/api/token";
    let table: [(&str, Vec<&str>, u16, &str); 10] = [
        (latest, vec![&one], 200, "EC2UG: at least one second"),
        (latest, vec![&day], 200, "EC2UG: at most six hours"),
        (latest, vec![], 400, "EC2UG: missing or invalid parameters"),
        (latest, vec![&zero], 400, "EC2UG"),
        (latest, vec![&more], 400, "EC2UG"),
        (latest, vec![&word], 400, "EC2UG"),
        (
            latest,
            vec![&day, "X-Forwarded-For: 10.0.0.1"],
            403,
            "EC2UG: rejected; 403 in titus-executor",
        ),
        (
            latest,
            vec![&day, "X-Forwarded-For;"],
            403,
            "an empty one counts too",
        ),
        (
            "/2021-03-23/api/token",
            vec![&day],
            403,
            "EC2UG: a versioned path",
        ),
        (
            "//latest/api/token",
            vec![&day],
            200,
            "aws-cli#9281: an endpoint with a final slash",
        ),
    ];
    for (path, headers, status, source) in table {
        let response = put(&fakes, path, &headers).await;
        assert_eq!(response.status, status, "{path} {headers:?}: {source}");
        assert_eq!(
            (response.header("server"), response.header("connection")),
            (Some("EC2ws"), Some("close")),
            "capture"
        );
        if status == 200 {
            assert_eq!(response.body.len(), 56, "capture");
            assert_eq!(response.header("content-type"), Some("text/plain"), "capture");
            assert!(
                response.header("x-aws-ec2-metadata-token-ttl-seconds").is_some(),
                "capture; aws-sdk-go discards it without"
            );
        }
    }
    fakes.end().await;
}

/// Capture of 2020-04-07 in jtblin/aws-mock-metadata: `Allow: OPTIONS, PUT`, no body, `text/plain`.
#[tokio::test(flavor = "multi_thread")]
async fn other_methods_on_the_token_are_not_allowed() {
    let fakes = Fakes::start(|_| {});
    for method in ["GET", "POST", "DELETE"] {
        let response = curl(&["-X", method, &fakes.metadata("/latest/api/token")]).await;
        assert_eq!(
            (response.status, response.header("allow"), response.body.len()),
            (405, Some("OPTIONS, PUT"), 0),
            "{method}"
        );
        assert_eq!(response.header("content-type"), Some("text/plain"));
    }
    let response = curl(&["-X", "POST", &fakes.metadata("/latest/meta-data/")]).await;
    assert_eq!(response.status, 405);
    let mut stream = TcpStream::connect(fakes.server.metadata).await.unwrap();
    let request = "GET /latest/api/token HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 405 Not Allowed\r\n"), "{received}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_requirements_follow_the_options() {
    let path = "/latest/meta-data/instance-id";
    type Change = fn(&mut World);
    let table: [(Change, Option<&str>, u16, &str); 6] = [
        (|_| {}, None, 401, "EC2UG: required, none sent"),
        (
            |_| {},
            Some("X-aws-ec2-metadata-token: wrong"),
            401,
            "EC2UG: required, invalid",
        ),
        (
            |_| {},
            Some("X-aws-ec2-metadata-token;"),
            401,
            "EC2UG: required, empty",
        ),
        (optional, None, 200, "EC2UG: optional, IMDSv1"),
        (
            optional,
            Some("X-aws-ec2-metadata-token: wrong"),
            401,
            "EC2UG: optional, but sent and invalid",
        ),
        (
            |world| world.instance.metadata.enabled = false,
            None,
            403,
            "EC2UG: the endpoint is disabled",
        ),
    ];
    for (change, header, status, source) in table {
        let fakes = Fakes::start(change);
        let url = fakes.metadata(path);
        let response = match header {
            Some(header) => curl(&["-H", header, &url]).await,
            None => curl(&[&url]).await,
        };
        assert_eq!(response.status, status, "{source}");
        assert_eq!(
            response.header("x-aws-ec2-metadata-token-ttl-seconds"),
            None,
            "{source}"
        );
        fakes.end().await;
    }
    let disabled = Fakes::start(|world| world.instance.metadata.enabled = false);
    assert_eq!(
        put(
            &disabled,
            "/latest/api/token",
            &["X-aws-ec2-metadata-token-ttl-seconds: 60"]
        )
        .await
        .status,
        403
    );
    disabled.end().await;
}

/// lighttpd's page: 339 bytes for a 404 in smithy-rs' `imds_no_iam_role`, the others by substitution.
#[tokio::test(flavor = "multi_thread")]
async fn error_pages_match_real_ones() {
    let fakes = Fakes::start(|_| {});
    let token = token(&fakes).await;
    let missing = metadata(&fakes, &token, "/latest/meta-data/ipv6").await;
    assert_eq!((missing.status, missing.body.len()), (404, 339));
    assert_eq!(
        (missing.header("content-type"), missing.header("last-modified")),
        (Some("text/html"), None)
    );
    assert!(missing.header("x-aws-ec2-metadata-token-ttl-seconds").is_some());
    assert!(
        missing
            .text()
            .contains("\t\t \"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n<html")
    );
    let refused = curl(&[&fakes.metadata("/latest/meta-data/")]).await;
    assert_eq!((refused.status, refused.body.len()), (401, 345));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_have_the_headers_of_ec2() {
    let fakes = Fakes::start(optional);
    let token = token(&fakes).await;
    for (path, content_type) in [
        ("/latest/meta-data/", "text/plain"),
        ("/latest/dynamic/instance-identity/document", "text/plain"),
    ] {
        let response = metadata(&fakes, &token, path).await;
        assert_eq!(
            response.header("content-type"),
            Some(content_type),
            "EC2UG: all metadata is text; AEMM#207"
        );
        assert_eq!(
            (response.header("accept-ranges"), response.header("server")),
            (Some("none"), Some("EC2ws")),
            "capture"
        );
        assert!(
            response.header("last-modified").unwrap().ends_with(" GMT"),
            "capture"
        );
        let left: u32 = response
            .header("x-aws-ec2-metadata-token-ttl-seconds")
            .unwrap()
            .parse()
            .unwrap();
        assert!((21_590..=21_600).contains(&left), "capture: counts down");
    }
    let first = curl(&[&fakes.metadata("/latest/meta-data/")]).await;
    assert_eq!(
        first.header("x-aws-ec2-metadata-token-ttl-seconds"),
        None,
        "capture of an IMDSv1 answer"
    );
    let head = curl(&["--head", &fakes.metadata("/latest/meta-data/instance-id")]).await;
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("19")),
        "EC2UG: HEAD"
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doubled_slashes_inside_are_redirected() {
    let fakes = Fakes::start(optional);
    let response = curl(&[&fakes.metadata("/latest/meta-data/network/interfaces/macs//x")]).await;
    let location = "http://169.254.169.254/latest/meta-data/network/interfaces/macs/x";
    assert_eq!(
        (response.status, response.header("location")),
        (301, Some(location)),
        "capture: amazon-eks-ami#213"
    );
    fakes.end().await;
}

/// One row per event; the transcript contains no credentials.
#[tokio::test(flavor = "multi_thread")]
async fn the_transcript_contains_every_request() {
    let mut fakes = Fakes::start(optional);
    let token = token(&fakes).await;
    let secret = metadata(
        &fakes,
        &token,
        "/latest/meta-data/iam/security-credentials/demo-role",
    )
    .await;
    let secret: Value = serde_json::from_slice(&secret.body).unwrap();
    curl(&[&fakes.metadata("/2018-09-24/meta-data/services/domain?a=b")]).await;
    curl(&[&fakes.metadata("/latest/nothing/here")]).await;
    let calls = fakes.calls();
    let events: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.method.as_str(),
                call.operation.as_str(),
                call.status,
                call.authorization.as_deref().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("PUT", "api/token", 200, "token"),
        ("GET", "meta-data/iam/security-credentials/demo-role", 200, "v2"),
        ("GET", "meta-data/services/domain", 200, "v1"),
        ("GET", "nothing/here", 404, "v1"),
    ];
    assert_eq!(events, expected);
    assert!(
        calls
            .iter()
            .all(|call| call.known && call.service == Service::Imds)
    );
    assert_eq!(
        (calls[2].path.as_str(), calls[3].error.as_deref()),
        ("/2018-09-24/meta-data/services/domain", Some("404"))
    );
    let written = serde_json::to_string(&calls).unwrap();
    for credential in [
        &token,
        secret["SecretAccessKey"].as_str().unwrap(),
        secret["Token"].as_str().unwrap(),
    ] {
        assert!(!written.contains(credential));
    }
    fakes.end().await;
}

/// EC2UG: a token belongs to one instance.
#[tokio::test(flavor = "multi_thread")]
async fn worlds_are_separated_by_source_address() {
    let mut fakes = Fakes::start(|_| {});
    let second = Ipv4Addr::new(127, 0, 0, 2);
    let mut other = fakes.add(second, |world| {
        world.instance.id = "i-00000000000000002".parse().unwrap()
    });
    let first_token = token(&fakes).await;
    let url = fakes.metadata("/latest/meta-data/instance-id");
    let header = format!("X-aws-ec2-metadata-token: {first_token}");
    assert_eq!(
        curl(&["--interface", "127.0.0.2", "-H", &header, &url])
            .await
            .status,
        401
    );
    assert_eq!(curl(&["-H", &header, &url]).await.text(), "i-0b22a22eec53b9321");
    assert_eq!(calls(&mut other).len(), 1);
    assert_eq!(fakes.calls().len(), 2);
    assert_eq!(
        curl(&["--interface", "127.0.0.3", &url]).await.status,
        503,
        "nobody's address"
    );
    fakes.end().await;
}
