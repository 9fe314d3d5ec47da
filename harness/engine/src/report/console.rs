//! The console: progress on standard error, and a block for each scenario and a summary on standard output.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use nodejoin_core::run::event::{RunEvent, Summary};

use crate::report::text;

/// Prints a run for a person.
pub struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// The line that shows current work; `None` unless standard error is a terminal.
    status: Option<StatusLine>,
}

#[derive(Debug)]
struct StatusLine {
    shown: bool,
    last: Option<Instant>,
}

/// Minimum interval between two updates of the status line.
const REWRITE_MS: u128 = 80;
/// Maximum width of the status line: a wrapped line could not be overwritten.
const WIDTH: usize = 100;

impl Console {
    /// A console on this process' standard streams.
    #[must_use]
    pub fn new() -> Self {
        let status = std::io::stderr().is_terminal().then_some(StatusLine {
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
                self.log(&format!("building image {image} (output in {log})"))
            }
            RunEvent::ImageStep { image, text } => self.status(&format!("{image}: {text}")),
            RunEvent::ImageReady { image, seconds } => {
                self.log(&format!("built image {image} in {seconds:.0} s"))
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
                self.log(&format!(
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
            RunEvent::SnapshotWritten { path } => self.log(&format!("wrote {path}")),
            RunEvent::Warning { text } => self.log(&format!("warning: {text}")),
            RunEvent::Cancelling => self
                .log("cancelling: removing everything that the run created; interrupt again to exit at once"),
            RunEvent::RunFinished(summary) => self.finish(summary),
        }
    }

    fn finish(&mut self, summary: &Summary) {
        self.print(&total(summary));
        for object in &summary.left_behind {
            self.log(&format!(
                "could not remove {object}; run `nodejoin sweep` after this process has ended"
            ));
        }
    }

    /// Prints text on standard output.
    fn print(&mut self, text: &str) {
        self.clear();
        // A closed pipe (`| head`) must not stop the teardown.
        let _ = writeln!(self.out, "{text}");
    }

    /// Prints a permanent line on standard error.
    fn log(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(self.err, "{text}");
    }

    /// Prints a line on standard error that the next line overwrites.
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
        *status = StatusLine {
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

/// The last line of the report.
fn total(summary: &Summary) -> String {
    let all = summary.passed
        + summary.failed
        + summary.errored
        + summary.skipped
        + summary.cancelled
        + summary.not_run;
    let scenarios = if all == 1 {
        "1 scenario".to_owned()
    } else {
        format!("{all} scenarios")
    };
    format!(
        "{scenarios}: {} in {:.1} s",
        text::counts(summary),
        summary.seconds
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
            "1 scenario: 0 passed, 0 failed, 0 errored, 0 skipped, 1 cancelled in 0.0 s"
        );
    }
}
