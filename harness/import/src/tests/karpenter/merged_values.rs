//! What the nodes of a class and a pool get in place of what their user data and their requirements say.

use std::collections::BTreeMap;

use super::{POOL, class, with_pool};
use crate::tests::{machine, read, read_with, refused, user_data};
use crate::{AdoptionKind, AmiFamily};

/// The lines of the report.
fn report(text: &str) -> String {
    let trial = crate::adopt(&machine(text), &BTreeMap::new()).unwrap();
    let lines = trial.report.iter().map(|line| format!("{}\n", line.text));
    lines.collect()
}

/// The user data of a class with a setting of the kubelet in a NodeConfig.
fn node_config(cluster: &str, kubelet: &str) -> String {
    format!(
        "  userData: |\n    apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig\n    spec:\n      cluster: {{ {cluster} }}\n      \
         kubelet: {{ {kubelet} }}\n"
    )
}

const OUTSIDE: &str = "is neither in the service CIDR";

#[test]
fn the_dns_address_of_a_class_tells_the_network_of_services() {
    let with = |family: &str, dns: &str, more: &str| {
        let kubelet = format!("  kubelet: {{ clusterDNS: [{dns}] }}\n");
        report(&with_pool(&format!("  amiFamily: {family}\n{kubelet}{more}")))
    };
    for family in ["AL2023", "AL2", "Bottlerocket"] {
        let found = with(family, "172.20.0.10", "");
        let has_both = found.contains("service CIDR 172.20.0.0/16\n")
            && found.contains("cluster DNS 172.20.0.10 in the kubelet\n");
        assert!(has_both && !found.contains(OUTSIDE), "{family}: {found}");
    }
    // A stand-in says nothing about the address.
    for dns in ["192.168.0.10", "169.254.20.10"] {
        let found = with("AL2023", dns, "");
        let is_made = found.contains("service CIDR 10.100.0.0/16, a stand-in");
        assert!(is_made && !found.contains(OUTSIDE), "{dns}: {found}");
    }
    let stated = with("AL2023", "172.20.0.10", &node_config("cidr: 10.100.0.0/16", ""));
    assert!(stated.contains(OUTSIDE), "{stated}");
}

#[test]
fn karpenter_writes_the_dns_address_of_the_cluster_over_that_of_a_node_config() {
    let with = |more: &str| report(&with_pool(&format!("  amiFamily: AL2023\n{more}")));
    let of_cache = "config: { clusterDNS: [169.254.20.10] }";
    let note = "`spec.kubelet.config.clusterDNS` (169.254.20.10) of the NodeConfig in `spec.userData` has no effect: Karpenter's NodeConfig, \
                which nodeadm reads last, has the address of the cluster's DNS service, here ";
    for (cluster, address) in [("", "10.100.0.10"), ("cidr: 172.20.0.0/16", "172.20.0.10")] {
        let found = with(&node_config(cluster, of_cache));
        let lines = [
            format!("{note}{address}; state `clusterDNS` in `spec.kubelet`\n"),
            format!("cluster DNS {address} in the kubelet\n"),
        ];
        assert!(lines.iter().all(|line| found.contains(line)), "{found}");
    }
    let other = "  kubelet: { clusterDNS: [10.96.0.10] }\n";
    let found = with(&format!("{other}{}", node_config("", of_cache)));
    assert!(
        found.contains("which nodeadm reads last, has 10.96.0.10\n"),
        "{found}"
    );
    let with_flag = "config: { clusterDNS: [169.254.20.10] }, flags: [--cluster-dns=169.254.20.10]";
    let own = "  kubelet: { clusterDNS: [169.254.20.10] }\n";
    for (config, address) in [
        (format!("{other}{}", node_config("", with_flag)), "169.254.20.10"),
        (format!("{own}{}", node_config("", of_cache)), "169.254.20.10"),
        (
            node_config("", "flags: [--cluster-dns=169.254.20.10]"),
            "169.254.20.10",
        ),
        (
            node_config("", "config: { clusterDNS: [172.20.0.10] }"),
            "172.20.0.10",
        ),
        (node_config("", "config: { maxPods: 30 }"), "10.100.0.10"),
    ] {
        let found = with(&config);
        assert!(!found.contains("`spec.kubelet.config.clusterDNS`"), "{found}");
        let expected = format!("cluster DNS {address} in the kubelet\n");
        assert!(found.contains(&expected), "{found}");
    }
}

#[test]
fn karpenter_writes_the_dns_address_of_the_cluster_over_that_of_settings() {
    let notes = |more: &str| {
        let settings = "  userData: |\n    [settings.kubernetes]\n    cluster-dns-ip = \"169.254.20.10\"\n";
        machine(&with_pool(&format!(
            "  amiFamily: Bottlerocket\n{more}{settings}"
        )))
        .notes
    };
    assert_eq!(
        notes("")[0],
        "`settings.kubernetes.cluster-dns-ip = \"169.254.20.10\"` of `spec.userData` has no effect: in its place Karpenter writes the \
         address of the cluster's DNS service, here 10.100.0.10; state `clusterDNS` in `spec.kubelet`"
    );
    let other = notes("  kubelet: { clusterDNS: [10.96.0.10] }\n").remove(0);
    assert!(
        other.ends_with("in its place Karpenter writes 10.96.0.10"),
        "{other}"
    );
    let same = notes("  kubelet: { clusterDNS: [169.254.20.10] }\n").join("\n");
    assert!(!same.contains("cluster-dns-ip"), "{same}");
}

/// The pool with other requirements in place of that of the instance type.
fn pool_that_requires(requirements: &[(&str, &str)]) -> String {
    let of_type = "{ key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium, m5.large] }";
    assert!(POOL.contains(of_type));
    let requirement = |(key, values): &(&str, &str)| {
        format!("{{ key: karpenter.k8s.aws/{key}, operator: In, values: [{values}] }}")
    };
    let requirements: Vec<String> = requirements.iter().map(requirement).collect();
    let pool = POOL.replace(of_type, &requirements.join("\n      - "));
    format!("{}{pool}", class("  amiFamily: AL2023\n"))
}

#[test]
fn requirements_of_the_instance_type_stay_out_of_the_user_data() {
    let (family, size) = (("instance-family", "g5g"), ("instance-size", "16xlarge"));
    let hypervisor = ("instance-hypervisor", "nitro");
    let node = machine(&pool_that_requires(&[family, size, hypervisor]));
    let text = user_data(&node);
    assert!(!text.contains("instance-family"), "{text}");
    assert!(text.contains("size=big"), "{text}");
    assert_eq!(node.traits.labels["size"], "big");
    let text = "labels of the instance type (karpenter.k8s.aws/instance-family=g5g, karpenter.k8s.aws/instance-size=16xlarge, \
                karpenter.k8s.aws/instance-hypervisor=nitro): requirements are not part of the user data, and Karpenter's controllers \
                give these labels to the Node after the join";
    assert_eq!(node.not_checked, [text]);
    let trial = crate::adopt(&node, &BTreeMap::new()).unwrap();
    let line = trial.report.iter().find(|line| line.text == text);
    assert_eq!(line.map(|line| line.kind), Some(AdoptionKind::NotChecked));
    let has_note = node.notes.iter().any(|note| note.contains("instance type"));
    assert!(!has_note, "{:?}", node.notes);
    let of_m5 = |sizes| vec![("instance-family", "m5"), ("instance-size", sizes)];
    for (requirements, found) in [
        (vec![family, size], Some("g5g.16xlarge")),
        (of_m5("huge, large"), Some("m5.large")),
        (of_m5("huge"), None),
        (vec![family], None),
    ] {
        let node = machine(&pool_that_requires(&requirements));
        assert_eq!(node.traits.instance_type.as_deref(), found, "{requirements:?}");
    }
    let several = machine(&pool_that_requires(&[("instance-family", "m5, m6i")]));
    assert_eq!(several.not_checked, [""; 0]);
    // Karpenter passes the labels of the template.
    let pool = POOL.replace("team: web", "karpenter.k8s.aws/instance-family: m5");
    let stated = machine(&format!("{}{pool}", class("  amiFamily: AL2023\n")));
    assert_eq!(stated.traits.labels["karpenter.k8s.aws/instance-family"], "m5");
    let both = pool_that_requires(&[family, size]);
    let both = machine(&both.replace("team: web", "karpenter.k8s.aws/instance-family: g5g"));
    assert_eq!(both.traits.labels["karpenter.k8s.aws/instance-family"], "g5g");
    let not_checked = &both.not_checked[0];
    assert!(
        not_checked.starts_with("labels of the instance type (karpenter.k8s.aws/instance-size=16xlarge): "),
        "{not_checked}"
    );
}

#[test]
fn a_pool_of_arm64_without_a_type_has_a_stand_in_of_its_architecture() {
    let with = |spec: &str, requirement: &str| {
        let of_type =
            "{ key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium, m5.large] }";
        let pool = POOL.replace(of_type, requirement);
        assert_ne!(pool, POOL);
        let text = format!("{}{pool}", class(&format!("  amiFamily: AL2023\n{spec}")));
        assert_eq!(machine(&text).traits.max_pods, Some(29));
        report(&text)
    };
    let arch = |values: &str| format!("{{ key: kubernetes.io/arch, operator: In, values: [{values}] }}");
    let parameter =
        "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/recommended/image_id";
    let of_arm64 = format!("  amiSelectorTerms: [{{ ssmParameter: {parameter} }}]\n");
    let team = "{ key: team, operator: In, values: [web] }";
    let default = "instance type m5.large, as the file states none";
    let stand_in = "instance type m6g.large, a stand-in: the file states none\n";
    for (spec, requirement, expected) in [
        ("", arch("arm64"), stand_in),
        (of_arm64.as_str(), team.to_owned(), stand_in),
        ("", arch("amd64"), default),
        ("", arch("amd64, arm64"), default),
        ("", team.to_owned(), default),
    ] {
        let found = with(spec, &requirement);
        assert!(found.contains(expected), "{requirement}: {found}");
    }
}

#[test]
fn the_label_of_the_class_came_after_v1beta1() {
    let v1 = with_pool("  amiFamily: AL2023\n");
    let label = "karpenter.k8s.aws/ec2nodeclass";
    assert_eq!(machine(&v1).traits.labels[label], "main");
    let before = machine(&v1.replace("/v1\n", "/v1beta1\n")).traits.labels;
    assert!(!before.contains_key(label), "{before:?}");
    assert_eq!(before["team"], "web");
}

#[test]
fn the_alias_names_the_ami_of_a_custom_family() {
    let script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
    let own = "  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n";
    let with = |alias: &str, own: &str| {
        let terms = format!("  amiSelectorTerms: [{{ alias: {alias}@latest }}]\n");
        machine(&with_pool(&format!("  amiFamily: Custom\n{terms}{own}")))
    };
    for (alias, family) in [
        ("al2023", AmiFamily::Al2023),
        ("al2", AmiFamily::Al2),
        ("windows2022", AmiFamily::Windows),
    ] {
        let node = with(alias, own);
        assert_eq!(node.traits.ami_family, Some(family), "{alias}");
        assert_eq!(user_data(&node), script, "{alias}");
    }
    let without = with("bottlerocket", "").traits;
    assert_eq!(without.ami_family, Some(AmiFamily::Custom));
}

#[test]
fn an_alias_of_bottlerocket_with_the_user_data_of_another_system_is_refused() {
    let with = |alias: &str, own: &str| {
        let terms = format!("  amiSelectorTerms: [{{ alias: {alias}@latest }}]\n");
        with_pool(&format!("  amiFamily: Custom\n{terms}  userData: |\n    {own}\n"))
    };
    for (own, what) in [
        ("#!/bin/bash\n    /etc/eks/bootstrap.sh demo", "a script"),
        (
            "MIME-Version: 1.0\n    Content-Type: multipart/mixed; boundary=\"B\"\n\n    --B\n    Content-Type: text/x-shellscript\n\n    \
             #!/bin/bash\n    --B--",
            "a MIME message",
        ),
        (
            "apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig",
            "a NodeConfig",
        ),
    ] {
        let refused = refused("f", &with("bottlerocket", own));
        let message = format!(
            "EC2NodeClass `main` selects an AMI of Bottlerocket by the alias `bottlerocket@latest`, and its `spec.userData` is {what}: \
             Bottlerocket takes settings in TOML alone\n  hint: name an alias of AL2023 or AL2"
        );
        assert!(refused.contains(&message), "{refused}");
        machine(&with("al2023", own));
    }
    let settings = with("bottlerocket", "[settings.kubernetes]\n    max-pods = 20");
    let node = machine(&settings);
    assert_eq!(node.traits.ami_family, Some(AmiFamily::Bottlerocket));
}

#[test]
fn an_alias_that_is_not_filled_in_takes_a_value() {
    let with_alias = |alias: &str| with_pool(&format!("  amiSelectorTerms: [{{ alias: \"{alias}\" }}]\n"));
    let text = with_alias("${ALIAS}");
    let filled = read_with("file", text.as_bytes(), &[("ALIAS", "al2023@latest")]).unwrap();
    assert_eq!(filled.machines[0].traits.ami_family, Some(AmiFamily::Al2023));
    // The family is known.
    machine(&with_alias("al2023@${VERSION}"));
}

#[test]
fn a_template_with_a_launch_template_of_its_own_has_no_user_data() {
    let text = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: { name: t }\nspec:\n  launchTemplate: own\n---\n\
                apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: { name: p }\nspec: { providerRef: { name: t } }\n";
    assert_eq!(
        refused("f", text),
        "line 5: the user data of AWSNodeTemplate `t` is in launch template `own`\n  hint: give the output of `aws ec2 \
         describe-launch-template-versions --launch-template-name own`"
    );
    let empty = refused("f", &text.replace("launchTemplate: own", "launchTemplate: \"\""));
    assert!(
        empty.starts_with("line 5: AWSNodeTemplate `t` has an empty `launchTemplate`: "),
        "{empty}"
    );
}

#[test]
fn a_pool_of_auto_mode_is_out_of_scope() {
    let pool = POOL.replace(
        "group: karpenter.k8s.aws, kind: EC2NodeClass",
        "group: eks.amazonaws.com, kind: NodeClass",
    );
    assert_ne!(pool, POOL);
    let nodes = "apiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: { name: main }\nspec: { role: nodes }\n";
    let alone = pool.trim_start_matches("---\n").to_owned();
    // What is out of scope needs no values.
    let open = pool.replace("metadata: { name: ", "metadata: { namespace: $SPACE, name: ");
    assert_ne!(open, pool);
    for text in [alone, format!("{nodes}{pool}"), format!("{nodes}{open}")] {
        let refused = refused("f", &text);
        assert!(refused.contains("EKS Auto Mode is out of scope"), "{refused}");
    }
    // Its class has the name of one of Karpenter's.
    let both = read(&format!("{}{pool}", class("  amiFamily: AL2023\n")));
    assert_eq!((both.machines.len(), both.machines[0].name.as_str()), (1, "main"));
    let note = &both.machines[0].notes[0];
    assert!(!note.contains("which the file does not define"), "{note}");
    assert_eq!(both.unread[0].name, "default");
    assert!(!both.unread[0].error.is_mistake());
}

#[test]
fn a_role_that_is_not_filled_in_is_not_adopted() {
    let with = |role: &str| report(&with_pool("  amiFamily: AL2023\n").replace("role: nodes", role));
    assert!(with("role: nodes").contains("role nodes\n"));
    for role in [
        "role: $ROLE",
        "role: \"<<ROLE>>\"",
        "role: \"${ROLE}\"",
        "role: nodes-$CLUSTER",
        "role: \"nodes-{{ cluster }}\"",
    ] {
        let found = with(role);
        assert!(!found.contains("role "), "{role}: {found}");
    }
}

#[test]
fn a_parameter_of_ssm_tells_the_version_of_the_kubelet() {
    let version = |terms: &str| {
        let text = with_pool(&format!("  amiFamily: AL2023\n  amiSelectorTerms: [{terms}]\n"));
        machine(&text).traits.image_version
    };
    let term = |version: &str| {
        format!(
            "{{ ssmParameter: /aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/standard/recommended/image_id }}"
        )
    };
    assert_eq!(version(&term("1.29")).as_deref(), Some("1.29"));
    let both = |second: &str| version(&format!("{}, {second}", term("1.29")));
    let name = "{ name: amazon-eks-node-al2023-x86_64-standard-1.29-v20250920 }";
    assert_eq!(both(name).as_deref(), Some("1.29"));
    assert_eq!(both(&term("1.31")), None);
    assert_eq!(both("{ tags: { a: b } }"), None);
}

#[test]
fn an_ami_of_amazon_linux_in_a_class_is_not_one_of_eks() {
    let named = |term: &str| {
        report(&with_pool(&format!(
            "  amiFamily: AL2023\n  amiSelectorTerms: [{{ {term} }}]\n"
        )))
    };
    let problem = "is one of Amazon Linux without the programs of EKS";
    for term in [
        "name: \"al2023-ami-2023*\"",
        "name: \"amzn2-ami-hvm-*\", owner: amazon",
        "ssmParameter: /aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
    ] {
        let found = named(term);
        assert!(found.contains(problem), "{term}: {found}");
    }
    for term in [
        "name: \"amazon-eks-node-al2023-*\"",
        // Another owner can have its own AMI with such a name.
        "name: \"al2023-ami-2023*\", owner: self",
    ] {
        let found = named(term);
        assert!(!found.contains(problem), "{term}: {found}");
    }
}
