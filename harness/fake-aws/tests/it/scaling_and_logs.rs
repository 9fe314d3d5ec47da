//! Auto Scaling, CloudWatch Logs and CloudWatch, by the AWS CLI and boto3.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of, out};
use nodejoin_core::observation::AwsCall;
use nodejoin_core::plan::aws::{AwsPlan, GROUP_TAG};
use nodejoin_fake_aws::World;
use serde_json::{Value, json};

const OWN: &str = "i-0b22a22eec53b9321";
const OTHER: &str = "i-00000000000000008";

/// The instance and another one in the group `workers`; the instance waits for two hooks.
fn in_a_group(world: &mut World) {
    world.instance.tags.insert(GROUP_TAG.into(), "workers".into());
    let aws = json!({
        "autoscaling": { "group": "workers", "launch_hooks": ["join", "ready"], "max_size": 3, "desired_capacity": 2 },
        "instances": [{ "id": OTHER, "private_ip": "192.168.40.28", "tags": { GROUP_TAG: "workers" } }],
    });
    world.aws = serde_json::from_value::<AwsPlan>(aws).unwrap();
}

fn complete<'a>(hook: &'a str, result: &'a str) -> Vec<&'a str> {
    let action = ["autoscaling", "complete-lifecycle-action", "--instance-id", OWN];
    let of = [
        "--auto-scaling-group-name",
        "workers",
        "--lifecycle-hook-name",
        hook,
    ];
    [&action[..], &of, &["--lifecycle-action-result", result]].concat()
}

async fn lifecycle(aws: &AwsClients) -> String {
    let query = "AutoScalingInstances[0].[LifecycleState,HealthStatus]";
    let describe = [
        "autoscaling",
        "describe-auto-scaling-instances",
        "--instance-ids",
        OWN,
    ];
    out(&aws
        .cli(&[&describe[..], &["--query", query, "--output", "text"]].concat())
        .await)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_in_service_after_its_launch_hooks() {
    let mut fakes = Fakes::start(in_a_group);
    let aws = AwsClients::of(&fakes).await;
    assert_eq!(lifecycle(&aws).await, "Pending:Wait\tHEALTHY");
    let heartbeat = [
        "autoscaling",
        "record-lifecycle-action-heartbeat",
        "--instance-id",
        OWN,
    ];
    let of = |hook| {
        [
            "--auto-scaling-group-name",
            "workers",
            "--lifecycle-hook-name",
            hook,
        ]
    };
    out(&aws.cli(&[&heartbeat[..], &of("join")].concat()).await);
    out(&aws.cli(&complete("join", "CONTINUE")).await);
    assert_eq!(lifecycle(&aws).await, "Pending:Wait\tHEALTHY");
    out(&aws.cli(&complete("ready", "CONTINUE")).await);
    assert_eq!(lifecycle(&aws).await, "InService\tHEALTHY");
    let late = [
        aws.cli(&complete("ready", "CONTINUE")).await,
        aws.cli(&[&heartbeat[..], &of("join")].concat()).await,
    ];
    for late in late {
        let late = error(&late);
        let sentence = format!("No active Lifecycle Action found with instance ID {OWN}");
        assert!(
            late.contains("(ValidationError)") && late.contains(&sentence),
            "{late}"
        );
    }
    let unhealthy = [
        "autoscaling",
        "set-instance-health",
        "--instance-id",
        OWN,
        "--health-status",
        "Unhealthy",
    ];
    out(&aws.cli(&unhealthy).await);
    assert_eq!(lifecycle(&aws).await, "InService\tUNHEALTHY");
    let calls = fakes.calls();
    let subject = |name: &str| {
        let call = calls.iter().find(|call| call.operation == name).unwrap();
        call.subject.clone().unwrap()
    };
    assert_eq!(subject("CompleteLifecycleAction"), "workers/join CONTINUE");
    assert_eq!(subject("SetInstanceHealth"), format!("{OWN} Unhealthy"));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn boto3_reads_the_groups_and_errors_are_those_of_auto_scaling() {
    let fakes = Fakes::start(in_a_group);
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
client = boto3.client("autoscaling")
def refused(call, **more):
    try:
        call(**more)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"] + ": " + e.response["Error"]["Message"]
group, = client.describe_auto_scaling_groups(AutoScalingGroupNames=["workers"])["AutoScalingGroups"]
hook = dict(AutoScalingGroupName="workers", LifecycleHookName="join", InstanceId="i-0b22a22eec53b9321")
print(json.dumps({
  "sizes": [group["MinSize"], group["DesiredCapacity"], group["MaxSize"]],
  "members": [[i["InstanceId"], i["LifecycleState"], i["HealthStatus"]] for i in group["Instances"]],
  "place": [group["AvailabilityZones"], group["VPCZoneIdentifier"], group["CreatedTime"].year > 2000],
  "arn": group["AutoScalingGroupARN"].split(":")[-1],
  "others": [client.describe_auto_scaling_groups(AutoScalingGroupNames=["x"])["AutoScalingGroups"],
             len(boto3.client("autoscaling", region_name="us-east-1").describe_auto_scaling_instances()["AutoScalingInstances"])],
  "errors": [
    refused(client.complete_lifecycle_action, LifecycleActionResult="MAYBE", **hook),
    refused(client.complete_lifecycle_action, LifecycleActionResult="CONTINUE", **{**hook, "AutoScalingGroupName": "x"}),
    refused(client.set_instance_health, InstanceId="i-1", HealthStatus="Healthy"),
    refused(client.set_instance_health, InstanceId="i-00000000000000008", HealthStatus="Healthy"),
    refused(client.describe_auto_scaling_groups, Filters=[{"Name": "tag-key", "Values": ["x"]}]),
  ],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let none = "No active Lifecycle Action found with instance ID";
    let expected = json!({
        "sizes": [1, 2, 3],
        "members": [[OWN, "Pending:Wait", "Healthy"], [OTHER, "InService", "Healthy"]],
        "place": [["eu-west-1a"], "subnet-0a1b2c3d4e5f60718", true],
        "arn": "autoScalingGroupName/workers",
        "others": [[], 0],
        "errors": [
            "ValidationError: Lifecycle Action Result must be either CONTINUE or ABANDON.",
            format!("ValidationError: {none} {OWN}"),
            "ValidationError: Instance Id not found - No managed instance found for instance ID: i-1",
            format!("NotEmulated: nodejoin cannot change the instance '{OTHER}': only the instance that sends the request"),
            "NotEmulated: nodejoin does not emulate the parameter Filters of DescribeAutoScalingGroups of autoscaling: add its \
             answer to `aws.answers`, or list `autoscaling.DescribeAutoScalingGroups` in `aws.allow` if the call may fail",
        ],
    });
    assert_eq!(results, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_launch_ends_and_an_instance_without_a_group_is_in_none() {
    let fakes = Fakes::start(in_a_group);
    let aws = AwsClients::of(&fakes).await;
    out(&aws.cli(&complete("join", "ABANDON")).await);
    assert_eq!(lifecycle(&aws).await, "Terminating\tHEALTHY");
    fakes.end().await;
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let none = json_of(&aws.cli(&["autoscaling", "describe-auto-scaling-instances"]).await);
    assert_eq!(none["AutoScalingInstances"], json!([]));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_creates_a_log_stream_and_reads_its_events() {
    let mut fakes = Fakes::start(|world| world.aws.log_groups = vec!["/present".into()]);
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, time, botocore.exceptions
logs = boto3.client("logs")
def refused(call, **more):
    try:
        call(**more)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"] + ": " + e.response["Error"]["Message"]
of = dict(logGroupName="/boot", logStreamName="i-1")
now = int(time.time() * 1000)
day = 24 * 60 * 60 * 1000
def event(at, text): return dict(timestamp=at, message=text)
first = [refused(logs.create_log_stream, **of), refused(logs.put_log_events, logEvents=[event(now, "x")], **of)]
logs.create_log_group(logGroupName="/boot", tags={"a": "b"})
first.append(refused(logs.put_log_events, logEvents=[event(now, "x")], **of))
logs.create_log_stream(**of)
logs.put_retention_policy(logGroupName="/boot", retentionInDays=7)
try:
    logs.put_retention_policy(logGroupName="/boot", retentionInDays=8)
    raise SystemExit("a retention of 8 days exists")
except logs.exceptions.InvalidParameterException:
    pass
put = logs.put_log_events(logEvents=[event(now - 15 * day, "old"), event(now - 2, "a"), event(now - 1, "b"), event(now + day, "new")], **of)
logs.put_log_events(logEvents=[event(now, "c")], sequenceToken=put["nextSequenceToken"], **of)
stream, = logs.describe_log_streams(logGroupName="/boot", orderBy="LastEventTime", descending=True)["logStreams"]
page = logs.get_log_events(limit=2, startFromHead=True, **of)
rest = logs.get_log_events(limit=2, nextToken=page["nextForwardToken"], **of)
end = logs.get_log_events(nextToken=rest["nextForwardToken"], **of)
print(json.dumps({
  "groups": [[g["logGroupName"], g.get("retentionInDays")] for g in logs.describe_log_groups()["logGroups"]],
  "prefix": len(logs.describe_log_groups(logGroupNamePrefix="/pre")["logGroups"]),
  "pages": [len(p["logGroups"]) for p in logs.get_paginator("describe_log_groups").paginate(PaginationConfig={"PageSize": 1})],
  "rejected": put["rejectedLogEventsInfo"],
  "stream": [stream["logStreamName"], now - stream["firstEventTimestamp"], now - stream["lastEventTimestamp"]],
  "events": [[e["message"] for e in p["events"]] for p in (page, rest, end)],
  "end": end["nextForwardToken"] == rest["nextForwardToken"],
  "newest": [e["message"] for e in logs.get_log_events(limit=1, **of)["events"]],
  "refused": first + [
    refused(logs.create_log_group, logGroupName="/boot"), refused(logs.create_log_stream, **of),
    refused(logs.put_log_events, logEvents=[event(now, "x"), event(now - 1, "y")], **of),
    refused(logs.get_log_events, unmask=True, **of)],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let no_group = "ResourceNotFoundException: The specified log group does not exist.";
    let expected = json!({
        "groups": [["/boot", 7], ["/present", null]],
        "prefix": 1,
        "pages": [1, 1],
        "rejected": { "tooOldLogEventEndIndex": 1, "tooNewLogEventStartIndex": 3 },
        "stream": ["i-1", 2, 0],
        "events": [["a", "b"], ["c"], []],
        "end": true,
        "newest": ["c"],
        "refused": [
            no_group, no_group, "ResourceNotFoundException: The specified log stream does not exist.",
            "ResourceAlreadyExistsException: The specified log group already exists",
            "ResourceAlreadyExistsException: The specified log stream already exists",
            "InvalidParameterException: Log events in a single PutLogEvents request must be in chronological order.",
            "NotEmulated: nodejoin does not emulate the parameter unmask of GetLogEvents of logs: add its answer to \
             `aws.answers`, or list `logs.GetLogEvents` in `aws.allow` if the call may fail",
        ],
    });
    assert_eq!(results, expected);
    let calls = fakes.calls();
    let puts = calls.iter().filter(|call| call.operation == "PutLogEvents");
    let subjects: Vec<&str> = puts.filter_map(|call| call.subject.as_deref()).collect();
    assert!(subjects.contains(&"/boot/i-1 (4)"), "{subjects:?}");
    fakes.end().await;
}

fn metric_calls(fakes: &mut Fakes) -> Vec<AwsCall> {
    let calls = fakes.calls().into_iter();
    calls.filter(|call| call.operation == "PutMetricData").collect()
}

/// The same requests in each protocol that SDKs of CloudWatch have used. Large ones are compressed.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_accepted_in_three_protocols() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    for protocol in ["query", "json", "smithy-rpc-v2-cbor"] {
        let program = format!(
            r#"
import boto3, datetime, botocore.exceptions, botocore.model
botocore.model.ServiceModel.resolved_protocol = "{protocol}"
client = boto3.client("cloudwatch")
now = datetime.datetime.now(datetime.timezone.utc)
def metric(name): return dict(MetricName=name, Timestamp=now, Value=1.5, Unit="Count", Dimensions=[dict(Name="a", Value="b")])
client.put_metric_data(Namespace="Boot", MetricData=[metric("seconds"), metric("errors"), metric("errors")])
client.put_metric_data(Namespace="Boot", MetricData=[metric("m%03d" % (n % 2)) for n in range(500)])
try:
    client.put_metric_data(Namespace="AWS/EC2", MetricData=[metric("x")])
except botocore.exceptions.ClientError as e:
    print(e.response["Error"]["Message"])
try:
    client.list_metrics()
except botocore.exceptions.ClientError as e:
    print(e.response["Error"]["Code"])
"#
        );
        let printed = aws.python(&program).await;
        let refused = "The value AWS/EC2 for parameter Namespace is invalid.\nNotEmulated\n";
        assert_eq!(printed, refused, "{protocol}");
        let calls = metric_calls(&mut fakes);
        let seen: Vec<(u16, &str)> = calls
            .iter()
            .map(|call| (call.status, call.subject.as_deref().unwrap_or_default()))
            .collect();
        let expected = [
            (200, "Boot errors,seconds (3)"),
            (200, "Boot m000,m001 (500)"),
            (400, "AWS/EC2 x (1)"),
        ];
        assert_eq!(seen, expected, "{protocol}");
    }
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_puts_a_metric_and_policies_deny_by_action() {
    let mut fakes = Fakes::start(|world| {
        in_a_group(world);
        world.role.as_mut().unwrap().deny = vec!["logs:*".into(), "autoscaling:SetInstanceHealth".into()];
    });
    let aws = AwsClients::of(&fakes).await;
    let put = ["cloudwatch", "put-metric-data", "--namespace", "Boot"];
    out(&aws
        .cli(&[&put[..], &["--metric-name", "seconds", "--value", "12"]].concat())
        .await);
    let subject = metric_calls(&mut fakes)[0].subject.clone();
    assert_eq!(subject.as_deref(), Some("Boot seconds (1)"));
    let group = ["logs", "create-log-group", "--log-group-name", "/boot"];
    let health = ["autoscaling", "set-instance-health", "--health-status", "Healthy"];
    let health = [&health[..], &["--instance-id", OWN]].concat();
    for (requested, action, on) in [
        (&group[..], "logs:CreateLogGroup", "log-group:/boot"),
        (
            &health,
            "autoscaling:SetInstanceHealth",
            "autoScalingGroupName/workers",
        ),
    ] {
        let denied = error(&aws.cli(requested).await);
        let sentence = format!("is not authorized to perform: {action} on resource: arn:aws:");
        assert!(denied.contains(&sentence) && denied.contains(on), "{denied}");
    }
    fakes.end().await;
}
