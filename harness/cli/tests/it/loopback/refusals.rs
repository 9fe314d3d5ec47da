//! Errors of invalid input: position, problem, reason and hint. Nothing is started.

use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;

use crate::support::closed_command;

/// A line that every scenario needs: without user data nothing would start the kubelet.
const USER_DATA: &str = "user_data: '#!/bin/sh'\n";

/// An invalid scenario, and texts that its error contains.
struct InvalidScenario {
    what: &'static str,
    yaml: &'static str,
    texts: &'static [&'static str],
}

const ROWS: &[InvalidScenario] = &[
    InvalidScenario {
        what: "a mistyped key",
        yaml: "name: x\ninstance:\n  private_ipp: 192.168.1.10\n",
        texts: &["bad.yaml:3:3", "private_ipp", "private_ip"],
    },
    InvalidScenario {
        what: "a wrong type",
        yaml: "name: x\nlimits:\n  join_seconds: soon\n",
        texts: &["bad.yaml:3:", "join_seconds"],
    },
    InvalidScenario {
        what: "no YAML at all",
        yaml: "name: [x\n",
        texts: &["bad.yaml:"],
    },
    InvalidScenario {
        what: "a range of versions that is none",
        yaml: "name: x\nkubernetes: newest\n",
        texts: &["bad.yaml:2:", "kubernetes", "newest"],
    },
    InvalidScenario {
        what: "an overlay that is not there",
        yaml: "name: x\noverlay: nowhere/overlay.yaml\n",
        texts: &["bad.yaml:2:", "nowhere/overlay.yaml"],
    },
    InvalidScenario {
        what: "user data that is not there",
        yaml: "name: x\nuser_data: { file: nowhere.sh }\n",
        texts: &["bad.yaml:2:", "nowhere.sh"],
    },
    InvalidScenario {
        what: "a join that must be ready without container networking",
        yaml: "name: x\ncni: none\nexpect: { phase: ready }\n",
        texts: &["bad.yaml:", "cni"],
    },
    InvalidScenario {
        what: "a scenario that can never end",
        yaml: "name: x\nlimits: { join_seconds: 0 }\n",
        texts: &["bad.yaml:2:", "join_seconds"],
    },
    InvalidScenario {
        what: "an unknown control plane",
        yaml: "name: x\ncontrol_plane: [local, kin]\n",
        texts: &["bad.yaml:2:", "control_plane", "kind"],
    },
    InvalidScenario {
        what: "a value that is never filled in",
        yaml: "name: x\nuser_data: |\n  #!/bin/sh\n  echo {{ cluster.nmae }}\n",
        texts: &["bad.yaml:", "cluster.nmae", "cluster.name"],
    },
];

fn nodejoin(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = closed_command();
    // A missing engine: these commands fail before they would connect to it.
    command
        .current_dir(folder)
        .args(arguments)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn invalid_scenarios_are_refused_with_position_and_hint() {
    for row in ROWS {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("bad.yaml"), row.yaml).unwrap();
        for command in ["run", "plan"] {
            let output = nodejoin(folder.path(), &[command, "bad.yaml"]);
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{}: {text}", row.what);
            for part in row.texts {
                assert!(
                    text.contains(part),
                    "{}, `nodejoin {command}`: `{part}` is missing in:\n{text}",
                    row.what
                );
            }
        }
    }
}

#[test]
fn user_data_that_ec2_would_refuse_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("big.sh"),
        format!("#!/bin/sh\n# {}\n", "x".repeat(16 * 1024)),
    )
    .unwrap();
    std::fs::write(
        folder.path().join("bad.yaml"),
        "name: x\nuser_data: { file: big.sh }\n",
    )
    .unwrap();
    let output = nodejoin(folder.path(), &["run", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("16"), "{}", stderr(&output));
}

/// They run one after the other.
#[test]
fn two_scenarios_can_pin_one_instance() {
    let folder = TempDir::new().unwrap();
    for name in ["one", "two"] {
        let yaml = format!("name: {name}\n{USER_DATA}instance: {{ id: i-0b22a22eec53b9321 }}\n");
        std::fs::write(folder.path().join(format!("{name}.yaml")), yaml).unwrap();
    }
    let output = nodejoin(folder.path(), &["list", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_missing_file_is_named() {
    let folder = TempDir::new().unwrap();
    let output = nodejoin(folder.path(), &["run", "nowhere.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nowhere.yaml"), "{}", stderr(&output));
}

#[test]
fn a_missing_engine_has_its_own_exit_code() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("good.yaml"), format!("name: x\n{USER_DATA}")).unwrap();
    let output = nodejoin(folder.path(), &["run", "good.yaml"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("/nonexistent/docker.sock"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("do: "), "{}", stderr(&output));
}

#[test]
fn a_plan_is_data_and_needs_no_engine() {
    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("good.yaml"),
        format!("name: x\n{USER_DATA}instance: {{ private_ip: 192.168.7.9 }}\n"),
    )
    .unwrap();
    let output = nodejoin(folder.path(), &["plan", "good.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        plan["instance"]["private_dns_name"],
        "ip-192-168-7-9.eu-west-1.compute.internal"
    );
}

#[test]
fn overlays_of_the_command_line_replace_files_of_the_scenario() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("good.yaml", format!("name: x\n{USER_DATA}overlay: own.yaml\n"));
    for name in ["own", "given"] {
        write(name, String::new());
        write(
            &format!("{name}.yaml"),
            format!("files: [{{ from: {name}, to: /etc/eks/bootstrap.sh }}]\n"),
        );
    }
    let output = nodejoin(folder.path(), &["plan", "good.yaml", "--overlay", "given.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let laid = plan["image"]["overlay"].as_array().unwrap();
    let from: Vec<&str> = laid.iter().map(|file| file["from"].as_str().unwrap()).collect();
    assert!(
        matches!(from.as_slice(), [own, given] if own.ends_with("/own") && given.ends_with("/given")),
        "{from:?}"
    );
    assert!(from.iter().all(|path| path.starts_with('/')), "{from:?}");
}

#[test]
fn a_settings_file_applies_below_its_folder_and_is_validated() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let below = folder.path().join("scenarios");
    std::fs::create_dir(&below).unwrap();
    write("scenarios/good.yaml", format!("name: x\n{USER_DATA}"));
    write("bootstrap.sh", String::new());
    write(
        "overlay.yaml",
        "files: [{ from: bootstrap.sh, to: /etc/eks/bootstrap.sh }]\n".to_owned(),
    );
    write("nodejoin.yaml", "overlays: [overlay.yaml]\n".to_owned());
    let output = nodejoin(&below, &["plan", "good.yaml"]);
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        plan["image"]["overlay"][0]["to"], "/etc/eks/bootstrap.sh",
        "{plan:#}"
    );

    write("nodejoin.yaml", "jobs: 2\ncontrol_plan: kind\n".to_owned());
    for command in ["plan", "run"] {
        let output = nodejoin(&below, &[command, "good.yaml"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let text = stderr(&output);
        assert!(
            text.contains("nodejoin.yaml:2:1") && text.contains("control_plane"),
            "{text}"
        );
    }
}

#[test]
fn invalid_or_incompatible_versions_are_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("good.yaml"), format!("name: x\n{USER_DATA}")).unwrap();
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &["--kubernetes", "1.32,latest"],
            &[
                "invalid Kubernetes version `latest`",
                "do: use a form such as `1.32`",
            ],
        ),
        (
            &["--kubernetes", "1.20", "--kubelet", "1.32"],
            &["must not be newer than the API server", "1.18 to 1.20"],
        ),
        (
            &["--kubernetes=1.33,1.36", "--kubelet=1.32"],
            &[
                "kubelet 1.32 is not supported with kube-apiserver 1.36",
                "at most three older",
                "version-skew-policy",
            ],
        ),
    ];
    for (flags, expected) in cases {
        let output = nodejoin(folder.path(), &[&["run", "good.yaml"], flags].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        for words in expected {
            assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
        }
    }
}

#[test]
fn scenarios_are_listed_for_each_version_with_reasons_to_skip() {
    let folder = TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("old.yaml"),
        format!("name: x\nkubelet: \"<1.24\"\n{USER_DATA}"),
    )
    .unwrap();
    let listed = |flags: &[&str]| {
        let output = nodejoin(folder.path(), &[&["list", "."], flags].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(listed(&[]).lines().count(), 1);
    let two = listed(&["--kubernetes", "1.20,1.24"]);
    let lines: Vec<_> = two.lines().collect();
    assert!(
        lines[0].starts_with("old@1.20 ") && lines[1].starts_with("old@1.24 "),
        "{two}"
    );
    assert!(
        lines[2].ends_with("skipped: the scenario requires kubelet <1.24, and this is 1.24"),
        "{two}"
    );
    let older = listed(&["--kubernetes", "1.24", "--kubelet", "1.23"]);
    assert!(older.starts_with("old ") && !older.contains("skipped"), "{older}");
}

#[test]
fn the_matrix_has_a_row_for_each_folder_and_lists_its_facets() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let printed = nodejoin(&repository, &["list", "--matrix", "scenarios"]).stdout;
    let printed = String::from_utf8(printed).unwrap();
    let (table, names) = printed.split_once("\n\n").unwrap();
    assert!(
        table.lines().count() > 10 && table.lines().all(|line| line.starts_with('|')),
        "{table}"
    );
    assert!(names.lines().any(|line| line.starts_with("- `")), "{names}");
}

#[test]
fn the_committed_schema_equals_the_printed_one() {
    let printed = nodejoin(Path::new("."), &["schema"]).stdout;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/scenario.schema.json");
    let kept = std::fs::read(file).unwrap();
    assert!(
        printed == kept,
        "run `cargo run -- schema > scenarios/scenario.schema.json`"
    );
}

#[test]
fn a_closed_pipe_does_not_panic() {
    let mut command = closed_command();
    let mut child = command
        .arg("schema")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn an_invalid_time_factor_is_refused() {
    let folder = TempDir::new().unwrap();
    let flag = nodejoin(folder.path(), &["doctor", "--time-factor", "0.5"]);
    let mut command = closed_command();
    let variable = command
        .arg("doctor")
        .env("NODEJOIN_TIME_FACTOR", "slow")
        .output()
        .unwrap();
    for (output, value) in [(flag, "0.5"), (variable, "slow")] {
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains("a number from 1 to 1000") && text.contains(value),
            "{text}"
        );
    }
}
