//! Network interfaces that clients create, attach and change, by boto3 and the AWS CLI: EC2 and metadata agree.

use crate::support::Fakes;
use crate::support::clients::{AwsClients, error, metadata, out, token};
use serde_json::{Value, json};

const OWN: &str = "i-0b22a22eec53b9321";

/// The start of every program: the error of a call that must fail.
const REFUSED: &str = r#"
import boto3, json, botocore.exceptions
ec2 = boto3.client("ec2")
own = "i-0b22a22eec53b9321"
def refused(call, **more):
    try:
        call(**more)
    except botocore.exceptions.ClientError as e:
        return e.response["Error"]["Code"]
def described(id): return ec2.describe_network_interfaces(NetworkInterfaceIds=[id])["NetworkInterfaces"][0]
subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
"#;

async fn results(aws: &AwsClients, program: &str) -> Value {
    serde_json::from_str(&aws.python(&format!("{REFUSED}{program}")).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interface_is_created_attached_changed_and_deleted() {
    let mut fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
made = ec2.create_network_interface(SubnetId=subnet, Description="pods", SecondaryPrivateIpAddressCount=2,
    TagSpecifications=[{"ResourceType": "network-interface", "Tags": [{"Key": "a", "Value": "b"}]}])["NetworkInterface"]
id = made["NetworkInterfaceId"]
before = described(id)
waiting = ec2.describe_network_interfaces(Filters=[{"Name": "status", "Values": ["available"]}])["NetworkInterfaces"]
attachment = ec2.attach_network_interface(NetworkInterfaceId=id, InstanceId=own, DeviceIndex=1)["AttachmentId"]
ec2.modify_network_interface_attribute(NetworkInterfaceId=id, Attachment={"AttachmentId": attachment, "DeleteOnTermination": True})
ec2.modify_network_interface_attribute(NetworkInterfaceId=id, SourceDestCheck={"Value": False})
more = ec2.assign_private_ip_addresses(NetworkInterfaceId=id, SecondaryPrivateIpAddressCount=1)["AssignedPrivateIpAddresses"]
after = described(id)
print(json.dumps({
  "id": id, "mac": made["MacAddress"], "attachment": attachment,
  "before": [before["Status"], "Attachment" in before, before["Description"], before["TagSet"], len(before["PrivateIpAddresses"]), len(waiting)],
  "after": [after["Status"], after["Attachment"]["DeviceIndex"], after["Attachment"]["InstanceId"], after["Attachment"]["DeleteOnTermination"],
            after["SourceDestCheck"], len(after["PrivateIpAddresses"])],
  "more": more[0]["PrivateIpAddress"] == after["PrivateIpAddresses"][3]["PrivateIpAddress"],
  "instance": [i["NetworkInterfaceId"] for i in ec2.describe_instances()["Reservations"][0]["Instances"][0]["NetworkInterfaces"]][1:] == [id],
  "addresses": [a["PrivateIpAddress"] for a in after["PrivateIpAddresses"]],
}))
"#;
    let made = results(&aws, program).await;
    let expected = json!(["available", false, "pods", [{ "Key": "a", "Value": "b" }], 3, 1]);
    assert_eq!(made["before"], expected);
    assert_eq!(made["after"], json!(["in-use", 1, OWN, true, false, 4]));
    assert_eq!((&made["more"], &made["instance"]), (&json!(true), &json!(true)));
    let token = token(&fakes).await;
    let mac = made["mac"].as_str().unwrap();
    let of = format!("/latest/meta-data/network/interfaces/macs/{mac}");
    let read = async |name: &str| metadata(&fakes, &token, &format!("{of}/{name}")).await.text();
    assert_eq!(read("device-number").await, "1");
    assert_eq!(read("interface-id").await, made["id"].as_str().unwrap());
    let addresses: Vec<&str> = made["addresses"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(read("local-ipv4s").await.lines().collect::<Vec<_>>(), addresses);
    let id = made["id"].as_str().unwrap();
    let delete = ["ec2", "delete-network-interface", "--network-interface-id", id];
    let in_use = error(&aws.cli(&delete).await);
    assert!(
        in_use.contains(&format!(
            "(InvalidParameterValue) when calling the DeleteNetworkInterface operation: \
        Network interface '{id}' is currently in use."
        )),
        "{in_use}"
    );
    let attachment = made["attachment"].as_str().unwrap();
    out(&aws
        .cli(&["ec2", "detach-network-interface", "--attachment-id", attachment])
        .await);
    assert_eq!(
        metadata(&fakes, &token, &format!("{of}/device-number"))
            .await
            .status,
        404
    );
    out(&aws.cli(&delete).await);
    let gone = error(&aws.cli(&delete).await);
    assert!(gone.contains("(InvalidNetworkInterfaceID.NotFound)"), "{gone}");
    let calls = fakes.calls();
    let attached = calls
        .iter()
        .find(|call| call.operation == "AttachNetworkInterface")
        .unwrap();
    assert_eq!(attached.subject.as_deref(), Some(id));
    assert!(calls.iter().all(|call| call.known));
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_the_type_and_the_subnet_hold() {
    let fakes =
        Fakes::start(|world| world.role.as_mut().unwrap().deny = vec!["ec2:DeleteNetworkInterface".into()]);
    let aws = AwsClients::of(&fakes).await;
    // A m5.large has three interfaces with ten addresses each.
    let program = r#"
made = [ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"] for _ in range(3)]
ids = [m["NetworkInterfaceId"] for m in made]
def attach(id, **more): return refused(ec2.attach_network_interface, **{**dict(NetworkInterfaceId=id, InstanceId=own), **more})
print(json.dumps({
  "different": [len(set(ids)), len(set(m["MacAddress"] for m in made)), len(set(m["PrivateIpAddress"] for m in made))],
  "attach": [attach(ids[0], DeviceIndex=0), attach(ids[0], DeviceIndex=2), attach(ids[0], DeviceIndex=3), attach(ids[1], DeviceIndex=2),
             attach(ids[1], DeviceIndex=1), attach(ids[2], DeviceIndex=3), attach("eni-0", DeviceIndex=3), attach(ids[2], DeviceIndex=3, InstanceId="i-00000000000000001")],
  "assign": [refused(ec2.assign_private_ip_addresses, NetworkInterfaceId=ids[0], SecondaryPrivateIpAddressCount=n) for n in (9, 1)],
  "address": [refused(ec2.create_network_interface, SubnetId=subnet, PrivateIpAddress=a) for a in ("10.9.9.9", made[0]["PrivateIpAddress"], "192.168.63.9", "x")],
  "other": [refused(ec2.create_network_interface, SubnetId="subnet-0"), refused(ec2.create_network_interface, SubnetId=subnet, Groups=["sg-0"]),
            refused(ec2.detach_network_interface, AttachmentId="eni-attach-0"), refused(ec2.delete_network_interface, NetworkInterfaceId=ids[2]),
            refused(ec2.create_network_interface, SubnetId=subnet, Ipv6AddressCount=1), refused(ec2.create_network_interface, SubnetId=subnet, DryRun=True)],
}))
"#;
    let expected = json!({
        "different": [3, 3, 3],
        "attach": ["InvalidParameterValue", null, "InvalidNetworkInterface.InUse", "InvalidParameterValue", null,
                   "AttachmentLimitExceeded", "InvalidNetworkInterfaceID.NotFound", "InvalidInstanceID.NotFound"],
        "assign": [null, "PrivateIpAddressLimitExceeded"],
        "address": ["InvalidParameterValue", "InvalidIPAddress.InUse", null, "InvalidParameterValue"],
        "other": ["InvalidSubnetID.NotFound", "InvalidGroup.NotFound", "InvalidAttachmentID.NotFound", "UnauthorizedOperation",
                  "NotEmulated", "DryRunOperation"],
    });
    assert_eq!(results(&aws, program).await, expected);
    fakes.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_of_the_instance_are_changed_or_refused_in_the_words_of_ec2() {
    let fakes = Fakes::start(|_| {});
    let aws = AwsClients::of(&fakes).await;
    let program = r#"
def modify(**more): return refused(ec2.modify_instance_attribute, **{**dict(InstanceId=own), **more})
def check(): return ec2.describe_instances()["Reservations"][0]["Instances"][0]["SourceDestCheck"]
before = check()
changed = modify(SourceDestCheck={"Value": False})
print(json.dumps({
  "check": [before, changed, check()],
  "changed": [modify(DisableApiTermination={"Value": True}), modify(Attribute="sourceDestCheck", Value="true"), check()],
  "refused": [modify(InstanceType={"Value": "m5.xlarge"}), modify(UserData={"Value": b"x"}), modify(Attribute="colour", Value="x"), modify(),
              modify(InstanceId="i-00000000000000001", SourceDestCheck={"Value": False}), modify(Groups=["sg-0"])],
}))
"#;
    let expected = json!({
        "check": [true, null, false],
        "changed": [null, null, true],
        "refused": ["IncorrectInstanceState", "IncorrectInstanceState", "InvalidParameterValue", "InvalidParameterCombination",
                    "InvalidInstanceID.NotFound", "InvalidGroup.NotFound"],
    });
    assert_eq!(results(&aws, program).await, expected);
    fakes.end().await;
}
