//! Roles that are assumed through boto3: by the role of the instance, and with the token of a service account.

use super::{SESSION, output};
use crate::support::Fakes;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nodejoin_core::plan::aws::{OtherRole, Trust};
use serde_json::{Value, json};

/// A session of an assumed role signs, with the role's own policies.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_assumed_roles_sign() {
    let role = |name: &str, trusts| OtherRole {
        name: name.into(),
        trusts,
        allow: Some(vec!["ec2:*".into()]),
        deny: Vec::new(),
    };
    let fakes = Fakes::start(|world| {
        world.aws.roles = vec![role("team/other", Trust::Account), role("locked", Trust::Nobody)];
    });
    let program = r#"
sts = boto3.client("sts")
arn = "arn:aws:iam::111122223333:role/"
sts.assume_role(RoleArn=arn + "team/other", RoleSessionName="me+you@example.com")
s = sts.assume_role(RoleArn=arn + "team/other", RoleSessionName="me", DurationSeconds=900)
c = s["Credentials"]
def client(service):
    return boto3.client(service, aws_access_key_id=c["AccessKeyId"], aws_secret_access_key=c["SecretAccessKey"],
                        aws_session_token=c["SessionToken"])
who = client("sts").get_caller_identity()
print(json.dumps({
  "user": s["AssumedRoleUser"]["Arn"], "who": who["Arn"], "same id": who["UserId"] == s["AssumedRoleUser"]["AssumedRoleId"],
  "ec2": len(client("ec2").describe_instances()["Reservations"]),
  "eks": output(client("eks").list_clusters),
  "refused": [output(sts.assume_role, RoleArn=arn + name, RoleSessionName="me") for name in ("locked", "nobody-made-this")],
  "invalid": [output(sts.assume_role, RoleArn=arn + "team/other", RoleSessionName="a b").split(":")[0],
              output(sts.assume_role, RoleArn=arn + "team/other", RoleSessionName="me", DurationSeconds=43201).split(":")[0]],
}))
"#;
    let session = "arn:aws:sts::111122223333:assumed-role/other/me";
    let refused = |name: &str| {
        format!(
            "403 AccessDenied: User: {SESSION} is not authorized to perform: sts:AssumeRole on resource: \
             arn:aws:iam::111122223333:role/{name}"
        )
    };
    let expected = json!({
        "user": session, "who": session, "same id": true, "ec2": 1,
        "eks": format!("403 AccessDeniedException: User: {session} is not authorized to perform: eks:ListClusters on \
            resource: arn:aws:eks:eu-west-1:111122223333:cluster/*"),
        "refused": [refused("locked"), refused("nobody-made-this")],
        "invalid": ["400 ValidationError", "400 ValidationError"],
    });
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

/// A service account's token, as the SDKs send it, unsigned.
#[tokio::test(flavor = "multi_thread")]
async fn service_account_tokens_assume_roles() {
    let fakes = Fakes::start(|world| {
        world.aws.roles = vec![OtherRole {
            name: "pods".into(),
            trusts: Trust::ServiceAccounts,
            allow: None,
            deny: Vec::new(),
        }];
    });
    let issuer = "https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF";
    let token = |issuer: &str, audience: &str, expires: u64| {
        let claims =
            json!({ "iss": issuer, "aud": [audience], "exp": expires, "sub": "system:serviceaccount:a:b" });
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(&json!({ "alg": "RS256" })), part(&claims))
    };
    let far = 4_000_000_000;
    let tokens = json!([
        token(issuer, "sts.amazonaws.com", far),
        token("https://example.com", "sts.amazonaws.com", far),
        token(issuer, "kubernetes", far),
        token(issuer, "sts.amazonaws.com", 1_000_000_000),
        "not a token at all"
    ]);
    let program = format!(
        r#"
sts = boto3.client("sts", config=Config(signature_version=UNSIGNED))
tokens = json.loads('{tokens}')
def assume(token, role="pods"):
    return output(sts.assume_role_with_web_identity, RoleArn="arn:aws:iam::111122223333:role/" + role, RoleSessionName="pod",
                WebIdentityToken=token)
s = assume(tokens[0])
c = s["Credentials"]
who = boto3.client("sts", aws_access_key_id=c["AccessKeyId"], aws_secret_access_key=c["SecretAccessKey"],
                   aws_session_token=c["SessionToken"]).get_caller_identity()["Arn"]
print(json.dumps([who, s["SubjectFromWebIdentityToken"], s["Provider"], assume(tokens[0], role="demo-role")]
  + [assume(t).split(":")[0] for t in tokens[1:]]))
"#
    );
    let expected = json!([
        "arn:aws:sts::111122223333:assumed-role/pods/pod",
        "system:serviceaccount:a:b",
        issuer.trim_start_matches("https://"),
        "403 AccessDenied: Not authorized to perform sts:AssumeRoleWithWebIdentity",
        "400 InvalidIdentityToken",
        "400 InvalidIdentityToken",
        "400 ExpiredTokenException",
        "400 InvalidIdentityToken",
    ]);
    assert_eq!(output(&fakes, &program).await, expected);
    fakes.end().await;
}
