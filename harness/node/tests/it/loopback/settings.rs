//! A kubelet starts without the settings that it is too old for, and the journal names them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Prints its arguments, and rejects two feature gates as a kubelet does.
const KUBELET: &str = r#"#!/bin/sh
for gate in NewGate NewerGate; do
  case "$1" in --feature-gates=*$gate=*)
    echo "failed to set feature gates: unrecognized feature gate: $gate" >&2; exit 1 ;;
  esac
done
printf '%s\n' "$@"
"#;

/// What the kubelet was started with, and the lines for the journal.
fn started(config: &str, arguments: &[&str]) -> (String, String) {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let newer = r#"{"fields":["registerWithTaints","seccompDefault"],"flags":["--seccomp-default"]}"#;
    write("opt/nodejoin/newer-settings.json", newer);
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
    let written = std::fs::read_to_string(format!("{root}/run/nodejoin/kubelet-config.json"));
    let arguments = String::from_utf8(output.stdout).unwrap().replace(&root, "");
    (
        arguments + &written.unwrap_or_default(),
        String::from_utf8(output.stderr).unwrap(),
    )
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
