//! Further resources of an account through boto3: policies, stacks, partitions.

mod clusters;
mod roles;

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of};
use nodejoin_core::plan::aws::StackPlan;
use nodejoin_fake_aws::World;
use serde_json::{Value, json};

/// The start of every program: a function that returns a response, or status, code and message of an error.
const TOLD: &str = r#"
import boto3, json, botocore.exceptions
from botocore.config import Config
from botocore import UNSIGNED
def output(call, **more):
    try:
        return call(**more)
    except botocore.exceptions.ClientError as e:
        error = e.response["Error"]
        return "%s %s: %s" % (e.response["ResponseMetadata"]["HTTPStatusCode"], error["Code"], error["Message"])
"#;

async fn output(fakes: &Fakes, program: &str) -> Value {
    let aws = AwsClients::of(fakes).await;
    serde_json::from_str(&aws.python(&format!("{TOLD}\n{program}")).await).unwrap()
}

const SESSION: &str = "arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321";

/// One row per service: without a policy that allows the action, and with one that denies it. Sources of the texts: see
/// `iam.rs`.
#[tokio::test(flavor = "multi_thread")]
async fn each_service_has_its_own_text_for_a_denied_action() {
    let program = r#"
print(json.dumps([
  output(boto3.client("eks").describe_cluster, name="demo"),
  output(boto3.client("eks").list_clusters),
  output(boto3.client("ec2").describe_instances),
  output(boto3.client("ecr").get_authorization_token),
  output(boto3.client("cloudformation").describe_stacks),
  output(boto3.client("sts").assume_role, RoleArn="arn:aws:iam::111122223333:role/other", RoleSessionName="me"),
]))
"#;
    let rows = |implicit: bool| {
        let user = format!("User: {SESSION} is not authorized to perform:");
        let reason = |action: &str| match implicit {
            true => format!(" because no identity-based policy allows the {action} action"),
            false => " with an explicit deny in an identity-based policy".to_owned(),
        };
        let eks = if implicit { "" } else { " with an explicit deny" };
        let sts = if implicit { String::new() } else { reason("") };
        let cluster = "arn:aws:eks:eu-west-1:111122223333:cluster";
        let stack = "arn:aws:cloudformation:eu-west-1:111122223333:stack";
        let (instances, token) = ("ec2:DescribeInstances", "ecr:GetAuthorizationToken");
        let stacks = "cloudformation:DescribeStacks";
        json!([
            format!("403 AccessDeniedException: {user} eks:DescribeCluster on resource: {cluster}/demo{eks}"),
            format!("403 AccessDeniedException: {user} eks:ListClusters on resource: {cluster}/*{eks}"),
            format!(
                "403 UnauthorizedOperation: You are not authorized to perform this operation. {user} {instances}{}",
                reason(instances)
            ),
            format!(
                "400 AccessDeniedException: {user} {token} on resource: *{}",
                reason(token)
            ),
            format!(
                "403 AccessDenied: {user} {stacks} on resource: {stack}/*/*{}",
                reason(stacks)
            ),
            format!(
                "403 AccessDenied: {user} sts:AssumeRole on resource: arn:aws:iam::111122223333:role/other{sts}"
            ),
        ])
    };
    type Policy = fn(&mut World);
    let policies: [(bool, Policy); 2] = [
        (true, |world| {
            world.role.as_mut().unwrap().allow = Some(vec!["s3:*".into()])
        }),
        (false, |world| {
            world.role.as_mut().unwrap().deny = vec!["*".into()]
        }),
    ];
    for (implicit, policy) in policies {
        let fakes = Fakes::start(policy);
        assert_eq!(
            output(&fakes, program).await,
            rows(implicit),
            "implicit: {implicit}"
        );
        fakes.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_allow_only_their_actions() {
    let fakes = Fakes::start(|world| {
        world.role.as_mut().unwrap().allow = Some(vec!["eks:Describe*".into()]);
    });
    let program = r#"
print(json.dumps([
  output(boto3.client("eks").describe_cluster, name="demo")["cluster"]["name"],
  output(boto3.client("eks").list_clusters)[:26],
  output(boto3.client("sts").get_caller_identity)["Arn"],
]))
"#;
    assert_eq!(
        output(&fakes, program).await,
        json!(["demo", "403 AccessDeniedException:", SESSION])
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_wait_for_their_signals() {
    let fakes = Fakes::start(|world| {
        world.aws.stacks = vec![StackPlan {
            name: "nodes".into(),
            status: "CREATE_IN_PROGRESS".into(),
            waits_for: [("NodeGroup".to_owned(), 1)].into(),
            resources: std::collections::BTreeMap::new(),
        }];
    });
    let program = r#"
cfn = boto3.client("cloudformation")
def status():
    return cfn.describe_stacks(StackName="nodes")["Stacks"][0]["StackStatus"]
def signal(**more):
    arguments = dict(StackName="nodes", LogicalResourceId="NodeGroup", UniqueId="i-0b22a22eec53b9321", Status="SUCCESS")
    answer = output(cfn.signal_resource, **{**arguments, **more})
    return answer if isinstance(answer, str) else "accepted"
before = status()
print(json.dumps([before, signal(LogicalResourceId="x"), signal(StackName="x"), signal(UniqueId="x" * 64), status(), signal().split("/")[0],
  len(cfn.describe_stacks()["Stacks"]), output(cfn.describe_stacks, StackName="x")]))
"#;
    let error = "400 ValidationError";
    let expected = json!([
        "CREATE_IN_PROGRESS",
        format!("{error}: Resource x does not exist for stack nodes"),
        format!("{error}: Stack [x] does not exist"),
        "accepted",
        "CREATE_COMPLETE",
        format!("{error}: Stack arn:aws:cloudformation:eu-west-1:111122223333:stack"),
        1,
        format!("{error}: Stack with id x does not exist"),
    ]);
    assert_eq!(output(&fakes, program).await, expected);
    fakes.end().await;
}

/// China has its own partition, suffix and accounts, which signatures and ARNs contain.
#[tokio::test(flavor = "multi_thread")]
async fn the_aws_cli_works_in_other_partitions() {
    for (region, partition) in [("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")] {
        let fakes = Fakes::start(|world| world.region = region.parse().unwrap());
        let aws = AwsClients::of(&fakes).await;
        let here = [("AWS_DEFAULT_REGION", region)];
        let identity = json_of(&aws.cli_with(&["sts", "get-caller-identity"], &here).await);
        let arn = identity["Arn"].as_str().unwrap();
        assert!(
            arn.starts_with(&format!("arn:{partition}:sts::111122223333:assumed-role/")),
            "{arn}"
        );
        let cluster = json_of(
            &aws.cli_with(&["eks", "describe-cluster", "--name", "demo"], &here)
                .await,
        );
        let arn = cluster["cluster"]["arn"].as_str().unwrap();
        assert_eq!(
            arn,
            format!("arn:{partition}:eks:{region}:111122223333:cluster/demo")
        );
        let elsewhere = error(
            &aws.cli(&["sts", "get-caller-identity", "--region", "xx-nowhere-1"])
                .await,
        );
        assert!(!elsewhere.is_empty());
        fakes.end().await;
    }
}
