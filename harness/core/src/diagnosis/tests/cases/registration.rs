//! Ready nodes with other labels, taints or pods than the expected ones.

use super::*;

/// A ready node whose kubelet has these arguments and this configuration.
fn case(name: &'static str, expect: &str, arguments: &[&str], configuration: serde_json::Value) -> Case {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let node = json!({
        "metadata": { "name": NAME, "labels": { "kubernetes.io/os": "linux", "app": "x" } },
        "spec": { "taints": [{ "key": "c", "effect": "NoExecute" }] },
        "status": { "capacity": { "pods": "29" } },
    });
    Case::new(name, join())
        .plan(|plan| plan.expect = serde_yaml::from_str(expect).unwrap())
        .user_data("#!/bin/bash\n# comment\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --node-labels=team=web\n")
        .seen(|seen| {
            seen.node = Some(node);
            seen.collected = Some(Collected {
                kubelet_argv: Some(arguments),
                configz: Some(configuration),
                ..Collected::default()
            });
        })
}

pub(super) fn cases() -> Vec<Case> {
    let team = "node: { labels: { team: web } }";
    let tier = "node: { labels_at_creation: { tier: web } }";
    let taint = "node: { taints_include: [\"a=b:NoSchedule\"] }";
    let pods = "node: { capacity: { pods: 17 } }";
    let configured = json!({
        "maxPods": 29,
        "registerWithTaints": [{ "key": "a", "value": "z", "effect": "NoSchedule" }],
    });
    vec![
        case("label that the user data has", team, &["kubelet"], json!({})),
        case("label behind a misspelt flag", team, &["kubelet"], json!({})).user_data(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kublet-extra-args --node-labels=team=web\n",
        ),
        case(
            "label that nothing has",
            tier,
            &["kubelet", "--node-labels=app=x"],
            json!({}),
        ),
        case(
            "label that no kubelet may set",
            "node: { labels: { node-role.kubernetes.io/web: \"true\" } }",
            &["kubelet"],
            json!({}),
        ),
        case(
            "label with another value",
            "node: { labels: { app: y } }",
            &["kubelet", "--node-labels", "app=x"],
            json!({}),
        ),
        case(
            "label that was taken away",
            team,
            &["kubelet", "--node-labels=app=x,team=web"],
            json!({}),
        ),
        case("taint without a flag", taint, &["kubelet"], json!({})),
        case(
            "taint of the configuration",
            taint,
            &["kubelet"],
            configured.clone(),
        ),
        case(
            "pods of a flag",
            pods,
            &["kubelet", "--max-pods=29"],
            configured.clone(),
        ),
        case("pods of the configuration", pods, &["kubelet"], configured),
    ]
}

#[test]
fn a_node_as_expected_has_no_cause() {
    for expect in [
        "node: { labels: { app: x }, capacity: { pods: 29 }, taints: [\"c:NoExecute\"] }",
        "{}",
        "{ node: { labels: { team: web } }, one_of: [{ node: { labels: { app: x } } }] }",
    ] {
        let case = case("as expected", expect, &["kubelet"], json!({}));
        assert_eq!(diagnose(&case.plan, &case.observation), None, "{expect}");
    }
}
