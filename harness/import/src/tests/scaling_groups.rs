//! Auto Scaling groups: which of them share a machine, and those whose launch configuration is elsewhere.

use serde_json::{Value, json};

use super::{SCRIPT, base64, read, refused};

const TEMPLATE: &str = "aws:ec2/launchTemplate:LaunchTemplate";
const CONFIGURATION: &str = "aws:ec2/launchConfiguration:LaunchConfiguration";
const SCALING: &str = "aws:autoscaling/group:Group";

/// A resource of Terraform.
fn resource(address: &str, values: Value) -> Value {
    let kind = address.rsplit('.').nth(1).unwrap();
    json!({"address": address, "type": kind, "name": "this", "values": values})
}

/// A plan without a configuration.
fn plan(resources: &[Value]) -> String {
    json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}}}).to_string()
}

/// A group of Terraform that gives its instances a tag with its name.
fn scaling(name: &str, values: Value) -> Value {
    let mut own = json!({"tag": [{"key": "group", "value": name, "propagate_at_launch": true}]});
    for (key, value) in values.as_object().unwrap() {
        own[key] = value.clone();
    }
    resource(&format!("aws_autoscaling_group.{name}"), own)
}

/// A resource of Pulumi, whose id is its name.
fn pulumi(kind: &str, name: &str, inputs: Value) -> Value {
    json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "inputs": inputs, "outputs": {"id": name}})
}

fn stack(resources: &[Value]) -> String {
    json!({"version": 3, "deployment": {"resources": resources}}).to_string()
}

#[test]
fn groups_of_one_template_with_tags_that_matter_are_machines_of_their_own() {
    let reading = "#!/bin/bash\nGROUP=$(aws ec2 describe-tags --filters Name=key,Values=group)\n/etc/eks/bootstrap.sh demo\n";
    let names = |user_data: &str, more: Vec<Value>| {
        let own = json!({"id": "lt-1", "name": "w", "image_id": "ami-1", "user_data": base64(user_data)});
        let mut resources = vec![resource("aws_launch_template.a", own)];
        resources.extend(more);
        let machines = read(&plan(&resources)).machines.into_iter();
        machines
            .map(|machine| (machine.name, machine.traits.tags.get("group").cloned()))
            .collect::<Vec<_>>()
    };
    let of_template = |name: &str| scaling(name, json!({"launch_template": [{"id": "lt-1"}]}));
    let of_cluster = |name: &str, cluster: &str| {
        let tag = json!({"key": format!("kubernetes.io/cluster/{cluster}"), "value": "owned", "propagate_at_launch": true});
        let reference = json!([{"id": "lt-1"}]);
        resource(
            &format!("aws_autoscaling_group.{name}"),
            json!({"launch_template": reference, "tag": [tag]}),
        )
    };
    let own = |name: &str| (format!("aws_autoscaling_group.{name}"), Some(name.to_owned()));
    let both = || vec![of_template("x"), of_template("y")];
    assert_eq!(names(reading, both()), [own("x"), own("y")]);
    // Nothing reads the tags.
    let together = ("aws_launch_template.a".to_owned(), Some("y".to_owned()));
    assert_eq!(names(SCRIPT, both()), [together]);
    let clusters = vec![
        of_cluster("x", "demo"),
        of_cluster("y", "other"),
        of_cluster("z", "demo"),
    ];
    let of = |name: &str| (name.to_owned(), None);
    assert_eq!(
        names(SCRIPT, clusters),
        [of("aws_autoscaling_group.x"), of("aws_autoscaling_group.y")]
    );
    let managed = resource(
        "aws_eks_node_group.n",
        json!({"cluster_name": "demo", "launch_template": [{"id": "lt-1"}]}),
    );
    assert_eq!(
        names(SCRIPT, vec![managed, of_template("x")]),
        [of("aws_eks_node_group.n"), own("x")]
    );
    let configuration = resource(
        "aws_launch_configuration.c",
        json!({"user_data": reading, "image_id": "ami-1", "name": "c"}),
    );
    let of_configuration = |name: &str| scaling(name, json!({"launch_configuration": "c"}));
    let found = read(&plan(&[
        configuration,
        of_configuration("x"),
        of_configuration("y"),
    ]));
    let found: Vec<_> = found
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(found, ["aws_autoscaling_group.x", "aws_autoscaling_group.y"]);
}

#[test]
fn groups_of_pulumi_for_several_clusters_are_machines_of_their_own() {
    let group = |name: &str, cluster: &str| {
        let tag = json!({"key": format!("kubernetes.io/cluster/{cluster}"), "value": "owned", "propagateAtLaunch": true});
        pulumi(
            SCALING,
            name,
            json!({"launchTemplate": {"id": "lt"}, "tags": [tag]}),
        )
    };
    let names = |other: &str| {
        let template = json!({"userData": base64(SCRIPT), "imageId": "ami-1"});
        let found = read(&stack(&[
            pulumi(TEMPLATE, "lt", template),
            group("a", "demo"),
            group("b", other),
        ]));
        let machines = found.machines.into_iter();
        machines.map(|machine| machine.name).collect::<Vec<_>>()
    };
    assert_eq!(names("other"), ["a", "b"]);
    assert_eq!(names("demo"), ["lt"]);
}

#[test]
fn groups_of_one_launch_configuration_for_several_clusters_are_machines_of_their_own() {
    let group = |cluster: &str| {
        let tag = json!({"Key": format!("kubernetes.io/cluster/{cluster}"), "Value": "owned", "PropagateAtLaunch": true});
        json!({"Type": "AWS::AutoScaling::AutoScalingGroup",
            "Properties": {"LaunchConfigurationName": {"Ref": "LC"}, "Tags": [tag]}})
    };
    let names_with = |other: &str| {
        let properties = json!({"ImageId": "ami-0123456789abcdef0", "UserData": base64(SCRIPT)});
        let text = json!({"Resources": {
            "LC": {"Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": properties},
            "A": group("demo"), "B": group(other)}});
        let machines = read(&text.to_string()).machines.into_iter();
        machines.map(|machine| machine.name).collect::<Vec<_>>()
    };
    assert_eq!(names_with("other"), ["LC/A", "LC/B"]);
    assert_eq!(names_with("demo"), ["LC"]);
}

#[test]
fn a_group_whose_launch_configuration_is_not_in_the_file_is_named() {
    let configuration = resource(
        "aws_launch_configuration.c",
        json!({"user_data": SCRIPT, "image_id": "ami-1", "name": "own"}),
    );
    let of = |name: &str| scaling(name, json!({"launch_configuration": name}));
    let read_by_data = json!({"address": "data.aws_autoscaling_group.y", "type": "aws_autoscaling_group", "name": "y",
        "values": {"launch_configuration": "old"}});
    let found = read(&plan(&[configuration, of("own"), of("old"), read_by_data]));
    let [unread] = &found.unread[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        unread.error.to_string(),
        "line 1: the user data of Auto Scaling group `aws_autoscaling_group.old` is in launch configuration `old`"
    );
    assert!(
        unread.error.hint().ends_with("--launch-configuration-names old`"),
        "{}",
        unread.error.hint()
    );
    let unknown = scaling("x", json!({"launch_template": [{"version": "$Latest"}]}));
    let text = plan(&[unknown]);
    let error = refused("plan.json", &text);
    assert!(
        error.contains("is in a launch template that is unknown until apply"),
        "{error}"
    );
}

#[test]
fn a_group_whose_launch_configuration_is_not_in_the_stack_is_named() {
    let configuration = json!({"userData": SCRIPT, "imageId": "ami-1", "name": "own"});
    let group = |name: &str| pulumi(SCALING, name, json!({"launchConfiguration": name}));
    let mut unknown = group("04da6b54-80e4-46f7-96ec-b56ff0331ba9");
    let urn = format!("urn:pulumi:dev::p::{CONFIGURATION}::lc");
    unknown["propertyDependencies"] = json!({"launchConfiguration": [urn]});
    let found = read(&stack(&[
        pulumi(CONFIGURATION, "lc", configuration),
        group("own"),
        group("old"),
        unknown,
    ]));
    let [unread] = &found.unread[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        unread.error.to_string(),
        "line 1: the user data of Auto Scaling group `old` is in launch configuration `old`"
    );
}
