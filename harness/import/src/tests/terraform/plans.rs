//! Plans of Terraform with their configuration, which says what unknown values refer to.

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine, read, resource};
use crate::{AmiFamily, Imported};

const REGION: &str = "eu-north-1";

/// A plan with the configuration of its root module.
fn plan(resources: &[Value], root: &Value) -> String {
    json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}},
        "configuration": {"root_module": root}})
    .to_string()
}

fn template(address: &str) -> Value {
    resource(address, json!({"user_data": base64(SCRIPT)}))
}

/// A node group whose label is its name.
fn group(address: &str, name: &str) -> Value {
    resource(
        address,
        json!({"cluster_name": "demo", "labels": {"group": name}, "launch_template": [{}]}),
    )
}

/// The configuration of a resource whose launch template has an id with these references.
fn written(address: &str, references: &[&str]) -> Value {
    json!({"address": address, "expressions": {"launch_template": [{"id": {"references": references}}]}})
}

/// The names of machines, each with the label of its group.
fn groups(imported: &Imported) -> Vec<(&str, &str)> {
    let label = |labels: &std::collections::BTreeMap<String, String>| labels.get("group").cloned();
    imported
        .machines
        .iter()
        .map(|machine| {
            let group = machine.traits.labels.get("group").map_or("", String::as_str);
            assert_eq!(
                machine
                    .managed
                    .as_ref()
                    .and_then(|managed| label(&managed.labels)),
                label(&machine.traits.labels)
            );
            (machine.name.as_str(), group)
        })
        .collect()
}

#[test]
fn a_group_has_the_template_that_its_configuration_names() {
    let root = json!({"resources": [
        written("aws_eks_node_group.x", &["aws_launch_template.b.id", "aws_launch_template.b"]),
        written("aws_eks_node_group.y", &["aws_launch_template.a.id", "aws_launch_template.a"])]});
    let imported = read(&plan(
        &[
            template("aws_launch_template.a"),
            template("aws_launch_template.b"),
            group("aws_eks_node_group.x", "x"),
            group("aws_eks_node_group.y", "y"),
        ],
        &root,
    ));
    assert_eq!(
        groups(&imported),
        [("aws_launch_template.a", "y"), ("aws_launch_template.b", "x")]
    );
    let names = imported
        .machines
        .iter()
        .map(|machine| machine.traits.cluster.name.as_deref());
    assert_eq!(names.collect::<Vec<_>>(), [Some("demo"); 2]);
}

#[test]
fn a_group_with_a_key_has_the_template_with_the_key() {
    let expected = [
        ("aws_launch_template.this[\"a.b\"]", "first"),
        ("aws_launch_template.this[\"c\"]", "second"),
    ];
    let resources = [
        template("aws_launch_template.this[\"a.b\"]"),
        template("aws_launch_template.this[\"c\"]"),
        group("aws_eks_node_group.this[\"a.b\"]", "first"),
        group("aws_eks_node_group.this[\"c\"]", "second"),
    ];
    for own in [
        written(
            "aws_eks_node_group.this",
            &["aws_launch_template.this", "each.key"],
        ),
        json!({"address": "aws_eks_node_group.this", "expressions": {}}),
    ] {
        let imported = read(&plan(&resources, &json!({"resources": [own]})));
        assert_eq!(groups(&imported), expected, "{own}");
    }
    let unclear = written(
        "aws_eks_node_group.this",
        &["aws_launch_template.this", "each.value.template", "each.value"],
    );
    let imported = read(&plan(&resources, &json!({"resources": [unclear]})));
    assert_eq!(groups(&imported), expected.map(|(template, _)| (template, "")));
}

#[test]
fn a_group_for_each_template_has_its_own_one() {
    let mut own = written("aws_eks_node_group.g", &["each.value.id", "each.value"]);
    own["for_each_expression"] = json!({"references": ["aws_launch_template.this"]});
    let imported = read(&plan(
        &[
            template("aws_launch_template.other"),
            template("aws_launch_template.this[\"a\"]"),
            template("aws_launch_template.this[\"b\"]"),
            group("aws_eks_node_group.g[\"b\"]", "b"),
        ],
        &json!({"resources": [own]}),
    ));
    let [other, a, b] = &groups(&imported)[..] else {
        panic!("{imported:?}");
    };
    assert_eq!((other.1, a.1, b.1), ("", "", "b"));
}

#[test]
fn a_key_of_a_reference_goes_before_the_key_of_the_group() {
    let reference = "aws_launch_template.this[1]";
    let own = written(
        "aws_eks_node_group.this",
        &[
            &format!("{reference}.id"),
            reference,
            "aws_launch_template.this",
            "count.index",
        ],
    );
    let imported = read(&plan(
        &[
            template("aws_launch_template.this[0]"),
            template("aws_launch_template.this[1]"),
            group("aws_eks_node_group.this[0]", "only"),
        ],
        &json!({"resources": [own]}),
    ));
    assert_eq!(
        groups(&imported),
        [
            ("aws_launch_template.this[0]", ""),
            ("aws_launch_template.this[1]", "only")
        ]
    );
}

#[test]
fn references_lead_through_variables_and_outputs_of_modules() {
    let output = |references: &[&str]| json!({"expression": {"references": references}});
    let root = json!({"module_calls": {
        "templates": {"module": {
            "resources": [],
            "outputs": {"first": output(&["aws_launch_template.a.id", "aws_launch_template.a"]),
                "all": output(&["aws_launch_template.b"])}}},
        "group": {
            "for_each_expression": {"references": ["local.groups"]},
            "expressions": {"template": {"references": ["module.templates.all", "module.templates", "each.key"]}},
            "module": {"resources": [written("aws_eks_node_group.this", &["var.template"])]}}},
        "resources": [written("aws_eks_node_group.root", &["module.templates.first", "module.templates"])]});
    let imported = read(&plan(
        &[
            template("module.templates.aws_launch_template.a"),
            template("module.templates.aws_launch_template.b[\"x\"]"),
            template("module.templates.aws_launch_template.b[\"y\"]"),
            group("module.group[\"y\"].aws_eks_node_group.this", "y"),
            group("module.group[\"x\"].aws_eks_node_group.this", "x"),
            group("aws_eks_node_group.root", "root"),
        ],
        &root,
    ));
    assert_eq!(
        groups(&imported),
        [
            ("module.templates.aws_launch_template.a", "root"),
            ("module.templates.aws_launch_template.b[\"x\"]", "x"),
            ("module.templates.aws_launch_template.b[\"y\"]", "y"),
        ]
    );
}

#[test]
fn references_that_refer_to_each_other_end() {
    let root = json!({"module_calls": {"m": {
        "expressions": {"v": {"references": ["module.m.o", "module.m"]}},
        "module": {"resources": [written("aws_eks_node_group.g", &["var.v"])],
            "outputs": {"o": {"expression": {"references": ["var.v"]}}}}}}});
    let imported = read(&plan(
        &[
            template("module.m.aws_launch_template.a"),
            group("module.m.aws_eks_node_group.g", "g"),
        ],
        &root,
    ));
    assert_eq!(groups(&imported), [("module.m.aws_launch_template.a", "g")]);
}

/// An Auto Scaling group that gives its instances a tag with its name.
fn scaling(name: &str, values: Value) -> Value {
    let mut own = json!({"tag": [{"key": "group", "value": name, "propagate_at_launch": true}]});
    for (key, value) in values.as_object().unwrap() {
        own[key] = value.clone();
    }
    resource(&format!("aws_autoscaling_group.{name}"), own)
}

#[test]
fn auto_scaling_groups_give_their_tags_to_what_they_start() {
    let mixed = |specification: Value| json!({"mixed_instances_policy": [{"launch_template": [{"launch_template_specification": [specification]}]}]});
    let references = |name: &str| json!({"references": [format!("{name}.id"), name]});
    let root = json!({"resources": [
        written("aws_autoscaling_group.x", &["aws_launch_template.a.id", "aws_launch_template.a"]),
        {"address": "aws_autoscaling_group.y", "expressions": mixed(json!({"launch_template_id": references("aws_launch_template.b")}))},
        {"address": "aws_autoscaling_group.z", "expressions": {"launch_configuration": references("aws_launch_configuration.d")}}]});
    let configuration = |address: &str| resource(address, json!({"user_data": SCRIPT, "image_id": "ami-1"}));
    let imported = read(&plan(
        &[
            template("aws_launch_template.a"),
            template("aws_launch_template.b"),
            configuration("aws_launch_configuration.c"),
            configuration("aws_launch_configuration.d"),
            scaling("x", json!({"launch_template": [{"version": "$Latest"}]})),
            scaling("y", mixed(json!({"version": "$Latest"}))),
            scaling("z", json!({})),
        ],
        &root,
    ));
    let tag = |tags: &std::collections::BTreeMap<String, String>| tags.get("group").cloned();
    let tags: Vec<_> = imported
        .machines
        .iter()
        .map(|machine| tag(&machine.traits.tags))
        .collect();
    let of = |name: &str| Some(name.to_owned());
    assert_eq!(tags, [of("x"), of("y"), None, of("z")]);
}

#[test]
fn a_group_of_a_template_gives_no_tags_to_a_launch_configuration() {
    let configuration = resource(
        "aws_launch_configuration.c",
        json!({"user_data": SCRIPT, "image_id": "ami-1"}),
    );
    let group = scaling("x", json!({"launch_template": [{"id": "lt-1"}]}));
    let found = machine(&plan(&[configuration, group], &json!({})));
    assert!(found.traits.tags.is_empty());
}

/// The region of a launch template, from the providers and variables of a plan.
fn region(providers: &Value, own: &Value, variables: &Value) -> Option<String> {
    let mut written = json!({"address": "aws_launch_template.t", "expressions": {}});
    written["provider_config_key"] = own.clone();
    let text = json!({"format_version": "1.2", "variables": variables,
        "planned_values": {"root_module": {"resources": [template("aws_launch_template.t")]}},
        "configuration": {"provider_config": providers, "root_module": {"resources": [written]}}});
    machine(&text.to_string()).traits.region
}

#[test]
fn the_region_is_that_of_the_provider() {
    let constant = |region: &str| json!({"expressions": {"region": {"constant_value": region}}});
    let reference = |name: &str| json!({"expressions": {"region": {"references": [name]}}});
    let providers = json!({"aws": constant("eu-south-1"), "aws.other": constant(REGION)});
    let (none, other) = (json!(null), json!("aws.other"));
    let no_variables = json!({});
    assert_eq!(region(&providers, &none, &no_variables).unwrap(), "eu-south-1");
    assert_eq!(region(&providers, &other, &no_variables).unwrap(), REGION);
    let inherited = json!("module.m:aws.other");
    assert_eq!(region(&providers, &inherited, &no_variables).unwrap(), REGION);
    let variables = json!({"region": {"value": REGION}, "all": {"value": {"region": REGION}}});
    for name in ["var.region", "var.all.region"] {
        assert_eq!(
            region(&json!({"aws": reference(name)}), &none, &variables).unwrap(),
            REGION
        );
    }
    for name in ["var.unknown", "local.region"] {
        assert_eq!(region(&json!({"aws": reference(name)}), &none, &variables), None);
    }
    assert_eq!(
        region(&json!({"aws": constant("moon-1")}), &none, &no_variables),
        None
    );
}

#[test]
fn the_region_of_an_arn_goes_before_that_of_the_provider() {
    let own = json!({"user_data": base64(SCRIPT), "arn": "arn:aws:ec2:eu-west-3:111122223333:launch-template/lt-1"});
    let text = json!({"format_version": "1.2",
        "planned_values": {"root_module": {"resources": [resource("aws_launch_template.t", own)]}},
        "configuration": {"provider_config": {"aws": {"expressions": {"region": {"constant_value": REGION}}}},
            "root_module": {}}});
    assert_eq!(
        machine(&text.to_string()).traits.region.as_deref(),
        Some("eu-west-3")
    );
}

#[test]
fn spot_instances_and_the_default_type_of_a_group_are_read() {
    let spot = json!({"user_data": base64(SCRIPT), "instance_market_options": [{"market_type": "spot"}], "image_id": "ami-1"});
    let alone = plan(&[resource("aws_launch_template.a", spot)], &json!({}));
    assert!(machine(&alone).traits.is_spot);
    let group = resource(
        "aws_eks_node_group.a",
        json!({"cluster_name": "demo", "capacity_type": "SPOT"}),
    );
    let traits = machine(&plan(&[group], &json!({}))).traits;
    assert_eq!(
        (traits.is_spot, traits.instance_type.as_deref()),
        (true, Some("t3.medium"))
    );
}

#[test]
fn the_name_of_an_ami_that_a_data_source_read_says_which_system_boots() {
    let family = |name: &str| {
        let resources = [
            resource(
                "aws_launch_template.a",
                json!({"user_data": base64(SCRIPT), "image_id": "ami-0123456789abcdef0"}),
            ),
            resource(
                "data.aws_ami.nodes",
                json!({"id": "ami-0123456789abcdef0", "name": name}),
            ),
        ];
        let found = machine(&plan(&resources, &json!({})));
        let report = crate::adopt(&found, &std::collections::BTreeMap::new())
            .unwrap()
            .report;
        let is_plain = report
            .iter()
            .any(|line| line.text.contains("without the programs of EKS"));
        assert_eq!(is_plain, name.starts_with("al2023-ami-"), "{report:?}");
        (found.traits.ami_family, found.traits.image_version)
    };
    let of = |family, version: &str| (Some(family), Some(version.to_owned()));
    assert_eq!(
        family("amazon-eks-node-al2023-x86_64-standard-1.33-v20250920"),
        of(AmiFamily::Al2023, "1.33")
    );
    assert_eq!(
        family("amazon-eks-node-1.29-v20240227"),
        of(AmiFamily::Al2, "1.29")
    );
    assert_eq!(family("nodes-7"), (None, None));
    assert_eq!(
        family("al2023-ami-2023.7.20250331.0-kernel-6.1-x86_64"),
        (None, None)
    );
}

#[test]
fn an_ami_for_arm64_without_an_instance_type_has_a_stand_in_of_its_architecture() {
    let image = "ami-0123456789abcdef0";
    let parameter =
        "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/recommended/image_id";
    let ssm = format!("resolve:ssm:{parameter}");
    let template = |image: &str| {
        let values = json!({"user_data": base64(SCRIPT), "image_id": image, "id": "lt-1"});
        resource("aws_launch_template.a", values)
    };
    let group = |more: Value| {
        let mut values = json!({"cluster_name": "demo"});
        for (key, value) in more.as_object().unwrap() {
            values[key] = value.clone();
        }
        resource("aws_eks_node_group.a", values)
    };
    let of_template = || group(json!({"launch_template": [{"id": "lt-1"}]}));
    let scaling = |overrides: Value| {
        let policy = json!([{"launch_template": [{"launch_template_specification": [{"launch_template_id": "lt-1"}],
            "override": overrides}]}]);
        resource(
            "aws_autoscaling_group.a",
            json!({"mixed_instances_policy": policy}),
        )
    };
    let ami = json!({"id": image, "architecture": "arm64"});
    let ami = resource("data.aws_ami.a", ami);
    let read_parameter = resource(
        "data.aws_ssm_parameter.a",
        json!({"name": parameter, "value": image}),
    );
    let stand_in = ("m6g.large", true);
    for (resources, (instance_type, is_stand_in)) in [
        (vec![template(&ssm)], stand_in),
        (vec![template(image), ami], stand_in),
        (vec![template(image), read_parameter], stand_in),
        (vec![template(&ssm), of_template()], stand_in),
        (
            vec![group(json!({"ami_type": "AL2023_ARM_64_STANDARD"}))],
            stand_in,
        ),
        (vec![template(&ssm), scaling(json!([]))], stand_in),
        (
            vec![template(&ssm), scaling(json!([{"instance_type": "c7g.large"}]))],
            ("c7g.large", false),
        ),
        (
            vec![group(
                json!({"ami_type": "AL2_ARM_64", "instance_types": ["c7g.large"]}),
            )],
            ("c7g.large", false),
        ),
        (
            vec![group(json!({"ami_type": "AL2_x86_64"}))],
            ("t3.medium", false),
        ),
    ] {
        let traits = machine(&plan(&resources, &json!({}))).traits;
        assert_eq!(
            (
                traits.instance_type.as_deref(),
                traits.stand_ins.contains_key("instance type m6g.large")
            ),
            (Some(instance_type), is_stand_in),
            "{resources:?}"
        );
    }
}
