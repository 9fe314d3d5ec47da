//! Requests that the fake does not emulate, by the AWS CLI, boto3 and curl: one request, an error in the service's own
//! format, and an event.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, curl_host, error};
use nodejoin_core::observation::AwsCall;

fn unknown(fakes: &mut Fakes) -> Vec<AwsCall> {
    fakes.calls().into_iter().filter(|call| !call.known).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_reports_each_call_at_once_and_the_transcript_has_it() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    // One for each protocol: JSON 1.1 and 1.0, the query protocol, EC2's, CBOR, REST with JSON and XML, and S3's.
    let table: [(&[&str], &str, &str); 10] = [
        (&["kms", "list-keys"], "ListKeys", "kms.ListKeys"),
        (&["dynamodb", "list-tables"], "ListTables", "dynamodb.ListTables"),
        (&["iam", "list-roles"], "ListRoles", "iam.ListRoles"),
        (
            &["elbv2", "describe-load-balancers"],
            "DescribeLoadBalancers",
            "elasticloadbalancing.DescribeLoadBalancers",
        ),
        (
            &["ec2", "describe-images"],
            "DescribeImages",
            "ec2.DescribeImages",
        ),
        (
            &["cloudwatch", "list-metrics"],
            "ListMetrics",
            "monitoring.ListMetrics",
        ),
        (&["efs", "describe-file-systems"], "DescribeFileSystems", ""),
        (&["route53", "list-hosted-zones"], "ListHostedZones", ""),
        (
            &["s3api", "get-bucket-acl", "--bucket", "logs"],
            "GetBucketAcl",
            "s3.GET /",
        ),
        (
            &["eks", "list-fargate-profiles", "--cluster-name", "demo"],
            "ListFargateProfiles",
            "eks.GET /clusters/demo/fargate-profiles",
        ),
    ];
    for (requested, operation, name) in table {
        let output = error(&aws.cli(requested).await);
        let start = format!(
            "An error occurred (NotEmulated) when calling the {operation} operation: nodejoin does not"
        );
        assert!(output.contains(&start), "{requested:?}: {output}");
        assert!(output.contains("`aws.answers`"), "{output}");
        let calls = unknown(&mut fakes);
        let names: Vec<String> = calls
            .iter()
            .map(|call| format!("{}.{}", call.service.word(), call.operation))
            .collect();
        assert_eq!(calls.len(), 1, "{requested:?}: {names:?}");
        assert!(name.is_empty() || names == [name], "{requested:?}: {names:?}");
        assert_eq!(
            (calls[0].status, calls[0].error.as_deref()),
            (501, Some("NotEmulated"))
        );
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn boto3_does_not_retry_in_any_mode() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.config, botocore.exceptions
for mode in "legacy", "standard", "adaptive":
    config = botocore.config.Config(retries={"mode": mode})
    for service, operation in ("kms", "list_keys"), ("sqs", "list_queues"), ("elb", "describe_load_balancers"):
        client = boto3.client(service, config=config)
        try:
            getattr(client, operation)()
        except botocore.exceptions.ClientError as error:
            metadata = error.response["ResponseMetadata"]
            print(error.response["Error"]["Code"], metadata["HTTPStatusCode"], metadata["RetryAttempts"])
"#;
    let output = aws.python(program).await;
    assert_eq!(output.lines().collect::<Vec<_>>(), ["NotEmulated 501 0"; 9]);
    assert_eq!(unknown(&mut fakes).len(), 9);
    fakes.end().await;
}

/// Functions, APIs and brokers of an account have their id in the host name.
#[tokio::test(flavor = "multi_thread")]
async fn resources_of_the_account_are_reported_by_their_host() {
    let mut fakes = Fakes::start(|world| {
        let answers = serde_json::json!([
            { "host": "known.execute-api.*", "path": "/prod/register", "json": { "id": 7 } },
        ]);
        world.aws.answers = serde_json::from_value(answers).unwrap();
    });
    let table = [
        (
            "https://a1b2c3.execute-api.eu-west-1.amazonaws.com/prod/register?x=1",
            "execute-api.GET /prod/register",
        ),
        ("https://a1b2c3.lambda-url.eu-west-1.on.aws/", "lambda.GET /"),
        (
            "https://a1b2c3.appsync-api.eu-west-1.amazonaws.com/graphql",
            "appsync.GET /graphql",
        ),
        (
            "https://demo-111122223333.d.codeartifact.eu-west-1.amazonaws.com/pypi/own/simple/",
            "codeartifact.GET /pypi/own/simple/",
        ),
    ];
    for (url, name) in table {
        let host = url.split('/').nth(2).unwrap();
        let curled = curl_host(&fakes, &[url]).await;
        let expected = format!("nodejoin does not know the responses of {host}, a resource in ");
        let text = curled.text();
        assert_eq!(curled.status, 501, "{url}: {text}");
        assert!(
            text.contains(&expected) && text.contains("with `host` to `aws.answers`"),
            "{text}"
        );
        let calls = unknown(&mut fakes);
        let names: Vec<String> = calls
            .iter()
            .map(|call| format!("{}.{}", call.service.word(), call.operation))
            .collect();
        assert_eq!((names, calls[0].host.as_str()), (vec![name.to_owned()], host));
    }
    let url = "https://known.execute-api.eu-west-1.amazonaws.com/prod/register";
    assert_eq!(curl_host(&fakes, &[url]).await.text(), r#"{"id":7}"#);
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, botocore.exceptions
for service, host, call in (
    ("iot-data", "a1-ats.iot", lambda client: client.publish(topic="t", payload=b"x")),
    ("apigatewaymanagementapi", "a1b2c3.execute-api", lambda client: client.get_connection(ConnectionId="c")),
    ("dynamodb", "111122223333.ddb", lambda client: client.list_tables()),
):
    client = boto3.client(service, endpoint_url=f"https://{host}.eu-west-1.amazonaws.com")
    try:
        call(client)
    except botocore.exceptions.ClientError as error:
        print(error.response["Error"]["Code"], error.response["ResponseMetadata"]["RetryAttempts"])
"#;
    let printed = aws.python(program).await;
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["NotEmulated 0"; 3]);
    fakes.end().await;
}

/// The names of interface endpoints, which clients use with `--endpoint-url`.
#[tokio::test(flavor = "multi_thread")]
async fn interface_endpoints_are_those_of_their_service() {
    let fakes = Fakes::start(|world| {
        let buckets = serde_json::json!({ "logs": { "objects": { "a": "x" } } });
        world.aws.buckets = serde_json::from_value(buckets).unwrap();
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3
def client(service, start):
    return boto3.client(service, endpoint_url=f"https://{start}.eu-west-1.vpce.amazonaws.com")
print(client("sts", "vpce-0a1b-c2d3.sts").get_caller_identity()["Account"])
print(client("eks", "vpce-0a1b-c2d3-eu-west-1a.eks").list_clusters()["clusters"])
print(client("s3", "bucket.vpce-0a1b-c2d3.s3").get_object(Bucket="logs", Key="a")["Body"].read())
"#;
    assert_eq!(aws.python(program).await, "111122223333\n['demo']\nb'x'\n");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_reads_xml() {
    let fakes = Fakes::start(|_| {});
    let curled = curl_host(&fakes, &["https://route53.amazonaws.com/2013-04-01/hostedzone"]).await;
    assert_eq!(
        (curled.status, curled.header("content-type")),
        (501, Some("text/xml"))
    );
    assert!(curled.text().contains("<Code>NotEmulated</Code>"));
    fakes.end().await;
}
