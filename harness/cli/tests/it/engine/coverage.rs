//! `nodejoin coverage` and `nodejoin mutate` on a script with functions, subshells and a sourced file.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use nodejoin_core::mutation::{MutantResult, MutationReport};
use tempfile::TempDir;

use crate::support::engine_objects::objects;
use crate::support::{END, KeptFolder, both, build_images_once, exit, nodejoin, signal};

const SCRIPT: &str = r#"#!/bin/bash
set -o errexit
. /usr/local/lib/pool.sh
labels=$(
  pool_label "$2"
)
set +x
install -d -m 0755 /etc/pool
if [[ $labels == pool=red ]]; then
  echo "never"
fi
(cat <<TEXT
here $labels
TEXT
) > /etc/pool/labels
date > /etc/pool/date || true
/etc/eks/bootstrap.sh "$1" --container-runtime containerd \
  --kubelet-extra-args "--node-labels=$labels"
"#;
const SOURCED: &str = "pool_label() {\n  echo \"pool=${1:-blue}\"\n}\nunused() {\n  echo unused\n}\n";
const SCENARIO: &str = r#"name: a node joins with the label of its pool
overlay: ../overlay.yaml
user_data: |
  #!/bin/bash
  set -x
  last=one && echo "two" && [[ $_ == two ]]
  /usr/local/bin/pool {{ cluster.name }}
expect: { node: { labels: { pool: blue } } }
"#;
const OVERLAY: &str = "files:
  - { from: pool.sh, to: /usr/local/bin/pool, mode: \"0755\" }
  - { from: lib.sh, to: /usr/local/lib/pool.sh }
";

fn folder() -> KeptFolder {
    let folder = KeptFolder::new(TempDir::new().unwrap());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("scenarios")).unwrap();
    write("overlay.yaml", OVERLAY);
    write("pool.sh", SCRIPT);
    write("lib.sh", SOURCED);
    write("scenarios/a.yaml", SCENARIO);
    folder
}

#[test]
fn coverage_counts_lines_of_each_script_without_changing_its_run() {
    let folder = folder();
    let arguments = [
        "coverage",
        "--lcov",
        "out.lcov",
        "--html",
        "out.html",
        "--cobertura",
        "out.xml",
    ];
    let output = folder.kept(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let status = folder.kept(&["keeper", "status"]).output().unwrap();
    let status = both(&status);
    assert!(
        status.contains("control plane"),
        "the run was in a keeper: {status}"
    );
    let text = both(&output);
    assert!(text.contains("not reached: 10"), "{text}");
    let lcov = std::fs::read_to_string(folder.path().join("out.lcov")).unwrap();
    let lines = |name: &str| -> Vec<&str> {
        let of_file = lcov
            .split("end_of_record")
            .find(|record| record.contains(&format!("SF:{name}\n")));
        let record = of_file.unwrap_or_else(|| panic!("{name}: {lcov}"));
        record
            .lines()
            .filter_map(|line| line.strip_prefix("DA:"))
            .collect()
    };
    assert_eq!(
        lines("pool.sh"),
        [
            "2,1", "3,1", "4,1", "5,1", "7,1", "8,1", "9,1", "10,0", "12,1", "16,1", "17,1"
        ]
    );
    assert_eq!(lines("lib.sh"), ["2,1", "5,0"]);
    assert_eq!(lines("scenarios/a.yaml"), ["5,1", "6,1", "7,1"]);
    for file in ["out.html", "out.xml"] {
        let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(written.contains("pool.sh"), "{file}");
    }
}

/// The script of the node image.
const OF_IMAGE: &str = include_str!("../../../../../fixtures/images/nodes/al2/rootfs/etc/eks/bootstrap.sh");

/// Runs one change of a script, and returns its result.
fn mutant(folder: &KeptFolder, script: &str, line: &str, change: &str) -> MutantResult {
    let listed = folder.kept(&["mutate", script, "--list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let found = listed
        .lines()
        .find(|one| one.contains(line) && one.contains(change));
    let found = found.unwrap_or_else(|| panic!("{line} {change}: {listed}"));
    let id = found.split_whitespace().next().unwrap_or_default();
    let arguments = ["mutate", script, "--format", "json", "--mutant", id];
    let output = folder.kept(&arguments).output().unwrap();
    let report: MutationReport =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", both(&output)));
    report.mutants[0].result.clone()
}

#[test]
fn scripts_of_the_image_and_those_that_user_data_writes_are_changed() {
    let folder = KeptFolder::new(TempDir::new().unwrap());
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("scenarios")).unwrap();
    let pool = "#!/bin/bash\n/etc/eks/bootstrap.sh \"$1\" --container-runtime containerd\n";
    let indented = pool.replace('\n', "\n      ");
    write("pool.sh", pool);
    write("bootstrap.sh", OF_IMAGE);
    write(
        "scenarios/a.yaml",
        &format!(
            "name: x\nuser_data: |\n  #cloud-config\n  write_files:\n  - path: /usr/local/bin/pool\n    permissions: '0755'\n    content: |\n      {}\n  runcmd: [[/usr/local/bin/pool, '{{{{ cluster.name }}}}']]\nexpect: {{ phase: registered }}\n",
            indented.trim_end()
        ),
    );
    let killed = |result: MutantResult| match result {
        MutantResult::Killed { how, .. } => how,
        other => panic!("{other:?}"),
    };
    let how = killed(mutant(&folder, "pool.sh", "line 2", "drop-statement"));
    assert!(how.starts_with("no kubelet starts"), "{how}");
    let how = killed(mutant(
        &folder,
        "bootstrap.sh",
        "systemctl start kubelet",
        "drop-statement",
    ));
    assert!(how.starts_with("no kubelet starts"), "{how}");
}

#[test]
fn mutants_are_killed_survive_or_change_nothing() {
    let folder = folder();
    let listed = folder.kept(&["mutate", "pool.sh", "--list"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(0), "{}", both(&listed));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let id = |line: &str, change: &str| -> String {
        let found = listed
            .lines()
            .find(|one| one.contains(line) && one.contains(change));
        let found = found.unwrap_or_else(|| panic!("{line} {change}: {listed}"));
        found.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let killed = id("line 18", "drop-argument  without `--kubelet-extra-args");
    let without_kubelet = id("line 8", "drop-statement");
    let survived = id("line 16", "redirection  without `> /etc/pool/date");
    let equivalent = id("line 16", "drop-alternative");
    let uncovered = id("line 10", "drop-statement");
    let ids = [&killed, &without_kubelet, &survived, &equivalent, &uncovered];
    let chosen = ids.iter().flat_map(|id| ["--mutant", id.as_str()]);
    let arguments: Vec<&str> = ["mutate", "pool.sh", "--format", "json"]
        .into_iter()
        .chain(chosen)
        .collect();
    let output = folder.kept(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: MutationReport = serde_json::from_slice(&output.stdout).unwrap();
    let result = |id: &str| {
        let found = report.mutants.iter().find(|mutant| mutant.id == id);
        found.map(|mutant| mutant.result.clone())
    };
    let wrong = || panic!("{report:#?}");
    match result(&killed) {
        Some(MutantResult::Killed { scenario, how }) => {
            assert_eq!(scenario.as_str(), "a");
            assert!(how.contains("pool"), "{how}");
        }
        _ => wrong(),
    }
    match result(&without_kubelet) {
        // The file cannot be written without its folder, and `errexit` ends the script.
        Some(MutantResult::Killed { how, .. }) => {
            assert!(how.starts_with("no kubelet starts: script-failed"), "{how}")
        }
        _ => wrong(),
    }
    assert!(
        matches!(result(&survived), Some(MutantResult::Survived { .. })),
        "{report:#?}"
    );
    assert!(
        matches!(result(&equivalent), Some(MutantResult::Equivalent { .. })),
        "{report:#?}"
    );
    assert_eq!(result(&uncovered), Some(MutantResult::Uncovered));
}

#[test]
fn an_interrupted_mutation_reports_what_ended_and_leaves_nothing() {
    let folder = folder();
    build_images_once();
    let mut child = nodejoin(folder.path(), &["mutate", "pool.sh", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let label = format!("nodejoin.pid={}", child.id());
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    // A number of how many, the id, and the result.
    let is_result = |line: &str| line.starts_with("1/") && line.contains("line ");
    let first = told.by_ref().map(Result::unwrap).find(|line| is_result(line));
    assert!(first.is_some(), "it ended before its first result");
    signal(child.id(), "INT");
    let rest = std::thread::spawn(move || told.map(Result::unwrap).collect::<Vec<_>>().join("\n"));
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(exit(&mut child, END).code(), Some(130));
    let text = rest.join().unwrap();
    assert!(
        text.contains("cancelled: mutants that had not ended are left out"),
        "{text}"
    );
    let report: MutationReport = serde_json::from_str(&printed).unwrap();
    let left_out = report.count("left out");
    assert!(left_out > 0 && left_out < report.mutants.len(), "{report:#?}");
    assert_eq!(objects(&label), Vec::<String>::new());
}
