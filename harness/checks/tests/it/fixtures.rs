//! Broken scripts differ from the good one only in the line of their patch, and no user data repeats another file.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nodejoin_checks::{files, root};
use nodejoin_core::input::files::Disk;
use nodejoin_core::plan::OverlayFile;
use nodejoin_core::scenario::overlay;

/// Each broken script, and the line that its patch adds.
const BROKEN: &[(&str, &str)] = &[
    (
        "checks-without-validation",
        "    node_config.read(words.config_source)",
    ),
    ("configures-one-version-of-providers", "    api = \"v1\""),
    (
        "drops-serving-bootstrap",
        "    del(.serverTLSBootstrap, .featureGates) | .clusterDNS = [$dns]",
    ),
    (
        "forgets-extra-args",
        r#"  cat >"$KUBELET_DROP_INS/30-kubelet-extra-args.config" <<TEXT"#,
    ),
    ("gives-up-on-an-error-of-ec2", "        if asked.returncode != 0:"),
    ("ignores-kubelet-config", "        kubelet = merge(kubelet, {})"),
    (
        "keeps-a-removed-flag",
        "  if kubelet_is 1.72; then drop_flag --container-runtime; fi",
    ),
    (
        "keeps-authority-encoded",
        r#"  cat <<<"$B64_CLUSTER_CA" >"$CA_FILE""#,
    ),
    ("looks-up-the-endpoint-once", "LOOKUPS, PAUSE = 1, 0.2"),
    (
        "loses-quotes",
        "Environment=KUBELET_EXTRA_ARGS=$KUBELET_EXTRA_ARGS",
    ),
    ("makes-the-lock-a-folder", "  mkdir -p /run/xtables.lock"),
    (
        "names-the-old-authenticator",
        "      command: heptio-authenticator-aws",
    ),
    (
        "names-the-pause-image-without-tag",
        "  PAUSE_IMAGE=$(registry)/eks/pause",
    ),
    ("never-starts-kubelet", "  systemctl is-enabled --quiet kubelet"),
    (
        "reads-metadata-without-token",
        r#"    curl --silent --fail "$METADATA/$path" && return"#,
    ),
    (
        "requests-tokens-without-region",
        r#"      args: [token, -i, "CLUSTER_NAME"]"#,
    ),
    (
        "sorts-user-configuration-first",
        r#"        write(KUBELET + "config.json.d/00-nodeadm.conf", json.dumps({**KIND, **user}, indent=4))"#,
    ),
    (
        "starts-a-running-daemon",
        r#"    subprocess.run(["systemctl", "start", "--no-block", unit], check=True)"#,
    ),
    ("swallows-failures", "    ask_eks wait cluster-active || return 0"),
    (
        "taint-without-effect",
        "Environment='KUBELET_EXTRA_ARGS=${KUBELET_EXTRA_ARGS//:No/=No}'",
    ),
    (
        "uses-the-name-of-the-system",
        r#"    flags.update({"node-ip": address(status, cidr), "cloud-provider": "external"})"#,
    ),
    (
        "waits-not-for-the-iptables-lock",
        "ExecStartPre=/sbin/iptables -P FORWARD ACCEPT",
    ),
    (
        "writes-arguments-too-early",
        "Environment='KUBELET_ARGS=--node-ip=$NODE_IP'",
    ),
    ("wrong-cluster-name", r#"    -e "s,CLUSTER_NAME,kubernetes,g" \"#),
];

fn folder() -> PathBuf {
    root().join("fixtures/overlays/broken")
}

fn file_of(name: &str) -> OverlayFile {
    let overlay = overlay::load(&folder().join(name).join("overlay.yaml"), &Disk::default());
    let overlay = overlay.unwrap_or_else(|error| panic!("{}", error.with_hints()));
    let [file] = <[_; 1]>::try_from(overlay.files).unwrap();
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
        assert!(source.file.ends_with(".patch"), "{name}: {source:?}");
    }
}

#[test]
fn each_broken_script_is_valid() {
    for (name, _) in BROKEN {
        let content = file_of(name).patched.unwrap().content;
        let first = content.lines().next().unwrap();
        let parse = "import ast, sys; ast.parse(sys.stdin.read())";
        let mut command = if first.ends_with("bash") {
            Command::new("bash")
        } else if first.contains("python3") || first.starts_with("\"\"\"") {
            Command::new("python3")
        } else {
            // A kubeconfig.
            continue;
        };
        if first.ends_with("bash") {
            command.arg("-n");
        } else {
            command.args(["-c", parse]);
        }
        let mut checked = command.stdin(Stdio::piped()).spawn().unwrap();
        checked
            .stdin
            .take()
            .unwrap()
            .write_all(content.as_bytes())
            .unwrap();
        assert!(checked.wait().unwrap().success(), "{name}");
    }
}

#[test]
fn files_of_user_data_differ_by_more_than_a_patch() {
    let is_user_data = |path: &str| {
        let others = [".yaml", ".rs", ".json", ".toml", ".patch", ".snapshot"];
        path.starts_with("scenarios/") && !others.iter().any(|end| path.ends_with(end))
    };
    let files: Vec<_> = files()
        .into_iter()
        .filter(|file| is_user_data(&file.path))
        .collect();
    assert!(files.len() > 5, "{files:?}");
    for (index, file) in files.iter().enumerate() {
        for other in &files[index + 1..] {
            let equal = equal_lines(&file.text, &other.text);
            assert!(
                equal <= 0.9,
                "{:.0} % of the lines of {} and {} are equal: name one and a `patch:`",
                equal * 100.0,
                file.path,
                other.path
            );
        }
    }
}

/// The share of lines that two texts have in common.
fn equal_lines(one: &str, other: &str) -> f64 {
    let mut rest: Vec<&str> = other.lines().collect();
    let all = one.lines().count() + rest.len();
    let common = one.lines().filter(|line| {
        let found = rest.iter().position(|candidate| candidate == line);
        found.map(|index| rest.swap_remove(index)).is_some()
    });
    2.0 * common.count() as f64 / all as f64
}
