//! The scenarios of a watch, and those that a change affects.

mod plans;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nodejoin_core::input::files::Files;
use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::input::recording::{FilesRead, RecordingFiles, is_temporary};
use nodejoin_core::plan::{Overlay, Plan};
use nodejoin_core::run::filter::ScenarioFilter;
use nodejoin_core::run::settings::{self, SettingsFile};
use nodejoin_core::scenario::{self, ScenarioPath, overlay};

use super::changes::SavedPaths;

/// What the command line selects.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchSelection {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) filter: Option<ScenarioFilter>,
    pub(crate) overlays: Vec<PathBuf>,
    pub(crate) image: Option<PathBuf>,
    pub(crate) strict: bool,
}

/// Scenario files with their plans, and every path that they depend on.
pub(crate) struct WatchedScenarios {
    selection: WatchSelection,
    scenarios: BTreeMap<PathBuf, WatchedFile>,
    /// Where scenario files are searched.
    searched: FilesRead,
    shared: SharedInput,
}

/// A scenario file.
struct WatchedFile {
    found: ScenarioPath,
    loaded: Result<Vec<Plan>, ScenarioError>,
    read: FilesRead,
}

/// What all scenarios depend on.
struct SharedInput {
    /// The settings file, and what its overlays and those of the command line add to every node.
    loaded: Result<(SettingsFile, Overlay), ScenarioError>,
    read: FilesRead,
}

impl WatchedScenarios {
    /// Reads everything.
    ///
    /// # Errors
    /// When a path is missing, or a folder has no scenario. Problems of files are reported by `plans`.
    pub(crate) fn load(selection: WatchSelection, files: &dyn Files) -> Result<Self, ScenarioError> {
        let (found, searched) = recorded(files, |files| scenario::discover(&selection.paths, files));
        let scenarios = found?
            .into_iter()
            .map(|found| (found.path.clone(), WatchedFile::load(&found, files)))
            .collect();
        let shared = SharedInput::load(&selection, files);
        Ok(Self {
            selection,
            scenarios,
            searched,
            shared,
        })
    }

    /// The scenario files.
    pub(crate) fn paths(&self) -> BTreeSet<PathBuf> {
        self.scenarios.keys().cloned().collect()
    }

    /// The settings file; the defaults while it is invalid.
    pub(crate) fn settings(&self) -> SettingsFile {
        let loaded = self.shared.loaded.as_ref();
        loaded.map(|(settings, _)| settings.clone()).unwrap_or_default()
    }

    /// The folders in which a change can affect a scenario.
    pub(crate) fn folders(&self) -> BTreeSet<PathBuf> {
        let mut read = self.searched.clone();
        read.extend(&self.shared.read);
        self.scenarios.values().for_each(|file| read.extend(&file.read));
        let parents = read.files.iter().filter_map(|file| file.parent());
        parents
            .map(Path::to_owned)
            .chain(read.folders.iter().cloned())
            .collect()
    }

    /// Whether a change of this path can affect a scenario.
    pub(crate) fn depend_on(&self, changed: &Path) -> bool {
        self.is_searched_for(changed)
            || self.shared.read.depend_on(changed)
            || self.scenarios.values().any(|file| file.read.depend_on(changed))
    }

    /// Reads again what a save changed. Returns the scenario files that it affects.
    ///
    /// # Errors
    /// When the folders have no scenario any more. The scenarios stay as they were.
    pub(crate) fn update(
        &mut self,
        saved: &SavedPaths,
        files: &dyn Files,
    ) -> Result<BTreeSet<PathBuf>, ScenarioError> {
        let changes =
            |test: &dyn Fn(&Path) -> bool| saved.is_incomplete || saved.paths.iter().any(|path| test(path));
        let mut affected = BTreeSet::new();
        if changes(&|path| self.shared.read.depend_on(path)) {
            self.shared = SharedInput::load(&self.selection, files);
            affected = self.paths();
        }
        for (path, file) in &mut self.scenarios {
            if !changes(&|changed| file.read.depend_on(changed)) {
                continue;
            }
            *file = WatchedFile::load(&file.found, files);
            affected.insert(path.clone());
        }
        if changes(&|path| self.is_searched_for(path)) {
            affected.extend(self.search(files)?);
        }
        affected.retain(|path| self.scenarios.contains_key(path));
        Ok(affected)
    }

    /// Searches the folders again. Returns the new scenario files.
    fn search(&mut self, files: &dyn Files) -> Result<BTreeSet<PathBuf>, ScenarioError> {
        let (found, searched) = recorded(files, |files| scenario::discover(&self.selection.paths, files));
        let found = found?;
        self.searched = searched;
        let is_found = |path: &PathBuf| found.iter().any(|found| found.path == *path);
        self.scenarios.retain(|path, _| is_found(path));
        let mut new = BTreeSet::new();
        for found in found {
            if let Entry::Vacant(vacant) = self.scenarios.entry(found.path.clone()) {
                vacant.insert(WatchedFile::load(&found, files));
                new.insert(found.path);
            }
        }
        Ok(new)
    }

    /// Whether a new or removed file can change which scenarios there are.
    fn is_searched_for(&self, changed: &Path) -> bool {
        let folder = changed.parent().unwrap_or(changed);
        if self.searched.folders.contains(changed) {
            return true;
        }
        if !self.searched.folders.contains(folder) || is_temporary(changed) {
            return false;
        }
        let is_yaml = changed
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        let is_known = || {
            self.scenarios
                .values()
                .any(|file| file.read.files.contains(changed))
        };
        changed.is_dir() || is_yaml && !(is_known() && changed.is_file())
    }
}

impl WatchedFile {
    fn load(found: &ScenarioPath, files: &dyn Files) -> Self {
        let (loaded, read) = recorded(files, |files| scenario::load_file(found, files));
        Self {
            found: found.clone(),
            loaded,
            read,
        }
    }
}

impl SharedInput {
    fn load(selection: &WatchSelection, files: &dyn Files) -> Self {
        let (loaded, read) = recorded(files, |files| {
            let settings = settings::find(Path::new("."), files)?;
            let mut overlay = Overlay::default();
            for manifest in settings.overlays.iter().chain(&selection.overlays) {
                overlay.extend(overlay::load(manifest, files)?);
            }
            Ok((settings, overlay))
        });
        Self { loaded, read }
    }
}

fn recorded<T>(files: &dyn Files, read: impl FnOnce(&dyn Files) -> T) -> (T, FilesRead) {
    let recording = RecordingFiles::new(files);
    let result = read(&recording);
    (result, recording.into_read())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nodejoin_core::input::files::Disk;
    use tempfile::TempDir;

    use super::*;

    /// A folder with two scenarios, a script that both name, and an overlay of the command line.
    struct Folder {
        path: PathBuf,
        watched: WatchedScenarios,
        _folder: TempDir,
    }

    impl Folder {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let path = folder.path().canonicalize().unwrap();
            for (name, text) in [
                ("a.yaml", "name: a\nuser_data: { file: a.sh }\n"),
                ("b.yaml", "name: b\nuser_data: { file: b.sh }\n"),
                ("a.sh", "#!/bin/sh\n"),
                ("b.sh", "#!/bin/sh\n"),
                ("overlay.yaml", "root: files\nfiles: [{ from: x, to: /etc/x }]\n"),
                ("notes.txt", ""),
            ] {
                fs::write(path.join(name), text).unwrap();
            }
            fs::create_dir(path.join("files")).unwrap();
            fs::write(path.join("files/x"), "").unwrap();
            let selection = WatchSelection {
                paths: vec![path.clone()],
                overlays: vec![path.join("overlay.yaml")],
                ..WatchSelection::default()
            };
            let watched = WatchedScenarios::load(selection, &Disk::default()).unwrap();
            Self {
                path,
                watched,
                _folder: folder,
            }
        }

        /// The scenarios that a change of these files affects.
        fn affected(&mut self, names: &[&str]) -> Vec<String> {
            let saved = SavedPaths {
                paths: names.iter().map(|name| self.path.join(name)).collect(),
                is_incomplete: false,
            };
            let is_relevant = saved.paths.iter().any(|path| self.watched.depend_on(path));
            let affected = self.watched.update(&saved, &Disk::default()).unwrap();
            assert!(is_relevant || affected.is_empty(), "{affected:?}");
            self.names(affected)
        }

        fn names(&self, paths: BTreeSet<PathBuf>) -> Vec<String> {
            let name = |path: PathBuf| {
                path.strip_prefix(&self.path)
                    .unwrap_or(&path)
                    .display()
                    .to_string()
            };
            paths.into_iter().map(name).collect()
        }

        /// Names of the valid plans, and the files with problems.
        fn plans(&self) -> (Vec<String>, Vec<String>) {
            let (plans, problems) = self.watched.plans(&self.watched.paths());
            let names = plans.into_iter().map(|(_, plan)| plan.name).collect();
            let files = problems.into_keys().map(PathBuf::from).collect();
            (names, self.names(files))
        }
    }

    #[test]
    fn a_change_affects_the_scenarios_that_name_the_file() {
        let mut folder = Folder::new();
        assert_eq!(folder.affected(&["a.yaml"]), ["a.yaml"]);
        assert_eq!(folder.affected(&["b.sh"]), ["b.yaml"]);
        assert_eq!(folder.affected(&["a.sh", "b.sh"]), ["a.yaml", "b.yaml"]);
        assert_eq!(folder.affected(&["overlay.yaml"]), ["a.yaml", "b.yaml"]);
        assert_eq!(folder.affected(&["files/x"]), ["a.yaml", "b.yaml"]);
        assert_eq!(folder.affected(&["a.snapshot"]), Vec::<String>::new());
        for nothing in ["notes.txt", "a.sh~", ".a.yaml.swp", "4913", "files/y"] {
            assert_eq!(folder.affected(&[nothing]), Vec::<String>::new(), "{nothing}");
        }
        let all = SavedPaths {
            is_incomplete: true,
            ..SavedPaths::default()
        };
        let affected = folder.watched.update(&all, &Disk::default()).unwrap();
        assert_eq!(affected.len(), 2, "events were lost");
    }

    #[test]
    fn the_plan_is_that_of_the_saved_text() {
        let mut folder = Folder::new();
        fs::write(
            folder.path.join("a.yaml"),
            "name: changed\nuser_data: { file: b.sh }\n",
        )
        .unwrap();
        folder.affected(&["a.yaml"]);
        assert_eq!(folder.plans().0, ["changed", "b"]);
        assert_eq!(
            folder.affected(&["b.sh"]),
            ["a.yaml", "b.yaml"],
            "it names b.sh now"
        );
        assert_eq!(folder.affected(&["a.sh"]), Vec::<String>::new());
    }

    #[test]
    fn an_invalid_file_does_not_stop_the_others_and_can_be_mended() {
        let mut folder = Folder::new();
        fs::write(folder.path.join("a.yaml"), "name: [\n").unwrap();
        assert_eq!(folder.affected(&["a.yaml"]), ["a.yaml"]);
        assert_eq!(folder.plans(), (vec!["b".to_owned()], vec!["a.yaml".to_owned()]));
        fs::write(
            folder.path.join("a.yaml"),
            "name: a\nuser_data: { file: later.sh }\n",
        )
        .unwrap();
        folder.affected(&["a.yaml"]);
        assert_eq!(folder.plans().1, ["a.yaml"], "its script is missing");
        fs::write(folder.path.join("later.sh"), "#!/bin/sh\n").unwrap();
        assert_eq!(folder.affected(&["later.sh"]), ["a.yaml"]);
        assert_eq!(folder.plans(), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
        fs::remove_file(folder.path.join("overlay.yaml")).unwrap();
        assert_eq!(folder.affected(&["overlay.yaml"]).len(), 2);
        assert_eq!(folder.plans().0, Vec::<String>::new(), "all need the overlay");
    }

    #[test]
    fn a_file_with_a_list_is_several_plans() {
        let mut folder = Folder::new();
        let text = "name: a\nuser_data: '#!'\nwith: [{ id: one }, { id: two }]\n";
        fs::write(folder.path.join("a.yaml"), text).unwrap();
        assert_eq!(folder.affected(&["a.yaml"]), ["a.yaml"]);
        let expected = vec!["a (one)".to_owned(), "a (two)".to_owned(), "b".to_owned()];
        assert_eq!(folder.plans(), (expected, Vec::new()));
    }

    #[test]
    fn new_scenarios_are_found_and_removed_ones_are_forgotten() {
        let mut folder = Folder::new();
        fs::write(folder.path.join("c.yaml"), "name: c\nuser_data: { file: a.sh }\n").unwrap();
        assert_eq!(folder.affected(&["c.yaml"]), ["c.yaml"]);
        assert_eq!(folder.affected(&["a.sh"]), ["a.yaml", "c.yaml"]);
        fs::create_dir(folder.path.join("deep")).unwrap();
        fs::write(folder.path.join("deep/d.yaml"), "name: d\nuser_data: '#!'\n").unwrap();
        assert_eq!(folder.affected(&["deep"]), ["deep/d.yaml"]);
        assert!(folder.watched.folders().contains(&folder.path.join("deep")));
        fs::remove_file(folder.path.join("a.yaml")).unwrap();
        assert_eq!(folder.affected(&["a.yaml"]), Vec::<String>::new());
        assert_eq!(
            folder.plans(),
            (vec!["b".into(), "c".into(), "d".into()], Vec::new())
        );
        for name in ["b.yaml", "c.yaml", "deep/d.yaml"] {
            fs::remove_file(folder.path.join(name)).unwrap();
        }
        let saved = SavedPaths {
            paths: BTreeSet::from([folder.path.join("b.yaml")]),
            is_incomplete: true,
        };
        let error = folder.watched.update(&saved, &Disk::default()).unwrap_err();
        assert!(error.to_string().contains("no scenario"), "{error}");
    }

    #[test]
    fn the_second_of_two_files_with_one_id_is_named_and_the_rest_runs() {
        let mut folder = Folder::new();
        fs::copy(folder.path.join("a.yaml"), folder.path.join("a.yml")).unwrap();
        folder.affected(&["a.yml"]);
        assert_eq!(
            folder.plans(),
            (vec!["a".into(), "b".into()], vec!["a.yml".into()])
        );
    }
}
