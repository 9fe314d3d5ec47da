//! Follows the output of a node's container, and finds what following lost.
//!
//! The engine's stream is not complete: Docker 20.10 skipped thousands of lines of a busy journal and repeated others,
//! and a connection to a remote engine can break. The log itself has every line.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt as _, stream};
use nodejoin_docker::Run;
use parking_lot::Mutex;
use testcontainers::bollard::container::LogOutput;
use testcontainers::bollard::query_parameters::{InspectContainerOptions, LogsOptionsBuilder};

use crate::error::NodeError;
use crate::journal::StreamLines;
use crate::output::NodeOutput;

/// Pause before a stream that ended early is opened again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// The output of a node's container since a boot.
#[derive(Clone)]
pub struct NodeLog {
    run: Run,
    /// Id of the container.
    id: String,
    /// Id of the instance.
    instance: String,
    /// Start of the boot; earlier lines of the journal belong to another boot.
    since: Option<SystemTime>,
    seen: SeenLines,
}

impl NodeLog {
    pub(crate) fn new(run: &Run, id: &str, instance: &str, since: Option<SystemTime>) -> Self {
        Self {
            run: run.clone(),
            id: id.to_owned(),
            instance: instance.to_owned(),
            since,
            seen: SeenLines::default(),
        }
    }

    /// The journal from the first line of this boot until the container ends, and refused connections.
    pub fn follow(&self) -> impl Stream<Item = NodeOutput> + Send + use<> {
        let (open, running) = (self.clone(), self.clone());
        let open = move || open.pieces(LogRead::Follow);
        let is_running = move || {
            let log = running.clone();
            async move { log.is_running().await }
        };
        let (seen, since) = (self.seen.clone(), self.since);
        until_it_ends(open, is_running).filter_map(move |line| {
            let output = seen.first_output(&line);
            std::future::ready(output.filter(|output| since.is_none_or(|since| output.is_since(since))))
        })
    }

    /// Lines of the journal that [`NodeLog::follow`] has not yielded so far. It does not yield them afterwards. Reads
    /// up to now: a node that writes without end would never be read to its end.
    ///
    /// # Errors
    /// When the engine does not return the log.
    pub async fn missed(&self) -> Result<Vec<NodeOutput>, NodeError> {
        let mut pieces = std::pin::pin!(self.pieces(LogRead::UntilNow));
        let (mut lines, mut missed) = (StreamLines::default(), Vec::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|source| NodeError::Log {
                node: self.instance.clone(),
                source,
            })?;
            missed.extend(
                lines
                    .push(&piece)
                    .iter()
                    .filter_map(|line| self.missed_output(line)),
            );
        }
        Ok(missed)
    }

    fn missed_output(&self, line: &str) -> Option<NodeOutput> {
        // The totals of refused connections are read on their own.
        if !is_of_journal(line) {
            return None;
        }
        let output = self.seen.first_output(line)?;
        let since = self.since;
        since.is_none_or(|since| output.is_since(since)).then_some(output)
    }

    /// The container's log, both streams.
    fn pieces(
        &self,
        reading: LogRead,
    ) -> impl Stream<Item = Result<LogOutput, bollard::errors::Error>> + use<> {
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true);
        let options = match reading {
            LogRead::Follow => options.follow(true),
            LogRead::UntilNow => options.follow(false).until(end_of_second(SystemTime::now())),
        };
        self.run.engine().docker().logs(&self.id, Some(options.build()))
    }

    /// Whether the container runs. An engine that does not respond has no node to follow.
    pub(crate) async fn is_running(&self) -> bool {
        let docker = self.run.engine().docker();
        let found = docker
            .inspect_container(&self.id, None::<InspectContainerOptions>)
            .await;
        found.is_ok_and(|found| found.state.and_then(|state| state.running) == Some(true))
    }
}

/// How far a log is read.
#[derive(Debug, Clone, Copy)]
enum LogRead {
    Follow,
    UntilNow,
}

/// The end of the second of a time, in seconds since 1970: the engine compares whole seconds.
fn end_of_second(time: SystemTime) -> i32 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i32::try_from(since.as_secs() + 1).unwrap_or(i32::MAX)
}

/// Lines that were yielded, by their hash. A line of the journal is unique: it contains its cursor.
#[derive(Debug, Clone, Default)]
struct SeenLines {
    hashes: Arc<Mutex<HashSet<u64>>>,
}

impl SeenLines {
    /// What a line means, the first time that it is seen. Other lines than those of the journal may repeat.
    fn first_output(&self, line: &str) -> Option<NodeOutput> {
        if is_of_journal(line) && !self.insert(line) {
            return None;
        }
        NodeOutput::parse(line)
    }

    fn insert(&self, line: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        self.hashes.lock().insert(hasher.finish())
    }
}

fn is_of_journal(line: &str) -> bool {
    line.starts_with('{')
}

/// Lines of streams of `open`, each from the first line of the log: a stream that ends while the container runs is
/// opened again.
fn until_it_ends<O, S, R, F>(open: O, is_running: R) -> impl Stream<Item = String> + Send
where
    O: Fn() -> S + Send,
    S: Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send,
    R: Fn() -> F + Send,
    F: Future<Output = bool> + Send,
{
    let streams = stream::unfold((open, is_running, true), async |(open, is_running, is_first)| {
        if !is_first {
            if !is_running().await {
                return None;
            }
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
        let pieces = open();
        Some((pieces, (open, is_running, false)))
    });
    streams.flat_map(|pieces| {
        let mut lines = StreamLines::default();
        // A broken connection is an error, and the end of its stream.
        let complete = pieces.map(move |piece| piece.map(|piece| lines.push(&piece)).unwrap_or_default());
        complete.flat_map(stream::iter)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_log_is_read_up_to_the_end_of_this_second() {
        let at = |millis| end_of_second(SystemTime::UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!((at(7_000), at(7_999)), (8, 8));
        assert_eq!(at(u64::from(u32::MAX) * 1_000), i32::MAX);
    }

    fn entry(cursor: u32) -> String {
        format!(
            r#"{{"__CURSOR":"s=1;i={cursor}","_PID":"9","_SYSTEMD_UNIT":"a.service","MESSAGE":"same","__REALTIME_TIMESTAMP":"{cursor}"}}"#
        )
    }

    fn out(text: &str) -> Result<LogOutput, bollard::errors::Error> {
        Ok(LogOutput::StdOut {
            message: text.to_owned().into(),
        })
    }

    #[test]
    fn a_line_of_the_journal_counts_once_and_other_lines_each_time() {
        let seen = SeenLines::default();
        assert!(seen.first_output(&entry(1)).is_some());
        assert!(seen.first_output(&entry(1)).is_none());
        assert!(
            seen.first_output(&entry(2)).is_some(),
            "another cursor, the same message"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_breaks_while_the_node_runs_is_opened_again() {
        let opened = AtomicUsize::new(0);
        let asked = AtomicUsize::new(0);
        let open = || match opened.fetch_add(1, Ordering::Relaxed) {
            0 => stream::iter([out("a\nb\nhal"), Err(bollard::errors::Error::RequestTimeoutError)]),
            _ => stream::iter([out("a\nb\nhalf\n"), out("c\n")]),
        };
        let is_running = || std::future::ready(asked.fetch_add(1, Ordering::Relaxed) == 0);
        let lines: Vec<_> = until_it_ends(open, is_running).collect().await;
        assert_eq!(lines, ["a", "b", "a", "b", "half", "c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_stream_of_a_container_that_has_ended_ends() {
        let open = || stream::iter([out("a\n")]);
        let lines: Vec<_> = until_it_ends(open, || std::future::ready(false)).collect().await;
        assert_eq!(lines, ["a"]);
    }
}
