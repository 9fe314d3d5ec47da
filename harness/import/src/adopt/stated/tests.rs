//! What scripts, messages and cloud-configs state.

use super::*;

#[test]
fn a_script_states_cluster_and_node() {
    let stated = Stated::of(
        b"#!/bin/bash\nset -e\nB64_CLUSTER_CA=Q0E=\nAPI_SERVER_URL=https://x.gr7.us-east-1.eks.amazonaws.com\n\
          /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b --max-pods=8' --b64-cluster-ca $B64_CLUSTER_CA \
          --apiserver-endpoint $API_SERVER_URL --dns-cluster-ip 172.20.0.10 --service-ipv4-cidr 172.20.0.0/16\n",
    );
    assert_eq!(stated.name.as_deref(), Some("demo"));
    assert_eq!(
        stated.endpoint.as_deref(),
        Some("https://x.gr7.us-east-1.eks.amazonaws.com")
    );
    assert_eq!(
        (stated.authority.as_deref(), stated.cidr.as_deref()),
        (Some("Q0E="), Some("172.20.0.0/16"))
    );
    assert_eq!(stated.dns, ["172.20.0.10"]);
    assert_eq!(
        (stated.flags.labels["a"].as_str(), stated.flags.max_pods),
        ("b", Some(8))
    );
    assert!(stated.has_flag("--service-ipv4-cidr") && !stated.has_flag("--ip-family"));
}

#[test]
fn a_variable_that_no_call_passes_on_is_not_what_the_kubelet_gets() {
    let stated = |call: &str| {
        let text = format!("#!/bin/bash\nK8S_CLUSTER_DNS_IP=172.20.0.10\n{call}\n");
        let stated = Stated::of(text.as_bytes());
        (stated.dns, stated.known_dns)
    };
    let known = Some("172.20.0.10".to_owned());
    assert_eq!(stated("/etc/eks/bootstrap.sh demo"), (Vec::new(), known.clone()));
    let passed = stated("/etc/eks/bootstrap.sh demo --dns-cluster-ip $K8S_CLUSTER_DNS_IP");
    assert_eq!(passed, (vec!["172.20.0.10".to_owned()], known));
}

/// The kubelet prefers its flags to its configuration.
#[test]
fn a_flag_with_the_address_of_dns_takes_precedence() {
    let stated = |arguments: &str| {
        let text = format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo --dns-cluster-ip 172.20.0.10 --kubelet-extra-args \"{arguments}\"\n"
        );
        Stated::of(text.as_bytes())
    };
    let local = stated("--cluster-dns=169.254.20.10,172.20.0.11 --cluster-dns 172.20.0.12");
    assert_eq!(local.dns, ["169.254.20.10", "172.20.0.11", "172.20.0.12"]);
    assert_eq!(local.known_dns.as_deref(), Some("172.20.0.10"));
    let open = stated("--cluster-dns=$DNS");
    assert_eq!(
        (open.dns.len(), open.flags.unclear),
        (0, vec!["`--cluster-dns=...`".to_owned()])
    );
    let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { config: { clusterDNS: [172.20.0.10] }, \
                  flags: [--cluster-dns=169.254.20.10] } }\n";
    assert_eq!(Stated::of(config.as_bytes()).dns, ["169.254.20.10"]);
}

#[test]
fn flags_that_a_command_writes_are_not_read() {
    let unclear = |line: &str| {
        let stated = Stated::of(format!("#!/bin/bash\n{line}\n").as_bytes());
        stated.flags_elsewhere
    };
    let taint = "sed -i '/^KUBELET_EXTRA_ARGS=/a KUBELET_EXTRA_ARGS+=\" --register-with-taints=a.b/c=d:NoSchedule\"' /etc/eks/bootstrap.sh";
    let written = |flag: &str| vec![flag.to_owned()];
    assert_eq!(
        unclear(taint),
        written("--register-with-taints=a.b/c=d:NoSchedule")
    );
    let pods = "sed -i 's/--v=2/--max-pods=20/g' /etc/eks/bootstrap.sh";
    assert_eq!(unclear(pods), written("--max-pods=20"));
    for line in [
        "# --max-pods=20",
        "sed -i \"s/x/--max-pods=$PODS/\" /a",
        "/etc/eks/bootstrap.sh demo --kubelet-extra-args --max-pods=20",
    ] {
        assert_eq!(unclear(line), Vec::<String>::new(), "{line}");
    }
}

/// The call of EKS behind the user's own part has values of its own.
#[test]
fn flags_in_a_file_are_told_from_those_of_the_call() {
    let stated = Stated::of(
        b"#!/bin/bash\ncat <<XX >/etc/profile.d/bootstrap.sh\nexport KUBELET_EXTRA_ARGS=\"--max-pods=110 --node-labels=a=b\"\nXX\n\
          /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b,c=d --max-pods=29'\n",
    );
    assert_eq!(stated.flags_elsewhere, ["--max-pods=110"]);
}

#[test]
fn a_label_beside_a_variable_and_a_taint_without_a_value_are_read() {
    let elsewhere = |line: &str| Stated::of(format!("#!/bin/bash\n{line}\n").as_bytes()).flags_elsewhere;
    assert_eq!(
        elsewhere("echo --node-labels=a=b,instance=$(curl x) > /etc/x"),
        ["--node-labels=a=b"]
    );
    assert_eq!(
        elsewhere("echo --register-with-taints=karpenter.sh/unregistered:NoExecute > /etc/x"),
        ["--register-with-taints=karpenter.sh/unregistered:NoExecute"]
    );
}

#[test]
fn a_template_of_cloud_init_names_the_cluster() {
    let stated = Stated::of(
        b"## template: jinja\n#cloud-config\nfqdn: node-{{ v1.instance_id }}\nruncmd:\n\
          - [aws, --region={{ v1.region }}, ec2, create-tags]\n\
          - [/etc/eks/bootstrap.sh, demo, --kubelet-extra-args, '--node-labels=a=b']\n",
    );
    assert_eq!(stated.name.as_deref(), Some("demo"));
    assert_eq!(stated.flags.labels["a"], "b");
}

#[test]
fn a_template_in_a_part_names_the_cluster() {
    let stated = Stated::of(
        b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/jinja2\n\n\
          ## template: jinja\n#cloud-config\nruncmd:\n- [aws, --region={{ v1.region }}, ec2, create-tags]\n\
          - [/etc/eks/bootstrap.sh, demo, --kubelet-extra-args, '--node-labels=a=b']\n--B--\n",
    );
    assert_eq!(stated.name.as_deref(), Some("demo"));
    assert_eq!(stated.flags.labels["a"], "b");
}

#[test]
fn parts_of_a_message_are_read_each_on_its_own() {
    let stated = Stated::of(
        b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\nexport KUBELET_EXTRA_ARGS=--max-pods=1\n\n--B\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { cluster: { name: demo, cidr: 10.100.0.0/16 } }\n--B--\n",
    );
    assert_eq!(
        (stated.name.as_deref(), stated.cidr.as_deref()),
        (Some("demo"), Some("10.100.0.0/16"))
    );
    assert_eq!(stated.flags.max_pods, None);
}

#[test]
fn a_node_config_in_one_line_of_json_is_read() {
    let config = r#"{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{"cluster":{"name":"demo","cidr":"172.20.0.0/16"},"kubelet":{"config":{"maxPods":20},"flags":["--node-labels=a=b"]}}}"#;
    let part = format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n{config}\n--B--\n"
    );
    let kind_first = r#"{ "kind": "NodeConfig", "apiVersion": "node.eks.aws/v1alpha1", "spec": {"cluster": {"name": "demo", "cidr": "172.20.0.0/16"}, "kubelet": {"config": {"maxPods": 20}, "flags": ["--node-labels=a=b"]}}}"#;
    for user_data in [config, &part, kind_first] {
        let stated = Stated::of(user_data.as_bytes());
        assert_eq!(
            (
                stated.name.as_deref(),
                stated.cidr.as_deref(),
                stated.flags.max_pods
            ),
            (Some("demo"), Some("172.20.0.0/16"), Some(20)),
            "{user_data}"
        );
        assert_eq!(stated.flags.labels["a"], "b");
        assert_eq!(stated.flags_elsewhere, [""; 0]);
    }
    let inside = r#"{"kind":"List","items":[{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig"}]}"#;
    assert!(!Stated::of(inside.as_bytes()).configs.is_any);
}

#[test]
fn files_of_a_cloud_config_and_other_commands_name_the_cluster() {
    let stated = Stated::of(
        b"#cloud-config\nwrite_files:\n- path: /etc/eksctl/kubelet.env\n  content: |\n    CLUSTER_NAME=demo\n    NODE_LABELS=a=b,c=d\n    NODE_TAINTS=\nruncmd: [/var/lib/x.sh]\n",
    );
    assert_eq!(
        (stated.name.as_deref(), stated.flags.labels.len()),
        (Some("demo"), 2)
    );
    let stated = Stated::of(b"#!/bin/bash\naws eks describe-cluster --name demo\n");
    assert_eq!(stated.name.as_deref(), Some("demo"));
}

#[test]
fn what_only_a_run_shows_is_not_stated() {
    let stated =
        Stated::of(b"#!/bin/bash\nNAME=$(curl x)\n/etc/eks/bootstrap.sh $NAME --apiserver-endpoint \"$E\"\n");
    assert_eq!((stated.name, stated.endpoint), (None, None));
    let stated = Stated::of(
        b"#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }} --dns-cluster-ip {{cluster.dns_ip}}\n",
    );
    assert_eq!((stated.name, stated.dns.len()), (None, 0));
    let stated = Stated::of(
        b"#!/bin/bash\nif a; then /etc/eks/bootstrap.sh x --kubelet-extra-args --max-pods=1\nelse /etc/eks/bootstrap.sh x\nfi\n",
    );
    assert_eq!(stated.flags.max_pods, None);
    assert_eq!(stated.flags.unclear.len(), 1);
}
