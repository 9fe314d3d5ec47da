//! Ready nodes with other labels, taints or pods than the expected ones.

use super::*;
use crate::observation::PodResult;

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

/// A ready node on which the scenario's pod does not answer.
fn pod_case(name: &'static str, detail: &str) -> Case {
    let pod = PodResult {
        answered: false,
        detail: format!("not running after 40 s: Pending, ContainerCreating{detail}"),
    };
    Case::new(name, join()).seen(|seen| {
        seen.collected = Some(Collected {
            pod: Some(pod),
            ..Collected::default()
        });
    })
}

/// Messages as containerd 1.6 and kubelet 1.20 write them.
fn cases_of_pods() -> Vec<Case> {
    const SANDBOX: &str = "; event FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = failed to";
    let pause = |status: &str| {
        format!(
            "{SANDBOX} get sandbox image \"a.example/eks/pause:3.5\": failed to pull image \"a.example/eks/pause:3.5\": {status}"
        )
    };
    vec![
        pod_case(
            "pause image that needs credentials",
            &pause("failed with status code [manifests 3.5]: 401 Unauthorized (3 times)"),
        ),
        pod_case("pause image that does not exist", &pause("not found")),
        pod_case(
            "pause image of EKS that does not exist",
            &format!(
                "{SANDBOX} get sandbox image \"602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/pause:9\": not found"
            ),
        ),
        pod_case(
            "pause image that docker cannot pull",
            "; event FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = failed pulling image \
             \"a.example/eks/pause:3.1\": Error response from daemon: Get \"https://a.example/v2/\": no basic auth credentials",
        ),
        pod_case(
            "pod without a network",
            &format!(
                "{SANDBOX} setup network for sandbox \"6c\": plugin type=\"agent\" failed (add): refused"
            ),
        ),
        pod_case(
            "pod without its image",
            "; event Failed: Error: ErrImagePull; event BackOff: Back-off pulling image \"a.example/app:1\"",
        ),
        pod_case("pod without an event", ""),
    ]
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
    let mut cases = vec![
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
    ];
    cases.extend(cases_of_pods());
    cases
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
