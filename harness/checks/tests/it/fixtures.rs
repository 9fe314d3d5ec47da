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
    ("compares-families-by-case", "  IP_FAMILY=${IP_FAMILY// /}"),
    ("configures-one-version-of-providers", "    api = \"v1\""),
    (
        "cuts-milliseconds-of-a-delay",
        r#"      local ms=$(((try - 1) * API_RETRY_ATTEMPTS * 100)); sleep "${ms:0:-3}.${ms: -3}""#,
    ),
    (
        "describes-for-the-dns-address",
        "  if [[ -z $DNS_CLUSTER_IP || -z $B64_CLUSTER_CA || -z $APISERVER_ENDPOINT ]]; then",
    ),
    (
        "drops-serving-bootstrap",
        "    del(.serverTLSBootstrap, .featureGates) | .clusterDNS = [$dns]",
    ),
    (
        "ends-if-the-waiter-fails",
        "    ask_eks wait cluster-active; if ask_eks describe-cluster --output json >/tmp/cluster.json; then",
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
    (
        "keeps-results-of-networks",
        "Wants=nodeadm-config.service nodeadm-run.service",
    ),
    (
        "keeps-the-slash-of-an-interface",
        r#"  if metadata "network/interfaces/macs/$mac/vpc-ipv4-cidr-blocks" | grep --quiet '^10\.'; then"#,
    ),
    (
        "lets-the-cli-guess-the-region",
        r"  if password=$(aws ecr get-login-password) \",
    ),
    ("looks-up-the-endpoint-once", "LOOKUPS, PAUSE = 1, 0.2"),
    (
        "loses-quotes",
        "Environment=KUBELET_EXTRA_ARGS=$KUBELET_EXTRA_ARGS",
    ),
    ("makes-the-lock-a-folder", "  mkdir -p /run/xtables.lock"),
    (
        "matches-a-version-anywhere",
        r#"  if kubelet_is 1.27 && ! [[ $KUBELET_VERSION =~ "1.20"* ]]; then"#,
    ),
    (
        "names-the-old-authenticator",
        "      command: heptio-authenticator-aws",
    ),
    (
        "names-the-pause-image-without-tag",
        "  PAUSE_IMAGE=$(registry)/eks/pause",
    ),
    (
        "needs-a-listed-type",
        r#"  known=$(grep "^$INSTANCE_TYPE " /etc/eks/eni-max-pods.txt | awk '{ print $2 }')"#,
    ),
    (
        "needs-the-drop-in-folder",
        r#"  mkdir -p "${KUBELET_DROP_INS%/*}""#,
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
        "reserves-groups-beside-processors",
        "  if [[ $CONTAINER_RUNTIME == containerd ]]; then",
    ),
    (
        "sorts-user-configuration-first",
        r#"        write(KUBELET + "config.json.d/00-nodeadm.conf", json.dumps({**KIND, **user}, indent=4, sort_keys=True))"#,
    ),
    (
        "starts-a-running-daemon",
        r#"    subprocess.run(["systemctl", "start", "--no-block", unit], check=True)"#,
    ),
    ("starts-a-running-docker", "  systemctl start docker"),
    ("swallows-failures", "    ask_eks wait cluster-active || return 0"),
    (
        "taint-without-effect",
        "Environment='KUBELET_EXTRA_ARGS=${KUBELET_EXTRA_ARGS//:No/=No}'",
    ),
    (
        "takes-the-first-interface",
        "  MAC=$(metadata latest/meta-data/network/interfaces/macs/ | head -n 1 | tr -d /)",
    ),
    (
        "uses-the-name-of-the-system",
        r#"    flags.update({"node-ip": address(status, cidr), "cloud-provider": "external"})"#,
    ),
    (
        "uses-tokens-of-a-file",
        r#"  *) read_service --header "X-aws-ec2-metadata-token: $(cat "/tmp/imds-tokens/$(whoami)"/* || new_token)" "$ENDPOINT/${1#/}" ;;"#,
    ),
    (
        "waits-for-the-serving-certificate",
        "  systemctl start kubelet && until [[ -f /var/lib/kubelet/pki/kubelet-server-current.pem ]]; do sleep 1; done",
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

/// Each broken script of user data, and the lines that its patch removes and adds.
const SCRIPTS_OF_USER_DATA: &[(&str, &[&str])] = &[
    (
        "forgets-the-number-of-pods",
        &[r#"-    if [ -n "${MAX_PODS:-}" ]; then flags+=" --max-pods=${MAX_PODS}"; fi"#],
    ),
    (
        "gives-neither-endpoint-nor-authority",
        &[
            r#"-      --b64-cluster-ca "${B64_CLUSTER_CA}" --apiserver-endpoint "${API_SERVER_URL}" --kubelet-extra-args "$flags""#,
            r#"+      --kubelet-extra-args "$flags""#,
        ],
    ),
    (
        "quotes-once-too-often",
        &[
            r#"-    pods=$(awk -v type="$(of_instance instance-type)" '$1 == type { print $2 }' /etc/eksctl/max_pods.map)"#,
            r#"+    pods=$(awk -v type="$(of_instance instance-type)" '$1 == type { print $2 }'' /etc/eksctl/max_pods.map)"#,
        ],
    ),
    (
        "reads-labels-without-token",
        &[
            r#"-    session=$(curl --silent --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 600' "$metadata/api/token")"#,
            r#"-    of_instance() { curl --silent --header "X-aws-ec2-metadata-token: $session" "$metadata/meta-data/$1"; }"#,
            r#"+    of_instance() { curl --silent "$metadata/meta-data/$1"; }"#,
        ],
    ),
    (
        "runs-scripts-of-each-instance",
        &[
            "-- - /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh",
            "+- - /var/lib/cloud/scripts/per-instance/bootstrap.al2.sh",
            "-  path: /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh",
            "+  path: /var/lib/cloud/scripts/per-instance/bootstrap.al2.sh",
        ],
    ),
    (
        "writes-no-extra-configuration",
        &[
            r#"-- content: '{"kubeReserved":{"cpu":"123m"}}'"#,
            "-  owner: root:root",
            "-  path: /etc/eksctl/kubelet-extra.json",
            r#"-  permissions: "0644""#,
        ],
    ),
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

/// Other images need all of it: a forgotten module ends nodeadm before it reads anything.
#[test]
fn the_overlay_of_other_root_file_systems_has_every_file_of_the_scripts() {
    const ROOT: &str = "fixtures/images/nodes/al2/rootfs/";
    let manifest = std::fs::read_to_string(root().join("fixtures/overlays/eks-files/overlay.yaml")).unwrap();
    let files = files();
    let paths = files.iter().filter_map(|file| file.path.strip_prefix(ROOT));
    let paths: Vec<&str> = paths.filter(|path| path.starts_with("etc/eks/")).collect();
    assert!(paths.len() > 5, "{paths:?}");
    for path in paths {
        let (folder, _) = path.rsplit_once('/').unwrap();
        let named = [format!("from: {path},"), format!("from: {folder}/,")];
        assert!(named.iter().any(|from| manifest.contains(from)), "{path}");
    }
}

#[test]
fn the_overlay_of_nodeadm_has_all_of_its_modules() {
    let manifest = root().join("fixtures/overlays/nodeadm/overlay.yaml");
    let overlay = overlay::load(&manifest, &Disk::with_variables([])).expect("the overlay is valid");
    let modules = root().join("fixtures/images/nodes/al2023/rootfs/usr/lib/nodeadm");
    for module in std::fs::read_dir(modules).expect("the folder exists") {
        let path = module.expect("a readable entry").path();
        let is_module = path.extension().is_some_and(|extension| extension == "py");
        let is_in = overlay
            .files
            .iter()
            .any(|file| std::path::Path::new(&file.from).ends_with(path.file_name().unwrap()));
        assert!(
            !is_module || is_in,
            "{} is not in {}",
            path.display(),
            manifest.display()
        );
    }
}

#[test]
fn every_broken_script_is_listed() {
    let mut names: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let of_user_data = SCRIPTS_OF_USER_DATA.iter().map(|(name, _)| *name);
    let mut listed: Vec<_> = BROKEN.iter().map(|(name, _)| *name).chain(of_user_data).collect();
    listed.sort_unstable();
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
fn each_broken_script_of_user_data_differs_in_the_lines_that_break_it() {
    for (name, lines) in SCRIPTS_OF_USER_DATA {
        let patch = std::fs::read_to_string(folder().join(name).join("user-data.patch")).unwrap();
        let body = patch.lines().skip_while(|line| !line.starts_with("@@"));
        let changed: Vec<_> = body.filter(|line| line.starts_with(['+', '-'])).collect();
        assert_eq!(changed, *lines, "{name}");
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
            // A kubeconfig, or settings of a unit.
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
        let others = [
            ".yaml",
            ".rs",
            ".json",
            ".toml",
            ".patch",
            ".snapshot",
            ".machine",
        ];
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
