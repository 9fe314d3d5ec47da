//! What the kernel refuses to a node although its capabilities would permit it: devices of the host, and system calls
//! whose effect no namespace confines.

use nodejoin_docker::EngineFacts;
use serde_json::{Value, json};

/// A node can create any device, and open the character devices that the engine gives every container and those below.
/// With CAP_MKNOD it could otherwise format the disks of its host, and read its memory and its kernel log. A nested
/// container runtime allows its containers the tunnel device, which fails if the node itself has no access to it.
pub(crate) const DEVICE_RULES: [&str; 4] = ["c *:* m", "b *:* m", "c 10:200 rwm", "c 10:229 rwm"];

/// Programs write to and read from /dev/kmsg, and a kubelet refuses to start without it. The kernel log is the host's.
pub(crate) const KERNEL_LOG: (&str, &str) = ("/dev/null", "/dev/kmsg");

/// The kernel log, another kernel, files by their handle (of any folder of the file system below a bind mount), ports,
/// swap and process accounting of the host, and counters of its processes.
const HOST_CALLS: [&str; 10] = [
    "syslog",
    "kexec_load",
    "kexec_file_load",
    "open_by_handle_at",
    "iopl",
    "ioperm",
    "swapon",
    "swapoff",
    "acct",
    "perf_event_open",
];

/// Commands of `bpf` that open the maps and links of other programs by their number, or trace the kernel. The others
/// remain: on cgroup v2 a container runtime sets device rules by them.
const BPF_COMMANDS: [u32; 3] = [14, 17, 30];

/// The security options of a node's container. An engine without seccomp refuses a profile.
pub(crate) fn security_options(engine: &EngineFacts) -> Vec<String> {
    let is_supported = engine
        .security_options
        .iter()
        .any(|option| option.starts_with("name=seccomp"));
    let seccomp = match is_supported {
        true => format!("seccomp={}", profile()),
        false => "seccomp=unconfined".to_owned(),
    };
    vec![seccomp, "apparmor=unconfined".to_owned()]
}

/// A seccomp profile in the engine's format.
fn profile() -> Value {
    let refused =
        |names: &[&str], args: Value| json!({ "names": names, "action": "SCMP_ACT_ERRNO", "args": args });
    let of_bpf = BPF_COMMANDS.map(|command| {
        let is_command = json!([{ "index": 0, "value": command, "valueTwo": 0, "op": "SCMP_CMP_EQ" }]);
        refused(&["bpf"], is_command)
    });
    let calls: Vec<Value> = std::iter::once(refused(&HOST_CALLS, json!([])))
        .chain(of_bpf)
        .collect();
    json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "archMap": [
            { "architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"] },
            { "architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"] },
        ],
        "syscalls": calls,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(of_engine: &str) -> Vec<String> {
        security_options(&EngineFacts {
            security_options: vec![of_engine.to_owned()],
            ..EngineFacts::default()
        })
    }

    #[test]
    fn an_engine_without_seccomp_gets_no_profile() {
        assert_eq!(
            options("name=apparmor"),
            ["seccomp=unconfined", "apparmor=unconfined"]
        );
    }

    #[test]
    fn calls_that_reach_the_host_are_refused() {
        let options = options("name=seccomp,profile=default");
        let profile: Value = serde_json::from_str(options[0].strip_prefix("seccomp=").unwrap()).unwrap();
        assert_eq!(profile["defaultAction"], "SCMP_ACT_ALLOW");
        let calls = profile["syscalls"].as_array().unwrap();
        assert!(calls.iter().all(|call| call["action"] == "SCMP_ACT_ERRNO"));
        assert_eq!(calls[0]["names"][0], "syslog");
        let commands: Vec<_> = calls[1..].iter().map(|call| &call["args"][0]["value"]).collect();
        assert_eq!(commands, [14, 17, 30]);
    }

    #[test]
    fn no_rule_lets_a_node_open_a_block_device_or_every_character_device() {
        for rule in DEVICE_RULES {
            let may_only_create = rule.ends_with(" m");
            let is_one_device = !rule.contains('*') && rule.starts_with("c 10:");
            assert!(may_only_create || is_one_device, "{rule}");
        }
    }
}
