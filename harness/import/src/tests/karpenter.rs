//! Manifests of Karpenter.

mod merged_values;
mod refusals;

use nodejoin_core::plan::Tokens;

use super::{all_refused, machine, read, refused, user_data};
use crate::machine::{LaterBy, Machine};
use crate::{AmiFamily, FileFormat};

const POOL: &str = "---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: default }
spec:
  template:
    metadata: { labels: { team: web, node-role.kubernetes.io/web: x } }
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: main }
      taints: [{ key: a, value: b, effect: NoSchedule }]
      startupTaints: [{ key: s, effect: NoExecute }]
      requirements:
      - { key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium, m5.large] }
      - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand, spot] }
      - { key: size, operator: In, values: [big] }
";

fn class(spec: &str) -> String {
    let terms = match spec.contains("amiSelectorTerms") {
        true => "",
        false => "  amiSelectorTerms: [{ name: my-ami }]\n",
    };
    format!(
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{ name: main }}\nspec:\n  role: nodes\n{terms}{spec}"
    )
}

fn with_pool(spec: &str) -> String {
    format!("{}{POOL}", class(spec))
}

#[test]
fn al2_merges_a_script() {
    let machine = machine(&with_pool(
        "  amiFamily: AL2\n  tags: { x: z }\n  instanceStorePolicy: RAID0\n  kubelet:\n    systemReserved: { cpu: 100m }\n    evictionHard: { memory.available: 5% }\n    cpuCFSQuota: true\n  userData: |\n    #!/bin/bash\n    echo\n",
    ));
    insta::assert_snapshot!(user_data(&machine));
    assert_eq!(machine.name, "default");
    let traits = machine.traits;
    assert!(traits.is_spot);
    assert_eq!(traits.ami_family, Some(AmiFamily::Al2));
    assert_eq!(
        (traits.http_tokens, traits.hop_limit),
        (Some(Tokens::Required), Some(1))
    );
    assert_eq!(
        (traits.role.as_deref(), traits.max_pods),
        (Some("nodes"), Some(17))
    );
    let taints: Vec<String> = traits.taints.iter().map(ToString::to_string).collect();
    assert_eq!(
        taints,
        [
            "a=b:NoSchedule",
            "s=:NoExecute",
            "karpenter.sh/unregistered=:NoExecute"
        ]
    );
    assert_eq!(traits.labels["size"], "big");
    assert!(!traits.labels.contains_key("node-role.kubernetes.io/web"));
    assert_eq!(traits.tags["karpenter.sh/nodepool"], "default");
}

#[test]
fn values_fill_in_the_whole_file() {
    let file = with_pool(
        "  amiFamily: Custom\n  amiSelectorTerms: [{ id: \"${ami}\" }]\n  tags: { \"team/${name}\": \"${name}\" }\n  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh ${name}\n",
    )
    .replace("role: nodes", "role: \"${role}\"");
    let set = [
        ("ami", "ami-0abcdef0123456789"),
        ("name", "demo"),
        ("role", "own"),
    ];
    let imported = super::read_with("file", file.as_bytes(), &set).unwrap();
    let traits = &imported.machines[0].traits;
    assert_eq!(traits.ami_id.as_deref(), Some("ami-0abcdef0123456789"));
    assert_eq!(traits.role.as_deref(), Some("own"));
    assert_eq!(traits.cluster.name.as_deref(), Some("demo"));
    assert_eq!(traits.tags["team/demo"], "demo");
    assert!(traits.tags.contains_key("kubernetes.io/cluster/demo"));
}

#[test]
fn labels_of_a_node_that_starts_its_kubelet_itself_are_left_to_karpenter() {
    for spec in [
        "  amiFamily: AL2\n  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n",
        "  amiFamily: Custom\n  amiSelectorTerms: [{ id: ami-0123456789abcdef0 }]\n  userData: |\n    #!/bin/bash\n",
    ] {
        let Machine { traits, notes, .. } = machine(&with_pool(spec));
        assert_eq!(traits.labels.len(), 0, "{spec}");
        assert_eq!(traits.later_labels["size"], "big", "{spec}");
        assert_eq!(
            (traits.later_by, traits.max_pods),
            (LaterBy::Karpenter, None),
            "{spec}"
        );
        // It must be there when the node registers.
        assert!(
            traits
                .taints
                .iter()
                .any(|taint| taint.key == "karpenter.sh/unregistered"),
            "{spec}"
        );
        let is_noted = notes
            .iter()
            .any(|note| note.contains("before Karpenter's part does"));
        assert_eq!(is_noted, spec.contains("AL2"), "{notes:?}");
    }
}

#[test]
fn labels_of_restricted_domains_are_named_with_what_happens_to_them() {
    let pool = POOL.replace(
        "node-role.kubernetes.io/web: x",
        "node-role.kubernetes.io/web: x, node.kubernetes.io/lifecycle: spot, node-restriction.kubernetes.io/a: b",
    );
    let machine = machine(&format!("{}{pool}", class("  amiFamily: AL2023\n")));
    assert_eq!(machine.traits.labels["node.kubernetes.io/lifecycle"], "spot");
    let later = "give it to the Node after the join, which is not checked: a kubelet may not set it itself";
    assert_eq!(
        machine.notes,
        [
            format!("the label node-restriction.kubernetes.io/a=b: Karpenter's controllers {later}"),
            format!(
                "the label node-role.kubernetes.io/web=x: Karpenter up to 1.8 refuses the pool `default`, because the domain of the label \
                 is restricted; later versions {later}"
            )
        ]
    );
}

#[test]
fn only_nodes_of_v1_need_the_taint_of_karpenter() {
    let report = |text: &str| {
        let trial = crate::adopt(&machine(text), &std::collections::BTreeMap::new()).unwrap();
        let lines = trial.report.iter().map(|line| format!("{}\n", line.text));
        lines.collect::<String>()
    };
    let v1 = with_pool("  amiFamily: AL2\n  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n");
    let with = report(&v1);
    assert!(
        with.contains("Karpenter gives it to a Node that registers with the taint"),
        "{with}"
    );
    assert!(with.contains("ends a node without the taint"), "{with}");
    let without = report(&v1.replace("karpenter.k8s.aws/v1\n", "karpenter.k8s.aws/v1beta1\n"));
    assert!(
        without.contains("Karpenter gives it to the Node after the join"),
        "{without}"
    );
    assert!(!without.contains("karpenter.sh/unregistered"), "{without}");
}

#[test]
fn al2023_merges_a_node_config_and_guesses_the_kind_of_a_text() {
    let alias = "  amiSelectorTerms: [{ alias: al2023@latest }]\n";
    let own = "  kubelet: { maxPods: 42, clusterDNS: [169.254.20.10] }\n  userData: |\n    MIME-Version: 1.0\n    Content-Type: multipart/mixed; boundary=\"X\"\n\n    --X\n    Content-Type: text/x-shellscript\n\n    #!/bin/bash\n    --X--\n";
    let machine_with = |spec: &str| machine(&with_pool(&format!("{alias}{spec}")));
    let message = machine_with(own);
    insta::assert_snapshot!(user_data(&message));
    assert_eq!(message.traits.max_pods, Some(42));
    for (text, kind, notes) in [
        ("#!/bin/bash\n    echo", "text/x-shellscript", 0),
        (
            "apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig",
            "application/node.eks.aws",
            0,
        ),
        ("#cloud-config\n    runcmd: []", "application/node.eks.aws", 1),
    ] {
        let machine = machine_with(&format!("  userData: |\n    {text}\n"));
        let first = user_data(&machine).lines().nth(4).unwrap().to_owned();
        assert!(first.contains(kind), "{text}: {first}");
        let found = machine
            .notes
            .iter()
            .filter(|note| note.contains("NodeConfig"))
            .count();
        assert_eq!(found, notes, "{text}: {:?}", machine.notes);
    }
}

#[test]
fn bottlerocket_settings_are_merged() {
    let machine = machine(&with_pool(
        "  amiFamily: Bottlerocket\n  instanceStorePolicy: RAID0\n  kubelet: { kubeReserved: { cpu: 1 }, imageGCHighThresholdPercent: 80, evictionMaxPodGracePeriod: 5, cpuCFSQuota: false }\n  userData: |\n    [settings.kubernetes]\n    cluster-name = \"other\"\n    [settings.kubernetes.node-taints]\n    x = [\"y:NoSchedule\"]\n    [settings.kubernetes.node-labels]\n    own = \"1\"\n",
    ));
    insta::assert_snapshot!(user_data(&machine));
    assert_eq!(
        machine.notes[0],
        "`settings.kubernetes.node-taints` of `spec.userData` has no effect: Karpenter writes the taints of the pool in its place; \
         state them there (x)"
    );
    let text = "  amiFamily: Bottlerocket\n  userData: |\n    [settings.kubernetes]\n    max-pods = 20\n";
    let notes = super::machine(&with_pool(text)).notes;
    assert!(
        notes[0].contains("`settings.kubernetes.max-pods = 20`")
            && notes[0].ends_with("writes 17 in its place; state `maxPods` in `spec.kubelet`"),
        "{notes:?}"
    );
    let stated = text.replace("  userData", "  kubelet: { maxPods: 42 }\n  userData");
    let notes = super::machine(&with_pool(&stated)).notes;
    assert!(notes[0].ends_with("writes 42 in its place"), "{notes:?}");
}

#[test]
fn windows_and_custom_families_are_rendered() {
    let windows = machine(&with_pool(
        "  amiFamily: Windows2022\n  userData: Write-Host hi\n",
    ));
    insta::assert_snapshot!(user_data(&windows));
    let custom = machine(&with_pool(
        "  amiFamily: Custom\n  userData: |\n    #!/bin/bash\n    echo\n",
    ));
    assert_eq!(user_data(&custom), "#!/bin/bash\necho\n");
    assert_eq!(custom.traits.labels.len(), 0, "Karpenter tells the node nothing");
    // Karpenter gives the other two to the Node, too.
    let left: Vec<_> = custom
        .traits
        .taints
        .iter()
        .map(|taint| taint.key.as_str())
        .collect();
    assert_eq!(
        (left, custom.traits.later_taints.len()),
        (vec!["karpenter.sh/unregistered"], 2)
    );
}

#[test]
fn the_ami_of_a_class_is_that_of_its_name() {
    let named = |family: &str, name: &str| {
        machine(&with_pool(&format!(
            "  amiFamily: {family}\n  amiSelectorTerms: [{{ name: \"{name}\" }}]\n"
        )))
    };
    let al2 = named("AL2023", "amazon-eks-node-1.31-v20250123");
    assert_eq!(al2.traits.ami_family, Some(AmiFamily::Al2));
    assert_eq!(al2.traits.image_version.as_deref(), Some("1.31"));
    assert!(user_data(&al2).contains("node.eks.aws"), "{}", user_data(&al2));
    let note = "the class selects the AMI `amazon-eks-node-1.31-v20250123`, which is one of AL2, and Karpenter writes user data for AL2023";
    assert!(
        al2.notes.iter().any(|found| found.starts_with(note)),
        "{:?}",
        al2.notes
    );
    for (family, name, found) in [
        (
            "AL2023",
            "amazon-eks-node-al2023-x86_64-standard-1.33-*",
            AmiFamily::Al2023,
        ),
        ("AL2023", "amazon-eks-node-*", AmiFamily::Al2023),
        ("AL2", "my-image-*", AmiFamily::Al2),
        (
            "Custom",
            "amazon-eks-node-al2023-x86_64-standard-1.33-*",
            AmiFamily::Al2023,
        ),
    ] {
        let machine = named(family, name);
        assert_eq!(machine.traits.ami_family, Some(found), "{family} {name}");
        assert!(
            !machine
                .notes
                .iter()
                .any(|note| note.starts_with("the class selects")),
            "{:?}",
            machine.notes
        );
    }
}

#[test]
fn a_taint_that_the_pool_states_is_not_repeated() {
    let pool = POOL.replace(
        "startupTaints: [{ key: s, effect: NoExecute }]",
        "startupTaints: [{ key: karpenter.sh/unregistered, effect: NoExecute }]",
    );
    let machine = machine(&format!("{}{pool}", class("  amiFamily: AL2\n")));
    assert_eq!(machine.traits.taints.len(), 2);
    assert!(user_data(&machine).contains("\"a=b:NoSchedule,karpenter.sh/unregistered:NoExecute\""));
}

#[test]
fn a_class_alone_and_old_kinds_are_read() {
    let alone = read(&class("  amiFamily: AL2\n"));
    assert_eq!(alone.format, FileFormat::Karpenter);
    assert!(
        alone.machines[0]
            .notes
            .iter()
            .any(|note| note.contains("no NodePool"))
    );
    let old = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: { name: t }\nspec: {}\n---\napiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: { name: p }\nspec:\n  providerRef: { name: t }\n  labels: { a: b }\n  kubeletConfiguration: { maxPods: 20 }\n";
    let machine = machine(old);
    assert_eq!((machine.name.as_str(), machine.traits.max_pods), ("p", Some(20)));
    assert_eq!(machine.traits.labels["karpenter.sh/provisioner-name"], "p");
    assert_eq!(machine.traits.taints, [], "the taint came with v1");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: karpenter.k8s.aws/v1\n  kind: EC2NodeClass\n  metadata: {{ name: main }}\n  spec: {{ amiFamily: AL2, amiSelectorTerms: [{{ alias: al2@latest }}] }}\n{}",
        "- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  metadata: { name: q }\n  spec: { template: { spec: { nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: main } } } }\n"
    );
    assert_eq!(read(&list).machines[0].name, "q");
}

#[test]
fn what_karpenter_rejects_is_refused() {
    let message = |text: &str| {
        class(&format!(
            "  amiFamily: AL2\n  userData: |\n    MIME-Version: 1.0\n    Content-Type: multipart/mixed; boundary=\"X\"\n\n{text}"
        ))
    };
    let files = [
        ("no-family", class("")),
        ("unknown-family", class("  amiFamily: AL3\n")),
        (
            "no-parts",
            message("      --X\n      Content-Type: a\n\n      x\n      --X--\n"),
        ),
        (
            "no-empty-line",
            message("    --X\n    Content-Type: text/x-shellscript\n    #!/bin/bash\n    --X--\n"),
        ),
        (
            "bottlerocket",
            class("  amiFamily: Bottlerocket\n  userData: \"a = b\"\n"),
        ),
        (
            "bottlerocket-script",
            class("  amiFamily: Bottlerocket\n  userData: |\n    #!/bin/bash\n    echo\n"),
        ),
        ("pool", POOL.trim_start_matches("---\n").to_owned()),
        (
            "auto-mode",
            "apiVersion: eks.amazonaws.com/v1\nkind: NodeClass\n".to_owned(),
        ),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(all_refused(&files));
}

#[test]
fn terraform_applies_manifests() {
    let values = serde_json::json!({"yaml_body": with_pool("  amiFamily: AL2\n")});
    let state = serde_json::json!({"format_version": "1.0", "values": {"root_module": {"resources": [
        {"address": "kubectl_manifest.k", "type": "kubectl_manifest", "values": values},
        {"address": "aws_eks_cluster.c", "type": "aws_eks_cluster", "values": {"name": "demo"}}]}}});
    let machine = machine(&state.to_string());
    assert_eq!(machine.name, "default");
    assert!(user_data(&machine).contains("bootstrap.sh 'demo'"));
    assert!(refused("s", &state.to_string().replace("AL2", "AL3")).contains("unknown AMI family `AL3`"));
}

/// They moved from the pool to the class with v1.
#[test]
fn settings_of_the_kubelet_where_a_version_has_none_are_refused() {
    let manifests = |version: &str| {
        format!(
            "apiVersion: karpenter.k8s.aws/{version}\nkind: EC2NodeClass\nmetadata: {{ name: main }}\nspec: {{ amiFamily: AL2, amiSelectorTerms: [{{ alias: al2@latest }}] }}\n---\n\
             apiVersion: karpenter.sh/{version}\nkind: NodePool\nmetadata: {{ name: q }}\nspec: {{ template: {{ spec: {{ nodeClassRef: {{ group: karpenter.k8s.aws, kind: EC2NodeClass, name: main }}, kubelet: {{ maxPods: 41 }} }} }} }}\n"
        )
    };
    assert_eq!(
        refused("f", &manifests("v1")),
        "line 9: `spec.template.spec` of a NodePool of karpenter.sh/v1 has no field `kubelet`: kubectl refuses it, and other clients \
         lose it\n  hint: write it as `spec.kubelet` of the EC2NodeClass"
    );
    let of_class = |version: &str| {
        let with = "amiFamily: AL2, kubelet: { maxPods: 41 }";
        let manifests = manifests(version).replace("amiFamily: AL2", with);
        manifests.replace(", kubelet: { maxPods: 41 } } }", " } }")
    };
    let refused = refused("f", &of_class("v1beta1"));
    assert!(
        refused.starts_with(
            "line 4: `spec` of an EC2NodeClass of karpenter.k8s.aws/v1beta1 has no field `kubelet`"
        ),
        "{refused}"
    );
    assert_eq!(machine(&of_class("v1")).traits.max_pods, Some(41));
    let before = machine(&manifests("v1beta1"));
    assert_eq!((before.traits.max_pods, before.problems.len()), (Some(41), 0));
}

fn class_of_al2023(spec: &str) -> String {
    class(&format!("  amiFamily: AL2023\n{spec}"))
}

#[test]
fn a_type_that_ec2_does_not_have_gives_no_number_of_pods() {
    let with_types = |spec: &str, types: &str| {
        let pool = POOL.replace("[t3.medium, m5.large]", types);
        machine(&format!("{}{pool}", class(spec)))
    };
    for family in ["AL2023", "AL2", "Bottlerocket"] {
        let unknown = with_types(&format!("  amiFamily: {family}\n"), "[m5.xlarg]");
        assert_eq!(unknown.traits.max_pods, None);
        let text = user_data(&unknown);
        let words = ["maxPods", "max-pods=", "max-pods ="];
        assert!(!words.iter().any(|word| text.contains(word)), "{text}");
        assert!(
            unknown.problems.iter().any(|problem| problem
                .ends_with("nodejoin knows no instance type `m5.xlarg` of this family: if EC2 has none either, Karpenter starts no node of it; the nearest one is `m5.xlarge`")),
            "{:?}",
            unknown.problems
        );
    }
    let stated = with_types("  amiFamily: AL2023\n  kubelet: { maxPods: 42 }\n", "[zz9.large]");
    assert_eq!(stated.traits.max_pods, Some(42));
    assert!(
        stated
            .notes
            .iter()
            .any(|note| note.contains("does not know the instance type `zz9.large`"))
    );
    let second = with_types("  amiFamily: AL2023\n", "[m5.xlarg, m5.large]");
    assert_eq!(second.traits.instance_type.as_deref(), Some("m5.large"));
    assert_eq!(second.traits.max_pods, Some(29));
}
