//! While the script runs: its AWS calls, its own end, and a kubelet that it never started.

use super::*;
use crate::plan::{OverlayFile, StatusStep};

fn describe(status: u16, error: Option<&str>, fault: Option<usize>) -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: error.map(str::to_owned),
        fault,
        ..aws(Service::Eks, "DescribeCluster", status)
    })
}

fn unit_of_kubelet(message: &str) -> ObservedEvent {
    systemd("kubelet.service", message)
}

fn runtime_exits(times: usize) -> Vec<ObservedEvent> {
    let exit = [
        journal(
            "containerd.service",
            "modprobe",
            "modprobe: FATAL: Module overlay not found",
        ),
        journal(
            "containerd.service",
            "containerd",
            "containerd: failed to load TOML: (3, 1): unexpected token",
        ),
        systemd(
            "containerd.service",
            "containerd.service: Failed with result 'exit-code'.",
        ),
    ];
    exit.iter().cloned().cycle().take(3 * times).collect()
}

/// containerd without its plugin for Kubernetes, and a kubelet that misses it `times` times.
fn without_plugin(error: &str, times: usize) -> Vec<ObservedEvent> {
    let plugin = format!(
        "time=\"2026-11-25T12:39:24.980772592Z\" level=warning msg=\"failed to load plugin io.containerd.grpc.v1.cri\" \
         error=\"invalid plugin config: {error}\""
    );
    let exit = [
        kubelet(
            "E1125 12:39:26.1 run.go:72] \"command failed\" err=\"failed to run Kubelet: validate service connection: \
             rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService\"",
        ),
        unit_of_kubelet("kubelet.service: Main process exited, code=exited, status=1/FAILURE"),
    ];
    let mut events = started();
    events.push(journal("containerd.service", "containerd", &plugin));
    events.extend(exit.iter().cloned().cycle().take(2 * times));
    events
}

fn of_sandbox_image(message: &str) -> ObservedEvent {
    journal("sandbox-image.service", "ctr", message)
}

pub(super) fn cases() -> Vec<Case> {
    let failed_part = || cloud("Runparts: 1 failures (part-001) in 1 attempted commands");
    let collected = UserDataResult {
        ran: true,
        exit_codes: [("part-001".to_owned(), 3)].into(),
        output: "a\nno such cluster\n\n".into(),
        ..UserDataResult::default()
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
            "unit that the kubelet needs",
            after_boot([
                systemd(
                    "sandbox-image.service",
                    "sandbox-image.service: Failed with result 'exit-code'.",
                ),
                unit_of_kubelet("Dependency failed for Kubernetes Kubelet."),
            ]),
        ),
        Case::new(
            "image of the pause container without a tag",
            after_boot([
                of_sandbox_image(
                    "ctr: failed to resolve reference \"602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/pause\": object required",
                ),
                of_sandbox_image("could not fetch 602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/pause"),
            ]),
        ),
        Case::new(
            "image of the pause container at the second attempt",
            after_boot([
                of_sandbox_image(
                    "ctr: failed to resolve reference \"602401143452/eks/pause:3.5\": unexpected status 503",
                ),
                systemd("sandbox-image.service", "Finished Pull the sandbox image."),
                unit_of_kubelet("Dependency failed for Kubernetes Kubelet."),
            ]),
        ),
        Case::new(
            "container runtime that keeps exiting while the user data waits",
            after_boot([]).into_iter().chain(runtime_exits(3)),
        ),
        Case::new(
            "container runtime with a configuration of an overlay",
            after_boot([]).into_iter().chain(runtime_exits(3)),
        )
        .plan(|plan| {
            plan.image.overlay = vec![OverlayFile {
                from: "/checkout/containerd.toml".to_owned(),
                to: "/etc/eks/containerd/containerd-config.toml".to_owned(),
                mode: 0o644,
                removed: false,
                may_be_missing: false,
                patched: None,
            }];
        }),
        Case::new(
            "container runtime that starts at the third attempt",
            after_boot([]).into_iter().chain(runtime_exits(2)).chain([
                systemd("containerd.service", "Started containerd container runtime."),
                failed_part(),
            ]),
        ),
        Case::new(
            "container runtime without its plugin for Kubernetes",
            without_plugin("no sandbox image is set", 1),
        ),
        Case::new(
            "container runtime that gets its plugin at the second start",
            without_plugin("no sandbox image is set", 1).into_iter().chain([
                systemd("containerd.service", "Starting containerd container runtime..."),
                systemd("containerd.service", "Started containerd container runtime."),
            ]),
        ),
        Case::new(
            "container runtime without its plugin beside docker",
            after_boot([
                systemd("docker.service", "Started Docker Application Container Engine."),
                journal(
                    "containerd.service",
                    "containerd",
                    "level=warning msg=\"failed to load plugin io.containerd.grpc.v1.cri\" error=\"no network\"",
                ),
                cloud("no such option"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "mirrors beside the folder of mirrors",
            without_plugin("`mirrors` cannot be set when `config_path` is provided", 3),
        ),
        Case::new(
            "container runtime that fails, which ends the script",
            after_boot([]).into_iter().chain(runtime_exits(1)).chain([
                cloud(
                    "Job for containerd.service failed because the control process exited with error code.",
                ),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
        Case::new(
            "unit that the kubelet needs, named by systemctl",
            after_boot([
                systemd(
                    "acme-agent.service",
                    "acme-agent.service: Failed to locate executable /usr/local/bin/acme-agent: No such file or directory",
                ),
                systemd("acme-agent.service", "acme-agent.service: Failed with result 'exit-code'."),
                cloud("A dependency job for kubelet.service failed. See 'journalctl -xe' for details."),
                cloud("Exited with error on line 414"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
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
            "unnamed unit that the kubelet needs",
            after_boot([unit_of_kubelet("Dependency failed for Kubernetes Kubelet.")]),
        ),
        Case::new(
            "command before the kubelet",
            after_boot([unit_of_kubelet(
                "kubelet.service: Control process exited, code=exited, status=1/FAILURE",
            )]),
        ),
        Case::new(
            "drop-in with a second ExecStart",
            after_boot([
                unit_of_kubelet(
                    "kubelet.service: Service has more than one ExecStart= setting, which is only allowed for Type=oneshot \
                     services. Refusing.",
                ),
                cloud("Runparts: 1 failures (runcmd) in 1 attempted commands"),
            ]),
        ),
        Case::new(
            "unit file that systemd cannot use",
            after_boot([unit_of_kubelet(
                "kubelet.service: Unit kubelet.service has a bad unit file setting.",
            )]),
        ),
    ]
}
