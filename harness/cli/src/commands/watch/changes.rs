//! Saved files, as the file system reports them: collected until a save is complete.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// Time without a change after which a save is complete: an editor renames, creates and removes files for one.
const QUIET: Duration = Duration::from_millis(120);
/// Time after which changes that never cease are reported all the same.
const LONGEST: Duration = Duration::from_secs(2);

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SavedPaths {
    pub(crate) paths: BTreeSet<PathBuf>,
    /// Whether the file system dropped events: any file may have changed.
    pub(crate) is_incomplete: bool,
}

impl SavedPaths {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.is_incomplete
    }

    fn add(&mut self, event: Event, concerns: impl Fn(&Path) -> bool) {
        self.is_incomplete |= event.need_rescan();
        let paths = event.paths.into_iter().filter(|path| concerns(path));
        self.paths.extend(paths);
    }
}

/// Follows folders, without the folders in them.
pub(crate) struct FileChanges {
    watcher: RecommendedWatcher,
    events: UnboundedReceiver<Event>,
    followed: BTreeSet<PathBuf>,
    /// Folders that could not be followed, which are reported once.
    refused: BTreeSet<PathBuf>,
    /// The changes of a save that is not complete.
    saved: SavedPaths,
}

impl FileChanges {
    pub(crate) fn new() -> notify::Result<Self> {
        let (sender, events) = unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            match event {
                // A closed receiver has no use for it.
                Ok(event) if is_change(event.kind) || event.need_rescan() => drop(sender.send(event)),
                Ok(_) => {}
                Err(error) => note!("warning: could not follow changes of files: {error}"),
            }
        })?;
        Ok(Self {
            watcher,
            events,
            followed: BTreeSet::new(),
            refused: BTreeSet::new(),
            saved: SavedPaths::default(),
        })
    }

    /// Follows these folders instead of the earlier ones; for a missing folder, the nearest one above it. Returns those
    /// that cannot be followed, once each, with the reason.
    pub(crate) fn follow(&mut self, folders: BTreeSet<PathBuf>) -> Vec<String> {
        let wanted: BTreeSet<PathBuf> = folders.iter().filter_map(|folder| existing(folder)).collect();
        for folder in self.followed.difference(&wanted) {
            // Fails for a folder that was removed.
            let _ = self.watcher.unwatch(folder);
        }
        let mut problems = Vec::new();
        for folder in wanted.difference(&self.followed) {
            let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive) else {
                continue;
            };
            if self.refused.insert(folder.clone()) {
                problems.push(format!("changes in `{}` are not seen: {error}", folder.display()));
            }
        }
        self.followed = wanted;
        problems
    }

    /// The changes of the next save, without paths that do not concern the caller. Can be dropped at any time without
    /// losing one.
    pub(crate) async fn next(&mut self, concerns: impl Fn(&Path) -> bool) -> SavedPaths {
        while self.saved.is_empty() {
            let Some(event) = self.events.recv().await else {
                return std::future::pending().await;
            };
            self.add(event, &concerns);
        }
        let longest = Instant::now() + LONGEST;
        loop {
            let quiet = (Instant::now() + QUIET).min(longest);
            tokio::select! {
                Some(event) = self.events.recv() => self.add(event, &concerns),
                () = sleep_until(quiet) => return std::mem::take(&mut self.saved),
            }
            if Instant::now() >= longest {
                return std::mem::take(&mut self.saved);
            }
        }
    }

    fn add(&mut self, event: Event, concerns: impl Fn(&Path) -> bool) {
        // A folder that is removed and created again is another one, which is not followed yet.
        let is_gone = matches!(
            event.kind,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        for path in event.paths.iter().filter(|_| is_gone) {
            if self.followed.remove(path) {
                let _ = self.watcher.unwatch(path);
            }
        }
        self.saved.add(event, concerns);
    }
}

/// Whether an event can change a file's content or mode. Reading a file creates events as well.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_) => true,
        EventKind::Access(_) | EventKind::Other => false,
    }
}

/// The folder, or the nearest one above it that exists.
fn existing(folder: &Path) -> Option<PathBuf> {
    let found = folder.ancestors().find(|folder| folder.is_dir())?;
    Some(found.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// More than enough for an event.
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn folder() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    async fn next(changes: &mut FileChanges, concerns: impl Fn(&Path) -> bool) -> BTreeSet<PathBuf> {
        let saved = tokio::time::timeout(TIMEOUT, changes.next(concerns));
        saved.await.expect("a change").paths
    }

    #[tokio::test]
    async fn a_save_is_one_change_of_the_file_also_by_renaming() {
        let (_folder, path) = folder();
        let script = path.join("a.sh");
        fs::write(&script, "1").unwrap();
        let mut changes = FileChanges::new().unwrap();
        assert_eq!(
            changes.follow(BTreeSet::from([path.clone()])),
            Vec::<String>::new()
        );
        let expected = BTreeSet::from([script.clone()]);
        // In place.
        fs::write(&script, "2").unwrap();
        assert_eq!(next(&mut changes, |changed| changed == script).await, expected);
        // Vim: probes the folder, moves the file away, writes a new one, removes the old one.
        fs::write(path.join("4913"), "").unwrap();
        fs::remove_file(path.join("4913")).unwrap();
        fs::rename(&script, path.join("a.sh~")).unwrap();
        fs::write(&script, "3").unwrap();
        fs::remove_file(path.join("a.sh~")).unwrap();
        assert_eq!(next(&mut changes, |changed| changed == script).await, expected);
        // Others write a temporary file and move it over the old one.
        fs::write(path.join(".a.sh.tmp"), "4").unwrap();
        fs::rename(path.join(".a.sh.tmp"), &script).unwrap();
        assert_eq!(next(&mut changes, |changed| changed == script).await, expected);
    }

    #[tokio::test]
    async fn other_files_and_reading_are_no_change() {
        let (_folder, path) = folder();
        let script = path.join("a.sh");
        fs::write(&script, "1").unwrap();
        let mut changes = FileChanges::new().unwrap();
        changes.follow(BTreeSet::from([path.clone()]));
        fs::read(&script).unwrap();
        fs::write(path.join("other"), "").unwrap();
        let nothing = tokio::time::timeout(QUIET * 4, changes.next(|changed| changed == script)).await;
        assert!(nothing.is_err(), "{nothing:?}");
    }

    #[tokio::test]
    async fn a_change_survives_a_wait_that_is_dropped() {
        let (_folder, path) = folder();
        let mut changes = FileChanges::new().unwrap();
        changes.follow(BTreeSet::from([path.clone()]));
        fs::write(path.join("a"), "1").unwrap();
        // Long enough to receive the event, too short to return it.
        let dropped = tokio::time::timeout(QUIET / 2, changes.next(|_| true)).await;
        assert!(dropped.is_err(), "{dropped:?}");
        assert_eq!(
            next(&mut changes, |_| true).await,
            BTreeSet::from([path.join("a")])
        );
    }

    #[tokio::test]
    async fn a_folder_that_is_created_later_is_followed() {
        let (_folder, path) = folder();
        let below = path.join("scripts");
        let mut changes = FileChanges::new().unwrap();
        changes.follow(BTreeSet::from([below.clone()]));
        for text in ["1", "2"] {
            fs::create_dir(&below).unwrap();
            assert!(next(&mut changes, |_| true).await.contains(&below));
            changes.follow(BTreeSet::from([below.clone()]));
            fs::write(below.join("a.sh"), text).unwrap();
            assert!(next(&mut changes, |_| true).await.contains(&below.join("a.sh")));
            // A checkout of another branch.
            fs::remove_dir_all(&below).unwrap();
            assert!(next(&mut changes, |_| true).await.contains(&below));
            changes.follow(BTreeSet::from([below.clone()]));
        }
    }
}
