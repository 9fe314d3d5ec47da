//! The folder of a run: its record, the link to the latest run, and when folders of earlier runs are removed.
//!
//! A folder belongs to a run if its name is the run's id and its `run.json` names that id. Nothing else is removed.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::evidence_index::{RUN, RecordedScenario, RunRecord, SCHEMA};
use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::evidence::index::rfc3339;
use crate::page;

/// The link to the latest run that left evidence.
const LATEST: &str = "latest";
/// The kubeconfig of kept nodes; a run with it is not removed.
const KUBECONFIG: &str = "kubeconfig";
/// The newest runs remain, whatever their age.
const NEWEST: usize = 20;
/// Younger runs remain, whatever their number: with a process per test, one session of tests is many runs.
const YOUNG: Duration = Duration::from_secs(24 * 3600);

/// The folder of this run. It exists once a scenario has left evidence.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    artifacts: PathBuf,
    record: Mutex<RunRecord>,
}

impl RunFolder {
    /// The folder of a run that starts now. Creates nothing.
    pub(crate) fn new(artifacts: &Path, run: &RunId, nodejoin: &str) -> Self {
        Self {
            path: artifacts.join(run.as_str()),
            artifacts: artifacts.to_owned(),
            record: Mutex::new(RunRecord {
                schema: SCHEMA,
                run: run.clone(),
                started: rfc3339(SystemTime::now()),
                nodejoin: nodejoin.to_owned(),
                scenarios: Vec::new(),
            }),
        }
    }

    /// The file with the credentials of a kept control plane.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join(KUBECONFIG)
    }

    /// Records a scenario. The record is written once a scenario has evidence; the first time, the link is set to this
    /// run and folders of old runs are removed. Returns a line for each failure.
    pub(crate) fn record(&self, scenario: RecordedScenario) -> Vec<String> {
        let mut record = self.record.lock();
        record.scenarios.push(scenario);
        if !record.scenarios.iter().any(|one| one.folder.is_some()) {
            return Vec::new();
        }
        let is_first = !self.path.join(RUN).exists();
        let mut results = vec![(self.path.join(RUN), self.write(&record))];
        if is_first {
            results.push((self.artifacts.join(LATEST), self.link()));
            results.extend(prune(&self.artifacts, SystemTime::now()));
        }
        let failed = results
            .into_iter()
            .filter_map(|(path, result)| Some((path, result.err()?)));
        failed
            .map(|(path, error)| format!("could not update `{}`: {error}", path.display()))
            .collect()
    }

    /// Replaces the file as a whole: it can be read while the run continues.
    fn write(&self, record: &RunRecord) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let new = self.path.join(format!("{RUN}.new"));
        let text = nodejoin_core::redact::redact(&serde_json::to_string_pretty(record)?);
        fs::write(&new, &text)?;
        fs::rename(new, self.path.join(RUN))?;
        page::write_run(&self.path, &serde_json::from_str(&text)?)
    }

    /// Points the link at this run. A file or folder with its name stays as it is.
    fn link(&self) -> io::Result<()> {
        let link = self.artifacts.join(LATEST);
        if fs::symlink_metadata(&link).is_ok_and(|found| !found.is_symlink()) {
            return Ok(());
        }
        let Some(name) = self.path.file_name() else {
            return Ok(());
        };
        let new = self
            .artifacts
            .join(format!(".{LATEST}-{}", name.to_string_lossy()));
        std::os::unix::fs::symlink(name, &new)?;
        fs::rename(&new, link)
    }
}

/// Removes the folders of runs that are neither young nor among the newest.
fn prune(artifacts: &Path, now: SystemTime) -> Vec<(PathBuf, io::Result<()>)> {
    let Ok(entries) = fs::read_dir(artifacts) else {
        return Vec::new();
    };
    let mut runs: Vec<(OffsetDateTime, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((started(&entry.path())?, entry.path())))
        .collect();
    runs.sort_by_key(|(started, _)| Reverse(*started));
    let limit = OffsetDateTime::from(now - YOUNG);
    let old = runs
        .into_iter()
        .skip(NEWEST)
        .filter(|(started, path)| *started < limit && !path.join(KUBECONFIG).exists());
    old.map(|(_, path)| (path.clone(), fs::remove_dir_all(&path)))
        .collect()
}

/// When the run of a folder started; `None` for any other folder.
fn started(folder: &Path) -> Option<OffsetDateTime> {
    let text = fs::read_to_string(folder.join(RUN)).ok()?;
    let record: RunRecord = serde_json::from_str(&text).ok()?;
    let is_named = folder.file_name()?.to_str()? == record.run.as_str();
    is_named.then_some(())?;
    OffsetDateTime::parse(&record.started, &Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use nodejoin_core::judge::verdict::Outcome;

    use super::*;

    fn scenario(folder: Option<&str>) -> RecordedScenario {
        RecordedScenario {
            scenario: "x".parse().unwrap(),
            name: "x".to_owned(),
            outcome: Outcome::Failed,
            because: None,
            seconds: 1.0,
            folder: folder.map(str::to_owned),
        }
    }

    fn folder(artifacts: &Path, run: &str) -> RunFolder {
        RunFolder::new(artifacts, &run.parse().unwrap(), "0.1.0")
    }

    /// The folder of a run that started some days ago.
    fn old(artifacts: &Path, run: &str, days: u64) -> PathBuf {
        let folder = folder(artifacts, run);
        let started = SystemTime::now() - Duration::from_secs(days * 24 * 3600);
        folder.record.lock().started = rfc3339(started);
        folder.write(&folder.record.lock()).unwrap();
        folder.path
    }

    #[test]
    fn a_run_without_evidence_leaves_nothing() {
        let artifacts = tempfile::tempdir().unwrap();
        let problems = folder(artifacts.path(), "qmshuanwot").record(scenario(None));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_link_leads_to_the_latest_run_with_all_its_scenarios() {
        let artifacts = tempfile::tempdir().unwrap();
        for run in ["aaaaaaaaaa", "bbbbbbbbbb"] {
            let folder = folder(artifacts.path(), run);
            folder.record(scenario(None));
            assert_eq!(folder.record(scenario(Some("x"))), Vec::<String>::new());
        }
        let text = fs::read_to_string(artifacts.path().join("latest/run.json")).unwrap();
        let record: RunRecord = serde_json::from_str(&text).unwrap();
        assert_eq!((record.run.as_str(), record.scenarios.len()), ("bbbbbbbbbb", 2));
        let target = fs::read_link(artifacts.path().join("latest")).unwrap();
        assert_eq!(target, Path::new("bbbbbbbbbb"));
    }

    #[test]
    fn a_folder_in_the_place_of_the_link_stays() {
        let artifacts = tempfile::tempdir().unwrap();
        fs::create_dir(artifacts.path().join("latest")).unwrap();
        let problems = folder(artifacts.path(), "aaaaaaaaaa").record(scenario(Some("x")));
        assert_eq!(problems, Vec::<String>::new());
        assert!(artifacts.path().join("latest").is_dir());
    }

    #[test]
    fn only_old_folders_of_runs_are_removed() {
        let artifacts = tempfile::tempdir().unwrap();
        let name = |prefix: char, index: usize| {
            format!(
                "{}{}",
                prefix.to_string().repeat(8),
                (b'a' + u8::try_from(index).unwrap()) as char
            )
        };
        let newest: Vec<PathBuf> = (0..NEWEST)
            .map(|index| old(artifacts.path(), &name('n', index), 2))
            .collect();
        let young = old(artifacts.path(), &name('y', 0), 0);
        let removed = old(artifacts.path(), &name('o', 0), 9);
        let kept = old(artifacts.path(), &name('k', 0), 9);
        fs::write(kept.join(KUBECONFIG), "").unwrap();
        let renamed = old(artifacts.path(), &name('r', 0), 9);
        let other = artifacts.path().join("notes");
        fs::rename(renamed, &other).unwrap();
        let foreign = artifacts.path().join(name('f', 0));
        fs::create_dir(&foreign).unwrap();
        // The twentieth of the older ones is pushed out by the young one.
        let results = prune(artifacts.path(), SystemTime::now());
        assert!(results.iter().all(|(_, result)| result.is_ok()));
        assert!(!removed.exists());
        assert!(young.exists() && kept.exists() && other.exists() && foreign.exists());
        assert_eq!(newest.iter().filter(|path| path.exists()).count(), NEWEST - 1);
    }
}
