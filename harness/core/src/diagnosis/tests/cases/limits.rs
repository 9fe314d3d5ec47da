//! What the image and the host do not have, and mistakes that look like it.

use super::*;

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "section that the stand-in of cfn-init does not know",
            after_boot([
                cloud(
                    "cfn-init: nodejoin's stand-in does not know this: unknown section `config.file`, expected one of files, users",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "package that the stand-in of yum does not know",
            after_boot([
                cloud("yum: nodejoin's stand-in does not know this: package falcon-sensor"),
                cloud("No package falcon-sensor available."),
                cloud("Error: Nothing to do"),
                failed_part(),
            ]),
        ),
        Case::new(
            "command that only an AMI has",
            after_boot([
                cloud("+ nvidia-smi"),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 3: nvidia-smi: command not found"),
                failed_part(),
            ]),
        ),
        Case::new(
            "file that only an AMI has",
            after_boot([
                cloud("sed: can't read /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        ),
        Case::new(
            "file that the user data removed",
            after_boot([
                cloud("/etc/eks/bootstrap.sh: line 388: /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\nrm --recursive \"/etc/docker\"\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "file that only an AMI has, beside one that is moved",
            after_boot([
                cloud("sed: can't read /etc/docker/daemon.json: No such file or directory"),
                failed_part(),
            ]),
        )
        .user_data("#!/bin/bash\nmv /tmp/seccomp.json /etc/docker/\n/etc/eks/bootstrap.sh demo\n"),
        Case::new(
            "file that an own AMI may have",
            after_boot([
                cloud(
                    "/var/lib/cloud/instance/scripts/part-001: line 7: /opt/ds_agent/dsa_control: No such file or directory",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "kernel module",
            after_boot([
                cloud("modprobe: FATAL: Module ip_vs not found in directory /lib/modules/6.1.0"),
                failed_part(),
            ]),
        ),
        Case::new(
            "disk of the root file system",
            after_boot([cloud("lsblk: fuse-overlayfs: not a block device"), failed_part()]),
        ),
        Case::new(
            "service that only an AMI has",
            after_boot([
                cloud("Failed to enable unit: Unit file chronyd.service does not exist."),
                failed_part(),
            ]),
        ),
        Case::new(
            "service of nodeadm that only an AMI has",
            after_boot([journal(
                "nodeadm-run.service",
                "nodeadm",
                "fatal cli/main.go:35 Command failed {\"error\": \"Unit systemd-resolved.service not found.\"}",
            )]),
        ),
        Case::new(
            "misspelt service",
            after_boot([
                cloud("Failed to start agnet.service: Unit agnet.service not found."),
                failed_part(),
            ]),
        ),
        Case::new(
            "host name",
            after_boot([
                cloud(
                    "Could not set static hostname: Failed to set static hostname: Device or resource busy",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "address outside",
            after_boot([
                cloud("curl: (7) Failed to connect to 52.1.2.3 port 443 after 0 ms: Network is unreachable"),
                failed_part(),
            ]),
        ),
        Case::new(
            "address outside, for a newer curl",
            after_boot([
                cloud(
                    "curl: (7) Failed to connect to 203.0.113.7 port 443 after 3067 ms: Couldn't connect to server",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "metadata over IPv6, which is disabled",
            after_boot([
                cloud(
                    "curl: (7) Failed to connect to fd00:ec2::254 port 80 after 0 ms: Couldn't connect to server",
                ),
                failed_part(),
            ]),
        ),
        Case::new(
            "own endpoint at a wrong port",
            after_boot([
                cloud(&format!(
                    "curl: (7) Failed to connect to {} port 6443 after 2 ms: Couldn't connect to server",
                    plan().cluster.endpoint_host(&plan().region)
                )),
                failed_part(),
            ]),
        ),
        Case::new(
            "script that turns swap on",
            after_boot([
                cloud("swapon: /swapfile: swapon failed: Operation not permitted"),
                failed_part(),
            ]),
        ),
    ]
}
