//! Runs the shell steps of workflows and of the action in order, with the variables of a GitHub runner.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::both;

/// The root of this repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A YAML file of the repository.
pub fn yaml(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every workflow, the action and its example.
pub fn definitions() -> Vec<PathBuf> {
    let mut files = vec![repository().join("ci/action/action.yml")];
    for folder in [".github/workflows", "ci/action/example"] {
        let entries = std::fs::read_dir(repository().join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    assert!(files.len() >= 4, "{files:?}");
    files
}

/// All `run` texts of a definition, wherever they stand.
pub fn runs(definition: &Value) -> Vec<String> {
    match definition {
        Value::Object(map) => {
            let own = map.get("run").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(map.values().flat_map(runs)).collect()
        }
        Value::Array(items) => items.iter().flat_map(runs).collect(),
        _ => Vec::new(),
    }
}

/// A machine that runs the action in a workspace.
pub struct Runner {
    /// Stands for the checkout of a workflow.
    pub workspace: TempDir,
    temporary: TempDir,
}

/// The result of the action.
pub struct ActionResult {
    /// Exit code of the last step that ran.
    pub code: Option<i32>,
    /// The outputs of the action.
    pub outputs: BTreeMap<String, String>,
    /// Both streams of all steps.
    pub output: String,
    /// The page of the job.
    pub summary: String,
}

impl Runner {
    /// A runner with these files in the workspace.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let workspace = TempDir::new().unwrap();
        for (name, text) in files {
            let path = workspace.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self {
            workspace,
            temporary: TempDir::new().unwrap(),
        }
    }

    /// Lays a program first on the path of all steps.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file("bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs the shell steps of the action in order, until one fails; `inputs` win over the defaults of the action. A
    /// name with `github.` belongs to that context.
    pub fn run(&self, inputs: &[(&str, &str)]) -> ActionResult {
        let action = yaml(&repository().join("ci/action/action.yml"));
        let mut known = defaults(&action);
        known.extend(
            inputs
                .iter()
                .map(|(name, value)| match name.starts_with("github.") {
                    true => ((*name).to_owned(), (*value).to_owned()),
                    false => (format!("inputs.{name}"), (*value).to_owned()),
                }),
        );
        let mut result = ActionResult {
            code: None,
            outputs: BTreeMap::new(),
            output: String::new(),
            summary: String::new(),
        };
        for step in action["runs"]["steps"].as_array().unwrap() {
            if step["run"].is_null() {
                continue;
            }
            let output = self.step(step, &mut known);
            result.output.push_str(&both(&output));
            result.code = output.status.code();
            if !output.status.success() {
                break;
            }
        }
        for (name, output) in action["outputs"].as_object().unwrap() {
            result
                .outputs
                .insert(name.clone(), filled(output["value"].as_str().unwrap(), &known));
        }
        result.summary = std::fs::read_to_string(self.file("summary")).unwrap_or_default();
        result
    }

    /// One step, in the shell that GitHub starts for `shell: bash`; its outputs become known.
    fn step(&self, step: &Value, known: &mut BTreeMap<String, String>) -> Output {
        let script = self.file("step.sh");
        std::fs::write(&script, step["run"].as_str().unwrap()).unwrap();
        let outputs = self.file("outputs");
        std::fs::write(&outputs, "").unwrap();
        assert_eq!(step["shell"], "bash", "{step}");
        let own = step["env"].as_object().into_iter().flatten();
        let own = own.map(|(name, value)| (name, filled(value.as_str().unwrap(), known)));
        let path = format!(
            "{}:{}",
            self.file("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&script)
            .current_dir(self.workspace.path())
            .env_clear()
            .env("HOME", std::env::var_os("HOME").unwrap_or_default())
            .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", repository().join("ci/action"))
            .env("GITHUB_WORKSPACE", self.workspace.path())
            .env("GITHUB_OUTPUT", &outputs)
            .env("GITHUB_STEP_SUMMARY", self.file("summary"))
            .env("RUNNER_TEMP", self.temporary.path())
            .env("PATH", path)
            .envs(own)
            .output()
            .unwrap();
        let id = step["id"].as_str().unwrap();
        for line in std::fs::read_to_string(&outputs).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            known.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        output
    }

    fn file(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }
}

fn defaults(action: &Value) -> BTreeMap<String, String> {
    let inputs = action["inputs"].as_object().unwrap();
    inputs
        .iter()
        .map(|(name, input)| {
            (
                format!("inputs.{name}"),
                input["default"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

/// `${{ steps.run.outputs.passed }}` becomes its value; a missing value is empty, as on GitHub.
fn filled(text: &str, known: &BTreeMap<String, String>) -> String {
    let Some((before, rest)) = text.split_once("${{") else {
        return text.to_owned();
    };
    let (name, after) = rest.split_once("}}").unwrap();
    let value = known.get(name.trim()).cloned().unwrap_or_default();
    format!("{before}{value}{}", filled(after, known))
}
