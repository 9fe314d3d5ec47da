//! What is hidden, and what stays.

use super::*;

const HIDDEN: &[(&str, &str)] = &[
    (
        "Authorization: Bearer k8s-aws-v1.aHR0cHM6Ly9zdHM",
        "Authorization: Bearer <redacted>",
    ),
    (
        "token k8s-aws-v1.aHR0cHM6Ly9zdHM ok",
        "token k8s-aws-v1.<redacted> ok",
    ),
    (
        "authorization: bearer abc123def456",
        "authorization: bearer <redacted>",
    ),
    (
        "Authorization: Basic QVdTOnBhc3N3b3Jk",
        "Authorization: Basic <redacted>",
    ),
    (
        r#"{"SecretAccessKey" : "abcdEFGH1234","Token":"IQoJx/12345678=="}"#,
        r#"{"SecretAccessKey" : "<redacted>","Token":"<redacted>"}"#,
    ),
    (
        r#"{\"SecretAccessKey\":\"abcdEFGH1234\"}"#,
        r#"{\"SecretAccessKey\":\"<redacted>\"}"#,
    ),
    (
        "AWS_SECRET_ACCESS_KEY=abcdEFGH1234/+ x",
        "AWS_SECRET_ACCESS_KEY=<redacted> x",
    ),
    (
        "aws_session_token = abcdEFGH1234\n",
        "aws_session_token = <redacted>\n",
    ),
    (
        "?X-Amz-Security-Token=IQoJ%2Fb3Jp&X-Amz-Signature=0123456789abcdef0&x=1",
        "?X-Amz-Security-Token=<redacted>&X-Amz-Signature=<redacted>&x=1",
    ),
    (
        "X-Amz-Security-Token%3DIQoJ12345",
        "X-Amz-Security-Token%3D<redacted>",
    ),
    (
        "AWS4-HMAC-SHA256 Credential=ASIA/x, Signature=0123456789abcdef0123",
        "AWS4-HMAC-SHA256 Credential=ASIA/x, Signature=<redacted>",
    ),
    (
        "curl -H 'X-aws-ec2-metadata-token: AQAEAx-12345'",
        "curl -H 'X-aws-ec2-metadata-token: <redacted>'",
    ),
    ("x IQoJb3JpZ2luX2VjEJz12345 y", "x <redacted> y"),
    (
        "TOKEN=AQAEALmJZ2Wv8kqX3tQp0Yt7cW1nB5hD9sF4gK6jL8mN0pQ2rS4tU==",
        "TOKEN=<redacted>",
    ),
    (
        "    client-key-data: LS0tLS1CRUdJTi\n",
        "    client-key-data: <redacted>\n",
    ),
    (
        "data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ==",
        "data: <redacted>",
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----<redacted>-----END RSA PRIVATE KEY-----\n",
    ),
    (
        "-----BEGIN PRIVATE KEY-----\\nMIIE\\n",
        "-----BEGIN PRIVATE KEY-----<redacted>",
    ),
    ("--token abcdef.0123456789abcdef ", "--token abcdef.<redacted> "),
    ("    token: abcdefgh12345678\n", "    token: <redacted>\n"),
    (
        "COMMAND=/usr/bin/ctr image pull x/eks/pause:3.5 --user AWS:eyJkYXRha2V5IjoiIiwiZXhwaXJhdGlvbiI6MTc5==",
        "COMMAND=/usr/bin/ctr image pull x/eks/pause:3.5 --user AWS:<redacted>",
    ),
    (
        "ctr image pull --user AWS:abcdEFGH1234abcdEFGH x/eks/pause:3.5",
        "ctr image pull --user AWS:<redacted> x/eks/pause:3.5",
    ),
    (
        "docker login -u AWS -p eyJwYXlsb2FkIjoiRHo4TGtEa0RsY2xpbGJp host",
        "docker login -u AWS -p <redacted> host",
    ),
    (
        "auth = 'QVdTOmV5SmtZWFJoYTJWNUlqb2lJaXdpWlhod2FYSmg='",
        "auth = '<redacted>'",
    ),
    (r#""password": "hunter2hunter2""#, r#""password": "<redacted>""#),
    (
        "key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPL3KE9 end",
        "key <redacted> end",
    ),
];

#[test]
fn only_credentials_are_redacted() {
    for (given, wanted) in HIDDEN {
        assert_eq!(redact(given), *wanted);
    }
}

#[test]
fn redacted_texts_have_no_credentials_and_stay_unchanged() {
    for (given, _) in HIDDEN {
        let clean = redact(given);
        assert_eq!(find_credentials(&clean), [], "{clean}");
        assert_eq!(redact(&clean), clean);
        assert!(!find_credentials(given).is_empty());
    }
}

#[test]
fn other_texts_stay_unchanged() {
    for text in [
        "",
        "invalid bearer token: expired",
        "Bearer authentication is off",
        "basic settings of x",
        "arn:aws:sts::111122223333:assumed-role/role/i-0b22a22eec53b9321 is not mapped",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 70041a226bb8ef5c51a229d587235551a2410eda",
        "ip-192-168-40-16.eu-west-1.compute.internal",
        "AKIAIOSFODNN7EXAMPLE",
        "arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/x",
        "ctr image pull --user AWS:",
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
        "the metadata token request: 200",
        "token: expired",
        "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
        "\u{1f600} x-amz-signature \u{1f600}",
        "/var/lib/docker/overlay2/Abcd/merged/usr/lib/Xyz1234",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn redacted_lines_keep_their_numbers() {
    let text = "line 1\ncat <<END\n-----BEGIN RSA PRIVATE KEY-----\nMIIEabcdEFGH1234\nMIIEabcdEFGH1234\n-----END RSA PRIVATE KEY-----\nEND\nline 8 k8s-aws-v1.aHR0cHM6Ly9zdHM\n";
    let lines = redact_lines(text);
    assert_eq!(lines.lines().count(), text.lines().count());
    assert_eq!(lines.lines().nth(7), Some("line 8 k8s-aws-v1.<redacted>"));
    assert!(!lines.contains("MIIE"), "{lines}");
    assert_eq!(lines.replace('\n', ""), redact(text).replace('\n', ""));
}
