//! Stacks and previews of Pulumi.

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::{AmiFamily, FileFormat};

fn resource(kind: &str, name: &str, inputs: Value) -> Value {
    json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "inputs": inputs, "outputs": {"id": name, "arn": "arn:aws:ec2:eu-west-1:111122223333:x/y"}})
}

fn stack(resources: &[Value]) -> String {
    json!({"version": 3, "deployment": {"resources": resources}}).to_string()
}

const TEMPLATE: &str = "aws:ec2/launchTemplate:LaunchTemplate";
const CONFIGURATION: &str = "aws:ec2/launchConfiguration:LaunchConfiguration";
const GROUP: &str = "aws:eks/nodeGroup:NodeGroup";

#[test]
fn templates_and_configurations_are_read() {
    let text = stack(&[
        resource(
            TEMPLATE,
            "lt",
            json!({"userData": base64(SCRIPT), "imageId": "ami-1", "metadataOptions": {"httpPutResponseHopLimit": 2},
            "tagSpecifications": [{"resourceType": "instance", "tags": {"a": "b"}}]}),
        ),
        resource(
            CONFIGURATION,
            "lc",
            json!({"userData": SCRIPT, "imageId": "ami-1", "iamInstanceProfile": "p"}),
        ),
        resource(
            "aws:ec2/instance:Instance",
            "bastion",
            json!({"userData": "#!/bin/sh\n"}),
        ),
    ]);
    let imported = read(&text);
    assert_eq!(imported.format, FileFormat::Pulumi);
    let [template, configuration] = &imported.machines[..] else {
        panic!("{imported:?}");
    };
    assert_eq!(
        (template.name.as_str(), user_data(template).as_str()),
        ("lt", SCRIPT)
    );
    assert_eq!(
        (template.traits.hop_limit, template.traits.tags.len()),
        (Some(2), 1)
    );
    assert_eq!(template.traits.region.as_deref(), Some("eu-west-1"));
    assert_eq!(user_data(configuration), SCRIPT);
    assert_eq!(configuration.traits.instance_profile.as_deref(), Some("p"));
    assert_eq!(imported.unread[0].name, "bastion");
}

#[test]
fn user_data_that_is_encoded_twice_is_to_be_encoded_once() {
    let twice = base64(&base64(SCRIPT));
    let found = machine(&stack(&[resource(
        TEMPLATE,
        "lt",
        json!({"userData": twice, "imageId": "ami-1"}),
    )]));
    let note = found.notes.iter().find(|note| note.contains("encode it once"));
    assert!(note.is_some(), "{:?}", found.notes);
    let trial = crate::adopt(&found, &std::collections::BTreeMap::new()).unwrap();
    let mut lines = trial.report.iter();
    assert!(!lines.any(|line| line.text.contains("nothing in this user data starts a kubelet")));
}

#[test]
fn node_groups_state_labels_and_what_eks_adds() {
    let text = stack(&[
        resource(TEMPLATE, "lt", json!({})),
        resource(
            GROUP,
            "ng",
            json!({"launchTemplate": {"id": "lt"}, "labels": {"a": "b"}, "amiType": "AL2023_ARM_64_STANDARD", "clusterName": "demo",
            "taints": [{"key": "k", "effect": "NO_SCHEDULE"}], "instanceTypes": ["m6g.large"]}),
        ),
    ]);
    let machine = machine(&text);
    assert_eq!(machine.name, "lt");
    assert_eq!(machine.traits.ami_family, Some(AmiFamily::Al2023));
    assert_eq!(machine.traits.cluster.name.as_deref(), Some("demo"));
    assert_eq!(machine.managed.unwrap().labels["a"], "b");
    let alone = read(&stack(&[resource(GROUP, "ng", json!({}))]));
    assert!(alone.machines[0].managed.is_some());
}

#[test]
fn unknown_values_and_secrets_are_said() {
    let preview = json!({"steps": [
        {"op": "delete", "urn": "u", "newState": resource(TEMPLATE, "gone", json!({"userData": base64(SCRIPT)}))},
        {"op": "create", "urn": "u", "newState": resource(TEMPLATE, "lt", json!({"userData": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}))}]});
    insta::assert_snapshot!(refused("preview.json", &preview.to_string()));
    let secret =
        json!({"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"});
    insta::assert_snapshot!(refused(
        "stack.json",
        &stack(&[resource(TEMPLATE, "lt", json!({"userData": secret}))])
    ));
    assert!(refused("stack.json", &stack(&[])).contains("no resource of it starts machines"));
}
