//! Programs that the harness lays down in place of those of an AMI: all are in the list of deviations, and
//! `stubs: none` switches each of them off.

use nodejoin_node::DeviationKind;

use nodejoin_core::input::files::Disk;

use super::bench::{Bench, ask, plan, until, user_data_is_over};
use super::machine::{Seen, seen};

/// Prints the stand-ins among `PATHS`, and the links into the folder of the harness anywhere in the node.
const STAND_INS: &str = r#"name: stubs
instance: { type: m5d.large }
stubs: STUBS
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $(tr -s ' \n' ' ')"; }
  # A link into the folder of the harness, a file of it that covers another, or a unit that it writes.
  is_stand_in() {
    file=$(readlink -f "$1")
    case $file in /opt/nodejoin/*) return ;; esac
    awk '{ print $5 }' /proc/self/mountinfo | grep -qx "$file" || grep -qs 'Stand-in for' "$file"
  }
  for path in PATHS; do if is_stand_in "$path"; then echo "$path"; fi; done | say found
  # The other links are the certificate authority of the fakes, and what a host without a privilege needs.
  find / -xdev -type l -lname '/opt/nodejoin/*' ! -lname '*/ca.pem' ! -lname '*/runc' | sort | say links
  grep -rl 'Stand-in for' /etc/systemd/system /usr/lib/systemd/system | sort | say units
expect: { phase: booted }
"#;

fn scenario(stubs: &str) -> String {
    let paths = stand_ins().collect::<Vec<_>>().join(" ");
    STAND_INS.replace("STUBS", stubs).replace("PATHS", &paths)
}

/// What the list of deviations names.
fn stand_ins() -> impl Iterator<Item = &'static str> {
    DeviationKind::ALL
        .into_iter()
        .flat_map(DeviationKind::stand_ins)
        .copied()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stand_in_of_a_node_is_listed_with_its_deviation() {
    let seen = seen(&scenario("packages")).await;
    let all = stand_ins().collect::<Vec<_>>().join(" ");
    seen.check(&[("found", &all)]);
    let laid_down = seen
        .value("links")
        .split(' ')
        .chain(seen.value("units").split(' '));
    for path in laid_down {
        assert!(
            all.split(' ').any(|listed| listed == path),
            "`{path}` is not listed with a deviation"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_stubs_has_none_of_them() {
    let seen = seen(&scenario("none")).await;
    seen.check(&[("found", ""), ("links", ""), ("units", "")]);
}

/// Programs at the paths of two stubs, which print their own names.
const OWN: &str = r#"name: own
user_data: |
  #!/bin/bash
  /opt/aws/bin/cfn-init
  yum
  [ -L /opt/aws/bin/cfn-signal ] && echo 'seen cfn-signal stub'
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_an_overlay_take_precedence_over_stubs() {
    let folder = tempfile::tempdir().unwrap();
    let program = "#!/bin/sh\necho \"seen ${0##*/} own\"\n";
    std::fs::write(folder.path().join("program"), program).unwrap();
    let files = ["/opt/aws/bin/cfn-init", "/usr/bin/yum"]
        .map(|to| format!("  - {{ from: program, to: {to}, mode: \"0755\" }}\n"));
    let manifest = folder.path().join("overlay.yaml");
    std::fs::write(&manifest, format!("files:\n{}", files.concat())).unwrap();
    let mut plan = plan(OWN);
    plan.image.overlay = nodejoin_core::scenario::overlay::load(&manifest, &Disk::default())
        .unwrap()
        .files;
    let bench = Bench::new().await;
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node.collect(&ask(&[], &[], &plan, &bench.aws.ca_pem)).await;
    let output = collected.unwrap().user_data.unwrap().output;
    bench.end().await;
    Seen::of(&output).check(&[("cfn-init", "own"), ("yum", "own"), ("cfn-signal", "stub")]);
}
