//! Stacks and previews of Pulumi.

use nodejoin_core::plan::aws::{AuthenticationMode, IpFamily};
use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::{AmiFamily, ClusterTraits, FileFormat};

fn resource(kind: &str, name: &str, inputs: Value) -> Value {
    json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "inputs": inputs, "outputs": {"id": name, "arn": "arn:aws:ec2:eu-west-1:111122223333:x/y"}})
}

fn stack(resources: &[Value]) -> String {
    json!({"version": 3, "deployment": {"resources": resources}}).to_string()
}

const TEMPLATE: &str = "aws:ec2/launchTemplate:LaunchTemplate";
const CONFIGURATION: &str = "aws:ec2/launchConfiguration:LaunchConfiguration";
const GROUP: &str = "aws:eks/nodeGroup:NodeGroup";
const SCALING: &str = "aws:autoscaling/group:Group";
const INSTANCE: &str = "aws:ec2/instance:Instance";
const PROFILE: &str = "aws:iam/instanceProfile:InstanceProfile";
const PROVIDER: &str = "pulumi:providers:aws";
/// In place of a value that is known after the update only.
const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

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
        resource(INSTANCE, "bastion", json!({"userData": "#!/bin/sh\n"})),
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
        {"op": "create", "urn": "u", "newState": resource(TEMPLATE, "lt", json!({"userData": UNKNOWN}))}]});
    insta::assert_snapshot!(refused("preview.json", &preview.to_string()));
    let secret =
        json!({"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"});
    insta::assert_snapshot!(refused(
        "stack.json",
        &stack(&[resource(TEMPLATE, "lt", json!({"userData": secret}))])
    ));
    assert!(refused("stack.json", &stack(&[])).contains("no resource of it starts machines"));
}

/// A resource of a preview, whose outputs are not known yet.
fn planned(kind: &str, name: &str, inputs: Value, dependencies: Value) -> Value {
    let urn = format!("urn:pulumi:dev::p::{kind}::{name}");
    let state = json!({"urn": urn, "type": kind, "inputs": inputs, "propertyDependencies": dependencies});
    json!({"op": "create", "urn": urn, "newState": state})
}

fn preview(steps: &[Value]) -> String {
    json!({"config": {"aws:region": "ca-central-1"}, "steps": steps}).to_string()
}

#[test]
fn a_secret_that_the_export_shows_is_read() {
    let shown = json!({"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "plaintext": json!(base64(SCRIPT)).to_string()});
    let text = stack(&[resource(
        TEMPLATE,
        "lt",
        json!({"userData": shown, "imageId": "ami-1"}),
    )]);
    assert_eq!(user_data(&machine(&text)), SCRIPT);
}

#[test]
fn user_data_that_the_provider_leaves_encoded_is_decoded_once() {
    let values = json!({"userData": base64(SCRIPT), "imageId": "ami-1"});
    let imported = read(&stack(&[
        resource(CONFIGURATION, "lc", values.clone()),
        resource(INSTANCE, "node", values),
    ]));
    let texts: Vec<_> = imported.machines.iter().map(user_data).collect();
    assert_eq!(texts, [SCRIPT, SCRIPT]);
}

#[test]
fn the_region_is_that_of_the_provider_or_of_the_configuration() {
    let configuration = json!({"userData": SCRIPT, "imageId": "ami-1"});
    let region = |steps: &[Value]| machine(&preview(steps)).traits.region.unwrap();
    let node = planned(CONFIGURATION, "lc", configuration, json!({}));
    assert_eq!(region(std::slice::from_ref(&node)), "ca-central-1");
    let provider = |name: &str, region: &str| planned(PROVIDER, name, json!({"region": region}), json!({}));
    let (own, default) = (
        provider("own", "eu-north-1"),
        provider("default_6_0_0", "eu-south-1"),
    );
    assert_eq!(
        region(&[own.clone(), default.clone(), node.clone()]),
        "eu-south-1"
    );
    let mut named = node;
    named["newState"]["provider"] = json!("urn:pulumi:dev::p::pulumi:providers:aws::own::id");
    assert_eq!(region(&[own, default, named]), "eu-north-1");
}

#[test]
fn the_cluster_of_a_stack_is_that_of_its_machines() {
    let cluster = |name: &str| {
        json!({"urn": format!("urn:pulumi:dev::p::c::{name}"), "type": "aws:eks/cluster:Cluster",
            "inputs": {"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.77.0.0/16"},
                "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}},
            "outputs": {"name": name, "version": "1.33", "endpoint": "https://X.gr7.eu-west-1.eks.amazonaws.com",
                "arn": "arn:aws:eks:eu-west-1:444455556666:cluster/c", "certificateAuthority": {"data": "Q0E="},
                "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": "10.77.0.0/16"}}})
    };
    let entry = |kind: &str, role: &str| {
        resource(
            "aws:eks/accessEntry:AccessEntry",
            role,
            json!({"type": kind, "principalArn": role}),
        )
    };
    let map = resource(
        "kubernetes:core/v1:ConfigMap",
        "auth",
        json!({"metadata": {"name": "aws-auth"}, "data": {"mapRoles": "- rolearn: old\n  groups: [system:nodes]\n"}}),
    );
    let group = resource(GROUP, "ng", json!({"clusterName": "demo"}));
    let text = stack(&[
        cluster("other"),
        cluster("demo"),
        entry("EC2_LINUX", "nodes"),
        entry("STANDARD", "admin"),
        map,
        group,
    ]);
    let found = machine(&text).traits.cluster;
    assert_eq!(found.name.as_deref(), Some("demo"));
    assert_eq!(
        found.endpoint.as_deref(),
        Some("https://X.gr7.eu-west-1.eks.amazonaws.com")
    );
    assert_eq!(
        (found.certificate_authority.as_deref(), found.version.as_deref()),
        (Some("Q0E="), Some("1.33"))
    );
    assert_eq!(
        (found.service_cidr.as_deref(), found.dns_ip.as_deref()),
        (Some("10.77.0.0/16"), Some("10.77.0.10"))
    );
    assert_eq!(found.ip_family, Some(IpFamily::Ipv4));
    assert_eq!(
        found.authentication_mode,
        Some(AuthenticationMode::ApiAndConfigMap)
    );
    assert_eq!(found.access.node_roles(), ["nodes", "old"]);
    let template = resource(
        TEMPLATE,
        "lt",
        json!({"userData": base64(SCRIPT), "imageId": "ami-1"}),
    );
    let alone = machine(&stack(&[cluster("only"), template.clone()]));
    assert_eq!(alone.traits.cluster.name.as_deref(), Some("only"));
    let several = machine(&stack(&[cluster("one"), cluster("two"), template]));
    assert_eq!(several.traits.cluster, ClusterTraits::default());
}

#[test]
fn an_auto_scaling_group_gives_tags_and_the_instance_profile_a_role() {
    let profile = "arn:aws:iam::111122223333:instance-profile/p";
    let template = json!({"userData": base64(SCRIPT), "instanceType": "m5.large", "iamInstanceProfile": {"arn": profile},
        "tagSpecifications": [{"resourceType": "instance", "tags": {"a": "b"}}]});
    let group = json!({"mixedInstancesPolicy": {"launchTemplate": {
            "launchTemplateSpecification": {"launchTemplateId": "lt"}, "overrides": [{"instanceType": "c6i.large"}]},
            "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0}},
        "tags": [{"key": "k", "value": "v", "propagateAtLaunch": true}, {"key": "no", "value": "v", "propagateAtLaunch": false}]});
    let mut owner = resource(PROFILE, "p", json!({"role": "nodes"}));
    owner["outputs"]["arn"] = json!(profile);
    let mut text = vec![
        json!({"urn": "u::lt", "type": TEMPLATE, "inputs": template, "outputs": {"id": "lt"}}),
        resource(SCALING, "asg", group),
        owner,
    ];
    let found = machine(&stack(&text));
    assert_eq!(
        found.managed, None,
        "EKS adds nothing to a group of EC2 Auto Scaling"
    );
    let traits = found.traits;
    assert_eq!(traits.tags.keys().collect::<Vec<_>>(), ["a", "k"]);
    assert!(traits.is_spot);
    assert_eq!(traits.instance_type.as_deref(), Some("c6i.large"));
    assert_eq!(
        (traits.role.as_deref(), traits.instance_profile),
        (Some("nodes"), None)
    );
    assert_eq!(traits.account.as_deref(), Some("111122223333"));
    let mut role = resource("aws:iam/role:Role", "nodes", json!({}));
    role["outputs"] = json!({"name": "nodes", "arn": "arn:aws:iam::111122223333:role/nodes"});
    text.push(role);
    assert_eq!(
        machine(&stack(&text)).traits.role.as_deref(),
        Some("arn:aws:iam::111122223333:role/nodes")
    );
    let configuration = json!({"userData": SCRIPT, "imageId": "ami-1", "name": "lc"});
    let tags = json!([{"key": "k", "value": "v", "propagateAtLaunch": true}]);
    let found = machine(&stack(&[
        resource(CONFIGURATION, "lc", configuration),
        resource(SCALING, "asg", json!({"launchConfiguration": "lc", "tags": tags})),
        resource(
            SCALING,
            "other",
            json!({"launchConfiguration": "other", "tags": [{"key": "no", "propagateAtLaunch": true}]}),
        ),
    ]));
    assert_eq!(found.traits.tags.keys().collect::<Vec<_>>(), ["k"]);
}

#[test]
fn a_preview_names_templates_and_profiles_by_dependencies() {
    let template = |name: &str, image: &str, more: Value, dependencies: Value| {
        let mut inputs = json!({"userData": base64(SCRIPT), "imageId": image});
        inputs
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        planned(TEMPLATE, name, inputs, dependencies)
    };
    let group = |name: &str, template: &str| {
        planned(
            GROUP,
            name,
            json!({"clusterName": UNKNOWN, "nodeGroupName": name, "labels": {"group": name}, "launchTemplate": {"id": UNKNOWN}}),
            json!({"launchTemplate": [format!("urn:pulumi:dev::p::{TEMPLATE}::{template}")]}),
        )
    };
    let scaling = planned(
        SCALING,
        "asg",
        json!({"launchTemplate": {"id": UNKNOWN}, "tags": [{"key": "k", "value": "v", "propagateAtLaunch": true}]}),
        json!({"launchTemplate": [format!("urn:pulumi:dev::p::{TEMPLATE}::c")]}),
    );
    let profile = planned(PROFILE, "p-c", json!({"role": "nodes"}), json!({}));
    let imported = read(&preview(&[
        template("a", "ami-1", json!({}), json!({})),
        template("b", UNKNOWN, json!({}), json!({})),
        template(
            "c",
            "ami-1",
            json!({"iamInstanceProfile": {"arn": UNKNOWN}}),
            json!({"iamInstanceProfile": [format!("urn:pulumi:dev::p::{PROFILE}::p-c")]}),
        ),
        group("x", "a"),
        group("y", "b"),
        scaling,
        profile,
    ]));
    let [a, b, c] = &imported.machines[..] else {
        panic!("{imported:?}");
    };
    assert_eq!(a.traits.later_labels["group"], "x");
    assert_eq!(
        b.traits.later_labels["group"], "y",
        "the AMI is known after the update"
    );
    assert_eq!((&a.managed, &b.managed), (&None, &None));
    assert_eq!(c.traits.tags["k"], "v");
    assert_eq!(c.traits.role.as_deref(), Some("nodes"));
}

#[test]
fn a_parameter_of_ssm_names_an_ami() {
    let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.29/amazon-linux-2023/arm64/standard/recommended/image_id";
    let values = json!({"userData": base64(SCRIPT), "imageId": image});
    let traits = machine(&stack(&[resource(TEMPLATE, "lt", values.clone())])).traits;
    assert_eq!(traits.image_version.as_deref(), Some("1.29"));
    assert_eq!(traits.ami_family, Some(AmiFamily::Al2023));
    assert_eq!(traits.ami_id.as_deref(), Some("ami-0123456789abcdef0"));
    assert_eq!(traits.instance_type.as_deref(), Some("m6g.large"));
    let group = |inputs: Value| resource(GROUP, "ng", inputs);
    for resources in [
        vec![group(json!({"amiType": "AL2023_ARM_64_STANDARD"}))],
        vec![
            resource(TEMPLATE, "lt", values),
            group(json!({"launchTemplate": {"id": "lt"}})),
        ],
    ] {
        let traits = machine(&stack(&resources)).traits;
        assert_eq!(traits.instance_type.as_deref(), Some("m6g.large"));
        assert!(traits.stand_ins.contains_key("instance type m6g.large"));
    }
}
