//! Plans and states of Terraform.

mod plans;

use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::{AuthenticationMode, IpFamily};
use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::{AmiFamily, CapacityType, FileFormat, ImportError};

fn resource(address: &str, values: Value) -> Value {
    let plain = match address.strip_suffix(']') {
        Some(indexed) => indexed.rsplit_once('[').unwrap().0,
        None => address,
    };
    let kind = plain.rsplit('.').nth(1).unwrap();
    json!({"address": address, "type": kind, "name": "this", "values": values})
}

fn state(resources: &[Value]) -> String {
    json!({"format_version": "1.0", "terraform_version": "1.9.0", "values": {"root_module": {
        "child_modules": [{"address": "module.eks", "resources": resources}]}}})
    .to_string()
}

fn cluster() -> Value {
    resource(
        "module.eks.aws_eks_cluster.this[0]",
        json!({"name": "demo", "endpoint": "https://X.gr7.eu-west-1.eks.amazonaws.com", "version": "1.33",
            "arn": "arn:aws:eks:eu-west-1:111122223333:cluster/demo",
            "certificate_authority": [{"data": "Q0E="}],
            "kubernetes_network_config": [{"ip_family": "ipv4", "service_ipv4_cidr": "172.20.0.0/16"}],
            "access_config": [{"authentication_mode": "API_AND_CONFIG_MAP"}]}),
    )
}

fn template(name: &str, values: Value) -> Value {
    let mut own = json!({"id": "lt-1", "name": "workers", "user_data": base64(SCRIPT), "image_id": "ami-1"});
    for (key, value) in values.as_object().unwrap() {
        own[key] = value.clone();
    }
    resource(&format!("module.eks.aws_launch_template.{name}"), own)
}

#[test]
fn a_machine_has_the_one_of_several_clusters_that_its_user_data_names() {
    let mut other = cluster();
    other["address"] = "module.eks.aws_eks_cluster.other[0]".into();
    other["values"]["name"] = "shop".into();
    other["values"]["version"] = "1.31".into();
    let of = |resources: &[Value]| machine(&state(resources)).traits.cluster.version;
    let workers = template("this[0]", json!({}));
    assert_eq!(
        of(&[workers.clone(), other.clone(), cluster()]).as_deref(),
        Some("1.33")
    );
    other["values"]["name"] = "demo-2".into();
    let mut unnamed = cluster();
    unnamed["values"]["name"] = "demo-3".into();
    assert_eq!(of(&[workers, other, unnamed]), None);
}

#[test]
fn a_state_states_traits_of_machine_and_cluster() {
    let template = template(
        "this[0]",
        json!({"instance_type": "m5.large",
            "iam_instance_profile": [{"arn": "arn:aws:iam::1:instance-profile/p", "name": ""}],
            "metadata_options": [{"http_tokens": "required", "http_put_response_hop_limit": 1, "http_endpoint": "enabled",
                "instance_metadata_tags": "disabled"}],
            "tag_specifications": [{"resource_type": "instance", "tags": {"a": "b"}}, {"resource_type": "volume", "tags": {"c": "d"}}]}),
    );
    let text = state(&[
        template,
        cluster(),
        resource(
            "module.eks.aws_iam_instance_profile.this[0]",
            json!({"arn": "arn:aws:iam::1:instance-profile/p", "role": "nodes"}),
        ),
        resource(
            "module.eks.aws_iam_role.this[0]",
            json!({"name": "nodes", "arn": "arn:aws:iam::1:role/nodes"}),
        ),
        resource(
            "module.eks.aws_autoscaling_group.this[0]",
            json!({"launch_template": [{"id": "lt-1"}],
            "tag": [{"key": "k", "value": "v", "propagate_at_launch": true}, {"key": "no", "value": "v", "propagate_at_launch": false}]}),
        ),
        resource(
            "module.eks.aws_eks_access_entry.n",
            json!({"type": "EC2_LINUX", "principal_arn": "arn:aws:iam::1:role/nodes"}),
        ),
        resource(
            "module.eks.aws_eks_access_entry.s",
            json!({"type": "STANDARD", "principal_arn": "arn:aws:iam::1:role/admin"}),
        ),
        resource(
            "module.eks.kubernetes_config_map.aws_auth",
            json!({"metadata": [{"name": "aws-auth"}],
            "data": {"mapRoles": "- rolearn: arn:aws:iam::1:role/old\n  groups: [system:bootstrappers, system:nodes]\n"}}),
        ),
    ]);
    assert_eq!(read(&text).format, FileFormat::TerraformState);
    let machine = machine(&text);
    assert_eq!(machine.name, "module.eks.aws_launch_template.this[0]");
    assert_eq!(user_data(&machine), SCRIPT);
    assert_eq!(machine.managed, None);
    let traits = machine.traits;
    assert_eq!(traits.role.as_deref(), Some("arn:aws:iam::1:role/nodes"));
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Required), Some(1))
    );
    assert_eq!(
        (traits.http_endpoint, traits.metadata_tags),
        (Some(true), Some(false))
    );
    assert_eq!(traits.tags.keys().collect::<Vec<_>>(), ["a", "k"]);
    assert_eq!(traits.lost_tags["no"], "v");
    assert_eq!(traits.region.as_deref(), Some("eu-west-1"));
    assert_eq!(traits.instance_type.as_deref(), Some("m5.large"));
    let cluster = traits.cluster;
    assert_eq!(cluster.name.as_deref(), Some("demo"));
    assert_eq!(cluster.dns_ip.as_deref(), Some("172.20.0.10"));
    assert_eq!(cluster.certificate_authority.as_deref(), Some("Q0E="));
    assert_eq!(cluster.ip_family, Some(IpFamily::Ipv4));
    assert_eq!(
        cluster.authentication_mode,
        Some(AuthenticationMode::ApiAndConfigMap)
    );
    assert_eq!(
        cluster.access.node_roles(),
        ["arn:aws:iam::1:role/nodes", "arn:aws:iam::1:role/old"]
    );
}

#[test]
fn a_node_group_states_labels_and_what_eks_adds() {
    let group = json!({"cluster_name": "demo", "node_group_name": "ng", "labels": {"team": "web"},
        "taint": [{"key": "a", "value": null, "effect": "NO_SCHEDULE"}], "ami_type": "AL2023_x86_64_STANDARD",
        "capacity_type": "SPOT", "instance_types": ["t3.medium"], "node_role_arn": "arn:aws:iam::1:role/ng",
        "launch_template": [{"id": "lt-1", "version": "1"}]});
    let text = state(&[
        cluster(),
        template("this[0]", json!({"image_id": "", "user_data": ""})),
        resource("module.eks.aws_eks_node_group.this[0]", group),
    ]);
    let machine = machine(&text);
    assert_eq!(machine.user_data, None);
    assert_eq!(machine.traits.ami_family, Some(AmiFamily::Al2023));
    assert_eq!(machine.traits.instance_type.as_deref(), Some("t3.medium"));
    assert_eq!(machine.traits.taints[0].to_string(), "a=:NoSchedule");
    let managed = machine.managed.unwrap();
    assert_eq!(
        (managed.name.as_deref(), managed.capacity_type),
        (Some("ng"), Some(CapacityType::Spot))
    );
    assert_eq!(managed.labels["team"], "web");
}

#[test]
fn a_template_of_two_groups_is_two_machines_and_a_group_alone_is_one() {
    let group = |name: &str, template: Value| {
        resource(
            &format!("module.eks.aws_eks_node_group.{name}"),
            json!({"cluster_name": "demo", "node_group_name": name, "launch_template": template}),
        )
    };
    let with_template = |name| group(name, json!([{"name": "workers"}]));
    let imported = read(&state(&[
        template("t", json!({})),
        with_template("a"),
        with_template("b"),
        group("c", json!([])),
    ]));
    let names: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["a", "b", "c"].map(|name| format!("module.eks.aws_eks_node_group.{name}"))
    );
    assert_eq!(imported.machines[0].managed, None, "the template names an AMI");
    assert!(imported.machines[2].managed.is_some());
}

fn plan(values: Value, unknown: Value) -> String {
    json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": [resource("aws_launch_template.w", values)]}},
        "resource_changes": [{"address": "aws_launch_template.w", "change": {"after_unknown": unknown}}]})
    .to_string()
}

#[test]
fn what_a_plan_does_not_know_is_said() {
    assert_eq!(
        read(&plan(json!({"user_data": base64(SCRIPT)}), json!({}))).format,
        FileFormat::TerraformPlan
    );
    insta::assert_snapshot!(refused(
        "plan.json",
        &plan(json!({"image_id": "ami-1"}), json!({"user_data": true}))
    ));
}

#[test]
fn labels_of_a_group_with_an_ami_come_after_the_join() {
    let group = resource(
        "module.eks.aws_eks_node_group.g",
        json!({"cluster_name": "demo", "node_group_name": "g", "ami_type": "CUSTOM", "labels": {"team": "core"},
            "taint": [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}], "launch_template": [{"id": "lt-1"}]}),
    );
    let traits = machine(&state(&[template("this", json!({})), cluster(), group])).traits;
    assert!(traits.labels.is_empty() && traits.taints.is_empty());
    assert_eq!(traits.later_labels["team"], "core");
    assert_eq!(traits.later_taints[0].to_string(), "a=b:NoSchedule");
}

#[test]
fn a_template_whose_ami_is_unknown_is_not_bootstrapped_by_eks() {
    let text = plan(json!({"user_data": base64(SCRIPT)}), json!({"image_id": true}));
    assert_eq!(machine(&text).managed, None);
    let text = plan(json!({"user_data": base64(SCRIPT)}), json!({}));
    assert!(machine(&text).managed.is_some());
}

#[test]
fn changes_alone_are_a_plan() {
    let values = serde_json::json!({"user_data": base64(SCRIPT), "image_id": "ami-1"});
    let text = serde_json::json!({"format_version": "1.2", "resource_changes": [
        {"address": "aws_launch_template.w", "type": "aws_launch_template", "change": {"actions": ["create"], "after": values}},
        {"address": "aws_launch_template.gone", "type": "aws_launch_template", "change": {"actions": ["delete"], "after": null}}]});
    assert_eq!(user_data(&machine(&text.to_string())), SCRIPT);
}

#[test]
fn a_hash_of_user_data_is_said() {
    let hash = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    let both = state(&[
        resource("aws_launch_configuration.old", json!({"user_data": hash})),
        resource(
            "aws_launch_configuration.new",
            json!({"user_data_base64": base64(SCRIPT), "name": "new", "image_id": "ami-1"}),
        ),
    ]);
    let imported = read(&both);
    assert_eq!(user_data(&imported.machines[0]), SCRIPT);
    assert_eq!(imported.unread[0].name, "aws_launch_configuration.old");
    insta::assert_snapshot!(refused(
        "s.json",
        &state(&[resource(
            "aws_launch_configuration.old",
            json!({"user_data": hash})
        )])
    ));
}

#[test]
fn user_data_that_the_provider_leaves_encoded_is_decoded_once() {
    let values = json!({"user_data": base64(SCRIPT), "ami": "ami-1", "image_id": "ami-1"});
    let imported = read(&state(&[
        resource("aws_instance.i", values.clone()),
        resource("aws_launch_configuration.c", values.clone()),
        resource(
            "aws_launch_template.t",
            json!({"user_data": base64(&base64(SCRIPT))}),
        ),
    ]));
    let texts: Vec<_> = imported.machines.iter().map(user_data).collect();
    let once = base64(SCRIPT);
    assert_eq!(texts, [once.as_str(), SCRIPT, SCRIPT], "{imported:?}");
}

#[test]
fn the_first_type_of_mixed_instances_goes_before_the_type_of_the_template() {
    let group = resource(
        "module.eks.aws_autoscaling_group.g",
        json!({"mixed_instances_policy": [{"launch_template": [{
            "launch_template_specification": [{"launch_template_id": "lt-1"}],
            "override": [{"instance_requirements": [{}]}, {"instance_type": "c6i.large"}, {"instance_type": "c5.large"}]}]}]}),
    );
    let template = template("t", json!({"instance_type": "m5.large"}));
    let found = machine(&state(&[template.clone(), group.clone()]));
    assert_eq!(found.traits.instance_type.as_deref(), Some("c6i.large"));
    assert!(!found.traits.is_spot);
    let mut spot = group;
    spot["values"]["mixed_instances_policy"][0]["instances_distribution"] =
        json!([{"on_demand_base_capacity": 0, "on_demand_percentage_above_base_capacity": 0}]);
    assert!(machine(&state(&[template, spot])).traits.is_spot);
}

#[test]
fn the_account_of_an_instance_profile_is_kept_beside_the_name_of_its_role() {
    let profile = "arn:aws:iam::111122223333:instance-profile/p";
    let template = template("t", json!({"iam_instance_profile": [{"arn": profile}]}));
    let profile = resource(
        "aws_iam_instance_profile.p",
        json!({"arn": profile, "role": "nodes"}),
    );
    let traits = machine(&state(&[template, profile])).traits;
    assert_eq!(
        (traits.role.as_deref(), traits.account.as_deref()),
        (Some("nodes"), Some("111122223333"))
    );
}

#[test]
fn instances_that_are_not_nodes_are_left_out() {
    let text = state(&[
        resource("aws_instance.node", json!({"ami": "ami-1", "user_data": SCRIPT})),
        resource(
            "aws_instance.tagged",
            json!({"tags": {"kubernetes.io/cluster/demo": "owned"}}),
        ),
        resource(
            "aws_instance.bastion",
            json!({"user_data": "#!/bin/bash\nyum update\n"}),
        ),
    ]);
    let imported = read(&text);
    let names: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(names, ["aws_instance.node", "aws_instance.tagged"]);
    assert_eq!(imported.machines[0].traits.ami_id.as_deref(), Some("ami-1"));
    assert!(matches!(imported.unread[0].error, ImportError::OutOfScope { .. }));
}

#[test]
fn a_plan_knows_whether_an_instance_sets_user_data() {
    let with = |expressions: Value| {
        json!({"format_version": "1.2",
            "planned_values": {"root_module": {"child_modules": [{"resources": [
                resource("module.m[\"a\"].aws_instance.n[0]", json!({"tags": {"kubernetes.io/cluster/demo": "owned"}}))]}]}},
            "resource_changes": [{"address": "module.m[\"a\"].aws_instance.n[0]", "change": {"after_unknown": {"user_data": true}}}],
            "configuration": {"root_module": {"module_calls": {"m": {"module": {"resources": [
                {"address": "aws_instance.n", "expressions": expressions}]}}}}}})
        .to_string()
    };
    assert_eq!(machine(&with(json!({}))).user_data, None);
    let error = refused("p", &with(json!({"user_data": {}})));
    assert!(error.contains("unknown until apply"), "{error}");
}

#[test]
fn a_raw_state_has_addresses_as_terraform_prints_them() {
    let text = json!({"version": 4, "terraform_version": "1.9.0", "lineage": "x", "resources": [
        {"module": "module.eks", "mode": "managed", "type": "aws_launch_template", "name": "w",
            "instances": [{"index_key": 0, "attributes": {"user_data": base64(SCRIPT)}}, {"index_key": "a", "attributes": {"user_data": base64(SCRIPT)}}]},
        {"mode": "data", "type": "aws_eks_cluster", "name": "c", "instances": [{"attributes": {"name": "demo"}}]}]})
    .to_string();
    let imported = read(&text);
    let names: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "module.eks.aws_launch_template.w[0]",
            "module.eks.aws_launch_template.w[\"a\"]"
        ]
    );
    assert_eq!(imported.machines[0].traits.cluster.name.as_deref(), Some("demo"));
}

#[test]
fn rendered_texts_count_if_there_is_no_machine() {
    let rendered = resource(
        "data.cloudinit_config.this[0]",
        json!({"rendered": base64(SCRIPT)}),
    );
    let other = resource(
        "local_file.kubeconfig",
        json!({"content": "apiVersion: v1\nkind: Config\n"}),
    );
    let plan = json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": [other]}},
        "prior_state": {"values": {"root_module": {"resources": [rendered.clone(), resource("aws_launch_template.gone", json!({}))]}}}});
    let machine = machine(&plan.to_string());
    assert_eq!(
        (machine.name.as_str(), user_data(&machine).as_str()),
        ("data.cloudinit_config.this[0]", SCRIPT)
    );
    let both = read(&state(&[rendered, template("t", json!({}))]));
    assert_eq!(both.machines.len(), 1);
}

#[test]
fn a_file_without_machines_is_refused() {
    insta::assert_snapshot!(refused("s.json", &state(&[cluster()])));
    let auto = resource(
        "aws_eks_cluster.c",
        json!({"compute_config": [{"enabled": true}]}),
    );
    assert!(refused("s.json", &state(&[auto])).contains("EKS Auto Mode is out of scope"));
}
