//! The bootstrap scripts take their settings from flags, from the environment, and from the edits of user data, in the
//! way of the AMI's script.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The images whose scripts are tested, each with its script and its file of functions.
const ERAS: [(&str, &str, Option<&str>); 4] = [
    ("2019", "overlays/al2-2019/bootstrap.sh", None),
    ("2022", SCRIPT_OF_2022, None),
    (
        "2026",
        SCRIPT_OF_2022,
        Some("overlays/al2-2026/bootstrap-functions.sh"),
    ),
    (
        "Ubuntu",
        SCRIPT_OF_2022,
        Some("overlays/ubuntu-bootstrap/bootstrap-functions.sh"),
    ),
];

const SCRIPT_OF_2022: &str = "images/nodes/al2/rootfs/etc/eks/bootstrap.sh";
const FUNCTIONS: &str = "/etc/eks/bootstrap-functions.sh";

/// Variables that every script of the AMI takes from the environment.
const OF_ALL_ERAS: [&str; 9] = [
    "API_RETRY_ATTEMPTS",
    "APISERVER_ENDPOINT",
    "B64_CLUSTER_CA",
    "DOCKER_CONFIG_JSON",
    "ENABLE_DOCKER_BRIDGE",
    "KUBELET_EXTRA_ARGS",
    "PAUSE_CONTAINER_ACCOUNT",
    "PAUSE_CONTAINER_VERSION",
    "USE_MAX_PODS",
];

/// Variables that scripts take from the environment since 2022.
const SINCE_2022: [&str; 8] = [
    "CLUSTER_ID",
    "CONTAINER_RUNTIME",
    "CONTAINERD_CONFIG_FILE",
    "DNS_CLUSTER_IP",
    "ENABLE_LOCAL_OUTPOST",
    "IP_FAMILY",
    "SERVICE_IPV4_CIDR",
    "SERVICE_IPV6_CIDR",
];

/// Variables that the last script takes from the environment, beside those of 2022.
const SINCE_2026: [&str; 2] = ["LOCAL_DISKS", "MOUNT_BPF_FS"];

/// A script in a folder of its own, which prints its settings in place of its work.
struct Script {
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

impl Script {
    fn of((_, script, functions): (&str, &str, Option<&str>)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let functions = functions.map_or(folder.path().join("none"), fixture);
        let text = std::fs::read_to_string(fixture(script)).unwrap();
        let text = text.replace(FUNCTIONS, &functions.display().to_string());
        let settings = text
            .strip_suffix("\nmain\n")
            .expect("the script ends with `main`");
        std::fs::write(
            folder.path().join("bootstrap.sh"),
            format!("{settings}\nset -o posix\nset\n"),
        )
        .unwrap();
        Self {
            folder,
            environment: BTreeMap::new(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Edits the script as user data does.
    fn edited(self, expression: &str) -> Self {
        let edited = Command::new("sed")
            .args(["-i", expression])
            .arg(self.file("bootstrap.sh"))
            .status()
            .unwrap();
        assert!(edited.success(), "{expression}");
        self
    }

    /// The settings after reading arguments and environment.
    fn settings(&self, arguments: &[&str]) -> BTreeMap<String, String> {
        let output = Command::new("bash")
            .arg(self.file("bootstrap.sh"))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(&self.environment)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        let settings = String::from_utf8(output.stdout).unwrap();
        let settings = settings.lines().filter_map(|line| line.split_once('='));
        let unquoted = |value: &str| value.trim_matches('\'').to_owned();
        settings
            .map(|(name, value)| (name.to_owned(), unquoted(value)))
            .collect()
    }

    fn kubelet_extra_args(&self, arguments: &[&str]) -> String {
        self.settings(arguments)["KUBELET_EXTRA_ARGS"].clone()
    }
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(path)
}

fn variables_of(era: &str) -> Vec<&'static str> {
    let mut variables = OF_ALL_ERAS.to_vec();
    if era != "2019" {
        variables.extend(SINCE_2022);
    }
    if era == "2026" {
        variables.extend(SINCE_2026);
    }
    variables
}

#[test]
fn each_setting_comes_from_the_environment_unless_a_flag_sets_it() {
    for era in ERAS {
        for variable in variables_of(era.0) {
            let settings = Script::of(era)
                .with_environment(variable, "from-outside")
                .settings(&["demo"]);
            assert_eq!(settings[variable], "from-outside", "{variable} in {}", era.0);
            assert_eq!(settings["CLUSTER_NAME"], "demo", "{}", era.0);
        }
        let script = Script::of(era).with_environment("USE_MAX_PODS", "from-outside");
        let settings = script.settings(&["--use-max-pods", "false", "demo"]);
        assert_eq!(settings["USE_MAX_PODS"], "false", "{}", era.0);
    }
}

#[test]
fn the_name_of_the_cluster_never_comes_from_the_environment() {
    for era in ERAS.into_iter().filter(|era| era.0 != "2019") {
        let script = Script::of(era).with_environment("CLUSTER_NAME", "from-outside");
        assert_eq!(script.settings(&[])["CLUSTER_NAME"], "", "{}", era.0);
    }
}

#[test]
fn without_flags_and_environment_the_defaults_apply() {
    for era in ERAS {
        let settings = Script::of(era).settings(&["demo"]);
        assert_eq!(settings["USE_MAX_PODS"], "true", "{}", era.0);
        assert_eq!(settings["KUBELET_EXTRA_ARGS"], "", "{}", era.0);
        assert_eq!(settings["API_RETRY_ATTEMPTS"], "3", "{}", era.0);
    }
}

#[test]
fn a_profile_that_user_data_inserts_at_the_top_is_in_effect() {
    for era in ERAS {
        let script = Script::of(era);
        let profile = script.file("profile");
        std::fs::write(
            &profile,
            "export KUBELET_EXTRA_ARGS=--max-pods=20\nexport USE_MAX_PODS=false\n",
        )
        .unwrap();
        let script = script.edited(&format!(r"/^set -o errexit/a\\nsource {}", profile.display()));
        let settings = script.settings(&["demo"]);
        assert_eq!(settings["KUBELET_EXTRA_ARGS"], "--max-pods=20", "{}", era.0);
        assert_eq!(settings["USE_MAX_PODS"], "false", "{}", era.0);
    }
}

#[test]
fn user_data_can_append_to_the_value_of_a_flag() {
    for era in ERAS {
        let edit = r#"s/KUBELET_EXTRA_ARGS=$2/KUBELET_EXTRA_ARGS="$2 --max-pods=17"/"#;
        let script = Script::of(era).edited(edit);
        let arguments = script.kubelet_extra_args(&["demo", "--kubelet-extra-args", "--v=3"]);
        assert_eq!(arguments, "--v=3 --max-pods=17", "{}", era.0);
    }
}

#[test]
fn user_data_can_extend_the_default_of_a_setting() {
    for era in ERAS {
        let edit = r#"s/^KUBELET_EXTRA_ARGS="${KUBELET_EXTRA_ARGS:-}/KUBELET_EXTRA_ARGS="${KUBELET_EXTRA_ARGS:-} --v=4/"#;
        let script = Script::of(era).edited(edit);
        let arguments = script.kubelet_extra_args(&["demo", "--kubelet-extra-args", "--max-pods=9"]);
        assert_eq!(arguments, "--max-pods=9 --v=4", "{}", era.0);
    }
}

#[test]
fn user_data_can_add_a_line_after_the_default_of_a_setting() {
    for era in ERAS {
        let edit = r#"/^KUBELET_EXTRA_ARGS=/a KUBELET_EXTRA_ARGS="${KUBELET_EXTRA_ARGS} --max-pods=20""#;
        let script = Script::of(era).edited(edit);
        let arguments = script.kubelet_extra_args(&["demo", "--kubelet-extra-args", "--v=3"]);
        assert_eq!(arguments, "--v=3 --max-pods=20", "{}", era.0);
    }
}
