//! Scenarios and reports of whole machines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::AuthenticationMode;

use super::*;
use crate::machine::{AmiFamily, ClusterTraits, ManagedNodeGroup, TemplateResource, TemplateStack, Traits};

const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nTUlJQy9qQ0NBZWFnQXdJQkFnSUJBREFOQmdrcWhraUc5dzBCQVFzRkFE\n-----END CERTIFICATE-----\n";

fn machine(text: &str) -> Machine {
    Machine {
        name: "web".to_owned(),
        user_data: Some(text.as_bytes().to_vec()),
        ..Machine::default()
    }
}

fn shown(machine: &Machine) -> String {
    let trial = match adopt(machine, &BTreeMap::new()) {
        Ok(trial) => trial,
        Err(error) => return format!("{error}\n  hint: {}\n", error.hint()),
    };
    let report: Vec<String> = trial
        .report
        .iter()
        .map(|line| format!("{}: {}\n", line.kind, line.text))
        .collect();
    let overlays: Vec<String> = trial
        .ami_files
        .iter()
        .map(|files| files.folder().to_owned())
        .collect();
    format!(
        "{}\n{}",
        report.concat(),
        trial.scenario(&overlays, Some("web.user-data"), &AddedKeys::default())
    )
}

fn assert_has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "missing: {piece}\n{text}");
    }
}

#[test]
fn a_script_of_terraform_is_adopted_as_a_whole() {
    let authority = STANDARD.encode(AUTHORITY);
    let text = format!(
        "#!/bin/bash\nset -e\nB64_CLUSTER_CA={authority}\nAPI_SERVER_URL=https://0123456789ABCDEF0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com\n\
         /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=web,id=$(x) --max-pods=20 --register-with-taints=a=b:NoSchedule,c:NoExecute' \
         --b64-cluster-ca $B64_CLUSTER_CA --apiserver-endpoint $API_SERVER_URL --ip-family ipv4 --service-ipv4-cidr 172.20.0.0/16 --dns-cluster-ip 10.0.0.10\n"
    );
    let mut machine = machine(&text);
    machine.traits = Traits {
        ami_id: Some("ami-0123456789abcdef0".to_owned()),
        instance_type: Some("m6i.large".to_owned()),
        role: Some("arn:aws:iam::123456789012:role/eks/node".to_owned()),
        account: Some("123456789012".to_owned()),
        hop_limit: Some(1),
        http_tokens: Some(Tokens::Required),
        tags: [("Name".to_owned(), "web".to_owned())].into(),
        cluster: ClusterTraits {
            version: Some("1.33".to_owned()),
            authentication_mode: Some(AuthenticationMode::Api),
            ..ClusterTraits::default()
        },
        ..Traits::default()
    };
    assert_has(
        &shown(&machine),
        &[
            "chosen: AL2 with its last bootstrap script, of 2026: the user data calls /etc/eks/bootstrap.sh; `--service-ipv4-cidr` is in no earlier one\n",
            "adopted: cluster name demo\n",
            "adopted: region us-east-1\n",
            "adopted: account 123456789012\n",
            "adopted: service CIDR 172.20.0.0/16\n",
            "adopted: role eks/node\n",
            "replaced: the certificate authority of the cluster",
            "expected: label team=web\n",
            "expected: taint a=b:NoSchedule when the node registers\n",
            "expected: taint c:NoExecute when the node registers\n",
            "expected: capacity for 20 pods\n",
            "not checked: the label `id=$(x)`\n",
            "note: the cluster DNS 10.0.0.10 is neither",
            "\naccount: \"123456789012\"\nregion: us-east-1\n",
            "\n  endpoint: \"https://0123456789ABCDEF0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com\"\n",
            "\n  access_entries:\n    - { role: eks/node, type: EC2_LINUX }\n",
            "\n  metadata:\n    tokens: required\n    hop_limit: 1\n",
            "\nuser_data:\n  file: web.user-data\n  replace: cluster\n",
        ],
    );
}

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
            "note: the certificate authority in the user data is not the base64 of a PEM certificate",
            "\nkubelet: \">=1.26\"\n",
            "\n  service_ipv4_cidr: null\n",
            "\n    ip_family: ipv6\n    service_ipv6_cidr: \"fd30:1c53:5f8a::/108\"\n",
        ],
    );
}

/// A NodeConfig with more keys of `spec`, and of `spec.cluster` in braces.
fn node_config(spec: &str, cluster: &str) -> String {
    format!(
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  {spec}\n  cluster: {{ name: demo, apiServerEndpoint: https://test-cluster, certificateAuthority: Y2VydGlmaWNhdGU=, cidr: 10.100.0.0/16{cluster} }}\n"
    )
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
fn access_entries_alone_need_the_name_of_a_role() {
    let mut machine = machine(&node_config("featureGates: {}", ""));
    machine.traits.cluster.authentication_mode = Some(AuthenticationMode::Api);
    assert_has(
        &shown(&machine),
        &["\n  access_entries:\n    - { role: web-NodeInstanceRole, type: EC2_LINUX }\n"],
    );
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
fn requests_without_a_token_meet_a_choice_that_is_named() {
    let text = |header: &str| {
        format!(
            "#!/bin/bash\nz=$(curl -s {header} http://169.254.169.254/latest/meta-data/placement/availability-zone)\n/etc/eks/bootstrap.sh demo\n"
        )
    };
    let chosen = "chosen: metadata tokens required";
    assert!(shown(&machine(&text(""))).contains(chosen));
    assert!(!shown(&machine(&text("-H \"X-aws-ec2-metadata-token: $t\""))).contains(chosen));
}

#[test]
fn an_expression_for_max_pods_is_not_checked() {
    let text = shown(&machine(&node_config(
        "kubelet: { maxPodsExpression: max_pods / 2 }",
        "",
    )));
    let expected = "not checked: the capacity for pods by `maxPodsExpression: max_pods / 2`, which nodejoin does not evaluate\n";
    assert!(text.contains(expected) && !text.contains("capacity:"), "{text}");
}

#[test]
fn the_stack_of_a_machine_is_part_of_its_scenario() {
    let mut machine = machine("#!/bin/bash\n/opt/aws/bin/cfn-init --stack nodes --resource Config\n");
    machine.stack = Some(TemplateStack {
        name: "nodes".to_owned(),
        resources: vec![
            TemplateResource {
                id: "Config".to_owned(),
                kind: "AWS::EC2::Instance".to_owned(),
                metadata: Some(
                    serde_json::json!({ "a": [{ "b": "c: d" }, 1, null, true], "empty": {}, "AWS::CloudFormation::Init": {
                "join": { "commands": { "x": { "command": ["/etc/eks/bootstrap.sh", "demo", "--b64-cluster-ca", STANDARD.encode(AUTHORITY)] } } },
            } }),
                ),
            },
            TemplateResource {
                id: "Group".to_owned(),
                kind: "AWS::AutoScaling::AutoScalingGroup".to_owned(),
                metadata: None,
            },
        ],
        signalled: vec!["Group".to_owned()],
    });
    let text = shown(&machine);
    assert_has(
        &text,
        &[
            "adopted: the metadata of `Config` in the stack `nodes`\n",
            "aws:\n  stacks:\n    - { name: nodes, waits_for: { Group: 1 }, resources: { Config: { type: \"AWS::EC2::Instance\", ",
            "Group: { type: \"AWS::AutoScaling::AutoScalingGroup\" } }",
            "a: [{ b: \"c: d\" }, 1, null, true]",
            "empty: {  }",
            "command: [/etc/eks/bootstrap.sh, demo, \"--b64-cluster-ca\", \"{{ cluster.certificate_authority }}\"]",
            "adopted: cluster name demo\n",
            "replaced: the certificate authority of the cluster",
        ],
    );
}

#[test]
fn a_managed_group_gets_the_part_of_eks() {
    let mut machine = machine("");
    machine.user_data = None;
    machine.managed = Some(ManagedNodeGroup {
        name: Some("blue".to_owned()),
        ..ManagedNodeGroup::default()
    });
    let text = shown(&machine);
    assert!(
        text.contains("expected: label eks.amazonaws.com/nodegroup=blue\n"),
        "{text}"
    );
    assert!(
        text.contains("\nimage: al2023\n") && !text.contains("overlay:"),
        "{text}"
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

fn message(script: &str) -> String {
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n\
         #!/bin/bash\n{script}\n--//--\n"
    )
}

#[test]
fn a_message_without_a_word_about_a_kubelet_is_for_a_managed_node_group() {
    let echo = machine(&message("echo hello"));
    assert_has(
        &shown(&echo),
        &[
            "the part that EKS adds",
            "chosen: AL2023: the default of EKS",
            "note: only in a managed node group",
        ],
    );
    let mut al2 = echo;
    al2.traits.ami_family = Some(AmiFamily::Al2);
    assert_has(
        &shown(&al2),
        &[
            "the part that EKS adds",
            "chosen: AL2 with the bootstrap script of 2022",
        ],
    );
    // A program from elsewhere may start one.
    for other in [
        "aws s3 cp s3://b/start . && bash start",
        "/opt/acme/start.sh prod",
    ] {
        let report = shown(&machine(&message(other)));
        assert!(!report.contains("the part that EKS adds"), "{report}");
    }
}

#[test]
fn an_error_in_a_script_does_not_hide_its_call_of_the_bootstrap_script() {
    let report = shown(&machine(&message("URL=${endpoint)\n/etc/eks/bootstrap.sh prod")));
    assert!(!report.contains("the part that EKS adds"), "{report}");
    assert_has(&report, &["adopted: cluster name prod"]);
}

#[test]
fn a_managed_node_group_without_a_type_has_the_pods_of_the_type_that_runs() {
    let report = shown(&machine(&message("sed -i s/a/b/ /etc/eks/bootstrap.sh")));
    assert_has(&report, &["expected: capacity for 29 pods"]);
}

#[test]
fn an_instance_type_that_no_file_states_is_named() {
    let mut machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
    assert_has(
        &shown(&machine),
        &["chosen: instance type m5.large, as the file states none"],
    );
    machine.traits.instance_type = Some("c5.large".to_owned());
    assert!(!shown(&machine).contains("chosen: instance type"));
}

#[test]
fn flags_for_ipv6_make_the_cluster_one_of_ipv6() {
    for flags in ["--ip-family ipv6", "--service-ipv6-cidr fd30:1c53:5f8a::/108"] {
        let report = shown(&machine(&format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo {flags}\n"
        )));
        assert_has(
            &report,
            &[
                "fd30:1c53:5f8a::/108, an IPv6 cluster",
                "ip_family: ipv6",
                "ipv6:",
            ],
        );
    }
}

#[test]
fn kubeadm_gets_the_endpoint_and_the_token_of_the_run() {
    let hash = "a1".repeat(32);
    let text = format!(
        "#!/bin/bash\nkubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:{hash}\n"
    );
    let trial = adopt(&machine(&text), &BTreeMap::new()).unwrap();
    let text = String::from_utf8(trial.user_data.clone().unwrap()).unwrap();
    assert!(
        text.contains("kubeadm join {{ cluster.api_server }} --token"),
        "{text}"
    );
    let replaced = trial
        .report
        .iter()
        .filter(|line| line.kind == AdoptionKind::Replaced);
    assert_eq!(replaced.count(), 3);
    assert!(
        trial
            .scenario(&[], None, &AddedKeys::default())
            .contains("bootstrap_tokens:\n    - {  }\n")
    );
}

#[test]
fn an_address_in_place_of_an_endpoint_is_replaced() {
    let text = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint https://10.0.0.1\n";
    let trial = adopt(&machine(text), &BTreeMap::new()).unwrap();
    let text = String::from_utf8(trial.user_data.clone().unwrap()).unwrap();
    assert!(
        text.ends_with("--apiserver-endpoint {{ cluster.endpoint }}\n"),
        "{text}"
    );
    assert!(
        !trial
            .scenario(&[], None, &AddedKeys::default())
            .contains("endpoint:")
    );
}

#[test]
fn values_fill_in_places_and_missing_ones_stop() {
    let machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh <cluster-name>\n");
    let error = adopt(&machine, &BTreeMap::new()).unwrap_err();
    assert!(matches!(error, AdoptError::Placeholders { .. }), "{error}");
    let set = BTreeMap::from([("cluster-name".to_owned(), "demo".to_owned())]);
    let trial = adopt(&machine, &set).unwrap();
    assert!(
        trial
            .scenario(&[], None, &AddedKeys::default())
            .contains("cluster:\n  name: demo\n")
    );
}

#[test]
fn names_of_machines_become_names_of_files() {
    for (machine, name) in [
        ("web-lt/3", "web-lt-3"),
        (
            "aws_launch_template.workers[\"a\"]",
            "aws-launch-template-workers-a",
        ),
        ("/tmp/x/user-data.sh", "user-data-sh"),
        ("-", "machine"),
    ] {
        assert_eq!(file_name(machine), name);
    }
}

#[test]
fn a_part_without_an_interpreter_runs_on_al2_only() {
    let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n\
                echo hi\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo\n\n--B--\n";
    let note = "note: part-001 does not begin with `#!`: Amazon Linux 2 runs it with a shell, and AL2023 stops at it\n";
    let mut parts = machine(text);
    assert_has(&shown(&parts), &[note]);
    parts.traits.ami_family = Some(AmiFamily::Al2023);
    assert!(!shown(&parts).contains("Amazon Linux 2 runs it"));
}

#[test]
fn what_eks_gives_to_a_node_after_the_join_is_not_expected() {
    let mut machine =
        machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=tier=web'\n");
    machine.traits.later_labels = [("team", "core"), ("tier", "web")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let shown = shown(&machine);
    assert_has(
        &shown,
        &[
            "expected: label tier=web",
            "not checked: label team=core: EKS gives it to the Node after the join",
        ],
    );
    assert!(!shown.contains("not checked: label tier"), "{shown}");
}

const MESSAGE: &str =
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: ";

#[test]
fn a_message_for_a_managed_node_group_gets_the_part_of_eks() {
    let added = "chosen: the part that EKS adds to the user data of a managed node group";
    let edits =
        format!("{MESSAGE}text/x-shellscript\n\n#!/bin/bash\nsed -i s/a/b/ /etc/eks/bootstrap.sh\n--B--\n");
    assert_has(
        &shown(&machine(&edits)),
        &[added, "AL2 with the bootstrap script"],
    );
    let config =
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { config: { maxPods: 20 } } }";
    let partial = format!("{MESSAGE}application/node.eks.aws\n\n{config}\n--B--\n");
    assert_has(&shown(&machine(&partial)), &[added, "AL2023", "pods: 20"]);
    // The same texts belong to an AMI of its own, or call the script themselves.
    let mut of_ami = machine(&edits);
    of_ami.traits.ami_id = Some("ami-0123456789abcdef0".to_owned());
    let calls = edits.replace("--B--", "/etc/eks/bootstrap.sh demo\n--B--");
    for other in [of_ami, machine(&calls)] {
        let text = shown(&other);
        assert!(!text.contains(added), "{text}");
    }
}

#[test]
fn a_script_that_derives_the_dns_address_gets_a_vpc_that_leads_to_it() {
    let chosen = "chosen: the VPC has the address range 10.0.0.0/16";
    let text = "#!/bin/bash\nK8S_CLUSTER_DNS_IP=172.20.0.10\n/etc/eks/bootstrap.sh demo\n";
    assert_has(&shown(&machine(text)), &[chosen, "vpc_cidrs", "10.0.0.0/16"]);
    let passes = text.replace("sh demo", "sh demo --dns-cluster-ip $K8S_CLUSTER_DNS_IP");
    let other = text.replace("172.20.0.10", "10.100.0.10");
    for text in [passes, other] {
        assert!(!shown(&machine(&text)).contains(chosen), "{text}");
    }
}

#[test]
fn a_script_that_asks_for_its_lifecycle_state_is_in_service() {
    let path = "meta-data/autoscaling/target-lifecycle-state";
    let text = format!(
        "#!/bin/bash\ncurl http://169.254.169.254/latest/{path} | grep InService && /etc/eks/bootstrap.sh demo\n"
    );
    assert_has(
        &shown(&machine(&text)),
        &["lifecycle_state: InService", "is InService, as of"],
    );
}

#[test]
fn the_http_proxy_of_the_user_data_is_adopted() {
    let text = "#!/bin/bash\nPROXY=http://me:secret@proxy.corp.internal:3128\nexport HTTPS_PROXY=$PROXY\n\
                echo proxy=http://10.0.0.4:80 >> /etc/yum.conf\nLOCAL_PROXY=http://127.0.0.1:3128\n\
                /etc/eks/bootstrap.sh demo\n";
    let shown = shown(&machine(text));
    assert_has(
        &shown,
        &[
            "adopted: the HTTP proxy http://proxy.corp.internal:3128, which leads to AWS",
            "note: the HTTP proxy http://10.0.0.4:80 does not exist: a scenario has one, here http://proxy.corp.internal:3128\n",
            "http_proxy: \"http://proxy.corp.internal:3128\"\n",
        ],
    );
    assert!(!shown.contains("127.0.0.1"), "{shown}");
}

#[test]
fn arguments_that_no_bootstrap_script_reads_are_noted() {
    let text = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kube-reserved cpu=250m --dns-cluster-ip=10.100.0.10\n",
    ));
    for expected in [
        "note: bootstrap.sh of the EKS AMIs has no flag `--kube-reserved`: it has no effect; arguments of the kubelet belong \
         into `--kubelet-extra-args '--kube-reserved=VALUE'`\n",
        "note: bootstrap.sh reads no `--dns-cluster-ip=VALUE`: it has no effect; write `--dns-cluster-ip VALUE`\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let known = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false\n",
    ));
    assert!(!known.contains("has no flag"), "{known}");
}

#[test]
fn a_message_that_writes_files_of_the_kubelet_is_for_a_managed_group() {
    let message = |script: &str| {
        format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n\
             #!/bin/bash\n# before bootstrap.sh runs\n{script}\n--B--\n"
        )
    };
    let of_eks = "the part that EKS adds to the user data of a managed node group";
    let drop_in = shown(&machine(&message(
        "tee /etc/systemd/system/kubelet.service.d/proxy.conf </dev/null",
    )));
    assert!(drop_in.contains(of_eks), "{drop_in}");
    for script in ["systemctl enable --now kubelet", "exec /usr/bin/kubelet --v=2"] {
        let started = shown(&machine(&message(script)));
        assert!(!started.contains(of_eks), "{script}: {started}");
    }
}

#[test]
fn keys_of_the_command_line_leave_the_part_of_eks() {
    let mut machine = machine(&message("sed -i s/a/b/ /etc/x"));
    for keys in [
        "instance: { type: m5.xlarge, metadata: { tokens: optional } }",
        "cluster: { name: prod }",
        "region: eu-west-1",
    ] {
        AddedKeys::read(keys).unwrap().unwrap().adopt_into(&mut machine);
        assert_has(&shown(&machine), &["the part that EKS adds"]);
    }
    assert_has(
        &shown(&machine),
        &["capacity for 58 pods", "adopted: cluster name prod"],
    );
}

#[test]
fn values_of_a_cluster_that_no_file_states_are_not_adopted() {
    let report = shown(&machine(&message("sed -i s/a/b/ /etc/x")));
    assert_has(
        &report,
        &[
            "chosen: cluster name nodejoin, a stand-in: the file states none",
            "chosen: region us-west-2, a stand-in",
        ],
    );
    assert!(!report.contains("adopted: endpoint"), "{report}");
}

#[test]
fn the_dns_address_of_an_ipv6_cluster_is_not_checked() {
    let config = node_config("kubelet: { config: { clusterDNS: [\"fd30:1c53:5f8a::a\"] } }", "");
    let config = config.replace("cidr: 10.100.0.0/16", "cidr: \"fd30:1c53:5f8a::/108\"");
    let report = shown(&machine(&config));
    assert_has(
        &report,
        &["not checked: cluster DNS fd30:1c53:5f8a::a in the kubelet"],
    );
    assert!(!report.contains("clusterDNS:"), "{report}");
}

#[test]
fn lines_without_an_effect_are_noted() {
    let behind = format!(
        "{}--B\nContent-Type: text/x-shellscript\n\n#!/bin/sh\n",
        message("true")
    );
    assert_has(&shown(&machine(&behind)), &["behind the end of the MIME message"]);
    let cut = shown(&machine(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo \\ \n  --use-max-pods false\n",
    ));
    assert_has(
        &cut,
        &["a blank follows the backslash at the end of `/etc/eks/bootstrap.sh demo` in line 2"],
    );
    let behind_blank = message("true").replacen("--//\n", "--//\n\n", 1);
    assert_has(
        &shown(&machine(&behind_blank)),
        &["which ends the header of its part"],
    );
    let misspelt = message("true").replacen("--//\n", "--/\n", 1);
    assert_has(
        &shown(&machine(&misspelt)),
        &["the boundary of the message is `--//`"],
    );
    assert_has(&shown(&machine(&message("mkfs $${DEV}"))), &["line 8 has `$${`"]);
    let clean = shown(&machine(&message(
        "/etc/eks/bootstrap.sh demo \\\n  --use-max-pods false",
    )));
    assert!(
        !clean.contains("behind the end") && !clean.contains("backslash"),
        "{clean}"
    );
}

#[test]
fn an_endpoint_without_its_scheme_is_kept() {
    let call =
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint A.gr7.eu-west-1.eks.amazonaws.com\n";
    let report = shown(&machine(call));
    assert_has(
        &report,
        &[
            "adopted: endpoint A.gr7",
            "endpoint: \"https://A.gr7.eu-west-1.eks.amazonaws.com\"",
        ],
    );
    assert!(!report.contains("replaced: the endpoint"), "{report}");
}

#[test]
fn the_cluster_is_the_one_that_the_rest_of_the_file_names() {
    let call = |name: &str| machine(&format!("#!/bin/bash\n/etc/eks/bootstrap.sh {name}\n"));
    let mut tagged = call("demo-old");
    tagged.traits.tags = [("kubernetes.io/cluster/demo".to_owned(), "owned".to_owned())].into();
    let mut named = call("demo-old");
    named.traits.cluster.name = Some("demo".to_owned());
    for machine in [&tagged, &named] {
        let other = "the user data names the cluster demo-old, the rest of the file demo";
        assert_has(&shown(machine), &["adopted: cluster name demo\n", other]);
    }
    let with = AddedKeys::read("cluster: { name: demo-old }").unwrap().unwrap();
    with.adopt_into(&mut named);
    let report = shown(&named);
    assert!(
        report.contains("adopted: cluster name demo-old\n") && !report.contains("the rest of the file"),
        "{report}"
    );
    let glued = shown(&call("demo--use-max-pods false"));
    assert_has(
        &glued,
        &[
            "adopted: cluster name demo\n",
            "a blank is missing before `--use-max-pods`",
        ],
    );
}

#[test]
fn volumes_besides_the_root_volume_are_of_the_instance() {
    let mut machine = machine("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
    let volumes = [("/dev/sdb", 100), ("/dev/nvme7n1", 5)];
    machine.traits.volumes = volumes.map(|(device, gib)| (device.to_owned(), gib)).into();
    assert_has(
        &shown(&machine),
        &[
            "adopted: volume /dev/sdb of 100 GiB",
            "note: EC2 refuses a volume with the name /dev/nvme7n1",
            "volumes:\n    - { device: /dev/sdb, gib: 100 }\n",
        ],
    );
}

#[test]
fn an_authority_that_is_encoded_twice_is_named() {
    let authority = STANDARD.encode(STANDARD.encode(AUTHORITY));
    let call = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --b64-cluster-ca {authority}\n");
    assert_has(&shown(&machine(&call)), &["is encoded twice in base64"]);
}

/// Groups of eksctl have compressed user data.
#[test]
fn a_command_in_place_of_the_bootstrap_script_is_read() {
    let trial = |command: &str| {
        let text = format!(
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {{ name: demo, region: eu-west-1 }}\nnodeGroups:\n\
             - name: ng\n  amiFamily: AmazonLinux2\n  ami: ami-0123456789abcdef0\n  overrideBootstrapCommand: |\n    \
             #!/bin/bash\n    {command}\n"
        );
        let set = BTreeMap::new();
        let imported = crate::import(&crate::Import {
            name: "cluster.yaml",
            bytes: text.as_bytes(),
            folder: None,
            cluster: &ClusterTraits::default(),
            set: &set,
        });
        shown(&imported.unwrap().machines[0])
    };
    let open = trial("/etc/eks/bootstrap.sh <your-cluster-name>");
    assert_has(&open, &["<your-cluster-name>"]);
    let report = trial(
        "/etc/eks/bootstrap.sh demo --use-max-pods=false --kubelet-extra-args '--node-labels=team=web'",
    );
    assert_has(
        &report,
        &[
            "expected: label team=web",
            "bootstrap.sh reads no `--use-max-pods=VALUE`",
            "chosen: endpoint https://0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com, a stand-in",
            "adopted: cluster name demo",
            "adopted: region eu-west-1",
        ],
    );
}

#[test]
fn a_value_to_fill_in_is_found_in_an_encoded_file() {
    let script = STANDARD.encode("#!/bin/bash\n/etc/eks/bootstrap.sh <your-cluster-name>\n");
    let text = format!(
        "#cloud-config\nwrite_files:\n- {{ path: /x.sh, encoding: b64, content: {script} }}\nruncmd: [/x.sh]\n"
    );
    assert_has(&shown(&machine(&text)), &["<your-cluster-name>"]);
}
