//! `nodejoin aws` with several instances in one account.

use std::net::TcpListener;

use crate::support::account::{RunningAccount, nodejoin};
use crate::support::both;
use serde_json::Value;
use tempfile::tempdir;

const FIRST: &str = "i-0b22a22eec53b9321";
const SECOND: &str = "i-0b22a22eec53b9322";
const INSTANCES: &str = "\
cluster: { name: demo }
user_data: 'instance {{ instance.id }}'
aws:
  addresses: [{ public_ip: 203.0.113.7, allocation_id: eipalloc-1 }]
  autoscaling: { group: workers }
  stacks: [{ name: nodes, status: CREATE_IN_PROGRESS, waits_for: { Group: 2 } }]
instances:
  - { id: i-0b22a22eec53b9321, role: demo-role, private_ip: 192.168.40.16, metadata: { instance_tags: true }, tags: { name: one } }
  - { id: i-0b22a22eec53b9322, private_ip: 192.168.40.17, type: c5.large, metadata: { instance_tags: true }, tags: { name: two } }
  - {}
";

/// Status and body of a path of one instance's metadata service.
fn metadata(served: &RunningAccount, address: &str, path: &str) -> (u16, String) {
    let url = format!("http://{address}/latest/api/token");
    let ttl = "X-aws-ec2-metadata-token-ttl-seconds: 60";
    let put = ["--request", "PUT", "--header", ttl, &url];
    let (status, token) = served.curl(&put);
    assert_eq!(status, 200, "{token}");
    let header = format!("X-aws-ec2-metadata-token: {token}");
    served.curl(&["--header", &header, &format!("http://{address}/latest/{path}")])
}

fn value(served: &RunningAccount, address: &str, path: &str) -> String {
    let (status, body) = metadata(served, address, path);
    assert_eq!(status, 200, "{path}: {body}");
    body
}

#[test]
fn each_instance_has_a_metadata_service_of_its_own() {
    let served = RunningAccount::of(INSTANCES);
    let addresses = served.metadata_addresses();
    assert_eq!(addresses.len(), 3);
    for (address, id, ip, instance_type, tag) in [
        (&addresses[0], FIRST, "192.168.40.16", "m5.large", "one"),
        (&addresses[1], SECOND, "192.168.40.17", "c5.large", "two"),
    ] {
        let value = |path: &str| value(&served, address, path);
        assert_eq!(value("meta-data/instance-id"), id);
        assert_eq!(value("meta-data/local-ipv4"), ip);
        assert_eq!(value("meta-data/instance-type"), instance_type);
        assert_eq!(value("meta-data/tags/instance/name"), tag);
        assert_eq!(value("user-data"), format!("instance {id}"));
        let document: Value = serde_json::from_str(&value("dynamic/instance-identity/document")).unwrap();
        assert_eq!(
            (&document["instanceId"], &document["privateIp"]),
            (&id.into(), &ip.into())
        );
    }
    let macs: Vec<String> = addresses
        .iter()
        .map(|address| value(&served, address, "meta-data/mac"))
        .collect();
    assert!(macs[0] != macs[1] && macs[1] != macs[2], "{macs:?}");
    // A token belongs to one instance.
    let (_, token) = served.curl(&[
        "--request",
        "PUT",
        "--header",
        "X-aws-ec2-metadata-token-ttl-seconds: 60",
        &format!("http://{}/latest/api/token", addresses[0]),
    ]);
    let header = format!("X-aws-ec2-metadata-token: {token}");
    let url = format!("http://{}/latest/meta-data/instance-id", addresses[1]);
    assert_eq!(served.curl(&["--header", &header, &url]).0, 401);
}

#[test]
fn the_credentials_of_a_request_select_the_instance_and_all_are_in_one_account() {
    let served = RunningAccount::of(INSTANCES);
    let as_instance = |index: usize, command: &str| served.cli_as(index, command);
    for (index, id) in [(0, FIRST), (1, SECOND)] {
        let arn = as_instance(index, "aws sts get-caller-identity --query Arn --output text");
        assert_eq!(
            arn,
            format!("arn:aws:sts::111122223333:assumed-role/demo-role/{id}")
        );
        let query = "--query 'sort(Reservations[].Instances[].InstanceId)' --output json";
        let all = as_instance(index, &format!("aws ec2 describe-instances {query}"));
        let all: Vec<String> = serde_json::from_str(&all).unwrap();
        assert!(
            all.len() == 3 && all.contains(&FIRST.to_owned()) && all.contains(&SECOND.to_owned()),
            "{all:?}"
        );
    }
    // A change by one instance shows for the others, and in the metadata of the one that it concerns.
    as_instance(
        0,
        &format!("aws ec2 create-tags --resources {SECOND} --tags Key=by,Value=first"),
    );
    let by = "--filters Name=key,Values=by --query 'Tags[].[ResourceId,Value]' --output text";
    assert_eq!(
        as_instance(1, &format!("aws ec2 describe-tags {by}")),
        format!("{SECOND}\tfirst")
    );
    assert_eq!(
        value(
            &served,
            &served.metadata_addresses()[1],
            "meta-data/tags/instance/by"
        ),
        "first"
    );
    as_instance(0, "aws logs create-log-group --log-group-name shared");
    let groups = "aws logs describe-log-groups --query 'logGroups[].logGroupName' --output text";
    assert_eq!(as_instance(1, groups), "shared");
    // The stack waits for one signal of each.
    let status = "aws cloudformation describe-stacks --query 'Stacks[0].StackStatus' --output text";
    for (index, id, after) in [(0, FIRST, "CREATE_IN_PROGRESS"), (1, SECOND, "CREATE_COMPLETE")] {
        let signal = format!(
            "aws cloudformation signal-resource --stack-name nodes --logical-resource-id Group --unique-id {id} --status SUCCESS"
        );
        as_instance(index, &signal);
        assert_eq!(as_instance(0, status), after);
    }
    let members = "aws autoscaling describe-auto-scaling-instances --query 'length(AutoScalingInstances)'";
    assert_eq!(as_instance(1, members), "3");
    let health = "--query 'AutoScalingInstances[?HealthStatus==`UNHEALTHY`].InstanceId' --output text";
    as_instance(
        1,
        &format!("aws autoscaling set-instance-health --instance-id {SECOND} --health-status Unhealthy"),
    );
    assert_eq!(
        as_instance(
            0,
            &format!("aws autoscaling describe-auto-scaling-instances {health}")
        ),
        SECOND
    );
    // An image registry accepts the password of any instance of the account.
    let password = as_instance(1, "aws ecr get-login-password");
    let login = format!("AWS:{password}");
    let url = format!("https://127.0.0.1:{}/v2/", served.port(1));
    assert_eq!(served.curl(&["--user", &login, &url]).0, 200);
}

#[test]
fn an_elastic_address_moves_between_instances_on_request_only() {
    let served = RunningAccount::of(INSTANCES);
    let associate =
        |id: &str| format!("aws ec2 associate-address --allocation-id eipalloc-1 --instance-id {id}");
    let owner = "aws ec2 describe-addresses --query 'Addresses[0].InstanceId' --output text";
    served.cli_as(0, &associate(FIRST));
    assert_eq!(served.cli_as(1, owner), FIRST);
    let refused = served.failing_cli_as(1, &associate(SECOND));
    assert!(refused.contains("(Resource.AlreadyAssociated)"), "{refused}");
    served.cli_as(1, &format!("{} --allow-reassociation", associate(SECOND)));
    assert_eq!(served.cli_as(0, owner), SECOND);
    let addresses = served.metadata_addresses();
    assert_eq!(metadata(&served, &addresses[0], "meta-data/public-ipv4").0, 404);
    assert_eq!(
        value(&served, &addresses[1], "meta-data/public-ipv4"),
        "203.0.113.7"
    );
}

#[test]
fn cfn_signal_without_credentials_comes_from_the_instance_of_its_document() {
    let text = INSTANCES
        .replace("role: demo-role", "role: null")
        .replace("Group: 2", "Group: 1");
    let served = RunningAccount::of(&text);
    let address = served.metadata_addresses()[1].clone();
    let document = value(&served, &address, "dynamic/instance-identity/document");
    let signature = value(&served, &address, "dynamic/instance-identity/signature").replace('\n', "");
    let proof = served.shell(&format!("printf %s '{document}' | base64 -w0"));
    let authorization = format!("Authorization: CFN_V1 {proof}:{signature}");
    let query =
        "Action=SignalResource&Version=2010-05-15&ContentType=JSON&StackName=nodes&LogicalResourceId=Group";
    let url =
        format!("https://cloudformation.eu-west-1.amazonaws.com/?{query}&UniqueId={SECOND}&Status=SUCCESS");
    let to = format!("::127.0.0.1:{}", served.port(1));
    let (status, body) = served.curl(&["--connect-to", &to, "--header", &authorization, &url]);
    assert_eq!(status, 200, "{body}");
    // The same signature does not prove another document.
    let forged = authorization.replace(
        &proof,
        &served.shell("printf %s '{\"instanceId\":\"i-0b22a22eec53b9321\"}' | base64 -w0"),
    );
    assert_eq!(
        served.curl(&["--connect-to", &to, "--header", &forged, &url]).0,
        403
    );
}

#[test]
fn a_count_serves_that_number_of_instances_of_an_account_or_a_scenario() {
    let account = "cluster: { name: demo }\ncount: 3\n";
    let scenario = "name: x\nuser_data: '#!/bin/sh'\ncount: 3\nexpect: { phase: registered }\n";
    for text in [account, scenario] {
        let served = RunningAccount::of(text);
        let ids: Vec<String> = served
            .metadata_addresses()
            .iter()
            .map(|address| value(&served, address, "meta-data/instance-id"))
            .collect();
        assert_eq!(ids.len(), 3);
        let query = "--query 'Reservations[].Instances[].[InstanceId,PrivateIpAddress]' --output text";
        let listed = served.cli_as(2, &format!("aws ec2 describe-instances {query}"));
        assert!(ids.iter().all(|id| listed.contains(id)), "{listed}");
        let ips: std::collections::BTreeSet<&str> = listed
            .lines()
            .filter_map(|line| line.split('\t').nth(1))
            .collect();
        assert_eq!(ips.len(), 3, "{listed}");
    }
}

#[test]
fn settings_change_all_instances_or_one() {
    let served = RunningAccount::of(INSTANCES);
    let addresses = served.metadata_addresses();
    let unauthorized = |index: usize| {
        let url = format!("http://{}/latest/meta-data/instance-id", addresses[index]);
        served.curl(&[&url]).0 == 401
    };
    assert_eq!(
        served.set(&["--instance", SECOND, "tokens", "optional"]),
        "tokens: required -> optional"
    );
    assert!(unauthorized(0) && !unauthorized(1) && unauthorized(2));
    let all = served.set(&["tokens", "optional"]);
    let expected = [
        format!("{FIRST} tokens: required -> optional"),
        format!("{SECOND} tokens: optional, as before"),
    ];
    assert!(all.starts_with(&expected.join("\n")), "{all}");
    assert!(!unauthorized(0) && !unauthorized(2));
    served.set(&["cluster-status", "CREATING"]);
    let status = "aws eks describe-cluster --name demo --query cluster.status --output text";
    assert_eq!(
        (served.cli_as(0, status), served.cli_as(1, status)),
        ("CREATING".into(), "CREATING".into())
    );
    served.set(&["default"]);
    assert!(unauthorized(0) && unauthorized(1));
    for (arguments, words) in [
        (
            ["--instance", "i-0b22a22eec53b9399", "tokens", "optional"],
            "the account has no instance",
        ),
        (
            ["--instance", SECOND, "cluster-status", "CREATING"],
            "omit `--instance`",
        ),
        // Only a spot instance has notices; no instance changes.
        (
            ["--instance", SECOND, "spot-notice", "stop"],
            "only a spot instance",
        ),
    ] {
        let mut command = nodejoin(&[&["aws", "set"], &arguments[..]].concat());
        let output = command.current_dir(served.home()).output().unwrap();
        let said = both(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn invalid_instances_are_rejected() {
    let table = [
        ("instances: []\n", "the list has no instance"),
        (
            "instances: [{}]\ncount: 2\n",
            "`count` cannot be combined with `instances`",
        ),
        (
            "instances: [{}]\ninstance: {}\n",
            "`instance` cannot be combined with `instances`",
        ),
        ("count: 0\n", "invalid number of nodes: 0"),
        ("count: 101\n", "invalid number of nodes: 101"),
        (
            "count: 2\ninstance: { id: i-0b22a22eec53b9321 }\n",
            "2 instances cannot share one value",
        ),
        (
            "instances:\n- { id: i-0b22a22eec53b9321 }\n- { id: i-0b22a22eec53b9321 }\n",
            "account.yaml:3:9: `instances[1].id`: `i-0b22a22eec53b9321` is also the `id` of `instances[0]`",
        ),
        (
            "instances: [{ private_ip: 192.168.40.16 }, { private_ip: 192.168.40.16 }]\n",
            "`192.168.40.16` is also the `private_ip` of `instances[0]`",
        ),
        (
            "instances: [{ private_ip: 192.168.40.16 }, { private_ip: 10.0.0.16 }]\n",
            "`instances[1].private_ip`: 10.0.0.16 is outside of the subnet",
        ),
        (
            "instances: [{ mac: x }]\n",
            "`instances[0].mac`: invalid MAC address `x`",
        ),
        (
            "instances: [{}, { mac: x }]\n",
            "`instances[1].mac`: invalid MAC address `x`",
        ),
        (
            "instances: [{}, { role: other }]\n",
            "the instances of an account share `role`",
        ),
        (
            "instances: [{}, { id: i-0b22a22eec53b9321 }]\naws: { instances: [{ id: i-0b22a22eec53b9321, private_ip: 192.168.1.9 }] }\n",
            "is also in `aws.instances`",
        ),
    ];
    let home = tempdir().unwrap();
    let path = home.path().join("account.yaml");
    for (text, words) in table {
        std::fs::write(&path, text).unwrap();
        let output = nodejoin(&["aws", path.to_str().unwrap()]).output().unwrap();
        let said = both(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn a_metadata_port_of_a_further_instance_that_is_in_use_is_named() {
    // The port after a free one: the first instance gets the free one, and the second the one in use.
    let (free, used) = loop {
        let used = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = used.local_addr().unwrap().port();
        if TcpListener::bind(("127.0.0.1", port - 1)).is_ok() {
            break (port - 1, used);
        }
    };
    let home = tempdir().unwrap();
    let path = home.path().join("account.yaml");
    std::fs::write(&path, "count: 2\n").unwrap();
    let run = |metadata: &str| {
        let arguments = [
            "aws",
            path.to_str().unwrap(),
            "--metadata",
            metadata,
            "--services",
            "127.0.0.1:0",
        ];
        let output = nodejoin(&arguments).current_dir(home.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", both(&output));
        both(&output)
    };
    let said = run(&format!("127.0.0.1:{free}"));
    let used = used.local_addr().unwrap();
    assert!(
        said.contains(&format!(
            "cannot bind the metadata port of the fake AWS to {used}"
        )),
        "{said}"
    );
    assert!(
        said.contains(&format!("another program uses port {}", used.port())),
        "{said}"
    );
    let said = run("127.0.0.1:65535");
    assert!(said.contains("ports end at 65535"), "{said}");
}
