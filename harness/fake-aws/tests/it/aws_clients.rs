//! The AWS CLI and boto3 against the fakes: real host names, credentials from the metadata service, checked signatures.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of, out};
use nodejoin_core::plan::fault::{Effect, Fault, Service};
use nodejoin_core::plan::{ClusterStatus, StatusStep};
use nodejoin_fake_aws::World;
use serde_json::{Value, json};

/// The query of AL2's bootstrap.sh: seven columns in the order of their names, None for null (facts: measured with this
/// CLI).
const BOOTSTRAP_QUERY: &str = "cluster.{certificateAuthorityData: certificateAuthority.data, endpoint: endpoint, \
serviceIpv4Cidr: kubernetesNetworkConfig.serviceIpv4Cidr, serviceIpv6Cidr: kubernetesNetworkConfig.serviceIpv6Cidr, \
clusterIpFamily: kubernetesNetworkConfig.ipFamily, outpostArn: outpostConfig.outpostArns[0], id: id}";

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_scripts_describe_the_cluster() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let requested = [
        "eks",
        "describe-cluster",
        "--name",
        "demo",
        "--output",
        "text",
        "--query",
        BOOTSTRAP_QUERY,
    ];
    let text = out(&aws.cli(&requested).await);
    let columns: Vec<&str> = text.split('\t').collect();
    let endpoint = "https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com";
    assert_eq!(
        columns[1..],
        ["ipv4", endpoint, "None", "None", "10.100.0.0/16", "None"]
    );
    assert!(columns[0].starts_with("LS0tLS1CRUdJTi"));

    let calls = fakes.calls();
    let eks: Vec<_> = calls.iter().filter(|call| call.service == Service::Eks).collect();
    assert_eq!(eks.len(), 1);
    assert_eq!(
        (eks[0].operation.as_str(), eks[0].subject.as_deref()),
        ("DescribeCluster", Some("demo"))
    );
    assert_eq!(
        (eks[0].status, eks[0].known, eks[0].host.as_str()),
        (200, true, "eks.eu-west-1.amazonaws.com")
    );
    assert!(eks[0].authorization.as_deref().unwrap().starts_with("ASIA"));
    assert!(calls.iter().all(|call| call.known), "{calls:?}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_reports_errors_as_it_does_for_aws() {
    let denied = |world: &mut World| {
        world.role.as_mut().unwrap().deny = vec!["eks:DescribeCluster".into(), "ec2:*".into()]
    };
    let fakes = Fakes::start(denied);
    let aws = AwsClients::of(&fakes).await;
    let session = "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321";
    assert_eq!(
        error(&aws.cli(&["eks", "describe-cluster", "--name", "demo"]).await),
        format!(
            "An error occurred (AccessDeniedException) when calling the DescribeCluster operation: User: {session} is not \
             authorized to perform: eks:DescribeCluster on resource: arn:aws:eks:eu-west-1:111122223333:cluster/demo \
             with an explicit deny"
        )
    );
    assert_eq!(
        error(&aws.cli(&["ec2", "describe-instances"]).await),
        format!(
            "An error occurred (UnauthorizedOperation) when calling the DescribeInstances operation: You are not authorized to \
             perform this operation. User: {session} is not authorized to perform: ec2:DescribeInstances with an \
             explicit deny in an identity-based policy"
        )
    );
    // No policy can deny this operation.
    assert_eq!(
        out(&aws
            .cli(&["sts", "get-caller-identity", "--query", "Arn", "--output", "text"])
            .await),
        session
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_another_name_or_region_is_not_found() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    for requested in [
        ["--name", "other", "--region", "eu-west-1"],
        ["--name", "demo", "--region", "us-east-1"],
    ] {
        let output = error(
            &aws.cli(&[&["eks", "describe-cluster"], &requested[..]].concat())
                .await,
        );
        let expected = "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: \
            No cluster found for name: ";
        assert!(output.starts_with(expected), "{output}");
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_cluster_active_ends_at_once_on_a_failed_or_throttled_cluster() {
    let step = |status: &str| {
        vec![StatusStep {
            status: status.parse().unwrap(),
            until_seconds: None,
        }]
    };
    let throttle = Fault {
        service: Service::Eks,
        operation: None,
        path: None,
        after: 0,
        times: None,
        from_seconds: None,
        until_seconds: None,
        effect: Effect::Error {
            status: 429,
            code: None,
            message: None,
        },
        may_fire: false,
        above_per_second: None,
    };
    let table = [
        ("ACTIVE", vec![], 0, ""),
        (
            "FAILED",
            vec![],
            255,
            "Waiter ClusterActive failed: Waiter encountered a terminal failure state",
        ),
        (
            "ACTIVE",
            vec![throttle],
            255,
            "Waiter ClusterActive failed: An error occurred (TooManyRequestsException): Too Many Requests",
        ),
    ];
    for (status, faults, exit, message) in table {
        let mut fakes = Fakes::start(|world| (world.cluster.status, world.faults) = (step(status), faults));
        let aws = AwsClients::of(&fakes).await;
        let wait = ["eks", "wait", "cluster-active", "--name", "demo"];
        let output = aws.cli_with(&wait, &[("AWS_MAX_ATTEMPTS", "2")]).await;
        assert_eq!(
            output.status.code(),
            Some(exit),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(message),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let fired = fakes.calls().iter().filter(|call| call.fault == Some(0)).count();
        assert_eq!(fired, if exit == 255 && status == "ACTIVE" { 2 } else { 0 });
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_has_no_endpoint_during_creation() {
    let creating = StatusStep {
        status: ClusterStatus::Creating,
        until_seconds: Some(3600.0),
    };
    let active = StatusStep {
        status: ClusterStatus::Active,
        until_seconds: None,
    };
    let fakes = Fakes::start(|world| world.cluster.status = vec![creating, active]);
    let aws = AwsClients::of(&fakes).await;
    let cluster = json_of(&aws.cli(&["eks", "describe-cluster", "--name", "demo"]).await)["cluster"].clone();
    assert_eq!(
        (&cluster["status"], &cluster["endpoint"]),
        (&json!("CREATING"), &Value::Null)
    );
    assert_eq!(cluster["certificateAuthority"]["data"], Value::Null);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_identity_works_with_header_and_presigned_signatures() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let identity = json_of(&aws.cli(&["sts", "get-caller-identity"]).await);
    assert_eq!(identity["Account"], "111122223333");
    assert_eq!(
        identity["Arn"],
        "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321"
    );
    let (role, session) = identity["UserId"].as_str().unwrap().split_once(':').unwrap();
    assert!(role.starts_with("AROA") && role.len() == 21 && session == "i-0b22a22eec53b9321");
    // The global endpoint, which signs for us-east-1.
    let legacy = aws
        .cli_with(
            &["sts", "get-caller-identity"],
            &[("AWS_STS_REGIONAL_ENDPOINTS", "legacy")],
        )
        .await;
    assert_eq!(json_of(&legacy), identity);
    fakes.end().await;
}

/// Dual-stack hosts have other names in each partition (botocore's endpoints.json).
#[tokio::test(flavor = "multi_thread")]
async fn the_cli_uses_dual_stack_host_names() {
    for (region, suffix) in [
        ("eu-west-1", "api.aws"),
        ("cn-north-1", "api.amazonwebservices.com.cn"),
    ] {
        let mut fakes = Fakes::start(|world| world.region = region.parse().unwrap());
        let aws = AwsClients::of(&fakes).await;
        for requested in [
            &["sts", "get-caller-identity"][..],
            &["eks", "describe-cluster", "--name", "demo"],
            &["ecr", "get-authorization-token"],
        ] {
            let requested = [requested, &["--region", region]].concat();
            json_of(
                &aws.cli_with(&requested, &[("AWS_USE_DUALSTACK_ENDPOINT", "true")])
                    .await,
            );
        }
        let calls = fakes.calls();
        let hosts: Vec<_> = calls.iter().map(|call| call.host.as_str()).collect();
        for service in ["sts", "eks", "ecr"] {
            let host = format!("{service}.{region}.{suffix}");
            assert!(hosts.contains(&host.as_str()), "no {host} in {hosts:?}");
        }
        fakes.end().await;
    }
}

/// `aws eks get-token` creates the token that an AL2023 kubelet presents. STS accepts it for the signed cluster only.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_cli_are_accepted_for_their_cluster_only() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let token = json_of(&aws.cli(&["eks", "get-token", "--cluster-name", "demo"]).await);
    let token = token["status"]["token"]
        .as_str()
        .unwrap()
        .strip_prefix("k8s-aws-v1.")
        .unwrap()
        .to_owned();
    let url = base64::Engine::decode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, token).unwrap();
    let url = url::Url::parse(std::str::from_utf8(&url).unwrap()).unwrap();
    let results = fakes.calls();
    assert!(
        results.iter().all(|call| call.service == Service::Imds),
        "making a token asks only the metadata service"
    );

    let sts = fakes.server.sts();
    let identity = sts.caller_identity(&url, "demo").await.unwrap();
    assert_eq!(
        identity.arn,
        "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321"
    );
    let refused = sts.caller_identity(&url, "other").await.unwrap_err();
    assert_eq!(
        (refused.status, refused.code.as_str()),
        (403, "SignatureDoesNotMatch")
    );
    let key = url
        .query_pairs()
        .find(|(name, _)| name == "X-Amz-Credential")
        .unwrap()
        .1[..20]
        .to_owned();
    assert_eq!(sts.instance_of(&key).unwrap().as_str(), "i-0b22a22eec53b9321");
    assert_eq!(sts.instance_of("ASIAAAAAAAAAAAAAAAAA"), None);
    fakes.end().await;
}

/// Each client's credentials are wrong in one way; each service has its own error.
#[tokio::test(flavor = "multi_thread")]
async fn each_service_rejects_wrong_credentials() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
real = boto3.Session().get_credentials().get_frozen_credentials()
def output(service, call, key=real.access_key, secret=real.secret_key, token=real.token, **more):
    client = boto3.client(service, aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token)
    try:
        getattr(client, call)(**more)
        return "accepted"
    except botocore.exceptions.ClientError as e:
        return "%s %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], e.response["Error"]["Code"])
calls = [("eks", "list_clusters"), ("sts", "get_caller_identity"), ("ec2", "describe_instances"), ("ecr", "get_authorization_token")]
print(json.dumps({
  "right": [output(*c) for c in calls],
  "secret": [output(*c, secret="x" * 40) for c in calls],
  "key": [output(*c, key="ASIAAAAAAAAAAAAAAAAA") for c in calls],
  "token": [output(*c, token="x") for c in calls],
  "no token": [output(*c, token=None) for c in calls],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let invalid = json!([
        "403 UnrecognizedClientException",
        "403 InvalidClientTokenId",
        "401 AuthFailure",
        "400 UnrecognizedClientException"
    ]);
    let expected = json!({
        "right": ["accepted", "accepted", "accepted", "accepted"],
        "secret": ["403 InvalidSignatureException", "403 SignatureDoesNotMatch", "401 AuthFailure", "400 InvalidSignatureException"],
        "key": invalid, "token": invalid, "no token": invalid,
    });
    assert_eq!(results, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_without_a_role_has_no_credentials() {
    let fakes = Fakes::start(|world| world.role = None);
    let aws = AwsClients::of(&fakes).await;
    let output = error(&aws.cli(&["sts", "get-caller-identity"]).await);
    assert!(output.contains("Unable to locate credentials"), "{output}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cloudformation_signals_are_accepted() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let signal = [
        "cloudformation",
        "signal-resource",
        "--stack-name",
        "s",
        "--logical-resource-id",
        "NodeGroup",
    ];
    let rest = ["--unique-id", "i-0b22a22eec53b9321", "--status", "SUCCESS"];
    out(&aws.cli(&[&signal[..], &rest[..]].concat()).await);
    let calls = fakes.calls();
    let signal = calls
        .iter()
        .find(|call| call.service == Service::Cloudformation)
        .unwrap();
    assert_eq!(
        (signal.operation.as_str(), signal.subject.as_deref()),
        ("SignalResource", Some("s/NodeGroup SUCCESS i-0b22a22eec53b9321"))
    );
    fakes.end().await;
}
