//! While the script runs: its AWS calls, its own end, and a kubelet that it never started.

use super::*;
use crate::plan::StatusStep;

fn describe(status: u16, error: Option<&str>, fault: Option<usize>) -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: error.map(str::to_owned),
        fault,
        ..aws(Service::Eks, "DescribeCluster", status)
    })
}

fn metadata(path: &str, status: u16) -> ObservedEvent {
    ObservedEvent::Aws(aws(Service::Imds, path, status))
}

pub(super) fn cases() -> Vec<Case> {
    let collected = UserDataResult {
        ran: true,
        exit_codes: [("part-001".to_owned(), 3)].into(),
        output: "a\nno such cluster\n\n".into(),
        ..UserDataResult::default()
    };
    let polling = |path: &'static str| {
        [boot(), imds()]
            .into_iter()
            .chain((0..4).map(move |_| metadata(path, 404)))
    };
    vec![
        Case::new(
            "bootstrap script that refuses its call, before a command that the node lacks",
            after_boot([
                call(Service::Imds, "meta-data/placement/region", 401, "Unauthorized"),
                cloud("bootstrap.sh: error: --container-runtime is dockerd or containerd, not 'docker'"),
                cloud("chmod: cannot access '/opt/aws/agent.json': No such file or directory"),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "kubeadm that does not know the API of its configuration",
            after_boot([
                cloud(
                    "no kind \"JoinConfiguration\" is registered for version \"kubeadm.k8s.io/v1beta3\" in scheme \"k8s.io/kubernetes\"",
                ),
                cloud("To see the stack trace of this error execute with --v=5 or higher"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        )
        .seen(|seen| seen.kubelet = "v1.20.2".to_owned()),
        Case::new(
            "machine that fails a check of kubeadm",
            after_boot([
                cloud("error execution phase preflight: [preflight] Some fatal errors occurred:"),
                cloud("\t[ERROR CRI]: container runtime is not running: exit status 1"),
                cloud(
                    "[preflight] If you know what you are doing, you can make a check non-fatal with \
                     `--ignore-preflight-errors=...`",
                ),
                cloud("To see the stack trace of this error execute with --v=5 or higher"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "script that is its first line alone",
            after_boot([
                failed_part(),
                cloud("/bin/bash: -/: invalid option"),
                done("DataSourceEc2Local"),
            ]),
        )
        .user_data("#!/bin/bash -xe/etc/eks/bootstrap.sh demo"),
        Case::new(
            "script of a user that reports an error of its own",
            after_boot([
                cloud("2026-11-21 ERROR: gpu-bootstrap finds no disk"),
                cloud(
                    "2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]",
                ),
            ]),
        ),
        Case::new(
            "script that hides the exit code of a missing command",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: jo: command not found"),
                cloud("no zone"),
                failed_part(),
            ]),
        ),
        Case::new(
            "CA that is cut in the user data",
            after_boot([cloud("base64: invalid input"), failed_part()]),
        )
        .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo --b64-cluster-ca LS0tLS1C\n"),
        Case::new(
            "script that looks for an instance store",
            after_boot([
                cloud("No devices found of type Amazon EC2 NVMe Instance Storage"),
                failed_part(),
            ]),
        ),
        Case::new(
            "bootstrap script of the last AMI that refuses its call",
            after_boot([
                cloud("2026-11-21T10:00:00+0000 [eks-bootstrap] ERROR: cluster name is not defined!"),
                cloud("pam_unix(sudo:session): session closed for user root"),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "DescribeCluster is denied",
            after_boot([describe(403, Some("AccessDeniedException"), None)]),
        ),
        Case::new(
            "object of a bucket that may be public",
            after_boot([call(Service::S3, "GetObject", 403, "AccessDenied"), failed_part()]),
        ),
        Case::new(
            "object that the script does without",
            after_boot([
                call(Service::S3, "GetObject", 403, "AccessDenied"),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 9: NAME: unbound variable"),
                failed_part(),
            ]),
        ),
        Case::new(
            "object that is downloaded after the kubelet's start",
            after_start([
                call(Service::S3, "GetObject", 403, "AccessDenied"),
                kubelet("F1121 11:23:05.288171     280 server.go:269] failed to run Kubelet: no such thing"),
                systemd(
                    "kubelet.service",
                    "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                ),
            ]),
        ),
        Case::new(
            "DescribeInstances is denied",
            after_start([
                call(Service::Ec2, "DescribeInstances", 403, "UnauthorizedOperation"),
                kubelet(
                    "F1121 11:23:05.288171     280 server.go:269] failed to run Kubelet: could not init cloud provider \"aws\": \
                     error listing AWS instances: \"UnauthorizedOperation: You are not authorized to perform this operation.\"",
                ),
            ]),
        ),
        Case::new(
            "instance without a role",
            after_boot([describe(403, Some("AccessDeniedException"), None)]),
        )
        .plan(|plan| plan.role = None),
        Case::new(
            "cluster of another name",
            after_boot([describe(404, Some("ResourceNotFoundException"), None)]),
        ),
        Case::new(
            "DescribeCluster is throttled",
            after_boot([describe(429, Some("ThrottlingException"), None)]),
        ),
        Case::new(
            "DescribeCluster is throttled by a fault",
            after_boot([describe(429, Some("ThrottlingException"), Some(1))]),
        ),
        Case::new(
            "DescribeCluster is cut off",
            after_boot([describe(0, None, None)]),
        ),
        Case::new(
            "cluster that is not active",
            after_boot([describe(200, None, None)]),
        )
        .plan(|plan| {
            plan.cluster.status = vec![StatusStep {
                status: crate::plan::ClusterStatus::Creating,
                until_seconds: None,
            }];
        }),
        Case::new(
            "script that says where it failed",
            after_boot([
                journal(
                    "cloud-final.service",
                    "tee",
                    "bootstrap.sh: line 12 ended with status 1",
                ),
                failed_part(),
                done("DataSourceEc2"),
            ]),
        ),
        Case::new(
            "cfn-init that fails before cfn-signal succeeds",
            after_boot([
                cloud("Error occurred during build: Command join failed"),
                done("DataSourceEc2"),
            ]),
        ),
        Case::new(
            "script that says why before its trap says where",
            after_boot([
                cloud("Provided region_name '<?xml version=\"1.0\"' doesn't match a supported format."),
                cloud("Exited with error on line 147"),
                failed_part(),
            ]),
        ),
        Case::new("script that failed without a word", after_boot([failed_part()])),
        Case::new("script that failed, as collected", after_boot([])).seen(|seen| {
            seen.collected = Some(Collected {
                user_data: Some(collected),
                ..Collected::default()
            });
        }),
        Case::new(
            "error that a later command hides",
            after_boot([
                cloud("base64: invalid input"),
                cloud("Exited with error on line 388"),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "error of the last command",
            after_boot([
                cloud("Exited with error on line 388"),
                done("DataSourceEc2Local"),
                systemd(
                    "cloud-final.service",
                    "cloud-final.service: Failed with result 'exit-code'.",
                ),
            ]),
        ),
        Case::new(
            "script that still prints",
            after_boot([cloud("waiting for the cluster")]),
        ),
        Case::new(
            "script that prints without end",
            after_boot([cloud("waiting for the cluster"), cloud("waiting for the cluster")]),
        )
        .plan(|plan| plan.limits.journal_lines = 2),
        Case::new("script that still calls AWS", after_boot([])),
        Case::new("script that ends without a word", after_boot([failed_part()]))
            .user_data("#!/bin/bash\nset -euo pipefail\nX=$(grep x /etc/none)\n"),
        Case::new(
            "script that takes an error page for the name of the cluster",
            after_boot([
                ObservedEvent::Aws(aws(Service::Imds, "meta-data/tags/instance/ClusterName", 404)),
                ObservedEvent::Aws(AwsCall {
                    subject: Some("<?xml version=\"1.0\"?><html>".to_owned()),
                    error: Some("ResourceNotFoundException".to_owned()),
                    ..aws(Service::Eks, "DescribeCluster", 404)
                }),
                failed_part(),
            ]),
        ),
        Case::new(
            "user data that never starts the kubelet",
            after_boot([done("DataSourceEc2")]),
        ),
        Case::new(
            "user data that never calls the bootstrap script",
            after_boot([done("DataSourceEc2")]),
        )
        .user_data("#!/bin/bash\ntrue\n"),
        Case::new(
            "cloud-config with invalid YAML",
            after_boot([done("DataSourceEc2")]),
        )
        .user_data("#cloud-config\nwrite_files:\n- path: /a\n - path: /b\nruncmd: [/etc/eks/bootstrap.sh demo]\n"),
        Case::new(
            "NodeConfig on an image without nodeadm",
            after_boot([done("DataSourceEc2")]),
        )
        .user_data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n")
        .plan(|plan| plan.image.name = "own-image:1".to_owned()),
        Case::new(
            "script with the line ends of Windows",
            after_boot([
                cloud("/usr/bin/env: 'bash\\r': No such file or directory"),
                cloud("/usr/bin/env: use -[v]S to pass options in shebang lines"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "script that may not be executed",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: /etc/eks/bootstrap.sh: Permission denied"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        )
        .seen(|observation| {
            let result = UserDataResult {
                exit_codes: [("part-001".to_owned(), 126)].into(),
                ..UserDataResult::default()
            };
            observation.collected = Some(Collected {
                user_data: Some(result),
                ..Collected::default()
            });
        }),
        Case::new(
            "end of a MIME message with a character after it",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 10: --==MYBOUNDARY==--: command not found"),
                failed_part(),
            ]),
        ),
        Case::new(
            "argument on a line of its own",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: --exit-code: command not found"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\n/opt/aws/bin/cfn-signal\n  --exit-code $? \\\n  --stack demo\n"),
        Case::new(
            "tag that the metadata does not have",
            polling("meta-data/tags/instance/Name"),
        ),
        Case::new("misspelt metadata path", polling("meta-data/instance_id")),
        Case::new(
            "script that ends after requests that failed",
            after_boot([
                ObservedEvent::Aws(AwsCall {
                    fault: Some(0),
                    ..aws(Service::Ec2, "DescribeTags", 429)
                }),
                ObservedEvent::Aws(AwsCall {
                    fault: Some(0),
                    ..aws(Service::Ec2, "DescribeTags", 429)
                }),
                metadata("meta-data/public-ipv4", 404),
                cloud("++ exit 1"),
                cloud("bootstrap.sh: no tags"),
                failed_part(),
            ]),
        ),
    ]
}
