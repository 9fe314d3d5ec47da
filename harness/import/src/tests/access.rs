//! Access entries and `aws-auth` of a file, and the scenario that they lead to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read};
use crate::{AddedKeys, Machine, adopt};

const NODES: &str = "arn:aws:iam::111122223333:role/nodes";
const OTHER: &str = "arn:aws:iam::111122223333:role/other";

fn resource(kind: &str, name: &str, values: Value) -> Value {
    json!({"address": format!("{kind}.{name}"), "type": kind, "name": name, "values": values})
}

/// A state with a machine of the role `nodes`, a cluster with this authentication mode, and further resources.
fn state(mode: &str, more: Vec<Value>) -> Machine {
    let template = json!({"name": "w", "image_id": "ami-0123456789abcdef0", "user_data": base64(SCRIPT),
        "iam_instance_profile": [{"name": "p"}]});
    let config = json!([{"authentication_mode": mode}]);
    let mut resources = vec![
        resource("aws_launch_template", "w", template),
        resource(
            "aws_iam_instance_profile",
            "p",
            json!({"name": "p", "role": "nodes"}),
        ),
        resource(
            "aws_eks_cluster",
            "c",
            json!({"name": "demo", "access_config": config}),
        ),
    ];
    resources.extend(more);
    let text = json!({"format_version": "1.0", "terraform_version": "1.9.0",
        "values": {"root_module": {"resources": resources}}});
    let mut imported = read(&text.to_string());
    imported.machines.remove(0)
}

fn entry(principal: &str, entry_type: &str) -> Value {
    let values = json!({"cluster_name": "demo", "principal_arn": principal, "type": entry_type,
        "kubernetes_groups": ["system:nodes"], "user_name": "x"});
    resource("aws_eks_access_entry", "e", values)
}

fn aws_auth(rows: &str) -> Value {
    let values = json!({"metadata": [{"name": "aws-auth"}], "data": {"mapRoles": rows}});
    resource("kubernetes_config_map", "a", values)
}

fn row(arn: &str, groups: &str) -> String {
    format!("- rolearn: {arn}\n  username: system:node:{{{{EC2PrivateDNSName}}}}\n  groups: [{groups}]\n")
}

/// The report, and the scenario.
fn shown(machine: &Machine) -> String {
    let trial = adopt(machine, &BTreeMap::new()).unwrap();
    let report: Vec<String> = trial
        .report
        .iter()
        .map(|line| format!("{}: {}\n", line.kind, line.text))
        .collect();
    format!(
        "{}\n{}",
        report.concat(),
        trial.scenario(&[], None, &AddedKeys::default())
    )
}

fn assert_has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "missing: {piece}\n{text}");
    }
}

#[test]
fn an_access_entry_of_another_role_lets_no_node_in() {
    let found = shown(&state("API", vec![entry(OTHER, "EC2_LINUX")]));
    assert_has(
        &found,
        &[
            "note: the authentication mode is API, and the file has no access entry for the role nodes: EKS refuses its nodes",
            "`--with 'cluster: { access_entries: [{ role: nodes, type: EC2_LINUX }] }'`",
            "\n  access_entries:\n    - { role: other, type: EC2_LINUX }\n  aws_auth: []\n",
        ],
    );
}

#[test]
fn an_access_entry_keeps_its_type() {
    let found = shown(&state("API", vec![entry(NODES, "STANDARD")]));
    assert_has(
        &found,
        &[
            "note: the access entry of the role nodes has the type STANDARD",
            "\n    - { role: nodes, type: STANDARD }\n",
        ],
    );
    let right = shown(&state("API", vec![entry(NODES, "EC2_LINUX")]));
    assert_has(
        &right,
        &[
            "adopted: access entry of type EC2_LINUX for the role nodes\n",
            "\n    - { role: nodes, type: EC2_LINUX }\n",
        ],
    );
    assert!(!right.contains("EKS refuses"), "{right}");
}

#[test]
fn a_cluster_without_entries_gets_one_that_is_named() {
    let found = shown(&state("API", Vec::new()));
    assert_has(
        &found,
        &[
            "chosen: an access entry of type EC2_LINUX for the role nodes: the file states none",
            "\n    - { role: nodes, type: EC2_LINUX }\n",
        ],
    );
}

#[test]
fn rows_of_aws_auth_are_those_of_the_file() {
    let of_file = |rows: &str| shown(&state("CONFIG_MAP", vec![aws_auth(rows)]));
    let right = row(NODES, "system:bootstrappers, system:nodes");
    let found = of_file(&right);
    assert_has(
        &found,
        &[
            "adopted: row of aws-auth for the role nodes\n",
            "- { role: nodes, username: \"system:node:{{EC2PrivateDNSName}}\", groups: [\"system:bootstrappers\", \"system:nodes\"] }\n",
        ],
    );
    assert!(!found.contains("note: the row of aws-auth"), "{found}");
    let without_group = of_file(&row(NODES, "system:bootstrappers"));
    assert_has(
        &without_group,
        &[
            "note: the row of aws-auth for the role nodes lacks the group system:nodes",
            "groups: [\"system:bootstrappers\"] }\n",
        ],
    );
    let with_path = of_file(&right.replace("role/nodes", "role/eks/nodes"));
    assert_has(
        &with_path,
        &[
            "write arn:aws:iam::111122223333:role/nodes\n",
            "- { role: eks/nodes, username:",
        ],
    );
    let other_user = of_file(&right.replace("system:node:{{EC2PrivateDNSName}}", "nodes"));
    assert_has(&other_user, &["has the user name `nodes`", "username: nodes,"]);
    let other = of_file(&right.replace("role/nodes", "role/other"));
    assert_has(
        &other,
        &["note: the aws-auth of the file has no row for the role nodes: EKS refuses its nodes"],
    );
}

#[test]
fn a_role_whose_access_the_file_does_not_state_is_mapped_as_before() {
    let group = |role: &str| {
        let values = json!({"cluster_name": "demo", "node_group_name": "ng", "node_role_arn": role});
        resource("aws_eks_node_group", "ng", values)
    };
    let unknown = resource(
        "aws_eks_access_entry",
        "u",
        json!({"cluster_name": "demo", "type": "EC2_LINUX"}),
    );
    let second = resource("aws_eks_cluster", "d", json!({"name": "other"}));
    let of_second = |mut entry: Value| {
        entry["values"]["cluster_name"] = "other".into();
        entry
    };
    for (mode, more) in [
        // A controller or another file can add a row.
        ("API_AND_CONFIG_MAP", vec![entry(OTHER, "EC2_LINUX")]),
        ("CONFIG_MAP", Vec::new()),
        // An entry whose role is known after apply.
        ("API", vec![entry(OTHER, "STANDARD"), unknown]),
        // EKS lets the role of a managed node group in by itself.
        ("API", vec![entry(OTHER, "STANDARD"), group(NODES)]),
        ("API", vec![entry(OTHER, "STANDARD"), group("")]),
        // Rows of one of two clusters.
        (
            "CONFIG_MAP",
            vec![aws_auth(&row(OTHER, "system:nodes")), second.clone()],
        ),
        ("API", vec![of_second(entry(OTHER, "EC2_LINUX")), second]),
    ] {
        let found = shown(&state(mode, more));
        assert!(!found.contains("EKS refuses its nodes"), "{mode} {found}");
        assert!(!found.contains("role: other"), "{mode} {found}");
    }
}

#[test]
fn keys_of_the_command_line_replace_the_access_of_the_file() {
    let mut node = state("API", vec![entry(OTHER, "EC2_LINUX")]);
    let keys = "cluster: { access_entries: [{ role: nodes, type: EC2_LINUX }] }";
    AddedKeys::read(keys).unwrap().unwrap().adopt_into(&mut node);
    assert!(!shown(&node).contains("EKS refuses"));
}

#[test]
fn a_template_of_cloudformation_states_access_entries() {
    let text = |entry: &str| {
        let user_data = SCRIPT.replace('\n', "\\n").replace('\'', "");
        format!(
            "Resources:\n  Cluster:\n    Type: AWS::EKS::Cluster\n    Properties: {{ Name: demo, AccessConfig: {{ AuthenticationMode: API }} }}\n  \
             Role: {{ Type: AWS::IAM::Role }}\n  Other: {{ Type: AWS::IAM::Role }}\n  \
             Profile:\n    Type: AWS::IAM::InstanceProfile\n    Properties: {{ Roles: [!Ref Role] }}\n  \
             Entry:\n    Type: AWS::EKS::AccessEntry\n    Properties: {{ ClusterName: !Ref Cluster, PrincipalArn: {entry} }}\n  \
             LT:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        \
             ImageId: ami-0123456789abcdef0\n        IamInstanceProfile: {{ Arn: !GetAtt Profile.Arn }}\n        \
             UserData: {{ \"Fn::Base64\": \"{user_data}\" }}\n"
        )
    };
    let of = |entry: &str| shown(&machine(&text(entry)));
    assert_has(
        &of("!GetAtt Other.Arn, Type: EC2_LINUX"),
        &[
            "no access entry for the role nodejoin-Role: EKS refuses its nodes",
            "- { role: nodejoin-Other, type: EC2_LINUX }\n",
        ],
    );
    assert_has(
        &of("!GetAtt Role.Arn"),
        &["- { role: nodejoin-Role, type: STANDARD }\n"],
    );
    let right = of("!GetAtt Role.Arn, Type: EC2_LINUX");
    assert_has(
        &right,
        &["adopted: access entry of type EC2_LINUX for the role nodejoin-Role\n"],
    );
    let unknown = of("!ImportValue role, Type: EC2_LINUX");
    assert!(!unknown.contains("EKS refuses"), "{unknown}");
}

#[test]
fn a_stack_of_pulumi_states_access_entries() {
    let resource = |kind: &str, name: &str, inputs: Value| json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "id": name, "inputs": inputs});
    let text = json!({"version": 3, "deployment": {"resources": [
        resource("aws:ec2/launchTemplate:LaunchTemplate", "lt", json!({"imageId": "ami-0123456789abcdef0",
            "userData": base64(SCRIPT), "iamInstanceProfile": {"name": "p"}})),
        resource("aws:iam/instanceProfile:InstanceProfile", "p", json!({"name": "p", "role": "nodes"})),
        resource("aws:eks/cluster:Cluster", "c", json!({"name": "demo", "accessConfig": {"authenticationMode": "API"}})),
        resource("aws:eks/accessEntry:AccessEntry", "e", json!({"clusterName": "demo", "principalArn": OTHER, "type": "EC2_LINUX"})),
    ]}});
    assert_has(
        &shown(&machine(&text.to_string())),
        &[
            "no access entry for the role nodes: EKS refuses its nodes",
            "- { role: other, type: EC2_LINUX }\n",
        ],
    );
}

#[test]
fn rows_of_aws_auth_are_read_from_manifests_of_terraform() {
    let manifest = |namespace: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aws-auth", "namespace": namespace},
            "data": {"mapRoles": row(OTHER, "system:nodes")}})
    };
    let applied = |kind: &str, values: Value| shown(&state("CONFIG_MAP", vec![resource(kind, "m", values)]));
    let own = manifest("kube-system");
    // A state as Terraform stores it has the type beside the value.
    let typed = json!({"value": own, "type": ["object", {}]});
    for (kind, values) in [
        ("kubernetes_manifest", json!({"manifest": own})),
        ("kubernetes_manifest", json!({"manifest": typed})),
        ("kubectl_manifest", json!({"yaml_body": own.to_string()})),
    ] {
        let found = applied(kind, values);
        assert_has(
            &found,
            &[
                "note: the aws-auth of the file has no row for the role nodes: EKS refuses its nodes",
                "\n    - { role: other, username:",
            ],
        );
    }
    let elsewhere = applied("kubernetes_manifest", json!({"manifest": manifest("default")}));
    assert!(!elsewhere.contains("EKS refuses"), "{elsewhere}");
}

#[test]
fn rows_of_aws_auth_are_read_from_a_template_of_the_cdk() {
    let of = |arn: Value| {
        let begin = r#"[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"aws-auth","namespace":"kube-system"},"data":{"mapRoles":"[{\"rolearn\":\""#;
        let end = r#"\",\"username\":\"system:node:{{EC2PrivateDNSName}}\",\"groups\":[\"system:nodes\"]}]","mapUsers":"[]"}}]"#;
        let properties =
            json!({"ClusterName": {"Ref": "Cluster"}, "Manifest": {"Fn::Join": ["", [begin, arn, end]]}});
        let data = json!({"ImageId": "ami-0123456789abcdef0", "UserData": base64(SCRIPT),
            "IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}}});
        let text = json!({"Resources": {
            "Cluster": {"Type": "Custom::AWSCDK-EKS-Cluster", "Properties": {"Config": {"name": "demo"}}},
            "Role": {"Type": "AWS::IAM::Role"}, "Other": {"Type": "AWS::IAM::Role"},
            "Profile": {"Type": "AWS::IAM::InstanceProfile", "Properties": {"Roles": [{"Ref": "Role"}]}},
            "Auth": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": properties},
            "LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}}});
        shown(&machine(&text.to_string()))
    };
    let right = of(json!({"Fn::GetAtt": ["Role", "Arn"]}));
    assert_has(
        &right,
        &[
            "adopted: row of aws-auth for the role nodejoin-Role\n",
            "\n    - { role: nodejoin-Role, username:",
        ],
    );
    let other = of(json!({"Fn::GetAtt": ["Other", "Arn"]}));
    assert_has(
        &other,
        &["note: the aws-auth of the file has no row for the role nodejoin-Role: EKS refuses its nodes"],
    );
    let unknown = of(json!({"Fn::ImportValue": "role"}));
    assert!(!unknown.contains("aws-auth"), "{unknown}");
}
