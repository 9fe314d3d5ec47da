//! Valid and invalid tokens, hand-made ones and the output of the AWS CLI.

use time::macros::datetime;

use super::*;

const NOW: OffsetDateTime = datetime!(2022-09-24 21:00:00 UTC);
const GOOD: &str = "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
    &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=ASIAEXAMPLE%2F20220924%2Feu-west-1%2Fsts%2Faws4_request\
    &X-Amz-Date=20220924T205900Z&X-Amz-Expires=60&X-Amz-Security-Token=abc\
    &X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Signature=00ff";

fn region() -> Region {
    "eu-west-1".parse().unwrap()
}

fn token(url: &str) -> String {
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(url))
}

fn refusal(token: &str) -> String {
    PresignedUrl::parse(token, &region(), NOW).unwrap_err().reason
}

#[test]
fn a_good_token_names_its_access_key() {
    let parsed = PresignedUrl::parse(&token(GOOD), &region(), NOW).unwrap();
    assert_eq!(parsed.access_key_id, "ASIAEXAMPLE");
    assert!(!format!("{parsed:?}").contains("00ff"));
    assert_eq!(access_key_id(&token(GOOD)).as_deref(), Some("ASIAEXAMPLE"));
}

#[test]
fn each_failed_check_has_its_message() {
    let with = |from: &str, to: &str| refusal(&token(&GOOD.replace(from, to)));
    let table = [
        (refusal(&"x".repeat(4097)), "token is too large"),
        (
            refusal("k8s-aws-v2.abc"),
            "missing expected \"k8s-aws-v1.\" prefix",
        ),
        (refusal(&format!("{}==", token(GOOD))), "illegal base64 data"),
        (with("https://", "http://"), "unexpected scheme \"http\""),
        (
            with("sts.eu-west-1.amazonaws.com", "sts.com"),
            "invalid host format",
        ),
        (
            with("sts.eu-west-1.amazonaws.com", "sts.eu-west-1.example.com"),
            "unexpected hostname",
        ),
        (
            with("sts.eu-west-1.amazonaws.com", "sts.cn-north-1.amazonaws.com.cn"),
            "partition {aws} does not support hostname sts.cn-north-1.amazonaws.com.cn",
        ),
        (with(".com/?", ".com/login?"), "unexpected path"),
        (
            with("Signature=00ff", "Signature=%zz"),
            "malformed query parameter",
        ),
        (
            with("&X-Amz-Expires=60", "&X-Amz-Expires=60&x-amz-expires=61"),
            "duplicate query parameter",
        ),
        (
            with("&X-Amz-Expires=60", "&X-Amz-Expires=60&X-Amz-Expires=61"),
            "query parameter with multiple values not supported",
        ),
        (
            with("&X-Amz-Expires=60", "&X-Amz-Expires=60&Foo=1"),
            "non-whitelisted query parameter \"Foo\"",
        ),
        (
            with("Action=GetCallerIdentity", "Action=getcalleridentity"),
            "unexpected action parameter",
        ),
        (
            with("host%3Bx-k8s-aws-id", "host"),
            "did not sign the x-k8s-aws-id header",
        ),
        (
            with("X-Amz-Expires=60", "X-Amz-Expires=901"),
            "invalid X-Amz-Expires parameter",
        ),
        (
            with("X-Amz-Expires=60", "X-Amz-Expires=one"),
            "invalid X-Amz-Expires parameter",
        ),
        (
            with("X-Amz-Date=20220924T205900Z", "X-Amz-Date="),
            "X-Amz-Date parameter must be present",
        ),
        (
            with("20220924T205900Z", "2022-09-24"),
            "cannot parse \"-09-24\" as \"01\"",
        ),
        (with("20220924T205900Z", "20220924 205900Z"), "as \"T\""),
        (with("20220924T205900Z", "20220931T205900Z"), "day out of range"),
        (with("20220924T205900Z", "20220924T255900Z"), "hour out of range"),
        (with("20220924T205900Z", "20220924T205900ZZ"), "extra text: \"Z\""),
        (
            with("20220924T205900Z", "20220924T204459Z"),
            "X-Amz-Date parameter is expired",
        ),
    ];
    for (seen, expected) in &table {
        assert!(
            seen.starts_with("input token was not properly formatted: "),
            "{seen}"
        );
        assert!(seen.contains(expected), "`{seen}` lacks `{expected}`");
    }
    let seen: String = table.iter().map(|(seen, _)| format!("{seen}\n")).collect();
    insta::assert_snapshot!(seen);
}

#[test]
fn a_token_expires_by_age_only() {
    let old = token(&GOOD.replace("20220924T205900Z", "20220924T204459Z"));
    assert_eq!(
        PresignedUrl::parse(&old, &region(), NOW).unwrap_err().kind,
        RejectionKind::Expired
    );
    // STS checks dates in the future.
    let early = token(&GOOD.replace("20220924T205900Z", "20220924T235900Z"));
    assert!(PresignedUrl::parse(&early, &region(), NOW).is_ok());
}

#[test]
fn sts_endpoints_are_accepted_by_partition() {
    let host = |host: &str, region: &str| check_host(host, &region.parse().unwrap()).is_ok();
    assert!(host("sts.amazonaws.com", "us-east-1"));
    assert!(host("sts-fips.us-east-1.amazonaws.com", "eu-west-1"));
    assert!(host("sts.eu-west-1.api.aws", "eu-west-1"));
    assert!(host("sts.not-a-region.amazonaws.com", "eu-west-1"));
    assert!(host("sts.cn-north-1.amazonaws.com.cn", "cn-north-1"));
    assert!(!host("sts.amazonaws.com", "cn-north-1"));
    assert!(!host("sts.us-gov-west-1.amazonaws.com", "eu-west-1"));
}

/// `aws eks get-token --cluster-name ironman --region eu-west-1` of AWS CLI 2, with the example keys of AWS'
/// documentation.
const OF_AWS_CLI: &str = "k8s-aws-v1.aHR0cHM6Ly9zdHMuZXUtd2VzdC0xLmFtYXpvbmF3cy5jb20vP0FjdGlvbj1HZXRDYWxsZXJJZGVudGl0eSZW\
    ZXJzaW9uPTIwMTEtMDYtMTUmWC1BbXotQWxnb3JpdGhtPUFXUzQtSE1BQy1TSEEyNTYmWC1BbXotQ3JlZGVudGlhbD1BS0lBSU9TRk9ETk43RVhBTVB\
    MRSUyRjIwMjYxMTIxJTJGZXUtd2VzdC0xJTJGc3RzJTJGYXdzNF9yZXF1ZXN0JlgtQW16LURhdGU9MjAyNjExMjFUMTE0MDAyWiZYLUFtei1FeHBpcm\
    VzPTYwJlgtQW16LVNpZ25lZEhlYWRlcnM9aG9zdCUzQngtazhzLWF3cy1pZCZYLUFtei1TZWN1cml0eS1Ub2tlbj1Gd29HWlhJdllYZHpFWEFNUExFJ\
    lgtQW16LVNpZ25hdHVyZT0wYjM2OTJiZTU1YTJlOWZhYzUwMzc0ZDgwOGVkMTlhMzVmYTEyNTk3ZDFkODFhNjFmNTc4MTI0M2RjMTAzYjRl";

#[test]
fn a_token_of_the_aws_cli_is_valid_for_a_quarter_of_an_hour() {
    let at = |now| PresignedUrl::parse(OF_AWS_CLI, &region(), now);
    let good = at(datetime!(2026-11-21 11:55:02 UTC)).unwrap();
    assert_eq!(good.access_key_id, "AKIAIOSFODNN7EXAMPLE");
    assert_eq!(good.url().host_str(), Some("sts.eu-west-1.amazonaws.com"));
    assert_eq!(
        at(datetime!(2026-11-21 11:55:03 UTC)).unwrap_err().kind,
        RejectionKind::Expired
    );
}
