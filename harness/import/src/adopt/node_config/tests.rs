//! What NodeConfigs state, and what nodeadm ignores of them.

use super::*;

fn add(configs: &mut NodeConfigs, text: &str) {
    configs.add(text, &SourceLines::default());
}

#[test]
fn fields_that_nobody_reads_are_named_with_the_one_that_is_meant() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: { nmae: demo, cidr: 10.0.0.0/16 }\n  flags: [a]\n  kubelet:\n    registryPullQPS: 3\n    config: { kind: KubeletConfiguration, maxpods: 3, maxPods: 4, other: 1 }\n",
    );
    assert_eq!(
        configs.ignored,
        [
            "nodeadm has no field `spec.flags` (line 5 of the NodeConfig) and ignores it; did you mean `spec.kubelet.flags`?",
            "nodeadm has no field `spec.cluster.nmae` (line 4 of the NodeConfig) and ignores it; did you mean `spec.cluster.name`? If no \
             NodeConfig has that field, nodeadm ends with `Name is missing in cluster configuration`",
            "nodeadm has no field `spec.kubelet.registryPullQPS` (line 7 of the NodeConfig) and ignores it; did you mean \
             `spec.kubelet.config.registryPullQPS`?",
            "the kubelet has no field `spec.kubelet.config.maxpods` (line 8 of the NodeConfig) and ignores it; did you mean \
             `spec.kubelet.config.maxPods`?",
            "the kubelet has no field `spec.kubelet.config.other` (line 8 of the NodeConfig) and ignores it",
        ]
    );
}

#[test]
fn fields_of_the_cluster_have_other_names_in_other_tools() {
    let ignored = |cluster: &str| {
        let mut configs = NodeConfigs::default();
        add(
            &mut configs,
            &format!(
                "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{ cluster: {{ {cluster} }} }}\n"
            ),
        );
        configs.ignored
    };
    let note = |key: &str, field: &str| {
        format!(
            "nodeadm has no field `spec.cluster.{key}` (line 3 of the NodeConfig) and ignores it; did you mean `spec.cluster.{field}`?"
        )
    };
    for (key, field, what) in [
        ("cluster-name", "name", "Name"),
        ("clusterName", "name", "Name"),
        ("endpoint", "apiServerEndpoint", "Apiserver endpoint"),
        ("b64-cluster-ca", "certificateAuthority", "Certificate authority"),
        ("serviceCidr", "cidr", "CIDR"),
    ] {
        let missing = format!(
            " If no NodeConfig has that field, nodeadm ends with `{what} is missing in cluster configuration`"
        );
        assert_eq!(
            ignored(&format!("{key}: a")),
            [note(key, field) + &missing],
            "{key}"
        );
        assert_eq!(
            ignored(&format!("{key}: a, {field}: a")),
            [note(key, field)],
            "{key}"
        );
    }
    assert_eq!(ignored("name: a, cidr: a, id: a"), [""; 0]);
}

#[test]
fn a_number_of_pods_that_a_later_config_replaces_is_named() {
    let config = |pods: u32| {
        format!(
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{ kubelet: {{ config: {{ maxPods: {pods} }} }} }}\n"
        )
    };
    let mut configs = NodeConfigs::default();
    add(&mut configs, &config(20));
    add(&mut configs, &config(20));
    assert_eq!(configs.ignored, Vec::<String>::new());
    add(&mut configs, &config(17));
    assert_eq!(configs.flags.max_pods, Some(17));
    let expected = "`spec.kubelet.config.maxPods: 20` has no effect: a later NodeConfig sets 17";
    assert_eq!(configs.ignored, [expected]);
}

#[test]
fn a_flag_of_an_earlier_config_takes_precedence_over_a_setting_of_a_later_one() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { flags: [--max-pods=20, --node-labels, a=b] } }\n",
    );
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { config: { maxPods: 30 } } }\n",
    );
    assert_eq!(
        (configs.flags.max_pods, configs.flags.labels["a"].as_str()),
        (Some(20), "b")
    );
    let expected =
        "`spec.kubelet.config.maxPods: 30` has no effect: the flag `--max-pods=20` takes precedence";
    assert_eq!(configs.ignored, [expected]);
}

/// nodeadm appends the flags of all NodeConfigs (v20260304: `mergeKubeletFlags`).
#[test]
fn taints_of_a_flag_replace_those_of_a_later_config() {
    let config = |kubelet: &str| {
        format!("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{ kubelet: {{ {kubelet} }} }}\n")
    };
    let texts = |taints: &[Taint]| taints.iter().map(Taint::to_string).collect::<Vec<_>>();
    let of_config = config("config: { registerWithTaints: [{ key: c, effect: NoExecute }] }");
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        &config("flags: [\"--register-with-taints=a=b:NoExecute\"]"),
    );
    add(&mut configs, &of_config);
    add(&mut configs, &of_config);
    assert_eq!(texts(&configs.flags.taints), ["a=b:NoExecute"]);
    assert_eq!(texts(&configs.flags.replaced_taints), ["c=:NoExecute"]);
    let mut configs = NodeConfigs::default();
    add(&mut configs, &config("flags: [--node-labels=a=b]"));
    add(&mut configs, &of_config);
    assert_eq!(texts(&configs.flags.taints), ["c=:NoExecute"]);
    assert_eq!(texts(&configs.flags.replaced_taints), [""; 0]);
}

#[test]
fn quotes_in_flags_are_not_part_of_their_values() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n    - '--node-labels=\"a=b\",\"c=d\"'\n    \
         - --register-with-taints=\"x=y:NoSchedule\"\n    - '--max-pods=\\\"20\\\"'\n",
    );
    let labels: Vec<(&str, &str)> = configs
        .flags
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(labels, [("a", "b"), ("c", "d")]);
    assert_eq!(configs.flags.taints[0].to_string(), "x=y:NoSchedule");
    assert_eq!(configs.flags.max_pods, Some(20));
    assert!(configs.flags.unclear.is_empty() && configs.ignored.is_empty());
}

#[test]
fn fields_beside_the_spec_are_named_and_their_flags_are_lost() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\nkubelet:\n  config: { maxPods: 42 }\n  flags: [--node-labels=a=b]\n",
    );
    assert_eq!(
        configs.ignored,
        [
            "nodeadm has no field `kubelet` (line 4 of the NodeConfig) and ignores it; did you mean `spec.kubelet`?"
        ]
    );
    assert_eq!(configs.lost_flags, ["--max-pods=42", "--node-labels=a=b"]);
    assert_eq!((configs.flags.labels.len(), configs.flags.max_pods), (0, None));
}

#[test]
fn labels_and_taints_are_lost_where_users_expect_them() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      labels:\n        team: web\n        \"a.b/c\": \"true\"\n    extraArgs:\n      node-labels: \"x=y\"\n    taints: [{ key: a, value: b, effect: NoSchedule }]\n",
    );
    let place = "`spec.kubelet.flags: [--node-labels=KEY=VALUE]`?";
    assert_eq!(
        configs.ignored,
        [
            "nodeadm has no field `spec.kubelet.extraArgs` (line 9 of the NodeConfig) and ignores it".to_owned(),
            "nodeadm has no field `spec.kubelet.taints` (line 11 of the NodeConfig) and ignores it; did you mean \
             `spec.kubelet.config.registerWithTaints`?"
                .to_owned(),
            format!(
                "the kubelet has no field `spec.kubelet.config.labels` (line 6 of the NodeConfig) and ignores it; did you mean {place}"
            ),
        ]
    );
    assert_eq!(
        configs.lost_flags,
        [
            "--node-labels=x=y",
            "--register-with-taints=a=b:NoSchedule",
            "--node-labels=team=web,a.b/c=true",
        ]
    );
}

#[test]
fn documents_are_merged_as_in_nodeadm() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://x\n    certificateAuthority: CA\n    cidr: 172.20.0.0/16\n  kubelet:\n    config:\n      maxPods: 29\n      clusterDNS: [172.20.0.10]\n      registerWithTaints:\n      - { key: a, value: b, effect: NoSchedule }\n    flags: [\"--node-labels=x=y\"]\n",
    );
    add(
        &mut configs,
        "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: { name: other }\n  kubelet:\n    config: { maxPods: 58 }\n    flags: ['--node-labels=\"p=q\"']\n---\nkind: Other\n",
    );
    assert_eq!(
        (configs.name.as_deref(), configs.endpoint.as_deref()),
        (Some("other"), Some("https://x"))
    );
    assert_eq!(
        (configs.cidr.as_deref(), configs.dns.join(",").as_str()),
        (Some("172.20.0.0/16"), "172.20.0.10")
    );
    assert_eq!(configs.flags.max_pods, Some(58));
    assert_eq!(
        configs.flags.labels.keys().cloned().collect::<Vec<_>>(),
        ["p", "x"]
    );
    assert_eq!(configs.flags.taints[0].to_string(), "a=b:NoSchedule");
    assert!(configs.flags.unclear.is_empty());
}

/// nodeadm decodes a text as one object (v20260304: `DecodeNodeConfig`, `yaml.Unmarshal`).
#[test]
fn later_documents_of_a_text_have_no_effect() {
    let config = |spec: &str| format!("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {spec}\n");
    let second = config("{ kubelet: { config: { maxPods: 17 }, flags: [--node-labels=a=b] } }");
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        &format!(
            "---\n{}---\n{second}---\na: b: c\n",
            config("{ cluster: { name: demo } }")
        ),
    );
    assert_eq!(
        (configs.name.as_deref(), configs.flags.max_pods),
        (Some("demo"), None)
    );
    assert_eq!(configs.lost_flags, ["--node-labels=a=b", "--max-pods=17"]);
    let expected = "nodeadm reads only the first YAML document of a text: the NodeConfig in line 6 of the NodeConfig has no effect; merge it \
                    with the first one, or give it a MIME part of its own";
    assert_eq!(configs.ignored, [expected]);
    let mut configs = NodeConfigs::default();
    add(&mut configs, &format!("kind: Other\n---\n{second}"));
    assert!(configs.ignored[0].starts_with("nodeadm rejects the text with the NodeConfig in line 3"));
    assert!(configs.is_any && configs.flags.labels.is_empty());
}

#[test]
fn a_later_switch_wins() {
    let switched = |value: &str| {
        format!(
            "apiVersion: node.eks.aws/v1alpha1\nspec:\n  featureGates: {{ InstanceIdNodeName: {value} }}\n  cluster: {{ enableOutpost: {value}, id: {value} }}\n"
        )
    };
    let other = "apiVersion: node.eks.aws/v1alpha1\nspec:\n  featureGates: { FastImagePull: true }\n";
    let mut configs = NodeConfigs::default();
    for (text, expected) in [
        (other.to_owned(), (false, false, None)),
        (switched("true"), (true, true, Some("true"))),
        (other.to_owned(), (true, true, Some("true"))),
        (switched("false"), (false, false, Some("false"))),
    ] {
        add(&mut configs, &text);
        let read = (
            configs.is_named_by_instance_id,
            configs.is_on_outpost,
            configs.id.as_deref(),
        );
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn other_documents_and_broken_ones_state_nothing() {
    let mut configs = NodeConfigs::default();
    add(&mut configs, "apiVersion: v1\nkind: Secret\n");
    assert!(!configs.is_any);
    add(&mut configs, "a: b: c\n");
    assert_eq!(
        configs.flags.unclear,
        ["what the NodeConfig states: its YAML is invalid"]
    );
    assert!(
        configs.ignored[0].starts_with("nodeadm rejects the NodeConfig: line 1"),
        "{:?}",
        configs.ignored
    );
}

#[test]
fn what_nodeadm_and_the_kubelet_reject_is_named() {
    let rejected = |text: &str| {
        let mut configs = NodeConfigs::default();
        add(&mut configs, text);
        configs.ignored
    };
    let begin = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n";
    assert_eq!(
        rejected("apiVersion: node.eks.aws/v1\nkind: NodeConfiguration\nspec: {}\n"),
        [
            "nodeadm rejects the NodeConfig: its `apiVersion` (line 1 of the NodeConfig) is `node.eks.aws/v1`, and \
             `node.eks.aws/v1alpha1` is expected",
            "nodeadm rejects the NodeConfig: its `kind` (line 2 of the NodeConfig) is `NodeConfiguration`, and `NodeConfig` is expected",
        ]
    );
    assert_eq!(
        rejected("apiVersion: node.eks.aws/v1alpha1\nspec: {}\n"),
        ["nodeadm rejects the NodeConfig: its `kind` is missing, and `NodeConfig` is expected"]
    );
    let types = rejected(&format!(
        "{begin}spec:\n  cluster: {{ name: 123 }}\n  instance: {{ localStorage: RAID0 }}\n  featureGates: {{ InstanceIdNodeName: \"true\" }}\n  \
         kubelet:\n    flags: \"--node-labels=a=b\"\n    config:\n      maxPods: \"50\"\n      clusterDNS: 10.0.0.10\n      \
         evictionHard: {{ memory.available: 100 }}\n"
    ));
    assert_eq!(
        types,
        [
            "nodeadm rejects the NodeConfig: `spec.cluster.name` (line 4 of the NodeConfig) is a number, and text is expected; write \
             `\"123\"`",
            "nodeadm rejects the NodeConfig: `spec.instance.localStorage` (line 5 of the NodeConfig) is text, and a mapping is expected",
            "nodeadm rejects the NodeConfig: `spec.kubelet.flags` (line 8 of the NodeConfig) is text, and a list is expected; write \
             `[\"--node-labels=a=b\"]`",
            "nodeadm rejects the NodeConfig: `spec.featureGates.InstanceIdNodeName` (line 6 of the NodeConfig) is text, and a boolean is \
             expected; write `true` without quotes",
            "the kubelet rejects its configuration: `spec.kubelet.config.maxPods` (line 10 of the NodeConfig) is text, and a number is \
             expected; write `50` without quotes",
            "the kubelet rejects its configuration: `spec.kubelet.config.clusterDNS` (line 11 of the NodeConfig) is text, and a list is \
             expected; write `[\"10.0.0.10\"]`",
            "the kubelet rejects its configuration: `spec.kubelet.config.evictionHard.memory.available` (line 12 of the NodeConfig) is a \
             number, and text is expected; write `\"100\"`",
        ]
    );
    let right = format!(
        "{begin}metadata: {{ name: a }}\nspec:\n  cluster: {{ name: \"123\", cidr: 10.0.0.0/16, enableOutpost: null }}\n  kubelet:\n    flags:\n    \
         config: {{ maxPods: $PODS, serializeImagePulls: false, systemReserved: {{ cpu: 100m }}, featureGates: {{ NodeSwap: true }} }}\n"
    );
    assert_eq!(rejected(&right), [""; 0]);
    let json = "{\"apiVersion\": \"node.eks.aws/v1alpha1\", \"kind\": \"NodeConfig\", \"spec\": {\"kubelet\": {\"config\": {\"maxPods\": 5}}}}";
    assert_eq!(rejected(json), [""; 0]);
}

#[test]
fn values_that_a_program_rejects_and_misspelt_names_are_named() {
    let read = |spec: &str| {
        let mut configs = NodeConfigs::default();
        add(
            &mut configs,
            &format!("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n{spec}"),
        );
        configs
    };
    let wrong = read(
        "  instance: { localStorage: { strategy: RAID5, disabledMounts: [containerd, PodLogs] } }\n  \
         featureGates: { FastImagePul: true, InstanceIdNodeName: true }\n  kubelet:\n    config:\n      registerWithTaints:\n      \
         - { key: a, value: b, effect: NoSchedul }\n      - key: c\n        value: true\n        effect: NoExecute\n      - d=e:NoSchedule\n",
    );
    assert_eq!(
        wrong.ignored,
        [
            "the kubelet rejects its configuration: `spec.kubelet.config.registerWithTaints[0].effect` (line 9 of the NodeConfig) is \
             `NoSchedul`, and `NoSchedule`, `PreferNoSchedule` or `NoExecute` is expected",
            "the kubelet rejects its configuration: `spec.kubelet.config.registerWithTaints[1].value` (line 11 of the NodeConfig) is a \
             boolean, and text is expected; write `\"true\"`",
            "the kubelet rejects its configuration: `spec.kubelet.config.registerWithTaints[2]` (line 13 of the NodeConfig) is text, and a \
             mapping is expected with `key`, `value` and `effect`",
            "nodeadm ends before it starts the kubelet: `spec.instance.localStorage.strategy` (line 4 of the NodeConfig) is `RAID5`, and \
             `setup-local-disks`, which nodeadm runs, takes `RAID0`, `RAID10` or `Mount`",
            "nodeadm has no mount `containerd` (line 4 of the NodeConfig) for `spec.instance.localStorage.disabledMounts` and ignores it; \
             did you mean `Containerd`?",
            "nodeadm has no feature gate `FastImagePul` (line 5 of the NodeConfig) and ignores it; did you mean `FastImagePull`?",
        ]
    );
    assert_eq!(wrong.flags.unclear, [""; 0]);
    let gates = read(
        "  kubelet: { config: { featureGates: { ImageVolume: true, MemoryQos: true, MyOwnGate: true, $GATE: true } } }\n",
    );
    assert_eq!(
        gates.ignored,
        [
            "the kubelet has no feature gate `MemoryQos` (line 4 of the NodeConfig) and exits at it; did you mean `MemoryQoS`?",
            "nodejoin knows no feature gate `MyOwnGate` (line 4 of the NodeConfig) of kubelets up to 1.36: a kubelet exits at a gate that \
             it does not have"
        ]
    );
    for strategy in ["RAID0", "raid10", "Mount", "none", "$STRATEGY", "\"\""] {
        let right = read(&format!(
            "  instance: {{ localStorage: {{ strategy: {strategy}, disabledMounts: [SOCI, Logs] }} }}\n  featureGates: {{ Other: true }}\n"
        ));
        assert_eq!(right.ignored, [""; 0], "{strategy}");
    }
    // The kubelet takes a taint without an effect, and a run fills in others.
    let open = "{ key: a, effect: $EFFECT }, { key: b }, { key: c, value: \"\", effect: \"\" }";
    let open = read(&format!(
        "  kubelet: {{ config: {{ registerWithTaints: [{open}] }} }}\n"
    ));
    assert_eq!(open.ignored, [""; 0]);
    assert_eq!(open.flags.unclear, ["a taint of `registerWithTaints`"]);
}

#[test]
fn flags_that_are_not_a_list_are_lost() {
    let mut configs = NodeConfigs::default();
    add(
        &mut configs,
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { flags: \"--node-labels=a=b\" } }\n",
    );
    assert_eq!(configs.lost_flags, ["--node-labels=a=b"]);
}
