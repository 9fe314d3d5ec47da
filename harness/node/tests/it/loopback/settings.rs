//! A kubelet starts without the settings that it is too old for, and the journal names them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Prints its arguments, and rejects three feature gates as a kubelet does.
const KUBELET: &str = r#"#!/bin/sh
for gate in NewGate NewerGate Misspelt; do
  case "$1" in --feature-gates=*$gate=*)
    echo "failed to set feature gates: unrecognized feature gate: $gate" >&2; exit 1 ;;
  esac
done
printf '%s\n' "$@"
"#;

/// What a kubelet that lacks some settings was started with, and the lines for the journal.
fn started(config: &str, arguments: &[&str]) -> (String, String) {
    let newer = r#"{"fields":["registerWithTaints","seccompDefault"],"flags":["--seccomp-default"],
        "gates":["NewGate","NewerGate","BackportedGate"]}"#;
    started_with("newer-settings.json", newer, config, arguments)
}

/// What a kubelet was started with on a host of which 7 % of the disk is free, and the lines for the journal.
fn started_on_a_full_disk(config: &str, arguments: &[&str]) -> (String, String) {
    started_with("disk-of-host", "7\n", config, arguments)
}

/// Without the files that the program wrote.
fn arguments_of(started: &str) -> &str {
    started.split('{').next().unwrap()
}

fn started_with(file: &str, content: &str, config: &str, arguments: &[&str]) -> (String, String) {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    write(&format!("opt/nodejoin/{file}"), content);
    let config = write("config.json", config);
    let kubelet = write("kubelet", KUBELET);
    std::fs::set_permissions(&kubelet, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/settings"))
        .arg(&kubelet)
        .arg(format!("--config={}", config.display()))
        .args(arguments)
        .env("NODEJOIN_ROOT", root.path())
        .output()
        .unwrap();
    let root = root.path().display().to_string();
    let written = ["kubelet-config.json", "changed-settings.json"]
        .map(|name| std::fs::read_to_string(format!("{root}/run/nodejoin/{name}")).unwrap_or_default())
        .concat();
    let arguments = String::from_utf8(output.stdout).unwrap().replace(&root, "");
    (arguments + &written, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn taints_become_a_flag_and_unknown_settings_are_removed() {
    let config = r#"{"maxPods": 4, "seccompDefault": true, "featureGates": {"NewGate": true, "Known": true},
        "registerWithTaints": [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}]}"#;
    let gates = [
        "--v=2",
        "--seccomp-default",
        "--feature-gates",
        "NewerGate=true,Old=false",
    ];
    let (kubelet, journal) = started(config, &gates);
    for expected in [
        "--config=/run/nodejoin/kubelet-config.json\n--v=2\n--feature-gates=Old=false\n",
        "--register-with-taints=a=b:NoSchedule,c=:NoExecute\n",
        "\"maxPods\": 4",
        "\"Known\": true",
    ] {
        assert!(kubelet.contains(expected), "{expected}: {kubelet}");
    }
    assert!(
        !kubelet.contains("seccomp") && !kubelet.contains("New"),
        "{kubelet}"
    );
    assert_eq!(
        journal,
        "nodejoin-settings flag --seccomp-default\nnodejoin-settings gate NewerGate\n\
         nodejoin-settings taints registerWithTaints\nnodejoin-settings field seccompDefault\n\
         nodejoin-settings gate NewGate\n"
    );
}

#[test]
fn settings_that_the_kubelet_has_stay() {
    let config = r#"{"maxPods": 4}"#;
    let words = [
        "--seccomp-default-of-another",
        "--register-with-taints=x=y:NoSchedule",
    ];
    let (kubelet, journal) = started(config, &words);
    assert_eq!(
        kubelet,
        "--config=/config.json\n--seccomp-default-of-another\n--register-with-taints=x=y:NoSchedule\n"
    );
    assert_eq!(journal, "");
    // The kubelet itself reports what is wrong with such a file.
    let (kubelet, _) = started("{ a: [", &[]);
    assert_eq!(kubelet, "--config=/config.json\n");
}

#[test]
fn a_misspelt_feature_gate_stays_and_the_kubelet_exits_at_it() {
    let config = r#"{"featureGates": {"Misspelt": true, "NewGate": true, "BackportedGate": false}}"#;
    let (kubelet, journal) = started(config, &[]);
    for kept in ["\"Misspelt\": true", "\"BackportedGate\": false"] {
        assert!(kubelet.contains(kept), "{kept}: {kubelet}");
    }
    assert!(!kubelet.contains("NewGate"), "{kubelet}");
    assert_eq!(journal, "nodejoin-settings gate NewGate\n");
    let (kubelet, journal) = started("{}", &["--feature-gates=Misspelt=true,NewGate=true"]);
    assert_eq!(kubelet, "--config=/config.json\n--feature-gates=Misspelt=true\n");
    assert_eq!(journal, "nodejoin-settings gate NewGate\n");
}

const NO_THRESHOLDS: &str =
    "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%,imagefs.inodesFree<0%";

#[test]
fn thresholds_for_disk_space_are_replaced_and_all_others_stay() {
    let config = r#"{"evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        "evictionSoft": {"imagefs.available": "20%", "memory.available": "1Gi"}}"#;
    let (kubelet, journal) = started_on_a_full_disk(config, &["--v=2"]);
    assert_eq!(
        arguments_of(&kubelet),
        "--config=/config.json\n--v=2\n\
         --eviction-hard=memory.available<100Mi,nodefs.available<0%,nodefs.inodesFree<0%,\
         imagefs.available<0%,imagefs.inodesFree<0%\n--image-gc-high-threshold=100\n\
         --eviction-soft=imagefs.available<0%,memory.available<1Gi,nodefs.available<0%,\
         nodefs.inodesFree<0%,imagefs.inodesFree<0%\n"
    );
    let chosen = "\"chosen_configuration\": {\"evictionHard\": {\"memory.available\": \"100Mi\", \
                  \"nodefs.available\": \"10%\"}, \"imageGCHighThresholdPercent\": 85, \"evictionSoft\": \
                  {\"imagefs.available\": \"20%\", \"memory.available\": \"1Gi\"}}";
    assert!(kubelet.contains(chosen), "{kubelet}");
    assert_eq!(journal, "nodejoin-settings disk 7\n");
}

#[test]
fn a_flag_of_the_script_wins_over_its_configuration_on_a_full_disk() {
    let config = r#"{"evictionHard": {"memory.available": "100Mi"}}"#;
    let flag = ["--eviction-hard", "memory.available<500Mi,nodefs.available<5%"];
    let (kubelet, _) = started_on_a_full_disk(config, &flag);
    assert_eq!(
        arguments_of(&kubelet),
        "--config=/config.json\n--eviction-hard\nmemory.available<500Mi,nodefs.available<5%\n\
         --eviction-hard=memory.available<500Mi,nodefs.available<0%,nodefs.inodesFree<0%,\
         imagefs.available<0%,imagefs.inodesFree<0%\n--image-gc-high-threshold=100\n"
    );
}

#[test]
fn a_script_without_thresholds_keeps_the_kubelets_default_for_memory_on_a_full_disk() {
    let (kubelet, _) = started_on_a_full_disk("{}", &[]);
    assert_eq!(
        arguments_of(&kubelet),
        format!(
            "--config=/config.json\n--eviction-hard=memory.available<100Mi,{NO_THRESHOLDS}\n\
             --image-gc-high-threshold=100\n"
        )
    );
}

#[test]
fn thresholds_in_the_wrong_order_stay_for_the_kubelet_to_reject() {
    for (config, arguments) in [
        (r#"{"imageGCHighThresholdPercent": 70}"#, &[][..]),
        (r#"{"imageGCLowThresholdPercent": 90}"#, &[]),
        (
            "{}",
            &["--image-gc-high-threshold=40", "--image-gc-low-threshold=40"],
        ),
    ] {
        let (kubelet, _) = started_on_a_full_disk(config, arguments);
        assert!(!kubelet.contains("--image-gc-high-threshold=100"), "{kubelet}");
        assert!(kubelet.contains("--eviction-hard="), "{kubelet}");
    }
}

#[test]
fn drop_ins_set_the_thresholds_that_remain_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "20-late.conf",
        r#"{"evictionHard": {"memory.available": "12%"}, "imageGCHighThresholdPercent": 90}"#,
    );
    write(
        "10-early/a.conf",
        r#"{"evictionHard": {"memory.available": "9%", "pid.available": "5%"}}"#,
    );
    write(
        "30-foreign.json",
        r#"{"evictionHard": {"memory.available": "1%"}}"#,
    );
    write("40-broken.conf", "[");
    let config = r#"{"evictionHard": {"nodefs.available": "8%", "imagefs.available": "7%"}}"#;
    let directory = format!("--config-dir={}", folder.path().display());
    let (kubelet, _) = started_on_a_full_disk(config, &[&directory]);
    assert!(
        kubelet.contains(
            "--eviction-hard=nodefs.available<0%,imagefs.available<0%,memory.available<12%,pid.available<5%,"
        ),
        "{kubelet}"
    );
    // The thresholds that the script chose are what the report shows.
    let chosen = r#""chosen_configuration": {"evictionHard": {"nodefs.available": "8%", "imagefs.available": "7%", "memory.available": "12%", "pid.available": "5%"}, "imageGCHighThresholdPercent": 90}"#;
    assert!(kubelet.contains(chosen), "{kubelet}");
}

#[test]
fn values_that_the_kubelet_rejects_reach_it_on_a_full_disk() {
    let config = r#"{"evictionHard": ["10%"], "imageGCHighThresholdPercent": "most"}"#;
    let (kubelet, journal) = started_on_a_full_disk(config, &[]);
    assert!(
        kubelet.starts_with("--config=/config.json\n--eviction-hard="),
        "{kubelet}"
    );
    assert_eq!(journal, "nodejoin-settings disk 7\n");
}
