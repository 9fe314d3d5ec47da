//! NodeConfigs, and settings of Bottlerocket as one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use nodejoin_core::plan::aws::AuthenticationMode;

use super::*;

#[test]
fn a_node_config_is_adopted_with_the_defaults_of_a_run() {
    let text = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://test-cluster\n    certificateAuthority: Y2VydGlmaWNhdGU=\n    cidr: fd30:1c53:5f8a::/108\n";
    let mut machine = machine(text);
    machine.traits.ami_family = Some(AmiFamily::Al2023);
    assert_has(
        &shown(&machine),
        &[
            "chosen: AL2023",
            "adopted: endpoint https://test-cluster\n",
            "adopted: service CIDR fd30:1c53:5f8a::/108, an IPv6 cluster\n",
            "note: the certificate authority in the user data is not the whole base64 of a PEM certificate",
            "\nkubelet: \">=1.26\"\n",
            "\n  service_ipv4_cidr: null\n",
            "\n    ip_family: ipv6\n    service_ipv6_cidr: \"fd30:1c53:5f8a::/108\"\n",
        ],
    );
}

#[test]
fn pods_per_core_limit_the_expected_pods() {
    let config = "kubelet: { config: { maxPods: 29, podsPerCore: 10 } }";
    let mut machine = machine(&node_config(config, ""));
    machine.traits.instance_type = Some("r5.large".to_owned());
    assert_has(&shown(&machine), &["expected: capacity for 20 pods"]);
    machine.traits.instance_type = Some("m5.2xlarge".to_owned());
    assert_has(&shown(&machine), &["expected: capacity for 29 pods"]);
}

#[test]
fn pods_per_core_of_a_flag_limit_the_expected_pods() {
    let call = |per_core: &str| {
        let text = format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--max-pods=20 --pods-per-core={per_core}\"\n"
        );
        let mut machine = machine(&text);
        machine.traits.instance_type = Some("m5.large".to_owned());
        shown(&machine)
    };
    assert_has(&call("2"), &["expected: capacity for 4 pods"]);
    assert_has(&call("0"), &["expected: capacity for 20 pods"]);
    let open = call("$PODS");
    assert_has(&open, &["not checked: `--pods-per-core=...`"]);
    assert!(!open.contains("capacity for"), "{open}");
    // The kubelet prefers the flag to its configuration.
    let both = "kubelet: { flags: [--pods-per-core=2], config: { maxPods: 29, podsPerCore: 10 } }";
    let mut both = machine(&node_config(both, ""));
    both.traits.instance_type = Some("m5.large".to_owned());
    assert_has(&shown(&both), &["expected: capacity for 4 pods"]);
}

#[test]
fn flags_in_a_drop_in_that_al2023_does_not_read_are_expected() {
    let script = "mkdir -p /etc/systemd/system/kubelet.service.d\ncat > /etc/systemd/system/kubelet.service.d/30.conf <<'X'\n[Service]\n\
                  Environment='KUBELET_EXTRA_ARGS=--node-labels=desk=bonds'\nX\n";
    let mut machine = machine(&message(script));
    machine.traits.ami_family = Some(AmiFamily::Al2023);
    assert_has(
        &shown(&machine),
        &["expected: label desk=bonds: has no effect where it stands"],
    );
    let printed = "printf '[Service]\\nEnvironment=\"KUBELET_EXTRA_ARGS=--node-labels=a=b --v=2\"\\n' > /etc/x/10.conf\n";
    let mut printed = self::machine(&message(printed));
    printed.traits.ami_family = Some(AmiFamily::Al2023);
    assert_has(
        &shown(&printed),
        &[
            "write `kubelet: { flags: [\"--node-labels=a=b\", \"--v=2\"] }`",
            "expected: label a=b",
        ],
    );
}

#[test]
fn a_node_named_by_its_instance_id_gets_a_mapping_for_that_name() {
    let mut machine = machine(&node_config("featureGates: { InstanceIdNodeName: true }", ""));
    assert_has(
        &shown(&machine),
        &[
            "chosen: an access entry of type EC2 for the role web-NodeInstanceRole: with `InstanceIdNodeName`",
            "\n  role: web-NodeInstanceRole\n",
            "\n  access_entries:\n    - { role: web-NodeInstanceRole, type: EC2 }\n",
        ],
    );
    machine.traits.role = Some("arn:aws:iam::123456789012:role/eks/node".to_owned());
    machine.traits.cluster.authentication_mode = Some(AuthenticationMode::ConfigMap);
    let text = shown(&machine);
    assert_has(
        &text,
        &[
            "chosen: a row of aws-auth with the user name `system:node:{{SessionName}}` for the role eks/node: ",
            "\n  aws_auth:\n    - { role: eks/node, username: \"system:node:{{SessionName}}\" }\n",
        ],
    );
    assert!(!text.contains("access_entries"), "{text}");
}

#[test]
fn a_local_cluster_on_an_outpost_is_adopted() {
    let id = "b6c5f0f5-25ca-4d3c-9d0c-1d6c0a7a6a55";
    let on_outpost = |spec: &str| shown(&machine(&node_config("featureGates: {}", spec)));
    assert_has(
        &on_outpost(&format!(", enableOutpost: true, id: {id}")),
        &[
            &format!("adopted: local cluster {id} on an Outpost\n"),
            "chosen: the Outpost arn:aws:outposts:eu-west-1:111122223333:outpost/op-",
            &format!("\n      cluster_id: {id}\n"),
        ],
    );
    let text = on_outpost(&format!(", id: {id}"));
    assert!(
        text.contains(&format!("note: the cluster's id {id} has no effect")) && !text.contains("outpost:"),
        "{text}"
    );
    let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --enable-local-outpost true --cluster-id local-a1\n";
    assert_has(
        &shown(&machine(call)),
        &[
            "adopted: local cluster local-a1 on an Outpost\n",
            "\n      cluster_id: local-a1\n",
        ],
    );
    let without_id = on_outpost(", enableOutpost: true");
    assert_has(&without_id, &["\n      cluster_id: "]);
}

#[test]
fn taints_in_the_configuration_are_expected_and_translated() {
    let text = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: { name: demo, apiServerEndpoint: https://test-cluster, certificateAuthority: Y2VydGlmaWNhdGU=, cidr: 10.100.0.0/16 }\n  kubelet: { config: { registerWithTaints: [{ key: team, value: ml, effect: NoSchedule }] } }\n";
    assert_has(
        &shown(&machine(text)),
        &[
            "expected: taint team=ml:NoSchedule when the node registers\n",
            "\nnewer_settings: translate\n",
        ],
    );
}

#[test]
fn values_of_a_node_config_in_block_scalars_have_no_line_breaks() {
    let authority = STANDARD.encode(AUTHORITY);
    let text = format!(
        "#!/bin/bash\ncat > /c.yaml <<EOF\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    \
         apiServerEndpoint: |\n      https://ABC.gr7.us-east-1.eks.amazonaws.com\n    certificateAuthority: |\n      {authority}\n    \
         cidr: 172.20.0.0/16\nEOF\nnodeadm init -c file:///c.yaml\n"
    );
    assert_has(
        &shown(&machine(&text)),
        &[
            "adopted: endpoint https://ABC.gr7.us-east-1.eks.amazonaws.com\n",
            "replaced: the certificate authority of the cluster",
        ],
    );
    let trial = adopt(&machine(&text), &BTreeMap::new()).unwrap();
    assert_eq!(trial.user_data.unwrap(), text.as_bytes());
}

#[test]
fn an_expression_for_max_pods_is_evaluated_for_the_instance_type() {
    let report = |expression: &str, more: &str| {
        let kubelet = format!("kubelet: {{ maxPodsExpression: \"{expression}\"{more} }}");
        let mut machine = machine(&node_config(&kubelet, ""));
        machine.traits.instance_type = Some("t3.medium".to_owned());
        shown(&machine)
    };
    assert_has(
        &report("((default_enis - 1) * (ips_per_eni - 1)) + 2", ""),
        &[
            "chosen: 12 pods on t3.medium by `maxPodsExpression: ((default_enis - 1)",
            "expected: capacity for 12 pods\n",
            "\n    capacity:\n      pods: 12\n",
        ],
    );
    assert_has(
        &report("max_pods * 0.8", ""),
        &[
            "note: nodeadm cannot evaluate `maxPodsExpression: max_pods * 0.8` and takes the standard number of t3.medium: found no \
             matching overload for '_*_' applied to '(int, double)'; CEL does not mix integers and fractions: write",
            "expected: capacity for 17 pods\n",
        ],
    );
    assert_has(
        &report("min(max_pods, 30)", ""),
        &["undeclared reference to 'min'; nodeadm has no such function: write"],
    );
    let text = report("[max_pods, 30].size()", "");
    let expected = "not checked: the capacity for pods by `maxPodsExpression: [max_pods, 30].size()`: nodejoin's stand-in of nodeadm \
                    does not evaluate `[`";
    assert!(text.contains(expected) && !text.contains("capacity:"), "{text}");
    assert_has(
        &report("max_pods / 2", ", config: { maxPods: 9 }"),
        &[
            "note: `maxPodsExpression: max_pods / 2` has no effect on the capacity: the kubelet's own setting of 9 pods",
            "expected: capacity for 9 pods\n",
        ],
    );
}

#[test]
fn settings_of_bottlerocket_run_as_a_node_config() {
    let authority = STANDARD.encode(AUTHORITY);
    let settings = format!(
        "[settings.kubernetes]\napi-server = \"https://test-cluster\"\ncluster-certificate = \"{authority}\"\ncluster-name = \"demo\"\n\
         cluster-dns-ip = \"172.20.0.10\"\nmax-pods = 20\n[settings.kubernetes.node-labels]\nteam = \"web\"\n\
         [settings.kubernetes.node-taints]\na = \"b:NoSchedule\"\n[settings.updates]\nignore-waves = true\n"
    );
    let mut bottlerocket = machine(&settings);
    bottlerocket.system = crate::machine::System::Bottlerocket;
    assert_has(
        &shown(&bottlerocket),
        &[
            "chosen: AL2023 in place of Bottlerocket",
            "adopted: service CIDR 172.20.0.0/16\n",
            "replaced: the certificate authority",
            "expected: label team=web\n",
            "expected: taint a=b:NoSchedule when the node registers\n",
            "expected: capacity for 20 pods\n",
            "expected: cluster DNS 172.20.0.10 in the kubelet\n",
            "not checked: `settings.updates`, which only Bottlerocket itself runs\n",
            "\nuser_data:\n  from: web.user-data\n  replace: cluster\n",
        ],
    );
    bottlerocket.user_data = Some(b"[settings.kubernetes]\nmax-pods = 4\n".to_vec());
    assert_has(
        &shown(&bottlerocket),
        &[
            "chosen: the part that EKS adds",
            "expected: label eks.amazonaws.com/nodegroup=workers\n",
        ],
    );
    bottlerocket.traits.ami_id = Some("ami-0123456789abcdef0".to_owned());
    assert_has(
        &shown(&bottlerocket),
        &["has no api-server, cluster-certificate, cluster-name, and the machine names an AMI"],
    );
}

#[test]
fn settings_that_a_generator_renders_name_its_stand_ins() {
    let of = |name: &str, text: &str| {
        let imported = crate::tests::read_with(name, text.as_bytes(), &[]).unwrap();
        shown(&imported.machines[0])
    };
    let endpoint = |region: &str| {
        format!(
            "chosen: endpoint https://0123456789ABCDEF0123456789ABCDEF.gr7.{region}.eks.amazonaws.com, a stand-in: the file states none\n"
        )
    };
    let node_class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: { name: default }\nspec:\n  amiFamily: Bottlerocket\n  \
                      amiSelectorTerms: [{ alias: bottlerocket@latest }]\n  role: nodes\n";
    assert_has(
        &of("karpenter.yaml", node_class),
        &[
            &endpoint("us-west-2"),
            "chosen: cluster name nodejoin, a stand-in: the file states none\n",
            "chosen: region us-west-2, a stand-in: the file states none\n",
        ],
    );
    let config = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: demo, region: eu-west-1, version: \"1.31\" }\n\
                  nodeGroups:\n- { name: ng, amiFamily: Bottlerocket }\n";
    assert_has(
        &of("eksctl.yaml", config),
        &[
            &endpoint("eu-west-1"),
            "adopted: cluster name demo\n",
            "adopted: region eu-west-1\n",
        ],
    );
}

#[test]
fn a_proxy_that_expects_tls_is_a_limit() {
    let text = shown(&machine(&node_config(
        "instance: { environment: { default: { HTTPS_PROXY: \"https://proxy.example.com\" } } }",
        "",
    )));
    assert_has(
        &text,
        &[
            "not checked: the proxy https://proxy.example.com:443: programs speak TLS to it, and the HTTP proxy of nodejoin speaks plain HTTP \
             (a limit of nodejoin, at which they fail); write `http://proxy.example.com:443` in the user data to try it\n",
        ],
    );
    assert!(!text.contains("http_proxy:"), "{text}");
}

/// DNS does not know the domain, which a run would serve.
#[test]
fn an_endpoint_of_eks_in_another_domain_is_not_found() {
    let config = |domain: &str| {
        format!(
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://0A.gr7.eu-west-1.eks.{domain}\n"
        )
    };
    assert_has(
        &shown(&machine(&config("amazonaw.com"))),
        &[
            "note: the endpoint 0A.gr7.eu-west-1.eks.amazonaw.com is in the domain `amazonaw.com`, and those of EKS in eu-west-1 are in `amazonaws.com`",
            "\ndns_faults:\n  - { name: \"0a.gr7.eu-west-1.eks.amazonaw.com\", effect: nxdomain, may_fire: true }\n",
        ],
    );
    assert!(!shown(&machine(&config("amazonaws.com"))).contains("dns_faults"));
}

#[test]
fn what_a_part_behind_the_end_states_is_expected_and_missing() {
    let part = "Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n";
    let text = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\n{part}  cluster: {{ name: demo }}\n\n--B--\n\
         {part}  kubelet: {{ config: {{ maxPods: 50 }}, flags: [\"--node-labels=team=data\"] }}\n\n--B--\n"
    );
    let shown = shown(&machine(&text));
    assert_has(
        &shown,
        &[
            "expected: label team=data: has no effect where it stands",
            "expected: capacity for 50 pods: has no effect where it stands",
            "note: line 13 and what follows it are behind the end of the MIME message",
        ],
    );
    assert!(!shown.contains("begins a part"), "{shown}");
}

#[test]
fn values_that_a_program_prints_are_not_filled_in() {
    let text = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: %s\n    cidr: %s\n";
    let read = |text: &str| crate::tests::read_with("node.yaml", text.as_bytes(), &[]);
    let printed = shown(&read(text).unwrap().machines[0]);
    assert_has(
        &printed,
        &[
            "values that are not filled in: line 5",
            "line 6",
            "hint: a program prints the user data",
        ],
    );
    // Other text that is not YAML.
    assert!(read(&text.replace("%s", "[")).is_err());
}

/// nodeadm compares the type of a part with the one of NodeConfigs (v20260304: `ParseMultipart`).
#[test]
fn a_node_config_in_a_part_of_another_type_is_expected_and_missing() {
    let message = |mime: &str, begin: &str| {
        format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: {mime}\n\n{begin}{}--B--\n",
            node_config(
                "kubelet: { config: { maxPods: 50 }, flags: [\"--node-labels=team=data\"] }",
                ""
            )
        )
    };
    for (mime, begin) in [
        ("application/node.eks.amazonaws.com", ""),
        ("application/yaml", "---\n"),
        ("text/yaml", ""),
        ("text/plain", ""),
        ("text/x-shellscript", ""),
        ("text/x-shellscript", "#!/bin/bash\n"),
        ("text/cloud-config", "#cloud-config\n"),
    ] {
        let text = message(mime, begin);
        let line = 7 + begin.lines().count();
        assert_has(
            &shown(&machine(&text)),
            &[
                "adopted: cluster name demo\n",
                "chosen: AL2023",
                "expected: label team=data: has no effect where it stands",
                "expected: capacity for 50 pods: has no effect where it stands",
                &format!(
                    "note: part-001 is a NodeConfig (line {line}), and its type is `{mime}`: nodeadm reads only parts with the header \
                     `Content-Type: application/node.eks.aws`\n"
                ),
            ],
        );
    }
    let right = shown(&machine(&message("application/node.eks.aws; charset=utf-8", "")));
    assert!(
        !right.contains("is a NodeConfig") && !right.contains("has no effect"),
        "{right}"
    );
    // Without parts, nodeadm reads the whole user data.
    let whole = format!("#cloud-config\n{}", node_config("kubelet: {}", ""));
    assert!(!shown(&machine(&whole)).contains("is a NodeConfig"));
    let writes = message(
        "text/x-shellscript",
        "#!/bin/bash\ncat > /etc/eks/nodeadm.d/a.yaml <<'E'\n",
    );
    assert!(!shown(&machine(&writes)).contains("is a NodeConfig"), "{writes}");
}
