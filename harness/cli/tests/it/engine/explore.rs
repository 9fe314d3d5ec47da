//! `nodejoin explore` on a script that fails in one combination of properties.

use std::collections::BTreeSet;

use nodejoin_core::explore::{Exploration, FindingKind};
use tempfile::TempDir;

use crate::support::{KeptFolder, both};

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
/etc/eks/bootstrap.sh "$@" --container-runtime containerd
"#;
/// With the endpoint and the authority, the script sends no request to EKS.
const SCENARIO: &str = r#"name: a node joins
overlay: ../overlay.yaml
user_data: |
  #!/bin/bash
  /usr/local/bin/pool {{ cluster.name }} --apiserver-endpoint {{ cluster.endpoint }} \
    --b64-cluster-ca {{ cluster.certificate_authority }}
expect: { phase: registered }
"#;
const OVERLAY: &str = "files: [{ from: pool.sh, to: /usr/local/bin/pool, mode: \"0755\" }]\n";

#[test]
fn a_failure_of_two_changes_is_found_with_the_fewest_of_them() {
    let folder = KeptFolder::new(TempDir::new().unwrap());
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
    let output = folder.kept(&[&rest[..], &changes[..]].concat()).output().unwrap();
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
    let again = || folder.kept(&["run", &written]).output().unwrap();
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
    assert_eq!(world(&[]).join.as_deref(), Some("passed"), "{report:#?}");
    let same = world(&["tokens-optional"]).same_machine_as.as_ref();
    assert_eq!(same.map(|id| id.as_str()), Some("a"));
    assert_eq!(world(&["spot"]).join.as_deref(), Some("passed"));
    assert_eq!(report.left_out, 0);
    // Only a Spot Instance has a file touched, and its type read and compared.
    assert_eq!(world(&["spot"]).new_commands, 4, "{report:#?}");
    assert_eq!(world(&["t3.nano"]).new_commands, 0);
    assert!(world(&[]).new_commands > 10);
    // A small one prints and exits.
    assert_eq!(world(&["t3.nano", "spot", "tokens-optional"]).new_commands, 2);
}

/// A script that takes any answer of the metadata service for a value.
const TRUSTING: &str = r#"name: a node joins with the label of its zone
user_data: |
  #!/bin/bash
  url=http://169.254.169.254/latest
  token=$(curl -sf --retry 3 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token)
  zone=$(curl -s -H "X-aws-ec2-metadata-token: $token" $url/meta-data/placement/availability-zone)
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd \
    --apiserver-endpoint {{ cluster.endpoint }} --b64-cluster-ca {{ cluster.certificate_authority }} \
    --kubelet-extra-args "--node-labels=zone=$zone"
"#;

#[test]
fn an_error_page_in_an_argument_is_found_where_metadata_are_missing_or_a_proxy_responds() {
    let folder = KeptFolder::new(TempDir::new().unwrap());
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
        "--write",
        "found",
        "--change",
        "missing-metadata-availability-zone",
        "--change",
        "page-metadata-availability-zone",
    ];
    let output = folder.kept(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Exploration = serde_json::from_slice(&output.stdout).unwrap();
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(
        kinds.contains(&FindingKind::SuspiciousValue) && !kinds.contains(&FindingKind::NoKubelet),
        "{report:#?}"
    );
    let findings = report.findings.iter();
    let suspicious = findings.filter(|finding| finding.kind == FindingKind::SuspiciousValue);
    let worlds: BTreeSet<&str> = suspicious
        .flat_map(|finding| &finding.worlds)
        .map(|id| id.as_str())
        .collect();
    let names = ["missing", "page"].map(|word| format!("a@{word}-metadata-availability-zone"));
    assert_eq!(worlds, names.iter().map(String::as_str).collect(), "{report:#?}");

    // A scenario of it fails, and passes with user data that ends instead.
    let written = report
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::SuspiciousValue)
        .map(|finding| path.join(format!("found/{}.yaml", finding.id)))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("nothing written: {}", both(&output)));
    let written = written.to_str().unwrap();
    let failed = folder.kept(&["run", written]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{}", both(&failed));
    let text = std::fs::read_to_string(written).unwrap();
    for part in ["one_of:", "lacks:", "status: 404"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let careful = text.replace("zone=$(curl -s -H", "set -e\n  zone=$(curl -sf -H");
    assert_ne!(text, careful);
    std::fs::write(written, careful).unwrap();
    let output = folder.kept(&["run", written]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
}

/// A script that is not made for a second start: the kubelet is not enabled, a file grows, and another file stays.
const ONCE: &str = r#"#!/bin/bash
set -o errexit
arguments=()
while (( $# > 0 )); do
  case $1 in
    --gpu) touch /etc/pool-gpu; shift ;;
    *) arguments+=("$1"); shift ;;
  esac
done
/etc/eks/bootstrap.sh "${arguments[@]}" --container-runtime containerd
echo "started" >> /etc/pool-starts
systemctl disable kubelet
"#;

#[test]
fn what_a_reboot_or_a_second_run_changes_is_found() {
    let folder = KeptFolder::new(TempDir::new().unwrap());
    let path = folder.path();
    std::fs::create_dir(path.join("scenarios")).unwrap();
    std::fs::write(path.join("overlay.yaml"), OVERLAY).unwrap();
    std::fs::write(path.join("pool.sh"), ONCE).unwrap();
    std::fs::write(path.join("scenarios/a.yaml"), SCENARIO).unwrap();
    let changes = [
        "reboot",
        "user-data-twice",
        "user-data-after-gpu",
        "restart-kubelet",
    ];
    let changes: Vec<&str> = changes.iter().flat_map(|name| ["--change", name]).collect();
    let rest = [
        "explore", "--joins", "none", "--budget", "30m", "--format", "json", "--write", "found",
    ];
    let output = folder.kept(&[&rest[..], &changes].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    let report: Exploration = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<(FindingKind, String, &str)> = report
        .findings
        .iter()
        .map(|finding| (finding.kind, finding.only_with.join(" "), finding.what.as_str()))
        .collect();
    let with = |name: &str| -> Vec<(FindingKind, &str)> {
        let found = found.iter().filter(|(_, only_with, _)| only_with == name);
        found.map(|(kind, _, what)| (*kind, *what)).collect()
    };
    assert_eq!(
        with("reboot"),
        [(FindingKind::NoKubelet, "no kubelet runs after a reboot")],
        "{found:?}"
    );
    let grown = "file /etc/pool-starts is different after a second run of the user data";
    assert_eq!(
        with("user-data-twice"),
        [(FindingKind::Unstable, grown)],
        "{found:?}"
    );
    let stays = "file /etc/pool-gpu is different after a run of the user data that follows one with `--gpu`";
    let after = with("user-data-after-gpu");
    assert!(after.contains(&(FindingKind::Unstable, stays)), "{found:?}");
    assert_eq!(with("restart-kubelet"), [], "{found:?}");

    // The scenario of the reboot has it as a step.
    let reboot = report
        .findings
        .iter()
        .find(|one| one.only_with == ["reboot"])
        .unwrap();
    let text = std::fs::read_to_string(path.join(format!("found/{}.yaml", reboot.id))).unwrap();
    assert!(text.contains("then:\n- do: reboot"), "{text}");
    // That of the file that grows expects the file as it was, and fails for that reason.
    let grows = report
        .findings
        .iter()
        .find(|one| one.only_with == ["user-data-twice"])
        .unwrap();
    let written = format!("found/{}.yaml", grows.id);
    let failed = folder.kept(&["run", &written]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1), "{}", both(&failed));
    let check = "then[0].files./etc/pool-starts.lacks";
    assert!(both(&failed).contains(check), "{}", both(&failed));
    std::fs::write(
        path.join("pool.sh"),
        ONCE.replace(">> /etc/pool-starts", "> /etc/pool-starts"),
    )
    .unwrap();
    let passed = folder.kept(&["run", &written]).output().unwrap();
    assert_eq!(passed.status.code(), Some(0), "{}", both(&passed));
}
