//! The cluster that user data names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use nodejoin_core::plan::aws::{AuthenticationMode, IpFamily};

use super::*;
use crate::machine::System;

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
fn the_family_of_the_cluster_counts_for_user_data_that_does_not_name_it() {
    let script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --dns-cluster-ip fd30:1c53:5f8a::a\n";
    let mut node = machine(script);
    let in_ipv4 = shown(&node);
    assert!(!in_ipv4.contains("ip_family"), "{in_ipv4}");
    node.traits.cluster.ip_family = Some(IpFamily::Ipv6);
    let ipv6 = [
        "service CIDR fd30:1c53:5f8a::/108, an IPv6 cluster",
        "\n    ip_family: ipv6\n    service_ipv6_cidr: \"fd30:1c53:5f8a::/108\"\n",
        "\n    ipv6:\n",
    ];
    assert_has(&shown(&node), &ipv6);
    let settings = |dns: &str| {
        format!(
            "[settings.kubernetes]\napi-server = \"https://x\"\ncluster-certificate = \"Q0E=\"\ncluster-name = \"demo\"\n\
             cluster-dns-ip = \"{dns}\"\n"
        )
    };
    let mut node = machine(&settings("fd30:1c53:5f8a::a"));
    node.system = System::Bottlerocket;
    node.traits.ami_family = Some(AmiFamily::Bottlerocket);
    assert_has(&shown(&node), &ipv6);
    // A cache of the node has an address outside of the network of services.
    node.traits.cluster.service_cidr = Some("fd30:1c53:5f8a::/108".to_owned());
    node.user_data = Some(settings("fd00:ec2::10").into_bytes());
    let report = shown(&node);
    assert!(!report.contains("names the service CIDR"), "{report}");
}

#[test]
fn a_kubeconfig_that_user_data_writes_names_the_cluster() {
    let host = "B0F675745AFCBD3ED1392ED6CB24CB2C.yl4.eu-west-1.eks.amazonaws.com";
    let file = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: kubernetes\n  cluster:\n    certificate-authority: /etc/ca.crt\n    \
         server: https://{host}\nusers:\n- name: kubelet\n  user: {{ exec: {{ command: aws, args: [eks, get-token, --cluster-name, shop] }} }}\n"
    );
    let script =
        |end: &str| format!("#!/bin/bash\ncat > /var/lib/kubelet/kubeconfig <<EOF\n{file}EOF\n{end}\n");
    let indented: String = file.lines().map(|line| format!("    {line}\n")).collect();
    let config = format!(
        "#cloud-config\nwrite_files:\n- path: /etc/kubeconfig\n  content: |\n{indented}runcmd: [systemctl start kubelet]\n"
    );
    for text in [script("systemctl restart kubelet"), config] {
        let report = shown(&machine(&text));
        assert_has(
            &report,
            &[
                &format!("adopted: endpoint https://{host}\n"),
                "adopted: cluster name shop\n",
                "adopted: region eu-west-1\n",
            ],
        );
    }
    // Beside a program that joins, the file can be for another cluster.
    let report = shown(&machine(&script("/etc/eks/bootstrap.sh demo")));
    assert_has(&report, &["adopted: cluster name demo\n"]);
    assert!(!report.contains("adopted: endpoint"), "{report}");
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
fn a_script_that_derives_the_dns_address_gets_a_vpc_that_leads_to_it() {
    let chosen = "chosen: the VPC has the address range 10.0.0.0/16: in such a VPC, 172.20.0.0/16 is the default of EKS for services\n";
    let text = "#!/bin/bash\nK8S_CLUSTER_DNS_IP=172.20.0.10\n/etc/eks/bootstrap.sh demo\n";
    assert_has(&shown(&machine(text)), &[chosen, "vpc_cidrs", "10.0.0.0/16"]);
    let passes = text.replace("sh demo", "sh demo --dns-cluster-ip $K8S_CLUSTER_DNS_IP");
    let other = text.replace("172.20.0.10", "10.100.0.10");
    for text in [passes, other] {
        assert!(!shown(&machine(&text)).contains(chosen), "{text}");
    }
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
fn the_network_of_an_ipv6_cluster_that_no_file_states_is_a_stand_in() {
    let report = |flags: &str| {
        shown(&machine(&format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo --ip-family IPv6{flags}\n"
        )))
    };
    assert_has(
        &report(""),
        &["chosen: service CIDR fd30:1c53:5f8a::/108, an IPv6 cluster, a stand-in: the file states none\n"],
    );
    assert_has(
        &report(" --service-ipv6-cidr fd00:1::/108"),
        &["adopted: service CIDR fd00:1::/108, an IPv6 cluster\n"],
    );
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
fn an_authority_that_is_encoded_twice_is_named() {
    let authority = STANDARD.encode(STANDARD.encode(AUTHORITY));
    let call = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --b64-cluster-ca {authority}\n");
    assert_has(&shown(&machine(&call)), &["is encoded twice in base64"]);
}

#[test]
fn a_name_that_no_cluster_of_eks_has_is_noted() {
    let report = |text: &str| shown(&machine(&format!("#!/bin/bash\n{text}\n")));
    let note = "note: EKS does not create a cluster with the name `10.100.0.10`: a name has letters, digits, `-` and `_` only";
    assert_has(&report("/etc/eks/bootstrap.sh 10.100.0.10"), &[note]);
    assert!(!report("/etc/eks/bootstrap.sh demo-1_x").contains("does not create"));
    let mut tagged = machine("#!/bin/bash\n/etc/eks/bootstrap.sh $NAME\n");
    tagged.traits.tags = [(
        "kubernetes.io/cluster/k8s.example.com".to_owned(),
        "owned".to_owned(),
    )]
    .into();
    assert!(!shown(&tagged).contains("does not create"));
}

#[test]
fn marks_of_templates_are_filled_in() {
    let call = "#!/bin/bash\n/etc/eks/bootstrap.sh %CLUSTER% --kubelet-extra-args '--node-labels=a=b'\n";
    let open = shown(&machine(call));
    assert_has(&open, &["line 2 `%CLUSTER%`", "--set '%CLUSTER%=VALUE'"]);
    let set = BTreeMap::from([("%CLUSTER%".to_owned(), "demo".to_owned())]);
    let trial = adopt(&machine(call), &set).unwrap();
    let scenario = trial.scenario(&[], None, &AddedKeys::default());
    assert!(scenario.contains("cluster:\n  name: demo\n"), "{scenario}");
}

#[test]
fn a_machine_without_user_data_is_noted() {
    let mut empty = machine("");
    empty.user_data = None;
    empty.traits.ami_id = Some("ami-0123456789abcdef0".to_owned());
    let note = "note: the machine has no user data: a node without it joins only if the AMI starts a kubelet itself\n";
    assert_has(&shown(&empty), &[note]);
    empty.managed = Some(ManagedNodeGroup::default());
    empty.traits.ami_id = None;
    assert!(!shown(&empty).contains(note));
}
