//! Manifests of Karpenter that the API server refuses.

use super::{POOL, class_of_al2023, with_pool};
use crate::tests::{machine, refused};

#[test]
fn misspelt_fields_are_refused_and_unknown_ones_are_noted() {
    for (class, pool, problem) in [
        ("  userdata: x\n", POOL.to_owned(), "write `userData`"),
        ("  taints: []\n", POOL.to_owned(), "only a NodePool has it"),
        (
            "  metadataOptions: { httpToken: required }\n",
            POOL.to_owned(),
            "write `httpTokens`",
        ),
        (
            "",
            POOL.replace("startupTaints:", "startupTaint:"),
            "write `startupTaints`",
        ),
        (
            "",
            POOL.replace("  template:\n", "  taints: []\n  template:\n"),
            "only `spec.template` of a NodePool has it",
        ),
        (
            "",
            POOL.replace("metadata: { labels", "metadata: { label"),
            "write `labels`",
        ),
        (
            "",
            POOL.replace("effect: NoExecute", "efect: NoExecute"),
            "write `effect`",
        ),
    ] {
        let refused = refused("f", &format!("{}{pool}", class_of_al2023(class)));
        assert!(
            refused.contains(problem) && refused.starts_with("line "),
            "{refused}"
        );
    }
    let notes = machine(&with_pool("  amiFamily: AL2023\n  futureField: x\n")).notes;
    assert!(notes[0].contains("knows no field `futureField`"), "{notes:?}");
}

/// Manifests, each with a part of its error.
fn assert_refused(cases: &[(String, &str)]) {
    for (text, problem) in cases {
        let refused = refused("f", text);
        assert!(
            refused.contains(problem) && refused.starts_with("line "),
            "{text}: {refused}"
        );
    }
}

fn pool_with(from: &str, to: &str) -> String {
    assert!(POOL.contains(from), "{from}");
    format!("{}{}", class_of_al2023(""), POOL.replace(from, to))
}

#[test]
fn values_that_the_rules_of_a_class_do_not_allow_are_refused() {
    let alias =
        |alias: &str, spec: &str| with_pool(&format!("  amiSelectorTerms: [{{ alias: {alias} }}]\n{spec}"));
    let al2023 = |spec: &str| with_pool(&format!("  amiFamily: AL2023\n{spec}"));
    assert_refused(&[
        (alias("al2023", ""), "write `al2023@latest`"),
        (
            alias("\"${ALIAS}\"", "  amiFamily: AL2023\n"),
            "`alias` of `amiSelectorTerms` is `${ALIAS}`, which is not filled in\n  hint: render the file with its tool, or give the \
             value: `--set ALIAS=VALUE`",
        ),
        (
            alias("\"<FAMILY>@latest\"", "  amiFamily: AL2023\n"),
            "is `<FAMILY>@latest`, which is not filled in",
        ),
        (
            alias("al2023@latest", "  amiFamily: AL2\n"),
            "`amiFamily: AL2` contradicts the alias `al2023@latest`",
        ),
        (
            alias("AL2023@latest", ""),
            "the alias `AL2023@latest` names the family in capitals: the API server refuses it\n  hint: write `al2023@latest`",
        ),
        (
            with_pool("  amiSelectorTerms: [{ alias: al2023@latest }, { id: ami-1 }]\n"),
            "`amiSelectorTerms` has an alias beside other terms",
        ),
        (
            alias("al2023@latest, name: a", ""),
            "`amiSelectorTerms` has an alias beside other terms",
        ),
        (
            al2023("  kubelet: { maxPods: \"30\" }\n"),
            "line 8: `maxPods` of `kubelet` is `30`, and not a whole number",
        ),
        (
            al2023("  kubelet: { maxPod: 30 }\n"),
            "line 8: `kubelet` of Karpenter has no field `maxPod`: kubectl refuses it, and other clients lose it\n  hint: write `maxPods`",
        ),
        (
            al2023("  kubelet:\n    maxPods: 30\n    clusterDns: [10.100.0.53]\n"),
            "line 10: `kubelet` of Karpenter has no field `clusterDns`",
        ),
        (
            al2023("  kubelet: { evictionSoft: { memory.available: 5% } }\n"),
            "line 8: `kubelet.evictionSoft` has `memory.available`, and `evictionSoftGracePeriod` does not",
        ),
        (
            al2023("  kubelet: { evictionSoftGracePeriod: { memory.available: 1m } }\n"),
            "add `memory.available` to `evictionSoft`",
        ),
        (
            al2023("  kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 }\n"),
            "`kubelet.imageGCHighThresholdPercent` 50 is not above `imageGCLowThresholdPercent` 60",
        ),
        (
            al2023("  metadataOptions: { httpTokens: require }\n"),
            "`httpTokens` has the value `require`",
        ),
        (
            al2023("  metadataOptions: { httpEndpoint: on }\n"),
            "write enabled or disabled",
        ),
        (al2023("  instanceStorePolicy: RAID1\n"), "write RAID0"),
        (
            al2023("  metadataOptions: { httpPutResponseHopLimit: \"1\" }\n"),
            "line 8: `httpPutResponseHopLimit` is `1`, and not a whole number from 1 to 64",
        ),
        (
            al2023("  metadataOptions: { httpPutResponseHopLimit: 65 }\n"),
            "`httpPutResponseHopLimit` is `65`",
        ),
        (
            al2023("  instanceProfile: p\n"),
            "has both `role` and `instanceProfile`",
        ),
        (
            al2023("  tags: { cost: 12 }\n"),
            "`12` of the tag `cost` is a number in YAML",
        ),
        (
            al2023("  blockDeviceMappings: [{ deviceName: /dev/xvda, ebs: { volumType: gp3 } }]\n"),
            "write `volumeType`",
        ),
    ]);
    for family in ["AL2023", "Custom"] {
        machine(&alias("al2023@v20250920", &format!("  amiFamily: {family}\n")));
    }
    let before = al2023("  metadataOptions: { httpTokens: optional }\n").replace("/v1\n", "/v1beta1\n");
    assert_eq!(machine(&before).problems.len(), 0);
}

#[test]
fn a_class_of_v1_without_a_selection_of_amis_is_refused() {
    let terms = "  amiSelectorTerms: [{ name: my-ami }]\n";
    let with = with_pool("  amiFamily: AL2\n");
    let without = with.replace(terms, "");
    assert_refused(&[
        (
            without.clone(),
            "has no `spec.amiSelectorTerms`: the API server refuses it",
        ),
        (without.clone(), "add `amiSelectorTerms: [{ alias: al2@latest }]`"),
        (
            without.replace("AL2\n", "Custom\n"),
            "add `amiSelectorTerms: [{ id: AMI }]`",
        ),
        (
            with.replace(terms, "  amiSelectorTerms: []\n"),
            "`spec.amiSelectorTerms` is empty",
        ),
    ]);
    machine(&with);
    machine(&without.replace("karpenter.k8s.aws/v1\n", "karpenter.k8s.aws/v1beta1\n"));
}

#[test]
fn values_that_the_rules_of_a_pool_do_not_allow_are_refused() {
    let team = "team: web";
    assert_refused(&[
        (
            pool_with("effect: NoSchedule", "effect: NoSchedul"),
            "the taint `a` has the effect `NoSchedul`",
        ),
        (
            pool_with(", effect: NoSchedule", ""),
            "the taint `a` has no effect",
        ),
        (
            pool_with("s, effect: NoExecute", "s, effect: NO_EXECUTE"),
            "the taint `s` has the effect `NO_EXECUTE`",
        ),
        (pool_with("group: karpenter.k8s.aws, ", ""), "has no `group`"),
        (pool_with("kind: EC2NodeClass, ", ""), "has no `kind`"),
        (
            pool_with("key: size, operator: In", "key: size, operator: in"),
            "`operator` has the value `in`",
        ),
        (
            pool_with(team, "gpu: true"),
            "`true` of the label `gpu` is a boolean in YAML",
        ),
        (
            pool_with("[big]", "[4]"),
            "`4` of a requirement is a number in YAML",
        ),
        (
            pool_with(team, "karpenter.sh/nodepool: other"),
            "cannot have the label or requirement `karpenter.sh/nodepool`",
        ),
        (
            pool_with(team, "kubernetes.io/hostname: x"),
            "`kubernetes.io/hostname`",
        ),
        (
            pool_with("key: size", "key: karpenter.sh/registered"),
            "`karpenter.sh/registered`",
        ),
    ]);
    machine(&pool_with(
        "operator: In, values: [big]",
        "operator: Gte, values: [\"4\"]",
    ));
    let before =
        pool_with("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "").replace("/v1\n", "/v1beta1\n");
    machine(&before);
}

/// The provider of Terraform makes text of them.
#[test]
fn numbers_in_manifests_that_terraform_applies_are_not_refused() {
    let manifest = |kind: &str, api: &str, name: &str, spec: serde_json::Value| {
        let own =
            serde_json::json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec});
        serde_json::json!({"address": format!("kubernetes_manifest.{name}"), "type": "kubernetes_manifest", "values": {"manifest": own}})
    };
    let class = serde_json::json!({"amiFamily": "AL2023", "role": "r"});
    let reference = serde_json::json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "main"});
    let pool = serde_json::json!({"template": {
        "metadata": {"labels": {"gpu": true}}, "spec": {"nodeClassRef": reference}}});
    let resources = [
        manifest("EC2NodeClass", "karpenter.k8s.aws/v1", "main", class),
        manifest("NodePool", "karpenter.sh/v1", "pool", pool),
    ];
    let state =
        serde_json::json!({"format_version": "1.0", "values": {"root_module": {"resources": resources}}});
    let machine = machine(&state.to_string());
    assert_eq!(machine.traits.labels["gpu"], "true");
    // A plan has no values that are unknown until apply.
    assert!(
        machine.problems[0].contains("has no `spec.amiSelectorTerms`"),
        "{:?}",
        machine.problems
    );
}

#[test]
fn a_provisioner_with_an_inline_provider_is_named() {
    let text = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: { name: b }\nspec:\n  provider: { instanceProfile: p }\n";
    let refused = refused("p.yaml", text);
    assert!(
        refused.contains("the Provisioner `b` has an inline `spec.provider` in line 5")
            && refused.contains("`spec.providerRef`"),
        "{refused}"
    );
}

#[test]
fn settings_of_the_kubelet_that_newer_releases_have_are_noted() {
    let kubelet = |settings: &str| {
        machine(&with_pool(&format!(
            "  amiFamily: AL2023\n  kubelet: {{ {settings} }}\n"
        )))
    };
    let newer = kubelet("maxPods: 30, registryPullQPS: 10").notes;
    assert_eq!(
        newer[..1],
        [
            "line 8: `kubelet` of Karpenter 1.14 and earlier has no field `registryPullQPS`: kubectl refuses it, and other clients lose it"
        ]
    );
    let computed = kubelet("maxPods: \"(default_enis - 1) * 2\"").notes;
    assert!(
        computed[0].starts_with("line 8: `maxPods` of `kubelet` is an expression: "),
        "{computed:?}"
    );
    let unknown = kubelet("somethingElse: 10").notes;
    assert!(
        unknown[0].contains("knows no field `somethingElse`"),
        "{unknown:?}"
    );
    let known = "maxPods: 30, podsPerCore: 2, clusterDNS: [10.0.0.10], kubeReserved: { cpu: 100m }, cpuCFSQuota: true";
    assert_eq!(kubelet(known).notes.len(), 1, "that of the label");
}

#[test]
fn a_pool_that_names_another_class_is_named() {
    let pool = POOL.replace("name: main", "name: mian");
    assert_ne!(pool, POOL);
    let found = machine(&format!("{}{pool}", class_of_al2023("")));
    let line = format!("{}{pool}", class_of_al2023(""))
        .lines()
        .position(|line| line.contains("mian"))
        .unwrap()
        + 1;
    let note = format!(
        "the file has no NodePool of the class `main` (line {line}: the NodePool `default` names the class `mian`, which the file does \
         not define): its labels, taints and instance types are not tried"
    );
    assert_eq!(found.notes, [note]);
}

#[test]
fn what_a_class_of_v1_lacks_is_a_problem() {
    let problems = |text: &str| machine(text).problems.join("\n");
    let selectors =
        "  subnetSelectorTerms: [{ id: subnet-1 }]\n  securityGroupSelectorTerms: [{ id: sg-1 }]\n";
    let complete = with_pool(&format!("  amiFamily: AL2023\n{selectors}"));
    assert_eq!(problems(&complete), "");
    let without_role = complete.replace("  role: nodes\n", "");
    assert!(problems(&without_role).contains("has neither `role` nor `instanceProfile`"));
    let profile = complete.replace("role: nodes", "instanceProfile: nodes");
    assert_eq!(problems(&profile), "");
    let misspelt = problems(&complete.replace("subnetSelectorTerms", "subnetSelector"));
    assert!(
        misspelt.contains("no terms in `spec.subnetSelectorTerms`: the API server refuses it"),
        "{misspelt}"
    );
    let empty = problems(&complete.replace("[{ id: sg-1 }]", "[]"));
    assert!(empty.contains("`spec.securityGroupSelectorTerms`"), "{empty}");
    let before = without_role.replace("/v1\n", "/v1beta1\n");
    assert_eq!(problems(&before), "");
}

#[test]
fn the_policy_of_v1beta1_has_another_name_in_v1() {
    let policy = |word: &str| {
        pool_with(
            "spec:\n  template:",
            &format!("spec:\n  disruption: {{ consolidationPolicy: {word} }}\n  template:"),
        )
    };
    assert_refused(&[(policy("WhenUnderutilized"), "write `WhenEmptyOrUnderutilized`")]);
    for word in ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"] {
        machine(&policy(word));
    }
    machine(&policy("WhenUnderutilized").replace("/v1\n", "/v1beta1\n"));
}
