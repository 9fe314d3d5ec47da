//! EKS Auth through boto3.

use crate::support::Fakes;
use crate::support::clients::AwsClients;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nodejoin_core::plan::aws::{OtherRole, Trust};
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::pod_identity::PodIdentityPlan;
use serde_json::{Value, json};

const PODS: &str = "pods.eks.amazonaws.com";
const ISSUER: &str = "https://oidc.eks.eu-west-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF";
const FAR: i64 = 4_000_000_000;

/// Tries each token, the first one also for another cluster, and another text.
const PROGRAM: &str = r#"
import boto3, json, botocore.exceptions
eks = boto3.client("eks-auth")
def assume(token, cluster="demo"):
    try:
        answer = eks.assume_role_for_pod_identity(clusterName=cluster, token=token)
    except botocore.exceptions.ClientError as e:
        error = e.response["Error"]
        return "%s %s: %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], error["Code"], error["Message"])
    c = answer["credentials"]
    who = boto3.client("sts", aws_access_key_id=c["accessKeyId"], aws_secret_access_key=c["secretAccessKey"],
                       aws_session_token=c["sessionToken"]).get_caller_identity()
    assert who["Arn"] == answer["assumedRoleUser"]["arn"] and who["UserId"] == answer["assumedRoleUser"]["assumeRoleId"]
    association = answer["podIdentityAssociation"]
    assert association["associationArn"].endswith(":podidentityassociation/demo/" + association["associationId"])
    return [answer["subject"], answer["audience"], who["Arn"].rsplit("-", 5)[0]]
print(json.dumps([assume(t) for t in TOKENS] + [assume(TOKENS[0], "none"), assume("a.b.c")]))
"#;

fn start(deny: &[&str]) -> Fakes {
    let role = |name: &str, trusts| OtherRole {
        name: name.into(),
        trusts,
        allow: None,
        deny: Vec::new(),
    };
    let association = |name: &str| PodIdentityPlan {
        namespace: "apps".into(),
        service_account: name.into(),
        role: name.into(),
    };
    Fakes::start(|world| {
        world.aws.roles = vec![role("team/web", Trust::Pods), role("other", Trust::Account)];
        world.cluster.eks.pod_identity_associations = vec![association("web"), association("other")];
        world.role.as_mut().unwrap().deny = deny.iter().map(|action| (*action).to_owned()).collect();
    })
}

fn token(account: &str, audience: &str, expires: i64) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({
        "iss": ISSUER, "aud": [audience], "exp": expires, "sub": format!("system:serviceaccount:apps:{account}"),
        "kubernetes.io": { "pod": { "name": "web-0" } },
    });
    format!("{}.{}.c2ln", part(&json!({})), part(&claims))
}

async fn assumed(fakes: &Fakes, tokens: &[String]) -> Vec<Value> {
    let tokens = serde_json::to_string(tokens).unwrap();
    let program = format!("TOKENS = {tokens}\n{PROGRAM}");
    let aws = AwsClients::of(fakes).await;
    serde_json::from_str(&aws.python(&program).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_assume_the_role_of_their_association() {
    let mut fakes = start(&[]);
    let tokens = [
        token("web", PODS, FAR),
        token("missing", PODS, FAR),
        token("other", PODS, FAR),
        token("web", "sts.amazonaws.com", FAR),
        token("web", PODS, 1_000_000_000),
    ];
    let found = assumed(&fakes, &tokens).await;
    let subject = json!({ "namespace": "apps", "serviceAccount": "web" });
    let arn = "arn:aws:sts::111122223333:assumed-role/web/eks-demo-web-0";
    assert_eq!(found[0], json!([subject, PODS, arn]));
    let starts = [
        "404 ResourceNotFoundException: No pod identity association found for service account missing",
        "400 AccessDeniedException: Unauthorized Exception! EKS does not have permissions to assume",
        "400 InvalidTokenException: The token has an invalid audience.",
        "400 ExpiredTokenException: The token included in the request is expired: current date/time",
        "404 ResourceNotFoundException: No cluster found for name: none.",
        "400 InvalidTokenException: The token is not a valid",
    ];
    assert_eq!(found.len(), 1 + starts.len());
    for (found, start) in found[1..].iter().zip(starts) {
        assert!(
            found.as_str().unwrap().starts_with(start),
            "{found} is not {start}"
        );
    }
    let calls = fakes.calls();
    let call = calls
        .iter()
        .find(|call| call.service == Service::EksAuth)
        .unwrap();
    assert_eq!(call.operation, "AssumeRoleForPodIdentity");
    assert_eq!(call.subject.as_deref(), Some("demo"));
    let transcript = serde_json::to_string(&calls).unwrap();
    assert!(!transcript.contains("c2ln"), "the transcript contains a token");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_needs_the_permission_to_assume_roles_of_pods() {
    let fakes = start(&["eks-auth:AssumeRoleForPodIdentity"]);
    let found = assumed(&fakes, &[token("web", PODS, FAR)]).await;
    let denied = found[0].as_str().unwrap();
    assert!(denied.starts_with("400 AccessDeniedException"), "{denied}");
    assert!(
        denied.contains("eks-auth:AssumeRoleForPodIdentity on resource"),
        "{denied}"
    );
    fakes.end().await;
}
