//! The file with the outcomes of the last runs.

use std::io;
use std::path::{Path, PathBuf};

use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::last_run::LastRun;

use crate::process;

/// The record of a run, and the folder in which it is written.
pub(crate) struct LastRunFile {
    folder: PathBuf,
    record: LastRun,
}

impl LastRunFile {
    /// Continues the record of the folder. An unreadable one is replaced.
    pub(crate) fn open(artifacts: &Path, plans: &[Plan]) -> Self {
        let mut record = LastRun::read(&LastRun::path(artifacts), &process::disk()).unwrap_or_default();
        record.select(plans.iter().map(|plan| &plan.id));
        Self {
            folder: artifacts.to_owned(),
            record,
        }
    }

    pub(crate) fn take(&mut self, event: &RunEvent) {
        if let RunEvent::ScenarioFinished {
            scenario, verdict, ..
        } = event
        {
            self.record.record(scenario, &verdict.outcome);
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        LastRun::path(&self.folder)
    }

    /// Replaces the file as a whole: another run can read it at any time.
    pub(crate) fn write(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer_pretty(&file, &self.record)?;
        file.persist(self.path())?;
        Ok(())
    }
}
