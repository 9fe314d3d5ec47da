//! Finds the scenario files below the given paths.

use std::path::{Path, PathBuf};

use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};
use crate::input::yaml;
use crate::scenario::scenario_schema;
use crate::vocabulary::nearest::nearest;

const GIVE_SCENARIOS: &str = "give a scenario file or a folder with scenario files";

/// A scenario file, and the folder that its id is relative to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScenarioPath {
    pub path: PathBuf,
    /// The nearest folder named `scenarios` above the file, so that the id does not depend on the command line; else
    /// the given folder.
    pub root: PathBuf,
}

/// Files are taken as given; folders are searched for `*.yaml` and `*.yml` that look like scenarios. Sorted, without
/// duplicates.
///
/// # Errors
/// The missing paths.
pub fn discover(paths: &[PathBuf], files: &dyn Files) -> Result<Vec<ScenarioPath>, ScenarioError> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        if files.is_folder(path) {
            let (scenarios, unreadable) = (found.len(), problems.len());
            below(path, path, &mut Vec::new(), files, &mut found, &mut problems);
            if (found.len(), problems.len()) == (scenarios, unreadable) {
                problems.push(empty(path));
            }
        } else if let Err(error) = files.read(path) {
            problems.push(missing(path, &error, files));
        } else {
            found.push(ScenarioPath {
                path: path.clone(),
                root: root_of(path, folder_of(path), files),
            });
        }
    }
    if !problems.is_empty() {
        return Err(ScenarioError { problems });
    }
    found.sort();
    found.dedup_by(|a, b| files.absolute(&a.path) == files.absolute(&b.path));
    Ok(found)
}

/// The parent folder. A bare name has an empty parent, which is not a valid path.
fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Searches a folder. A link to one of `parents` leads to nothing new.
fn below(
    folder: &Path,
    given: &Path,
    parents: &mut Vec<PathBuf>,
    files: &dyn Files,
    found: &mut Vec<ScenarioPath>,
    problems: &mut Vec<Problem>,
) {
    let here = files.absolute(folder);
    if parents.contains(&here) {
        return;
    }
    parents.push(here);
    let paths = match files.list(folder) {
        Ok(paths) => paths,
        Err(error) => {
            problems.push(missing(folder, &error, files));
            Vec::new()
        }
    };
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if files.is_folder(&path) {
            below(&path, given, parents, files, found, problems);
        } else if is_yaml(&path) && looks_like_a_scenario(&path, files) {
            found.push(ScenarioPath {
                root: root_of(&path, given, files),
                path,
            });
        }
    }
    parents.pop();
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Whether a YAML file has keys of a scenario, unlike overlay manifests and Kubernetes objects. Checks the lines of a
/// file with invalid YAML, so that a broken scenario is reported.
fn looks_like_a_scenario(path: &Path, files: &dyn Files) -> bool {
    let Ok(bytes) = files.read(path) else { return true };
    let text = String::from_utf8_lossy(&bytes);
    let keys: Vec<String> = match yaml::parse(&text) {
        Ok(tree) => tree.entries().iter().map(|entry| entry.key.clone()).collect(),
        Err(_) => text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(key, _)| key.to_owned())
            .collect(),
    };
    if keys.iter().any(|key| key == "apiVersion") {
        return false;
    }
    let schema = scenario_schema();
    let Some(own) = schema.get("properties").and_then(serde_json::Value::as_object) else {
        return false;
    };
    keys.iter().any(|key| own.contains_key(key))
}

fn root_of(path: &Path, given: &Path, files: &dyn Files) -> PathBuf {
    let absolute = files.absolute(path);
    let scenarios = absolute
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_some_and(|n| n == "scenarios"));
    scenarios.map_or_else(|| given.to_owned(), Path::to_owned)
}

fn missing(path: &Path, error: &std::io::Error, files: &dyn Files) -> Problem {
    let siblings = path
        .parent()
        .and_then(|parent| files.list(parent).ok())
        .unwrap_or_default();
    let names: Vec<String> = siblings
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // `nodejoin init` writes there, and `scenarios` is the default of the command line.
    let of_tests = path.parent().unwrap_or(Path::new("")).join("test").join(&*name);
    let right = match name == "scenarios" && files.is_folder(&of_tests) {
        true => Some(of_tests.display().to_string()),
        false => nearest(&name, names.iter().map(String::as_str)).map(str::to_owned),
    };
    Problem {
        file: path.display().to_string(),
        position: Position::default(),
        key: String::new(),
        what: "cannot read the path".to_owned(),
        why: error.to_string(),
        hint: Some(right.map_or_else(
            || GIVE_SCENARIOS.to_owned(),
            |right| format!("did you mean `{right}`?"),
        )),
    }
}

fn empty(folder: &Path) -> Problem {
    Problem {
        file: folder.display().to_string(),
        position: Position::default(),
        key: String::new(),
        what: "no scenario".to_owned(),
        why: "the folder contains no YAML file with keys of a scenario".to_owned(),
        hint: Some(GIVE_SCENARIOS.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;

    #[test]
    fn folders_are_searched_for_scenarios() {
        let files = Memory::default()
            .with("/p/scenarios/b.yaml", "name: b\n")
            .with("/p/scenarios/deep/a.yml", "name: a\n")
            .with("/p/scenarios/deep/broken.yaml", "name: [\n")
            .with("/p/scenarios/deep/overlay.yaml", "root: x\nfiles: []\n")
            .with(
                "/p/scenarios/deep/kind.yaml",
                "kind: Cluster\napiVersion: v1\nname: x\n",
            )
            .with("/p/scenarios/.hidden/c.yaml", "name: c\n")
            .with("/p/scenarios/user-data.mime", "name: c\n");
        let names = |paths: &[&str]| -> Vec<String> {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            discover(&paths, &files)
                .unwrap()
                .iter()
                .map(|f| f.path.display().to_string())
                .collect()
        };
        let all = [
            "/p/scenarios/b.yaml",
            "/p/scenarios/deep/a.yml",
            "/p/scenarios/deep/broken.yaml",
        ];
        assert_eq!(names(&["/p"]), all);
        assert_eq!(names(&["/p/scenarios", "/p/scenarios/b.yaml"]), all);
        assert_eq!(
            names(&["/p/scenarios/deep/overlay.yaml"]),
            ["/p/scenarios/deep/overlay.yaml"]
        );
        let found = discover(&["/p/scenarios/deep".into()], &files).unwrap();
        assert_eq!(found[0].root, Path::new("/p/scenarios"));
        // A bare name without a folder.
        let files = Memory::default().with("a.yaml", "name: a\n");
        assert_eq!(
            discover(&["a.yaml".into()], &files).unwrap()[0].root,
            Path::new(".")
        );
    }

    #[test]
    fn a_folder_without_a_scenario_is_an_error() {
        let files = Memory::default().with("/p/empty/overlay.yaml", "root: x\n");
        let error = discover(&["/p/empty".into()], &files).unwrap_err();
        assert_eq!(
            error.with_hints(),
            "/p/empty: no scenario: the folder contains no YAML file with keys of a scenario\n  hint: give a scenario file or a folder with scenario files\n"
        );
    }

    #[test]
    fn a_link_to_a_parent_folder_ends_the_search() {
        let folder = tempfile::tempdir().unwrap();
        let scenarios = folder.path().join("scenarios");
        std::fs::create_dir_all(scenarios.join("deep")).unwrap();
        std::fs::write(scenarios.join("deep/a.yaml"), "name: a\n").unwrap();
        std::os::unix::fs::symlink(&scenarios, scenarios.join("deep/up")).unwrap();
        let disk = crate::input::files::Disk::default();
        let found = discover(std::slice::from_ref(&scenarios), &disk).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_missing_path_suggests_a_similar_one() {
        let files = Memory::default().with("/p/first-join.yaml", "name: b\n");
        let error = discover(&["/p/frist-join.yaml".into()], &files).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/p/frist-join.yaml: cannot read the path"),
            "{error}"
        );
        assert_eq!(error.hint(), Some("did you mean `first-join.yaml`?"));
        let files = Memory::default().with("/p/test/scenarios/joins.yaml", "name: b\n");
        let error = discover(&["/p/scenarios".into()], &files).unwrap_err();
        assert_eq!(error.hint(), Some("did you mean `/p/test/scenarios`?"));
    }
}
