//! EC2's volumes, network, zones and addresses through the AWS CLI and boto3: they agree with the metadata service.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, json_of, metadata, out, token};
use nodejoin_core::plan::VolumePlan;
use nodejoin_core::plan::aws::AwsPlan;
use nodejoin_core::plan::ec2::{InstanceState, OtherInstance};
use serde_json::{Value, json};

const OWN: &str = "i-0b22a22eec53b9321";

#[tokio::test(flavor = "multi_thread")]
async fn the_network_is_the_one_of_the_metadata_service() {
    let fakes = Fakes::start(|world| {
        world.aws = serde_json::from_value::<AwsPlan>(json!({
            "tags": { "subnet": { "kubernetes.io/role/internal-elb": "1" }, "vpc": { "Name": "demo" } },
        }))
        .unwrap();
    });
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
import boto3, json
ec2 = boto3.client("ec2")
vpc, = ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": ["demo"]}])["Vpcs"]
subnet, = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])["Subnets"]
group, = ec2.describe_security_groups(GroupNames=["default"])["SecurityGroups"]
zones = ec2.describe_availability_zones(Filters=[{"Name": "region-name", "Values": ["eu-west-1"]}])["AvailabilityZones"]
there = boto3.client("ec2", region_name="us-east-1")
print(json.dumps({
  "vpc": [vpc["VpcId"], vpc["CidrBlock"], [a["CidrBlock"] for a in vpc["CidrBlockAssociationSet"]], vpc["Tags"], vpc["State"]],
  "subnet": [subnet["SubnetId"], subnet["VpcId"], subnet["CidrBlock"], subnet["AvailabilityZone"], subnet["AvailableIpAddressCount"],
             subnet["Tags"][0]["Key"], subnet["SubnetArn"]],
  "group": [group["GroupId"], group["GroupName"], group["VpcId"], group["IpPermissions"][0]["UserIdGroupPairs"][0]["GroupId"],
            group["IpPermissionsEgress"][0]["IpRanges"][0]["CidrIp"]],
  "zones": [[z["ZoneName"], z["ZoneId"], z["State"]] for z in zones],
  "there": [there.describe_subnets()["Subnets"], there.describe_vpcs()["Vpcs"],
            [z["ZoneName"] for z in there.describe_availability_zones(ZoneIds=["use1-az2"])["AvailabilityZones"]]],
  "paged": [len(p["Subnets"]) for p in ec2.get_paginator("describe_subnets").paginate(PaginationConfig={"PageSize": 5})],
}))
"#;
    let results: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let (vpc, subnet) = ("vpc-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60718");
    let group = "sg-0a1b2c3d4e5f60718";
    let expected = json!({
        "vpc": [vpc, "192.168.0.0/16", ["192.168.0.0/16", "100.64.0.0/16"], [{ "Key": "Name", "Value": "demo" }], "available"],
        "subnet": [subnet, vpc, "192.168.32.0/19", "eu-west-1a", 8_192 - 5 - 1, "kubernetes.io/role/internal-elb",
                   format!("arn:aws:ec2:eu-west-1:111122223333:subnet/{subnet}")],
        "group": [group, "default", vpc, group, "0.0.0.0/0"],
        "zones": [["eu-west-1a", "euw1-az1", "available"], ["eu-west-1b", "euw1-az2", "available"],
                  ["eu-west-1c", "euw1-az3", "available"]],
        "there": [[], [], ["us-east-1b"]],
        "paged": [1],
    });
    assert_eq!(results, expected);
    let token = token(&fakes).await;
    let of_interface = "/latest/meta-data/network/interfaces/macs/0a:00:00:00:00:01";
    for (name, value) in [
        ("vpc-id", vpc),
        ("subnet-id", subnet),
        ("security-group-ids", group),
    ] {
        let found = metadata(&fakes, &token, &format!("{of_interface}/{name}")).await;
        assert_eq!(found.text(), value);
    }
    fakes.end().await;
}

/// The requests of scripts that tag, resize or wait for the root volume.
#[tokio::test(flavor = "multi_thread")]
async fn each_instance_has_a_root_volume_that_can_be_tagged() {
    let mut fakes = Fakes::start(|world| {
        world.aws.instances = vec![OtherInstance {
            id: "i-00000000000000008".into(),
            private_ip: [192, 168, 40, 28].into(),
            state: InstanceState::Terminated,
            region: None,
            tags: [].into(),
        }];
    });
    let aws = AwsClients::of(&fakes).await;
    let filters = [
        format!("Name=attachment.instance-id,Values={OWN}"),
        "Name=attachment.device,Values=/dev/xvda".to_owned(),
    ];
    let volumes = ["ec2", "describe-volumes", "--filters", &filters[0], &filters[1]];
    let found = json_of(&aws.cli(&volumes).await);
    let volume = &found["Volumes"][0];
    assert_eq!(
        json!([
            volume["State"],
            volume["VolumeType"],
            volume["Attachments"][0]["InstanceId"]
        ]),
        json!(["in-use", "gp3", OWN])
    );
    let id = volume["VolumeId"].as_str().unwrap();
    let mapped = [
        "ec2",
        "describe-instances",
        "--instance-ids",
        OWN,
        "--query",
        "Reservations[0].Instances[0].BlockDeviceMappings[?DeviceName=='/dev/xvda'].Ebs.VolumeId",
    ];
    assert_eq!(json_of(&aws.cli(&mapped).await), json!([id]));
    let tag = [
        "ec2",
        "create-tags",
        "--tags",
        "Key=Name,Value=root",
        "--resources",
        id,
    ];
    out(&aws.cli(&tag).await);
    let tagged = [
        "ec2",
        "describe-volumes",
        "--filters",
        "Name=tag:Name,Values=root",
    ];
    assert_eq!(
        json_of(&aws.cli(&tagged).await)["Volumes"][0]["VolumeId"],
        json!(id)
    );
    let tags = [
        "ec2",
        "describe-tags",
        "--filters",
        "Name=resource-type,Values=volume",
    ];
    let expected = json!([{ "Key": "Name", "ResourceId": id, "ResourceType": "volume", "Value": "root" }]);
    assert_eq!(json_of(&aws.cli(&tags).await)["Tags"], expected);
    // The volume of a terminated instance is deleted.
    let all = ["ec2", "describe-volumes", "--query", "length(Volumes)"];
    assert_eq!(json_of(&aws.cli(&all).await), json!(1));
    let calls = fakes.calls();
    assert!(calls.iter().all(|call| call.known), "{calls:?}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_has_the_volumes_of_its_block_device_mapping() {
    let fakes = Fakes::start(|world| {
        world.instance.volumes = vec![VolumePlan {
            device: "/dev/sdb".to_owned(),
            gib: 100,
        }];
    });
    let aws = AwsClients::of(&fakes).await;
    let filters = format!("Name=attachment.instance-id,Values={OWN}");
    let attached = "Name=attachment.device,Values=/dev/sdb";
    let describe = ["ec2", "describe-volumes", "--filters", &filters, attached];
    let volumes = json_of(&aws.cli(&describe).await)["Volumes"].clone();
    assert_eq!(volumes.as_array().unwrap().len(), 1, "{volumes}");
    assert_eq!(
        (&volumes[0]["Size"], &volumes[0]["SnapshotId"]),
        (&json!(100), &json!(""))
    );
    let mapping = [
        "ec2",
        "describe-instances",
        "--instance-ids",
        OWN,
        "--query",
        "Reservations[0].Instances[0].BlockDeviceMappings[].[DeviceName,Ebs.VolumeId]",
    ];
    let mapping = json_of(&aws.cli(&mapping).await);
    assert_eq!(mapping[1], json!(["/dev/sdb", volumes[0]["VolumeId"]]));
    let path = "/latest/meta-data/block-device-mapping/ebs1";
    assert_eq!(
        metadata(&fakes, &token(&fakes).await, path).await.text(),
        "/dev/sdb"
    );
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_elastic_ip_address_is_associated_with_the_instance() {
    let fakes = Fakes::start(|world| {
        world.aws = serde_json::from_value::<AwsPlan>(json!({
            "addresses": [{ "public_ip": "3.4.5.6", "allocation_id": "eipalloc-01" }, { "public_ip": "3.4.5.7" }],
            "tags": { "eipalloc-01": { "pool": "nodes" } },
        }))
        .unwrap();
    });
    let aws = AwsClients::of(&fakes).await;
    let describe = [
        "ec2",
        "describe-addresses",
        "--filters",
        "Name=tag:pool,Values=nodes",
    ];
    let free = json_of(&aws.cli(&describe).await);
    assert_eq!(
        json!([
            free["Addresses"][0]["PublicIp"],
            free["Addresses"][0]["AssociationId"]
        ]),
        json!(["3.4.5.6", null])
    );
    let associate = [
        "ec2",
        "associate-address",
        "--allocation-id",
        "eipalloc-01",
        "--instance-id",
        OWN,
    ];
    let association = json_of(&aws.cli(&associate).await)["AssociationId"].clone();
    let used = json_of(&aws.cli(&describe).await)["Addresses"][0].clone();
    assert_eq!(
        (&used["AssociationId"], &used["InstanceId"]),
        (&association, &json!(OWN))
    );
    let public = metadata(&fakes, &token(&fakes).await, "/latest/meta-data/public-ipv4").await;
    assert_eq!(public.text(), "3.4.5.6");
    let all = ["ec2", "describe-addresses", "--query", "length(Addresses)"];
    assert_eq!(json_of(&aws.cli(&all).await), json!(2));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_resources_are_refused_in_the_words_of_ec2() {
    let mut fakes = Fakes::start(|world| world.role.as_mut().unwrap().deny = vec!["ec2:DescribeVpcs".into()]);
    let aws = AwsClients::of(&fakes).await;
    for (arguments, expected) in [
        (
            "describe-volumes --volume-ids vol-0",
            "(InvalidVolume.NotFound) when calling the DescribeVolumes operation: The volume 'vol-0' does not exist.",
        ),
        (
            "describe-subnets --subnet-ids subnet-0",
            "(InvalidSubnetID.NotFound)",
        ),
        (
            "describe-security-groups --group-ids sg-0",
            "(InvalidGroup.NotFound)",
        ),
        (
            "describe-security-groups --group-names x",
            "(InvalidGroup.NotFound)",
        ),
        ("describe-vpcs", "(UnauthorizedOperation)"),
        (
            "describe-availability-zones --zone-names eu-west-1x",
            "(InvalidParameterValue) when calling the DescribeAvailabilityZones operation: Invalid availability zone: [eu-west-1x]",
        ),
        (
            "describe-addresses --allocation-ids eipalloc-0",
            "(InvalidAllocationID.NotFound)",
        ),
        (
            "describe-addresses --public-ips 1.2.3.4",
            "Address '1.2.3.4' not found.",
        ),
        (
            "describe-volumes --filters Name=colour,Values=red",
            "The filter 'colour' is invalid",
        ),
        ("describe-instances --dry-run", "(DryRunOperation)"),
        ("describe-vpcs --dry-run", "(UnauthorizedOperation)"),
        (
            "create-tags --resources vol-0 --tags Key=a,Value=b",
            "(InvalidID)",
        ),
    ] {
        let words: Vec<&str> = ["ec2"].into_iter().chain(arguments.split(' ')).collect();
        let output = error(&aws.cli(&words).await);
        assert!(output.contains(expected), "{arguments}: {output}");
    }
    assert!(fakes.calls().iter().all(|call| call.known));
    let volumes = ["ec2", "describe-volumes", "--include-managed-resources"];
    let output = error(&aws.cli(&volumes).await);
    assert!(
        output.contains("does not emulate the parameter IncludeManagedResources of DescribeVolumes"),
        "{output}"
    );
    let calls = fakes.calls();
    assert!(!calls.last().unwrap().known, "the verdict reports it: {calls:?}");
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instance_types_are_filtered() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let types = [
        "ec2",
        "describe-instance-types",
        "--filters",
        "Name=instance-type,Values=m6g.*",
        "Name=processor-info.supported-architecture,Values=arm64",
        "Name=vcpu-info.default-vcpus,Values=2",
        "--query",
        "InstanceTypes[].InstanceType",
    ];
    assert_eq!(json_of(&aws.cli(&types).await), json!(["m6g.large"]));
    fakes.end().await;
}

/// `aws ec2 wait instance-status-ok` of a script that waits for its own instance.
#[tokio::test(flavor = "multi_thread")]
async fn the_checks_of_running_instances_have_passed() {
    let fakes = Fakes::start(|world| {
        let other = |id: &str, last, state| OtherInstance {
            id: id.into(),
            private_ip: [192, 168, 40, last].into(),
            state,
            region: None,
            tags: [].into(),
        };
        world.aws.instances = vec![
            other("i-00000000000000008", 28, InstanceState::Stopped),
            other("i-00000000000000009", 29, InstanceState::Pending),
        ];
    });
    let aws = AwsClients::of(&fakes).await;
    out(&aws
        .cli(&["ec2", "wait", "instance-status-ok", "--instance-ids", OWN])
        .await);
    let program = r#"
import boto3, json
ec2 = boto3.client("ec2")
def states(**arguments):
    found = ec2.describe_instance_status(**arguments)["InstanceStatuses"]
    return [[s["InstanceId"][-1], s["InstanceState"]["Name"], s["InstanceStatus"]["Status"], s["SystemStatus"]["Status"],
             s["AvailabilityZone"], s["AvailabilityZoneId"]] for s in found]
print(json.dumps([
    states(), states(IncludeAllInstances=True),
    states(Filters=[{"Name": "instance-status.reachability", "Values": ["initializing"]}], IncludeAllInstances=True),
    states(Filters=[{"Name": "event.code", "Values": ["*"]}]),
]))
"#;
    let found: Value = serde_json::from_str(&aws.python(program).await).unwrap();
    let (zone, zone_id) = ("eu-west-1a", "euw1-az1");
    let own = json!(["1", "running", "ok", "ok", zone, zone_id]);
    let stopped = json!(["8", "stopped", "not-applicable", "not-applicable", zone, zone_id]);
    let pending = json!(["9", "pending", "initializing", "initializing", zone, zone_id]);
    assert_eq!(found, json!([[own], [own, stopped, pending], [pending], []]));
    let wrong = [
        "ec2",
        "describe-instance-status",
        "--filters",
        "Name=nonsense,Values=x",
    ];
    assert!(error(&aws.cli(&wrong).await).contains("The filter 'nonsense' is invalid"));
    let missing = [
        "ec2",
        "describe-instance-status",
        "--instance-ids",
        "i-0123456789abcdef0",
    ];
    assert!(error(&aws.cli(&missing).await).contains("(InvalidInstanceID.NotFound)"));
    fakes.end().await;
}
