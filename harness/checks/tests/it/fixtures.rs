//! Every patch of an overlay or a scenario applies, and the broken scripts are broken only where their patch says so.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nodejoin_checks::root;
use nodejoin_core::input::files::Disk;
use nodejoin_core::plan::OverlayFile;
use nodejoin_core::scenario::overlay;

/// Each broken script, and the line that its patch adds.
const BROKEN: &[(&str, &str)] = &[
    (
        "drops-serving-bootstrap",
        "    del(.serverTLSBootstrap, .featureGates) | .clusterDNS = [$dns]",
    ),
    (
        "forgets-extra-args",
        r#"  cat >"$KUBELET_DROP_INS/30-kubelet-extra-args.config" <<TEXT"#,
    ),
    (
        "keeps-authority-encoded",
        r#"  cat <<<"$B64_CLUSTER_CA" >"$CA_FILE""#,
    ),
    (
        "loses-quotes",
        "Environment=KUBELET_EXTRA_ARGS=$KUBELET_EXTRA_ARGS",
    ),
    ("never-starts-kubelet", "  systemctl is-enabled --quiet kubelet"),
    (
        "reads-metadata-without-token",
        r#"    curl --silent --fail "$METADATA/$path" && return"#,
    ),
    ("swallows-failures", "    ask_eks wait cluster-active || return 0"),
    ("wrong-cluster-name", r#"    -e "s,CLUSTER_NAME,kubernetes,g" \"#),
];

fn folder() -> PathBuf {
    root().join("fixtures/overlays/broken")
}

fn file_of(name: &str) -> OverlayFile {
    let files = overlay::load(&folder().join(name).join("overlay.yaml"), &Disk::default());
    let files = files.unwrap_or_else(|error| panic!("{}", error.with_hints()));
    let [file] = <[_; 1]>::try_from(files).unwrap();
    file
}

#[test]
fn every_broken_script_is_listed() {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let listed: Vec<_> = BROKEN.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, listed);
}

#[test]
fn each_broken_script_differs_in_the_line_that_breaks_it() {
    for (name, broken) in BROKEN {
        let file = file_of(name);
        let good = std::fs::read_to_string(&file.from).unwrap();
        let patched = file.patched.unwrap();
        let lines: Vec<_> = patched.content.lines().collect();
        let differing: Vec<_> = good
            .lines()
            .zip(&lines)
            .filter(|(good, line)| good != *line)
            .map(|(_, line)| *line)
            .collect();
        assert_eq!(differing, [*broken], "{name}");
        assert_eq!(good.lines().count(), lines.len(), "{name}");
        let number = lines.iter().position(|line| line == broken).unwrap() as u64 + 1;
        let source = patched.lines.source(number).unwrap();
        assert!(source.file.ends_with("bootstrap.patch"), "{name}: {source:?}");
    }
}

#[test]
fn each_broken_script_is_valid_bash() {
    for (name, _) in BROKEN {
        let content = file_of(name).patched.unwrap().content;
        let mut bash = Command::new("bash")
            .arg("-n")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        bash.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        assert!(bash.wait().unwrap().success(), "{name}");
    }
}
