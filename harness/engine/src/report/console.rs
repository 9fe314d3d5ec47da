//! The console: progress on standard error while the run works, one block a scenario and a summary on standard output.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use nodejoin_core::run::event::{RunEvent, Summary};

use crate::report::text;

/// Writes a run for a person.
pub struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// One line that is overwritten while something is under way; `None` where standard error is no terminal.
    status: Option<Status>,
}

#[derive(Debug)]
struct Status {
    shown: bool,
    last: Option<Instant>,
}

/// A status line is rewritten at most this often.
const REWRITE_MS: u128 = 80;
/// A status line is cut here: a wrapped one could not be overwritten.
const WIDTH: usize = 100;

impl Console {
    /// A console on this process' standard streams.
    #[must_use]
    pub fn new() -> Self {
        let status = std::io::stderr().is_terminal().then_some(Status {
            shown: false,
            last: None,
        });
        Self {
            status,
            ..Self::on(std::io::stdout(), std::io::stderr())
        }
    }

    /// A console without a status line that prints verdicts to `out` and progress to `err`.
    #[must_use]
    pub fn on(out: impl Write + Send + 'static, err: impl Write + Send + 'static) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            status: None,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { .. } => {}
            RunEvent::ImageStarted { image, log } => {
                self.say(&format!("making image {image} (output in {log})"))
            }
            RunEvent::ImageStep { image, text } => self.status(&format!("{image}: {text}")),
            RunEvent::ImageReady { image, seconds } => {
                self.say(&format!("made image {image} in {seconds:.0} s"))
            }
            RunEvent::ControlPlaneStarting { provider } => {
                self.status(&format!("starting the {provider} control plane"))
            }
            RunEvent::ControlPlaneReady {
                provider,
                kubernetes,
                seconds,
                ..
            } => {
                self.say(&format!(
                    "{provider} control plane, Kubernetes {kubernetes}, ready in {seconds:.1} s"
                ));
            }
            RunEvent::ScenarioStarted { name, .. } => self.status(name),
            RunEvent::PhaseReached { scenario, phase, at } => {
                self.status(&format!("{scenario}: {phase} after {:.1} s", *at as f64 / 1000.0));
            }
            RunEvent::ScenarioFinished {
                name,
                verdict,
                seconds,
                evidence,
                kept,
                ..
            } => {
                self.print(&text::scenario(name, verdict, *seconds, evidence.as_deref()));
                kept.iter()
                    .for_each(|line| self.print(&format!("        kept      {line}")));
            }
            RunEvent::SnapshotWritten { path } => self.say(&format!("wrote {path}")),
            RunEvent::Warning { text } => self.say(&format!("warning: {text}")),
            RunEvent::Cancelling => {
                self.say("ending: removing what the run made; once more to leave at once")
            }
            RunEvent::RunFinished(summary) => self.finish(summary),
        }
    }

    fn finish(&mut self, summary: &Summary) {
        self.print(&total(summary));
        for object in &summary.left_behind {
            self.say(&format!(
                "left behind: {object}; `nodejoin sweep` removes it once this process has ended"
            ));
        }
    }

    /// Text on standard output.
    fn print(&mut self, text: &str) {
        self.clear();
        // A reader that went away (`| head`) is no reason to stop tearing down.
        let _ = writeln!(self.out, "{text}");
    }

    /// A line on standard error that stays.
    fn say(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(self.err, "{text}");
    }

    /// A line on standard error that the next one overwrites.
    fn status(&mut self, text: &str) {
        let Some(status) = &mut self.status else { return };
        if status
            .last
            .is_some_and(|last| last.elapsed().as_millis() < REWRITE_MS)
        {
            return;
        }
        let line: String = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(WIDTH)
            .collect();
        let _ = write!(self.err, "\r\x1b[2K{line}");
        let _ = self.err.flush();
        *status = Status {
            shown: true,
            last: Some(Instant::now()),
        };
    }

    fn clear(&mut self) {
        if let Some(status) = &mut self.status
            && status.shown
        {
            let _ = write!(self.err, "\r\x1b[2K");
            status.shown = false;
        }
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::new()
    }
}

/// The last line of a run.
fn total(summary: &Summary) -> String {
    let Summary {
        passed,
        failed,
        errored,
        skipped,
        cancelled,
        seconds,
        ..
    } = summary;
    let all = passed + failed + errored + skipped + cancelled;
    let scenarios = if all == 1 {
        "1 scenario".to_owned()
    } else {
        format!("{all} scenarios")
    };
    let ended = if *cancelled > 0 {
        format!(", {cancelled} not finished")
    } else {
        String::new()
    };
    format!(
        "{scenarios}: {passed} passed, {failed} failed, {errored} errored, {skipped} skipped{ended} in {seconds:.1} s"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_every_outcome() {
        let summary = Summary {
            passed: 1,
            failed: 1,
            seconds: 18.4,
            ..Summary::default()
        };
        assert_eq!(
            total(&summary),
            "2 scenarios: 1 passed, 1 failed, 0 errored, 0 skipped in 18.4 s"
        );
        let summary = Summary {
            cancelled: 1,
            ..Summary::default()
        };
        assert_eq!(
            total(&summary),
            "1 scenario: 0 passed, 0 failed, 0 errored, 0 skipped, 1 not finished in 0.0 s"
        );
    }
}
