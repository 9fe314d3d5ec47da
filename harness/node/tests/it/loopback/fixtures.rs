//! The programs of the node image and of the overlays are valid and know the flags of their time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

#[test]
fn every_script_is_one_that_bash_can_read() {
    let image = fixtures().join("images/nodes/al2/rootfs");
    let mut scripts = vec![
        image.join("etc/eks/bootstrap.sh"),
        image.join("etc/eks/max-pods-calculator.sh"),
        image.join("etc/eks/containerd/pull-sandbox-image.sh"),
        image.join("usr/bin/crictl"),
        fixtures().join("images/nodes/al2023/rootfs/etc/eks/bootstrap.sh"),
    ];
    let eras = [
        "al2-2019/bootstrap.sh",
        "al2-2026/bootstrap-functions.sh",
        "ubuntu-bootstrap/bootstrap-functions.sh",
        "kubeadm/crictl",
    ];
    scripts.extend(eras.map(|script| fixtures().join("overlays").join(script)));
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest");
    scripts.extend(
        [
            "enter",
            "packages",
            "instance-tools",
            "runc",
            "collect",
            "evidence",
            "user-data",
        ]
        .map(|name| guest.join(name)),
    );
    for script in scripts {
        let read = Command::new("bash")
            .arg("-n")
            .arg(&script)
            .stderr(Stdio::inherit())
            .status()
            .unwrap();
        assert!(read.success(), "{}", script.display());
    }
}

#[test]
fn the_bootstrap_script_knows_the_flags_of_2022() {
    let script =
        std::fs::read_to_string(fixtures().join("images/nodes/al2/rootfs/etc/eks/bootstrap.sh")).unwrap();
    for flag in [
        "use-max-pods",
        "b64-cluster-ca",
        "apiserver-endpoint",
        "kubelet-extra-args",
        "enable-docker-bridge",
        "aws-api-retry-attempts",
        "docker-config-json",
        "pause-container-account",
        "pause-container-version",
        "containerd-config-file",
        "dns-cluster-ip",
        "container-runtime",
        "ip-family",
        "service-ipv6-cidr",
        "enable-local-outpost",
        "cluster-id",
    ] {
        assert!(script.contains(&format!("    --{flag}) ")), "--{flag}");
    }
}

#[test]
fn scripts_of_other_years_know_the_flags_of_theirs() {
    let flags = |era: &str| {
        let script = std::fs::read_to_string(fixtures().join("overlays").join(era)).unwrap();
        let words = script.lines().filter_map(|line| line.trim().strip_prefix("--"));
        let is_flag = |flag: &String| flag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let mut flags: Vec<_> = words
            .filter_map(|line| Some(line.split_once(')')?.0.to_owned()))
            .filter(is_flag)
            .collect();
        flags.sort();
        flags
    };
    let of_2019 = [
        "apiserver-endpoint",
        "aws-api-retry-attempts",
        "b64-cluster-ca",
        "docker-config-json",
        "enable-docker-bridge",
        "kubelet-extra-args",
        "pause-container-account",
        "pause-container-version",
        "use-max-pods",
    ];
    assert_eq!(flags("al2-2019/bootstrap.sh"), of_2019);
    // Beside those of 2022, which it hands on.
    assert_eq!(
        flags("al2-2026/bootstrap-functions.sh"),
        ["local-disks", "mount-bpf-fs", "service-ipv4-cidr"]
    );
}

#[test]
fn max_pods_are_those_that_ec2_tells() {
    let list =
        std::fs::read_to_string(fixtures().join("images/nodes/al2/rootfs/etc/eks/eni-max-pods.txt")).unwrap();
    for line in ["m5.large 29", "t3.medium 17", "m4.xlarge 58", "c5.4xlarge 234"] {
        assert!(list.lines().any(|l| l == line), "{line}");
    }
}
