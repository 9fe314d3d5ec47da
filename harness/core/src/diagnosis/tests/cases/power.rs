//! User data that reboots the instance, or that does not end.

use super::*;

pub(super) fn exited(code: i64) -> ObservedEvent {
    let lines = vec!["the last line".to_owned()];
    ObservedEvent::ContainerExited { code, lines }
}

/// The end of a boot, and the start of the next one.
pub(super) fn reboot() -> [ObservedEvent; 3] {
    [
        systemd("init.scope", "Reached target System Reboot."),
        exited(129),
        ObservedEvent::Rebooted,
    ]
}

const RUNCMD: &str = "#cloud-config\nruncmd:\n- systemctl reboot\n- /etc/eks/bootstrap.sh demo\n";

/// User data that still runs a process at the timeout.
fn runs(name: &'static str, process: &str) -> Case {
    let script = "#!/bin/bash\n# Not sleep infinity, but a loop:\nwhile true; do :; done\nsleep infinity &\n";
    let processes = vec![process.to_owned()];
    let case = Case::new(name, after_boot([cloud("waiting")])).user_data(script);
    case.seen(|seen| {
        seen.collected = Some(Collected {
            user_data_processes: processes,
            ..Collected::default()
        });
    })
}

/// A line of the program that watches the limits of the node.
fn limit(message: &str) -> ObservedEvent {
    journal("init.scope", "nodejoin-limits", message)
}

pub(super) fn cases() -> Vec<Case> {
    let ready = || done("DataSourceEc2Local");
    let reboots = || (0..3).flat_map(|_| reboot());
    let starts = || systemd("kubelet.service", "Started Kubernetes Kubelet.");
    vec![
        Case::new(
            "reboot before the bootstrap script",
            after_boot(reboot()).into_iter().chain([ready()]),
        )
        .user_data(RUNCMD),
        Case::new(
            "reboot after a script that failed",
            after_boot([
                cloud("/var/lib/cloud/instance/scripts/part-001: line 2: /root/keys: No such file or directory"),
                cloud("2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]"),
            ])
            .into_iter()
            .chain(reboot())
            .chain([ready()]),
        )
        .user_data("#!/bin/bash -e\ncat keys > /root/keys\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "reboot with a kubelet that is not enabled",
            after_boot([starts()])
                .into_iter()
                .chain(reboot())
                .chain([ready()]),
        ),
        runs(
            "user data that runs a command without end",
            "`sleep infinity` for 18 s (CPU time 00:00:00)",
        ),
        runs(
            "user data that runs a loop without end",
            "`/bin/bash /var/lib/cloud/instance/scripts/part-001` for 18 s (CPU time 00:00:17)",
        ),
        Case::new(
            "a script that starts processes without end",
            after_boot([limit("processes: 4096 of 4096")]),
        ),
        Case::new(
            "a script that fills the disk",
            after_boot([limit("disk: 20981230 KiB of 20971520 KiB")]),
        ),
        Case::new(
            "reboots without end",
            after_boot([]).into_iter().chain(reboots()).chain([exited(129)]),
        ),
        Case::new(
            "shutdown after a reboot",
            after_boot(reboot()).into_iter().chain([exited(130)]),
        ),
        Case::new(
            "kubelet that exits after a reboot",
            after_boot(reboot()).into_iter().chain([
                starts(),
                kubelet("F1121 10:00:00.000001     321 server.go:269] failed to run Kubelet: something else"),
                systemd(
                    "kubelet.service",
                    "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
                ),
            ]),
        ),
        Case::new("reboot", after_boot([exited(129)])),
        Case::new(
            "shutdown",
            after_boot([
                systemd("init.scope", "Reached target poweroff.target - System Power Off."),
                exited(130),
            ]),
        ),
        Case::new("user data that never ends", after_boot([cloud("waiting")])).seen(|seen| {
            seen.collected = Some(Collected {
                user_data_processes: vec!["`sleep infinity` for 18 s (CPU time 00:00:00)".to_owned()],
                ..Collected::default()
            });
        }),
    ]
}
