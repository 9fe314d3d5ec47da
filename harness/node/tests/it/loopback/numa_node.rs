//! The entries of a node's NUMA folder, from which a kubelet counts processors and takes their numbers.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The names of all entries, for control groups of a version, on a host with a number of processors.
fn names(vcpus: usize, threads: usize, hosts: usize, version: u8) -> Vec<String> {
    let groups = tempfile::tempdir().unwrap();
    if version == 2 {
        std::fs::write(groups.path().join("cgroup.controllers"), "cpuset cpu").unwrap();
    }
    let views = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/machine");
    let program = r#"set -eu
        eval "$(sed -n '/^name_in_node() {/,/^}/p' "$1")"
        index=0
        while [ "$index" -lt "$VCPUS" ]; do name_in_node "$index"; index=$((index + 1)); done"#;
    let output = Command::new("sh")
        .args(["-c", program, "sh"])
        .arg(views)
        .env("VCPUS", vcpus.to_string())
        .env("THREADS", threads.to_string())
        .env("hosts", hosts.to_string())
        .env("groups", groups.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// As a kubelet reads it: the first digits.
fn number(name: &str) -> usize {
    let digits = name.strip_prefix("cpu").unwrap();
    digits.split('.').next().unwrap().parse().unwrap()
}

#[test]
fn each_processor_has_an_entry_with_the_number_of_one_of_the_host() {
    for (vcpus, threads) in [(2, 1), (4, 2), (8, 2), (96, 2), (64, 1)] {
        for hosts in [2, 3, 4, 6, 128] {
            let names = names(vcpus, threads, hosts, 2);
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), vcpus);
            assert!(names.iter().all(|name| number(name) < hosts), "{names:?}");
            let cores = vcpus / threads;
            for core in 0..cores {
                let numbers: BTreeSet<_> = (0..threads)
                    .map(|thread| number(&names[core + thread * cores]))
                    .collect();
                assert_eq!(numbers.len(), threads, "core {core} of {names:?}");
            }
        }
    }
}

#[test]
fn processors_that_the_host_has_keep_their_names() {
    let own = ["cpu0", "cpu1", "cpu2", "cpu3"];
    assert_eq!(names(4, 2, 4, 2), own);
    assert_eq!(names(4, 2, 2, 2), ["cpu0", "cpu1", "cpu1.2", "cpu0.3"]);
}

/// A plain file is in the place of the list of processors there. With fewer processors than a core has threads, the
/// kubelet's error stays, which names the limit.
#[test]
fn names_stay_with_version_1_and_on_the_smallest_host() {
    let own = ["cpu0", "cpu1", "cpu2", "cpu3"];
    assert_eq!(names(4, 2, 2, 1), own);
    assert_eq!(names(4, 2, 1, 2), own);
}
