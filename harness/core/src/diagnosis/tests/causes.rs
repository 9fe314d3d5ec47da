//! Each cause from a join that stopped for it.

use super::*;

#[test]
fn each_cause_is_told_from_its_evidence() {
    let after = |mut whats: Vec<ObservedEvent>, more: Vec<ObservedEvent>| {
        whats.extend(more);
        whats
    };
    let imds = || ObservedEvent::Aws(aws(Service::Imds, "meta-data/instance-id", 200));
    let boot = || systemd("init.scope", "systemd 252 running in system mode");
    let cases: Vec<(Vec<ObservedEvent>, Cause, Phase, Vec<&str>)> = vec![
        (
            vec![
                boot(),
                call(Service::Imds, "api/token", 0, ""),
                call(Service::Imds, "api/token", 0, ""),
            ],
            Cause::MetadataUnreachable,
            Phase::Booted,
            vec![
                "closed the connection to all of 2 requests",
                "imds, 1.0 s: GET api/token: closed without an answer",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Imds, "meta-data/tags/x", 404, ""),
                done("DataSourceNone"),
            ],
            Cause::UserDataNeverRan,
            Phase::Metadata,
            vec![
                "without running any user data",
                "answered 404",
                "cloud-init, 3.0 s",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                cloud(
                    "2026-11-21 subp.py[DEBUG]: Exec format error. Missing #! in script?\nCommand: ['/var/lib/cloud/instance/scripts/part-002']",
                ),
            ],
            Cause::MissingShebang,
            Phase::Metadata,
            vec![
                "part-002 of the user data was not run",
                "begin part-002 with `#!/bin/bash`",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Eks, "DescribeCluster", 403, "AccessDeniedException"),
            ],
            Cause::AccessDenied,
            Phase::Metadata,
            vec![
                "demo-role may not call eks:DescribeCluster on demo",
                "eks, 2.0 s: GET DescribeCluster: 403 AccessDeniedException",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                call(Service::Eks, "DescribeCluster", 404, "ResourceNotFoundException"),
            ],
            Cause::DescribeFailed,
            Phase::Metadata,
            vec!["the account has `demo`", "{{ cluster.name }}"],
        ),
        (
            vec![
                boot(),
                imds(),
                journal(
                    "cloud-final.service",
                    "tee",
                    "bootstrap.sh: line 12 ended with status 1",
                ),
                cloud("Runparts: 1 failures (part-001) in 1 attempted commands"),
                done("DataSourceEc2"),
            ],
            Cause::ScriptFailed,
            Phase::Metadata,
            vec![
                "(part-001) before it started the kubelet",
                "its last words: bootstrap.sh: line 12 ended with status 1",
            ],
        ),
        (
            vec![boot(), imds(), done("DataSourceEc2")],
            Cause::KubeletNeverStarted,
            Phase::Metadata,
            vec!["nothing told systemd to start the kubelet"],
        ),
        (
            vec![
                boot(),
                imds(),
                systemd(
                    "sandbox-image.service",
                    "sandbox-image.service: Failed with result 'exit-code'.",
                ),
                systemd("kubelet.service", "Dependency failed for Kubernetes Kubelet."),
            ],
            Cause::KubeletNeverStarted,
            Phase::Metadata,
            vec!["needs failed: `sandbox-image.service`"],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "F1121 10:00:00.000001     321 server.go:158] unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/worker]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix",
                )],
            ),
            Cause::LabelRefused,
            Phase::KubeletStarted,
            vec![
                "refuses the label node-role.kubernetes.io/worker",
                "kubectl label node",
            ],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "F1121 10:00:00.000001     321 server.go:155] invalid argument \"taint1=true\" for \"--register-with-taints\" flag: invalid taint spec: taint1=true",
                )],
            ),
            Cause::TaintInvalid,
            Phase::KubeletStarted,
            vec!["cannot read the taint taint1=true", "taint1=true:NoSchedule"],
        ),
        (
            after(
                started(),
                vec![
                    systemd(
                        "kubelet.service",
                        "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                    ),
                    kubelet("x"),
                ],
            ),
            Cause::KubeletExits,
            Phase::KubeletStarted,
            vec!["ended with 255, once so far"],
        ),
        (
            after(
                started(),
                vec![
                    kubelet(
                        "F1121 10:00:00.000001     321 server.go:269] failed to run Kubelet: could not init cloud provider \"aws\": AWS cloud failed to find ClusterID",
                    ),
                    systemd(
                        "kubelet.service",
                        "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                    ),
                ],
            ),
            Cause::KubeletExits,
            Phase::KubeletStarted,
            vec![
                "failed to find ClusterID",
                "tag the instance with kubernetes.io/cluster/demo=owned",
            ],
        ),
        (
            after(
                started(),
                vec![kubelet(&format!(
                    "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post \"https://{HOST}/api/v1/nodes\": x509: certificate signed by unknown authority"
                ))],
            ),
            Cause::WrongCertificateAuthority,
            Phase::KubeletStarted,
            vec!["does not trust the API server at 0123456789ABCDEF"],
        ),
        (
            after(
                started(),
                vec![kubelet(&format!(
                    "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post \"https://nope.example/api/v1/nodes\": dial tcp: lookup nope.example: no such host"
                ))],
            ),
            Cause::EndpointUnreachable,
            Phase::KubeletStarted,
            vec!["cannot reach nope.example: no such host", &HOST[..20]],
        ),
        (
            after(
                started(),
                vec![refused(Refusal::Signature, "sts getCallerIdentity failed")],
            ),
            Cause::TokenForAnotherCluster,
            Phase::KubeletStarted,
            vec![
                "signature for `demo`",
                "authenticator, 5.0 s: sts getCallerIdentity failed",
            ],
        ),
        (
            after(
                started(),
                vec![refused(
                    Refusal::NotMapped,
                    "ARN is not mapped: arn:aws:iam::111122223333:role/demo-role",
                )],
            ),
            Cause::RoleNotMapped,
            Phase::KubeletStarted,
            vec![
                "role demo-role is in no mapRoles row of kube-system/aws-auth",
                "authenticator, 5.0 s: ARN is not mapped",
            ],
        ),
        (
            after(started(), vec![refused(Refusal::Expired, "token expired")]),
            Cause::Unauthorized,
            Phase::KubeletStarted,
            vec!["token expired", "clock"],
        ),
        (
            after(
                started(),
                vec![kubelet(
                    "E1121 10:00:00.000001     321 reflector.go:138] Failed to list *v1.Node: getting credentials: exec: executable aws-iam-authenticator not found",
                )],
            ),
            Cause::Unauthorized,
            Phase::KubeletStarted,
            vec!["no token from its credential plugin: Failed to list *v1.Node: getting credentials"],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    audit(
                        "create",
                        "nodes",
                        403,
                        "system:node:other",
                        &format!(
                            "nodes \"{NAME}\" is forbidden: node \"other\" is not allowed to modify node \"{NAME}\""
                        ),
                    ),
                ],
            ),
            Cause::NodeNameRefused,
            Phase::Authenticated,
            vec![
                NAME,
                "to the API server it is system:node:other",
                "audit log, 6.0 s: create nodes as system:node:other: 403",
            ],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    audit(
                        "create",
                        "nodes",
                        403,
                        &format!("system:node:{NAME}"),
                        &format!(
                            "nodes \"{ID}\" is forbidden: node \"{NAME}\" is not allowed to modify node \"{ID}\""
                        ),
                    ),
                ],
            ),
            Cause::NodeNameRefused,
            Phase::Authenticated,
            vec![
                ID,
                "an access entry of the type EC2, or a row of aws-auth with `system:node:{{SessionName}}`",
            ],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    audit(
                        "create",
                        "nodes",
                        422,
                        "system:node:x",
                        "Node \"x\" is invalid: metadata.labels: Invalid value: \"b c\"",
                    ),
                ],
            ),
            Cause::NodeInvalid,
            Phase::Authenticated,
            vec!["metadata.labels: Invalid value", "--node-labels"],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    node(false),
                    ObservedEvent::Certificate(serving(None, false)),
                    node(true),
                ],
            ),
            Cause::ServingCertificateNotApproved,
            Phase::Registered,
            vec![
                "nobody approved csr-1",
                "certificate signing request, 7.0 s: csr-1",
                "kubectl describe csr csr-1",
            ],
        ),
        (
            after(
                started(),
                vec![
                    accepted(),
                    node(false),
                    ObservedEvent::Certificate(serving(Some(false), false)),
                    node(true),
                ],
            ),
            Cause::ServingCertificateDenied,
            Phase::Registered,
            vec!["denied the serving certificate", "192.168.40.16"],
        ),
        (
            vec![
                boot(),
                imds(),
                cloud("base64: invalid input"),
                cloud("Exited with error on line 388"),
                done("DataSourceEc2Local"),
            ],
            Cause::ScriptFailed,
            Phase::Metadata,
            vec![
                "ended with an error (Exited with error on line 388)",
                "cloud-init reports no failure",
                "set -e",
            ],
        ),
        (
            vec![
                boot(),
                imds(),
                systemd(
                    "kubelet.service",
                    "kubelet.service: Service has more than one ExecStart= setting, which is only allowed for Type=oneshot services. Refusing.",
                ),
                cloud("Runparts: 1 failures (runcmd) in 1 attempted commands"),
            ],
            Cause::KubeletNeverStarted,
            Phase::Metadata,
            vec![
                "systemd refuses the kubelet's unit",
                "more than one ExecStart=",
                "empty `ExecStart=`",
            ],
        ),
        (
            vec![boot(), imds(), cloud("waiting for the cluster")],
            Cause::UserDataNotDone,
            Phase::Metadata,
            vec!["still running", "waiting for the cluster", "limits.join_seconds"],
        ),
        (
            vec![boot()],
            Cause::Unknown,
            Phase::Booted,
            vec!["nothing that was seen says why", "systemd, 0.0 s: systemd 252"],
        ),
    ];
    for (whats, cause, phase, parts) in cases {
        let diagnosis = told(&plan(), whats);
        assert_eq!(
            (diagnosis.cause, diagnosis.phase),
            (cause, Some(phase)),
            "{diagnosis:#?}"
        );
        let text = words(&diagnosis);
        for part in parts {
            assert!(text.contains(part), "{cause:?}: no `{part}` in {text}");
        }
    }
}
