//! The times of joined runs, by which shards are balanced.

use std::path::Path;

use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::run::last_run::without_run;
use nodejoin_core::run::recorded_times::{RecordedTimes, ShardSelection};
use nodejoin_core::run::shard::Shard;

use super::error::MergeError;
use super::runs::MergedRuns;

/// Why shards cannot be balanced.
#[derive(Debug, thiserror::Error)]
pub enum TimesError {
    /// The shards of nothing would be balanced.
    #[error("recorded times balance shards, and no shard is selected")]
    NoShard,
    #[error(transparent)]
    Unreadable(#[from] MergeError),
}

impl TimesError {
    /// What the user can do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoShard => {
                "add `--shard INDEX/COUNT`, or leave `--times` and NODEJOIN_TIMES out".to_owned()
            }
            Self::Unreadable(error) => format!(
                "{}; without `--times` and NODEJOIN_TIMES, the id of a scenario determines its shard",
                error.hint
            ),
        }
    }
}

/// The selected shard with the times in a file or folder that [`MergedRuns`] reads. An empty path counts as none: a
/// workflow cannot unset a variable.
///
/// # Errors
/// When the file is missing or invalid, or no shard is selected.
pub fn shard_selection(
    shard: Option<Shard>,
    times: Option<&Path>,
) -> Result<Option<ShardSelection>, TimesError> {
    let times = match (shard, times.filter(|path| !path.as_os_str().is_empty())) {
        (None, Some(_)) => return Err(TimesError::NoShard),
        (_, None) => None,
        (Some(_), Some(path)) => Some(MergedRuns::read(&[path.to_owned()])?.times()),
    };
    Ok(shard.map(|shard| ShardSelection { shard, times }))
}

impl MergedRuns {
    /// How long each scenario took. Cancelled and errored scenarios did not run to their end.
    #[must_use]
    pub fn times(&self) -> RecordedTimes {
        let finished = self.scenarios().filter(|(_, one)| match one.outcome {
            Outcome::Passed | Outcome::Failed | Outcome::Skipped(_) => true,
            Outcome::Errored(_) | Outcome::Cancelled => false,
        });
        RecordedTimes::new(finished.map(|(id, one)| (without_run(id).to_owned(), one.seconds)))
    }
}
