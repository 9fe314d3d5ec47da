//! Units that the kubelet needs, above all the container runtime, and the kubelet's own unit.

use super::*;
use crate::plan::OverlayFile;

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
    vec![
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
                systemd(
                    "acme-agent.service",
                    "acme-agent.service: Failed with result 'exit-code'.",
                ),
                cloud("A dependency job for kubelet.service failed. See 'journalctl -xe' for details."),
                cloud("Exited with error on line 414"),
                failed_part(),
                done("DataSourceEc2Local"),
            ]),
        ),
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
        Case::new(
            "script that ends because a unit failed",
            after_boot([
                journal(
                    "containerd.service",
                    "containerd",
                    "failed to load plugin: invalid plugin config",
                ),
                cloud(
                    "Job for containerd.service failed because the control process exited with error code.",
                ),
                failed_part(),
            ]),
        ),
    ]
}
