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
        (&["s3api", "list-buckets"], "ListBuckets", "s3.GET /"),
        (
            &["eks", "list-addons", "--cluster-name", "demo"],
            "ListAddons",
            "eks.GET /clusters/demo/addons",
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
