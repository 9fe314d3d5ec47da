//! `nodejoin diff` on a repository whose script changes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use nodejoin_core::compare::{ChangedLine, Comparison, Group};
use nodejoin_core::plan::sources::SourceLine;
use tempfile::TempDir;

use crate::support::{KeptFolder, both, signal};

const OVERLAY: &str = "files: [{ from: pool.sh, to: /usr/local/bin/pool, mode: \"0755\" }]\n";
/// Writes the label of its node pool, and in an IPv6 cluster a setting.
const SCRIPT: &str = r#"#!/bin/bash
set -o errexit
date > /etc/pool-started
echo "pool=blue" > /etc/pool
if [[ $(curl -sf -H "X-aws-ec2-metadata-token: $1" http://169.254.169.254/latest/meta-data/instance-type) == t3.* ]]; then
  echo burst >> /etc/pool
fi
/etc/eks/bootstrap.sh $2 $(cat /etc/cluster) --container-runtime containerd --kubelet-extra-args "--node-labels=$(head -n 1 /etc/pool)"
"#;
/// With the endpoint and the authority, the script sends no request to EKS.
const SCENARIO: &str = r#"name: a node joins as part of its pool
overlay: ../overlay.yaml
user_data: |
  #!/bin/bash
  token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
  echo --apiserver-endpoint {{ cluster.endpoint }} --b64-cluster-ca {{ cluster.certificate_authority }} > /etc/cluster
  /usr/local/bin/pool "$token" {{ cluster.name }}
expect: { phase: registered, node: { labels: { pool: blue } } }
"#;

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(identity)
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}

/// A repository with two scenarios, of which one has its own instance type, and one commit.
fn repository() -> KeptFolder {
    let folder = KeptFolder::new(TempDir::new().unwrap());
    let path = folder.path();
    std::fs::create_dir(path.join("scenarios")).unwrap();
    std::fs::write(path.join("overlay.yaml"), OVERLAY).unwrap();
    std::fs::write(path.join("pool.sh"), SCRIPT).unwrap();
    std::fs::write(path.join("scenarios/large.yaml"), SCENARIO).unwrap();
    let small = format!("{SCENARIO}instance: {{ type: t3.small }}\n");
    std::fs::write(path.join("scenarios/small.yaml"), small).unwrap();
    std::fs::write(
        path.join("scenarios/untouched.yaml"),
        "name: x\nuser_data: '#!/bin/sh'\nexpect: { phase: metadata, diagnosis: kubelet-never-started }\n",
    )
    .unwrap();
    git(path, &["init", "--quiet"]);
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "--message", "x"]);
    folder
}

#[test]
fn a_changed_script_differs_where_its_machines_do() {
    let folder = repository();
    let path = folder.path();
    let changed = SCRIPT
        .replace("echo burst", "echo unlimited")
        .replace("pool=blue", "pool=green");
    std::fs::write(path.join("pool.sh"), changed).unwrap();
    let arguments = [
        "diff",
        "HEAD",
        "--worlds=none",
        "--format",
        "json",
        "--html",
        "diff.html",
    ];
    let output = folder
        .kept(&arguments)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_WORKSPACE", path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let page = std::fs::read_to_string(path.join("diff.html")).unwrap();
    let line = "<span class=\"new\">+ --node-labels=pool=green</span>";
    assert!(page.contains(line), "{page}");
    let report: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report.compared(), 3, "{}", both(&output));

    let group = |part: &str, line: &str| {
        let new = ChangedLine::New(line.to_owned());
        report
            .groups
            .iter()
            .find(|group| {
                let mut all = group.differences.iter();
                all.any(|difference| difference.part == part && difference.lines.contains(&new))
            })
            .unwrap_or_else(|| panic!("{part}: {line}: {}", both(&output)))
    };
    // Both nodes have another label, and the file of one has another line, too.
    let label = group("kubelet arguments", "--node-labels=pool=green");
    assert_eq!(label.scenarios.len(), 2, "{label:?}");
    let line = group("file /etc/pool", "unlimited");
    assert_eq!(line.scenarios.len(), 1, "{line:?}");
    // The label has one change. The file of the other machine has both.
    let at = |group: &Group| -> Vec<(String, Option<u64>)> {
        let changed = group.changed.iter();
        changed.map(|at| (at.file.clone(), at.line)).collect()
    };
    assert_eq!(at(label), [("pool.sh".to_owned(), Some(4))]);
    assert_eq!(at(line), [4, 6].map(|line| ("pool.sh".to_owned(), Some(line))));
    let annotations = both(&output);
    let start = |group: &Group| format!("::error file=pool.sh,line=4,title=nodejoin diff {}::", group.id);
    for (start, part) in [
        (start(label), "--node-labels=pool=green"),
        (start(line), "changed at pool.sh:4 or pool.sh:6"),
    ] {
        let is_it = |line: &&str| line.starts_with(&start);
        let found = annotations.lines().find(is_it).unwrap_or_default();
        assert!(found.contains(part), "{start}\n{annotations}");
    }
    assert_eq!(
        line.only_with.as_deref(),
        Some("instance type t3.small"),
        "{line:?}"
    );
    // The time in a file differs between two runs of one version.
    let parts = report.groups.iter().flat_map(|group| &group.differences);
    let parts: Vec<&str> = parts.map(|difference| difference.part.as_str()).collect();
    assert!(
        !parts.iter().any(|part| part.contains("pool-started")),
        "{parts:?}"
    );

    // The label was expected, so the join that proves the group fails since the change.
    let join = report.joins.iter().find(|join| join.is_new_failure()).unwrap();
    let cause = join.new.cause.as_deref().unwrap_or_default();
    assert!(cause.contains("pool"), "{cause}");
    a_cancelled_comparison_reports_what_ended(&folder);
}

/// In the folder of another test, whose control plane runs.
fn a_cancelled_comparison_reports_what_ended(folder: &KeptFolder) {
    let mut command = folder.kept(&["diff", "HEAD", "--worlds=none", "-j", "1"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("large: differs in") {
        assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
    }
    signal(child.id(), "TERM");
    errors.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{report}{said}");
    for part in [
        "+ --node-labels=pool=green",
        "not compared: small",
        "cancelled before the end",
    ] {
        assert!(report.contains(part), "{part}\n{report}{said}");
    }
}

#[test]
fn a_change_shows_with_another_kubelet_or_when_user_data_runs_again() {
    let folder = repository();
    let path = folder.path();
    let old = "#!/bin/bash\nset -o errexit\nmkdir -p /etc/pool.d\n\
        if [[ $(kubelet --version) == *v1.27.* ]]; then echo newer > /etc/pool.d/version; fi\n\
        /etc/eks/bootstrap.sh $2 $(cat /etc/cluster) --container-runtime containerd\n";
    std::fs::write(path.join("pool.sh"), old).unwrap();
    git(path, &["commit", "--quiet", "--all", "--message", "y"]);
    let new = old
        .replace("mkdir -p", "mkdir")
        .replace("echo newer", "echo newest");
    std::fs::write(path.join("pool.sh"), new).unwrap();
    let worlds = ["--world", "kubelet-1.27", "--world", "user-data-twice"];
    let arguments = ["diff", "HEAD", "--format", "json", "--joins", "none"];
    let output = folder
        .kept(&[&arguments[..], &worlds[..]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    let shown = |part: &str| {
        let has_part = |group: &&Group| group.differences.iter().any(|one| one.part == part);
        let found = report.groups.iter().find(has_part);
        let found = found.unwrap_or_else(|| panic!("{part}: {}", both(&output)));
        (
            found.scenarios[0].to_string(),
            found.only_with.clone().unwrap_or_default(),
        )
    };
    assert_eq!(
        shown("file /etc/pool.d/version"),
        ("large@kubelet-1.27".to_owned(), "a kubelet of v1.27.0".to_owned())
    );
    assert_eq!(
        shown("user data, second run"),
        (
            "large@user-data-twice".to_owned(),
            "the step run-user-data-again".to_owned()
        )
    );
    assert_eq!(
        (report.groups.len(), report.compared()),
        (2, 3),
        "{}",
        both(&output)
    );
}

#[test]
fn a_change_runs_in_the_worlds_that_it_is_about() {
    let folder = repository();
    let path = folder.path();
    let old = "#!/bin/bash\nset -o errexit\nwhile [[ $# -gt 2 ]]; do\n  case $1 in\n\
        \x20   --paint) echo \"$2\" > /etc/paint; shift 2 ;;\n  esac\ndone\n\
        if [[ -e /nowhere ]]; then\n  touch /etc/somewhere\nfi\n\
        /etc/eks/bootstrap.sh $2 $(cat /etc/cluster) --container-runtime containerd\n";
    std::fs::write(path.join("pool.sh"), old).unwrap();
    git(path, &["commit", "--quiet", "--all", "--message", "y"]);
    let new = old
        .replace("echo \"$2\" >", "echo \"x$2\" >")
        .replace("touch /etc/somewhere", "touch /etc/elsewhere");
    std::fs::write(path.join("pool.sh"), new).unwrap();
    let run = |more: &[&str]| {
        let arguments = [
            "diff",
            "HEAD",
            "--format",
            "json",
            "--joins",
            "none",
            "-E",
            "id(large)",
        ];
        let output = folder.kept(&[&arguments[..], more].concat()).output().unwrap();
        let report: Comparison =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", both(&output)));
        (output, report)
    };
    let (output, report) = run(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let [group] = &report.groups[..] else {
        panic!("{}", both(&output))
    };
    assert_eq!(group.differences[0].part, "file /etc/paint");
    assert_eq!(
        group.scenarios[0].as_str(),
        "large@paint-nodejoin",
        "{}",
        both(&output)
    );
    let worlds: Vec<&str> = report
        .scenarios
        .iter()
        .filter_map(|one| one.world.as_deref())
        .collect();
    assert_eq!(worlds[0], "paint-nodejoin", "{worlds:?}");
    for later in ["reboot", "user-data-twice"] {
        assert!(worlds.contains(&later), "{worlds:?}");
    }
    assert!(!worlds.contains(&"us-iso-east-1"), "{worlds:?}");
    // Nothing leads to the other change, and the report says so.
    let line = |at: &SourceLine| (at.file.clone(), at.line);
    let not_run: Vec<_> = report.not_run.iter().map(line).collect();
    assert_eq!(not_run, [("pool.sh".to_owned(), Some(9))], "{}", both(&output));

    let (output, report) = run(&["--budget", "1s"]);
    assert_eq!(
        (output.status.code(), report.compared()),
        (Some(0), 1),
        "{}",
        both(&output)
    );
    let reasons: Vec<&str> = report.not_compared().into_keys().collect();
    assert_eq!(reasons, ["the time of `--budget` was over"]);
}

#[test]
fn equal_files_start_nothing() {
    let folder = repository();
    let output = folder.kept(&["diff", "HEAD"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    assert!(
        both(&output).contains("no difference, 3 scenarios compared"),
        "{}",
        both(&output)
    );
}

#[test]
fn blessed_machines_are_compared_without_an_old_version() {
    let folder = repository();
    let path = folder.path();
    let diff = |arguments: &[&str]| {
        let all = [&["diff", "-E", "id(small) or id(untouched)"], arguments].concat();
        folder.kept(&all).output().unwrap()
    };
    let blessed = diff(&["--bless", "pool.json"]);
    assert_eq!(blessed.status.code(), Some(0), "{}", both(&blessed));
    let text = "wrote pool.json: 2 of 2 machines, 2 of them new or changed";
    assert!(both(&blessed).contains(text), "{}", both(&blessed));

    let same = diff(&["pool.json"]);
    assert_eq!(same.status.code(), Some(0), "{}", both(&same));
    assert!(
        both(&same).contains("no difference, 2 scenarios compared"),
        "{}",
        both(&same)
    );

    let changed = SCRIPT.replace("pool=blue", "pool=green");
    std::fs::write(path.join("pool.sh"), changed).unwrap();
    let output = diff(&["pool.json", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    let lines: Vec<&ChangedLine> = report
        .groups
        .iter()
        .flat_map(|group| &group.differences)
        .filter(|difference| difference.part == "file /etc/pool")
        .flat_map(|difference| &difference.lines)
        .collect();
    let (old, new) = (
        ChangedLine::Old("pool=blue".to_owned()),
        ChangedLine::New("pool=green".to_owned()),
    );
    assert_eq!(lines, [&old, &new], "{}", both(&output));
    // The states have no scripts: only the files as they are now join, and fail as the label is expected.
    let [join] = &report.joins[..] else {
        panic!("{}", both(&output))
    };
    assert_eq!(
        (join.old.outcome.as_str(), join.is_new_failure()),
        ("not run", true)
    );

    // Scenarios that are not selected keep their machines.
    let large = folder
        .kept(&["diff", "--bless", "pool.json", "-E", "id(large)"])
        .output()
        .unwrap();
    assert!(
        both(&large).contains("1 of 1 machines, 1 of them new or changed"),
        "{}",
        both(&large)
    );
    let text = std::fs::read_to_string(path.join("pool.json")).unwrap();
    for kept in ["\"small\"", "\"untouched\"", "\"large\"", "pool=blue"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}
