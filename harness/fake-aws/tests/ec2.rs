//! EC2, by the AWS CLI and boto3: instances, their types and tags, as kubelets and bootstrap scripts ask for them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod support;

use serde_json::{Value, json};
use support::Fakes;
use support::clients::{Aws, error, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn describe_instances_and_its_filters() {
    let fakes = Fakes::start(|_| {});
    let aws = Aws::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
ec2 = boto3.client("ec2")
def ids(**asked):
    try:
        found = ec2.describe_instances(**asked)["Reservations"]
        return [i["InstanceId"] for r in found for i in r["Instances"]]
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"] + ": " + e.response["Error"]["Message"]
def filtered(name, *values):
    return ids(Filters=[{"Name": name, "Values": list(values)}])
own = "i-0b22a22eec53b9321"
i = ec2.describe_instances(InstanceIds=[own])["Reservations"][0]["Instances"][0]
n = i["NetworkInterfaces"][0]
print(json.dumps({
  "names": [i["PrivateDnsName"], i["PublicDnsName"], i["PrivateIpAddress"], i["Placement"]["AvailabilityZone"], i["State"]["Name"]],
  "network": [n["Status"], n["MacAddress"], n["Attachment"]["DeviceIndex"], n["PrivateIpAddresses"][0]["Primary"], n["PrivateIpAddresses"][0]["PrivateIpAddress"]],
  "tags": {t["Key"]: t["Value"] for t in i["Tags"]},
  "profile": i["IamInstanceProfile"]["Arn"],
  "year": i["LaunchTime"].year > 2000,
  "asked": [
    filtered("private-dns-name", "ip-192-168-40-16.*"), filtered("private-dns-name", "ip-1"),
    filtered("instance-state-name", "pending", "running"), filtered("instance-state-name", "stopped"),
    filtered("tag:eks:cluster-name", "demo"), filtered("colour", "red"),
    ids(InstanceIds=["i-00000000000000000"]), ids(InstanceIds=["foobar"]), ids(InstanceIds=[own, "i-00000000", "i-00000001"]),
  ],
}))
"#;
    let seen: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let name = "ip-192-168-40-16.eu-west-1.compute.internal";
    assert_eq!(
        seen["names"],
        json!([name, "", "192.168.40.16", "eu-west-1a", "running"])
    );
    assert_eq!(
        seen["network"],
        json!(["in-use", "0a:00:00:00:00:01", 0, true, "192.168.40.16"])
    );
    assert_eq!(
        seen["tags"],
        json!({ "Name": "demo", "eks:cluster-name": "demo" })
    );
    assert_eq!(
        seen["profile"],
        "arn:aws:iam::111122223333:instance-profile/eks/demo-role"
    );
    assert_eq!(seen["year"], true);
    let own = json!(["i-0b22a22eec53b9321"]);
    let expected = json!([
        own,
        [],
        own,
        [],
        own,
        "InvalidParameterValue: The filter 'colour' is invalid",
        "InvalidInstanceID.NotFound: The instance ID 'i-00000000000000000' does not exist",
        "InvalidInstanceID.Malformed: Invalid id: \"foobar\"",
        "InvalidInstanceID.NotFound: The instance IDs 'i-00000000, i-00000001' do not exist",
    ]);
    assert_eq!(seen["asked"], expected);
    fakes.end().await;
}

/// The question of AL2's max-pods-calculator.sh.
#[tokio::test(flavor = "multi_thread")]
async fn describe_instance_types_as_the_max_pods_calculator_asks_it() {
    let fakes = Fakes::start(|_| {});
    let aws = Aws::of(&fakes).await;
    let query = "InstanceTypes[0].{Hypervisor: Hypervisor, EniCount: NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces, \
        PodsPerEniCount: NetworkInfo.Ipv4AddressesPerInterface, CpuCount: VCpuInfo.DefaultVCpus}";
    let asked = [
        "ec2",
        "describe-instance-types",
        "--instance-type",
        "m5.large",
        "--query",
        query,
    ];
    let expected = json!({ "Hypervisor": "nitro", "EniCount": 3, "PodsPerEniCount": 10, "CpuCount": 2 });
    assert_eq!(json_of(&aws.cli(&asked).await), expected);
    let every = [
        "ec2",
        "describe-instance-types",
        "--query",
        "length(InstanceTypes)",
    ];
    assert!(
        json_of(&aws.cli(&every).await).as_u64().unwrap() > 1_000,
        "pages are followed to the end"
    );
    let told = error(
        &aws.cli(&["ec2", "describe-instance-types", "--instance-types", "z99.huge"])
            .await,
    );
    assert!(
        told.ends_with("The following supplied instance types do not exist: [z99.huge]"),
        "{told}"
    );
    let tags = [
        "ec2",
        "describe-tags",
        "--filters",
        "Name=resource-id,Values=i-0b22a22eec53b9321",
        "--query",
        "Tags[].Key",
    ];
    assert_eq!(
        json_of(&aws.cli(&tags).await),
        json!(["Name", "eks:cluster-name"])
    );
    fakes.end().await;
}
