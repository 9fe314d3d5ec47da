//! `nodejoin explore` on a script that fails in one combination of properties.

use nodejoin_core::explore::{Exploration, FindingKind};
use tempfile::TempDir;

use crate::support::{both, nodejoin};

const SCRIPT: &str = r#"#!/bin/bash
set -o errexit
token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
read_metadata() { curl -sf -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"; }
if [[ $(read_metadata instance-life-cycle) == spot ]]; then
  touch /etc/spot
  if [[ $(read_metadata instance-type) == *.nano ]]; then
    echo "error: Spot Instances are too small here"
    exit 7
  fi
fi
/etc/eks/bootstrap.sh "$1" --container-runtime containerd
"#;
const SCENARIO: &str = r#"name: a node joins
overlay: ../overlay.yaml
user_data: |
  #!/bin/bash
  /usr/local/bin/pool {{ cluster.name }}
expect: { phase: registered }
"#;
const OVERLAY: &str = "files: [{ from: pool.sh, to: /usr/local/bin/pool, mode: \"0755\" }]\n";

#[test]
fn a_failure_of_two_changes_is_found_with_the_fewest_of_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("scenarios")).unwrap();
    std::fs::write(path.join("overlay.yaml"), OVERLAY).unwrap();
    std::fs::write(path.join("pool.sh"), SCRIPT).unwrap();
    std::fs::write(path.join("scenarios/a.yaml"), SCENARIO).unwrap();
    let changes = [
        "--change",
        "t3.nano",
        "--change",
        "spot",
        "--change",
        "tokens-optional",
    ];
    let rest = [
        "explore", "--budget", "30m", "--format", "json", "--write", "found",
    ];
    let output = nodejoin(path, &[&rest[..], &changes[..]].concat())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Exploration = serde_json::from_slice(&output.stdout).unwrap();
    let [finding] = &report.findings[..] else {
        panic!("{:#?}", report.findings)
    };
    assert_eq!(finding.kind, FindingKind::NoKubelet);
    assert_eq!(finding.only_with, ["t3.nano", "spot"]);
    assert_eq!(finding.worlds[0].as_str(), "a@t3.nano_spot_tokens-optional");
    assert_eq!(finding.what, "error: Spot Instances are too small here");

    // The written scenario fails, and passes with a script that joins in its world.
    let written = format!("found/{}.yaml", finding.id);
    let text = std::fs::read_to_string(path.join(&written)).unwrap();
    for key in ["type: t3.nano", "life_cycle: spot"] {
        assert!(text.contains(key), "{text}");
    }
    let again = || nodejoin(path, &["run", &written]).output().unwrap();
    let failed = again();
    assert_eq!(failed.status.code(), Some(1), "{}", both(&failed));
    assert!(
        both(&failed).contains("Spot Instances are too small here"),
        "{}",
        both(&failed)
    );
    std::fs::write(path.join("pool.sh"), SCRIPT.replace("exit 7", "true")).unwrap();
    let passed = again();
    assert_eq!(passed.status.code(), Some(0), "{}", both(&passed));

    let world = |changes: &[&str]| {
        let found = report.worlds.iter().find(|world| world.changes == changes);
        found.unwrap_or_else(|| panic!("{changes:?}: {:#?}", report.worlds))
    };
    // One join stands for both: nothing on the machine depends on tokens.
    assert_eq!(world(&[]).join.as_deref(), Some("passed"));
    let same = world(&["tokens-optional"]).same_machine_as.as_ref();
    assert_eq!(same.map(|id| id.as_str()), Some("a"));
    assert_eq!(world(&["spot"]).join.as_deref(), Some("passed"));
    assert_eq!(report.left_out, 0);
}

/// A script that takes any answer of the metadata service for a value.
const TRUSTING: &str = r#"name: a node joins with the label of its zone
user_data: |
  #!/bin/bash
  url=http://169.254.169.254/latest
  token=$(curl -sf --retry 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token)
  zone=$(curl -s -H "X-aws-ec2-metadata-token: $token" $url/meta-data/placement/availability-zone)
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd \
    --kubelet-extra-args "--node-labels=zone=$zone"
"#;

#[test]
fn an_error_page_in_an_argument_is_found_where_metadata_are_missing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("scenarios")).unwrap();
    std::fs::write(path.join("scenarios/a.yaml"), TRUSTING).unwrap();
    let arguments = [
        "explore",
        "--joins",
        "none",
        "--format",
        "json",
        "--budget",
        "30m",
        "--change",
        "missing-metadata-availability-zone",
    ];
    let output = nodejoin(path, &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Exploration = serde_json::from_slice(&output.stdout).unwrap();
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(
        kinds.contains(&FindingKind::SuspiciousValue) && !kinds.contains(&FindingKind::NoKubelet),
        "{report:#?}"
    );
    let only_with = &report.findings[0].only_with;
    assert_eq!(
        only_with[..],
        ["missing-metadata-availability-zone"],
        "{report:#?}"
    );
}
