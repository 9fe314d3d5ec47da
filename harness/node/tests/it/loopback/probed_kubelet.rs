//! The program that takes the place of the kubelet in a probe.

use std::process::Command;

use tempfile::TempDir;

const KUBELET: &str = include_str!("../../../guest/kubelet");

#[test]
fn what_systemd_and_a_trace_set_is_no_part_of_the_environment() {
    let folder = TempDir::new().unwrap();
    let here = folder.path().display().to_string();
    assert!(KUBELET.contains("exec sleep infinity"));
    let program = KUBELET
        .replace("/run/nodejoin/kubelet", &here)
        .replace("exec sleep infinity", "");
    let status = Command::new("sh")
        .args(["-c", &program, "/usr/bin/kubelet", "--v=2"])
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("POOL", "blue")])
        .envs([("BASH_ENV", "/opt/nodejoin/trace.sh"), ("INVOCATION_ID", "1")])
        .status()
        .unwrap();
    assert!(status.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("environment"), "PATH=/usr/bin:/bin\nPOOL=blue\n");
    assert_eq!(read("arguments"), "/usr/bin/kubelet\n--v=2\n");
}
