//! EC2 through the AWS CLI and boto3: instances, types and tags, in the requests of kubelets and bootstrap scripts.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of};
use nodejoin_core::plan::ec2::{InstanceState, InterfacePlan, OtherInstance};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn describe_instances_supports_filters() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
ec2 = boto3.client("ec2")
def ids(**arguments):
    try:
        found = ec2.describe_instances(**arguments)["Reservations"]
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
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let name = "ip-192-168-40-16.eu-west-1.compute.internal";
    assert_eq!(
        results["names"],
        json!([name, "", "192.168.40.16", "eu-west-1a", "running"])
    );
    assert_eq!(
        results["network"],
        json!(["in-use", "0a:00:00:00:00:01", 0, true, "192.168.40.16"])
    );
    assert_eq!(
        results["tags"],
        json!({ "Name": "demo", "eks:cluster-name": "demo" })
    );
    assert_eq!(
        results["profile"],
        "arn:aws:iam::111122223333:instance-profile/eks/demo-role"
    );
    assert_eq!(results["year"], true);
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
    assert_eq!(results["asked"], expected);
    fakes.end().await;
}

/// The request of AL2's max-pods-calculator.sh.
#[tokio::test(flavor = "multi_thread")]
async fn the_max_pods_calculator_reads_instance_types() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let query = "InstanceTypes[0].{Hypervisor: Hypervisor, EniCount: NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces, \
        PodsPerEniCount: NetworkInfo.Ipv4AddressesPerInterface, CpuCount: VCpuInfo.DefaultVCpus}";
    let requested = [
        "ec2",
        "describe-instance-types",
        "--instance-type",
        "m5.large",
        "--query",
        query,
    ];
    let expected = json!({ "Hypervisor": "nitro", "EniCount": 3, "PodsPerEniCount": 10, "CpuCount": 2 });
    assert_eq!(json_of(&aws.cli(&requested).await), expected);
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
    let output = error(
        &aws.cli(&["ec2", "describe-instance-types", "--instance-types", "z99.huge"])
            .await,
    );
    assert!(
        output.ends_with("The following supplied instance types do not exist: [z99.huge]"),
        "{output}"
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

#[tokio::test(flavor = "multi_thread")]
async fn instance_types_have_their_gpus() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let query = "sort_by(InstanceTypes, &InstanceType)[].GpuInfo";
    let types = ["g4ad.8xlarge", "m5.large", "p4d.24xlarge"];
    let described = [
        "ec2",
        "describe-instance-types",
        "--query",
        query,
        "--instance-types",
    ];
    let requested = [&described[..], &types].concat();
    let gpus = |name: &str, manufacturer: &str, count: u32, memory: u32| {
        json!({
            "Gpus": [{ "Name": name, "Manufacturer": manufacturer, "Count": count, "MemoryInfo": { "SizeInMiB": memory } }],
            "TotalGpuMemoryInMiB": count * memory,
        })
    };
    let expected = json!([
        gpus("Radeon Pro V520", "AMD", 2, 8192),
        gpus("A100", "NVIDIA", 8, 40960)
    ]);
    assert_eq!(json_of(&aws.cli(&requested).await), expected);
    fakes.end().await;
}

/// EC2 pages, describes terminated instances without a network, and rejects invalid requests: one row per fact.
#[tokio::test(flavor = "multi_thread")]
async fn further_instances_and_interfaces_are_described() {
    let other = |number: u8, state, region: Option<&str>| OtherInstance {
        id: format!("i-000000000000000{number:02}"),
        private_ip: [192, 168, 40, 20 + number].into(),
        state,
        region: region.map(Into::into),
        tags: [("number".to_owned(), number.to_string())].into(),
    };
    let fakes = Fakes::start(|world| {
        let mut all: Vec<_> = (1..=7)
            .map(|number| other(number, InstanceState::Running, None))
            .collect();
        all.push(other(8, InstanceState::Terminated, None));
        all.push(other(9, InstanceState::Running, Some("us-east-1")));
        world.aws.instances = all;
        world.instance.network.public_ip = Some("3.4.5.6".parse().unwrap());
        world.instance.network.secondary_ips = vec!["192.168.40.17".parse().unwrap()];
        world.instance.network.interfaces = vec![InterfacePlan {
            mac: "0a:00:00:00:00:02".into(),
            private_ips: vec!["192.168.41.1".parse().unwrap()],
            network_card: 1,
            device_index: None,
        }];
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json, botocore.exceptions
ec2 = boto3.client("ec2")
def output(call, **more):
    try:
        return call(**more)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"] + ": " + e.response["Error"]["Message"]
def ids(page): return [i["InstanceId"][-2:] for r in page["Reservations"] for i in r["Instances"]]
pages = [ids(p) for p in ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5})]
gone = ec2.describe_instances(InstanceIds=["i-00000000000000008"])["Reservations"][0]["Instances"][0]
own = ec2.describe_instances(InstanceIds=["i-0b22a22eec53b9321"])["Reservations"][0]["Instances"][0]
def enis(**arguments): return ec2.describe_network_interfaces(**arguments)["NetworkInterfaces"]
mine = enis(Filters=[{"Name": "attachment.instance-id", "Values": ["i-0b22a22eec53b9321"]}])
print(json.dumps({
  "pages": pages, "there": ids(boto3.client("ec2", region_name="us-east-1").describe_instances()),
  "running": len(ids(ec2.describe_instances(Filters=[{"Name": "instance-state-name", "Values": ["running"]}]))),
  "gone": [gone["State"], gone["PrivateDnsName"], gone.get("PrivateIpAddress"), gone["NetworkInterfaces"]],
  "tagged": ids(ec2.describe_instances(Filters=[{"Name": "tag:number", "Values": ["3"]}])),
  "public": [own["PublicIpAddress"], own["PublicDnsName"], own["NetworkInterfaces"][0]["Association"]["PublicIp"]],
  "own": [[n["MacAddress"], n["Attachment"]["DeviceIndex"], n["Attachment"]["NetworkCardIndex"],
           [a["PrivateIpAddress"] for a in n["PrivateIpAddresses"]]] for n in own["NetworkInterfaces"]],
  "mine": [n["NetworkInterfaceId"] for n in mine] == [n["NetworkInterfaceId"] for n in own["NetworkInterfaces"]],
  "attached": mine[1]["Attachment"]["InstanceId"], "all": len(enis()),
  "by id": len(enis(NetworkInterfaceIds=[mine[1]["NetworkInterfaceId"]])),
  "wrong": [output(ec2.describe_instances, MaxResults=4), output(ec2.describe_instances, NextToken="x"),
            output(ec2.describe_instances, InstanceIds=["i-0b22a22eec53b9321"], MaxResults=5),
            output(ec2.describe_network_interfaces, NetworkInterfaceIds=["eni-0"])],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let invalid = "InvalidParameterValue";
    let expected = json!({
        "pages": [["21", "01", "02", "03", "04"], ["05", "06", "07", "08"]], "there": ["09"], "running": 8,
        "gone": [{ "Code": 48, "Name": "terminated" }, "", null, []],
        "tagged": ["03"],
        "public": ["3.4.5.6", "ec2-3-4-5-6.eu-west-1.compute.amazonaws.com", "3.4.5.6"],
        "own": [["0a:00:00:00:00:01", 0, 0, ["192.168.40.16", "192.168.40.17"]], ["0a:00:00:00:00:02", 1, 1, ["192.168.41.1"]]],
        "mine": true, "attached": "i-0b22a22eec53b9321", "all": 9, "by id": 1,
        "wrong": [
            format!("{invalid}: Value ( 4 ) for parameter maxResults is invalid. Expecting a value between 5 and 1000."),
            format!("{invalid}: Unable to parse pagination token"),
            "InvalidParameterCombination: The parameter instancesSet cannot be used with the parameter maxResults",
            "InvalidNetworkInterfaceID.NotFound: The networkInterface ID 'eni-0' does not exist",
        ],
    });
    assert_eq!(results, expected);
    fakes.end().await;
}

/// The request of the cloud controller manager: types without a topology are left out, without an error.
#[tokio::test(flavor = "multi_thread")]
async fn the_topology_of_instances_is_described() {
    let program = r#"
import boto3, json, botocore.exceptions
ec2 = boto3.client("ec2")
def output(**arguments):
    try:
        return ec2.describe_instance_topology(**arguments)["Instances"]
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"]
print(json.dumps([output(InstanceIds=["i-0b22a22eec53b9321"]), output(InstanceIds=["i-00000000000000000"]), output(MaxResults=101)]))
"#;
    let hanging = json!([{
        "InstanceId": "i-0b22a22eec53b9321", "InstanceType": "p5.48xlarge", "NetworkNodes": ["nn-1", "nn-2", "nn-3"],
        "AvailabilityZone": "eu-west-1a", "ZoneId": "euw1-az1",
    }]);
    for (nodes, expected) in [(vec!["nn-1", "nn-2", "nn-3"], hanging), (vec![], json!([]))] {
        let fakes = Fakes::start(|world| {
            world.instance.instance_type = "p5.48xlarge".into();
            world.instance.network.nodes = nodes.into_iter().map(Into::into).collect();
        });
        let aws = AwsClients::of(&fakes).await;
        let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
        let refused = ["InvalidInstanceID.NotFound", "InvalidParameterValue"];
        assert_eq!(results, json!([expected, refused[0], refused[1]]));
        fakes.end().await;
    }
}

/// kubernetes#118421, amazon-eks-ami#1383: the name is empty at first, for a node's script and for the authenticator.
#[tokio::test(flavor = "multi_thread")]
async fn the_private_dns_name_appears_late() {
    let fakes = Fakes::start(|world| world.instance.network.named_after_seconds = 3_600.0);
    let aws = AwsClients::of(&fakes).await;
    let name = [
        "ec2",
        "describe-instances",
        "--query",
        "Reservations[0].Instances[0].PrivateDnsName",
    ];
    assert_eq!(json_of(&aws.cli(&name).await), json!(""));
    let id = "i-0b22a22eec53b9321".parse().unwrap();
    assert_eq!(fakes.server.sts().private_dns_name(&id).as_deref(), Some(""));
    fakes.end().await;
    let fakes = Fakes::start(|world| world.instance.network.named_after_requests = 2);
    let aws = AwsClients::of(&fakes).await;
    let expected = ["", "", "ip-192-168-40-16.eu-west-1.compute.internal"];
    for expected in expected {
        assert_eq!(fakes.server.sts().private_dns_name(&id).as_deref(), Some(""));
        assert_eq!(json_of(&aws.cli(&name).await), json!(expected));
    }
    let named = fakes.server.sts().private_dns_name(&id);
    assert_eq!(named.as_deref(), Some(expected[2]));
    fakes.end().await;
    let fakes = Fakes::start(|_| {});
    let named = fakes.server.sts().private_dns_name(&id);
    assert_eq!(
        named.as_deref(),
        Some("ip-192-168-40-16.eu-west-1.compute.internal")
    );
    fakes.end().await;
}
