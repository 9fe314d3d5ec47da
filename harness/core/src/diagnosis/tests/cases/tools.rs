//! Arguments of `kubeadm join`, and the NodeConfig.

use super::*;
use crate::plan::bootstrap_token::{BootstrapToken, DEFAULT_GROUP, TokenUsage};

const WITH_KUBEADM: &str = "#!/bin/bash\nkubeadm join --token {{ cluster.bootstrap_token }} x:443\n";

const MISSPELT: &str = "apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpont: https://x
    cidr: 10.100.0.0/16
";

fn read(name: &str, code: u16) -> ObservedEvent {
    let ObservedEvent::Audit(audit) = audit("get", "configmaps", code, "system:anonymous", "") else {
        unreachable!("it is an audit event")
    };
    ObservedEvent::Audit(Audit {
        name: Some(name.to_owned()),
        groups: vec!["system:unauthenticated".to_owned()],
        message: None,
        ..audit
    })
}

fn kubeadm<const N: usize>(
    name: &'static str,
    change: impl FnOnce(&mut BootstrapToken),
    events: [ObservedEvent; N],
) -> Case {
    let mut token = BootstrapToken {
        token: "abcdef.0123456789abcdef".parse().unwrap(),
        expires_seconds: None,
        deleted: false,
        usages: TokenUsage::ALL.to_vec(),
        groups: vec![DEFAULT_GROUP.to_owned()],
    };
    change(&mut token);
    Case::new(name, after_boot(events))
        .user_data(WITH_KUBEADM)
        .plan(|plan| plan.cluster.bootstrap_tokens = vec![token])
}

fn nodeadm(level: &str, message: &str, error: &str) -> ObservedEvent {
    let fields = json!({ "error": error });
    let line = format!("{level} cli/main.go:35 {message} {fields}");
    journal("nodeadm-config.service", "nodeadm", &line)
}

fn failed(name: &'static str, error: &str) -> Case {
    Case::new(name, after_boot([nodeadm("fatal", "Command failed", error)])).user_data(MISSPELT)
}

/// User data that calls nodeadm itself, after nodeadm's unit has found no NodeConfig.
fn called_by_script(name: &'static str, error: Option<&str>) -> Case {
    let of_unit = nodeadm("fatal", "Command failed", "no config in chain");
    let of_script = error.map(|error| {
        let fields = json!({ "error": error });
        cloud(&format!("fatal cli/main.go:35 Command failed {fields}"))
    });
    Case::new(name, after_boot([of_unit]).into_iter().chain(of_script))
        .user_data("#!/bin/bash\nnodeadm init --config-source file:///etc/node.yaml\n")
}

fn of_kubeadm() -> Vec<Case> {
    let info = || read("cluster-info", 200);
    let unauthorized = || [info(), read("/api/v1/nodes", 401)];
    vec![
        kubeadm(
            "hash of another CA",
            |_| {},
            [
                info(),
                cloud(
                    "error execution phase preflight: couldn't validate the identity of the API Server: cluster CA found in \
                     cluster-info ConfigMap is invalid: none of the public keys \"sha256:0f1e\" are pinned",
                ),
            ],
        ),
        kubeadm("token that was deleted", |token| token.deleted = true, [info()]),
        kubeadm(
            "token that signs nothing",
            |token| token.usages = vec![TokenUsage::Authentication],
            [info()],
        ),
        kubeadm(
            "token that expired",
            |token| token.expires_seconds = Some(-60.0),
            [info()],
        ),
        kubeadm("token of another cluster", |_| {}, [info()])
            .user_data("#!/bin/bash\nkubeadm join --token 123456.0123456789abcdef x:443\n"),
        kubeadm(
            "cluster without cluster-info",
            |_| {},
            [read("cluster-info", 403)],
        ),
        kubeadm(
            "token without the authentication usage",
            |token| token.usages = vec![TokenUsage::Signing],
            unauthorized(),
        ),
        kubeadm("token that the API server refuses", |_| {}, unauthorized()),
        kubeadm(
            "token that expired before kubeadm used it",
            |token| token.expires_seconds = Some(2.5),
            unauthorized(),
        ),
    ]
}

fn of_nodeadm() -> Vec<Case> {
    let missing = "Apiserver endpoint is missing in cluster configuration";
    let warned = |error: &str| {
        after_boot([
            nodeadm("warn", "Encountered error in config provider", error),
            nodeadm("fatal", "Command failed", "no config in chain"),
        ])
    };
    vec![
        Case::new(
            "field of a NodeConfig with a value of another type",
            after_boot([nodeadm(
                "fatal",
                "Command failed",
                "failed to decode node config, json: cannot unmarshal string into Go struct field \
                 KubeletOptions.spec.kubelet.flags of type []string",
            )]),
        )
        .user_data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { flags: a } }\n"),
        Case::new(
            "script for Amazon Linux 2 on al2023",
            after_boot([nodeadm("fatal", "Command failed", "no config in chain")]),
        )
        .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n")
        .plan(|plan| plan.image.name = "al2023".to_owned()),
        Case::new(
            "nodeadm that panics",
            after_boot([
                journal("nodeadm-config.service", "nodeadm", "panic: runtime error: index out of range"),
                journal("nodeadm-config.service", "nodeadm", "goroutine 1 [running]:"),
                systemd(
                    "nodeadm-config.service",
                    "nodeadm-config.service: Main process exited, code=exited, status=2/INVALIDARGUMENT",
                ),
                done("DataSourceEc2"),
            ]),
        )
        .user_data(MISSPELT),
        Case::new("NodeConfig on al2", after_boot([done("DataSourceEc2")])).user_data(MISSPELT),
        failed("NodeConfig with a misspelt field", missing),
        failed(
            "NodeConfig with a field that the stand-in does not evaluate",
            "nodejoin's stand-in of nodeadm does not evaluate spec.kubelet.maxPodsExpression with `[`",
        ),
        failed("NodeConfig without a field", missing).user_data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"),
        Case::new(
            "NodeConfig that cannot be read",
            warned("failed to decode node config, illegal base64 data at input byte 4"),
        )
        .user_data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"),
        Case::new("user data for another AMI", warned("failed to decode node config")),
        failed(
            "drop-in that cannot be read",
            "config provider at index 1 failed: failed to parse config file 10-labels.yaml: failed to decode node config, yaml: \
             line 5: did not find expected key",
        )
        .user_data(&MISSPELT.replace("Endpont", "Endpoint")),
        failed(
            "instance without user data",
            "config provider at index 0 failed: operation error ec2imds: GetUserData, http response error StatusCode: 404, \
             request to EC2 IMDS failed",
        )
        .plan(|plan| plan.user_data = None),
        failed("nodeadm that may not call EC2", "operation error EC2: DescribeInstances"),
        failed(
            "nodeadm without a metadata service",
            "config provider at index 0 failed: operation error ec2imds: GetUserData, http response error StatusCode: 503",
        ),
        failed(
            "MIME part without an empty line after its headers",
            "config provider at index 0 failed: malformed MIME header: missing colon: \"#!/bin/bash\"",
        ),
        failed(
            "MIME message without its last boundary",
            "config provider at index 0 failed: multipart: NextPart: EOF",
        ),
        called_by_script("nodeadm's unit without a NodeConfig, and a script that calls nodeadm", None),
        called_by_script(
            "nodeadm that a script calls with a NodeConfig without a field",
            Some(missing),
        ),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    [of_kubeadm(), of_nodeadm()].into_iter().flatten().collect()
}
