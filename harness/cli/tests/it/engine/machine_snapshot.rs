//! `golden.machine`: a snapshot is written, and a changed script no longer passes.

use std::process::Output;

use crate::support::{KeptFolder, both, folder};

const SCRIPT: &str = "#!/bin/bash\necho pool=blue > /etc/pool\nhead -c 12 /dev/urandom | base64 > /etc/key\n";
const OVERLAY: &str = "files: [{ from: pool.sh, to: /usr/local/bin/pool.sh, mode: '0755' }]\n";
const SCENARIO: &str = "\
name: a pool
overlay: overlay.yaml
user_data: |
  #!/bin/bash
  /usr/local/bin/pool.sh
expect: { phase: metadata, diagnosis: kubelet-never-started }
golden: { machine: true }
";

fn run(folder: &KeptFolder, arguments: &[&str]) -> Output {
    let all = [&["run", "pool.yaml"], arguments].concat();
    folder.kept(&all).output().unwrap()
}

#[test]
fn a_changed_script_fails_by_the_snapshot_of_its_machine() {
    let folder = KeptFolder::new(folder(&[("pool.yaml", SCENARIO), ("overlay.yaml", OVERLAY)]));
    let path = folder.path();
    std::fs::write(path.join("pool.sh"), SCRIPT).unwrap();

    let blessed = run(&folder, &["--bless"]);
    assert_eq!(blessed.status.code(), Some(0), "{}", both(&blessed));
    assert!(
        both(&blessed).contains("wrote pool.machine"),
        "{}",
        both(&blessed)
    );
    let text = std::fs::read_to_string(path.join("pool.machine")).unwrap();
    // The key is another one at each boot.
    for part in ["==> file /etc/pool\n", "  pool=blue\n", "  {{ any }}\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }

    let same = run(&folder, &[]);
    assert_eq!(same.status.code(), Some(0), "{}", both(&same));

    std::fs::write(path.join("pool.sh"), SCRIPT.replace("blue", "green")).unwrap();
    let changed = run(&folder, &[]);
    assert_eq!(changed.status.code(), Some(1), "{}", both(&changed));
    for part in [
        "golden.machine",
        "file /etc/pool: lacks `pool=blue`, has `pool=green`",
    ] {
        assert!(both(&changed).contains(part), "{}", both(&changed));
    }

    // Another overlay is another script: it has no snapshot yet.
    std::fs::write(path.join("other.yaml"), OVERLAY).unwrap();
    let other = run(&folder, &["--overlay", "other.yaml"]);
    assert_eq!(other.status.code(), Some(0), "{}", both(&other));
    let warning = "its machine is not compared: `pool.other.machine` does not exist";
    assert!(both(&other).contains(warning), "{}", both(&other));
}
