//! The console: progress on standard error, and a block for each scenario and a summary on standard output.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anstream::AutoStream;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::plan::sources::SourceLine;
use nodejoin_core::run::event::{RunEvent, Summary};

use crate::report::bars::Bars;
use crate::report::history::VerdictHistory;
use crate::report::paint;
use crate::report::rows;
use crate::report::run_progress::{RunProgress, downloaded, shortened};
use crate::report::text::{self, Detail};
use crate::report::wrap;
use crate::settings::RerunCommand;

/// How much the console prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// Scenarios that did not pass, and the last line.
    Quiet,
    #[default]
    Normal,
    /// Also how each failed node differs from the AMI.
    Verbose,
}

/// Prints a run for a person.
pub struct Console {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// The lines that show current work; `None` unless standard error is a terminal.
    bars: Option<Bars>,
    /// Adds colours.
    paint: fn(&str) -> String,
    /// Width of the terminal; `None` for other outputs.
    width: fn() -> Option<usize>,
    verbosity: Verbosity,
    rerun: RerunCommand,
    /// Earlier verdicts, from which the new ones may differ.
    history: Option<VerdictHistory>,
    progress: RunProgress,
    /// Lines about scenarios that did not pass, for the end of a run with several.
    not_passed: Vec<String>,
}

/// Without a terminal, a line shows current work after so much silence.
const SILENCE: Duration = Duration::from_secs(15);

impl Console {
    /// A console on this process' standard streams. Colours follow `NO_COLOR`, `CLICOLOR` and the kind of stream.
    #[must_use]
    pub fn new(verbosity: Verbosity, rerun: RerunCommand) -> Self {
        let is_shown = std::io::stderr().is_terminal() && verbosity != Verbosity::Quiet;
        let out = AutoStream::auto(std::io::stdout());
        Self {
            bars: is_shown.then(Bars::on_stderr),
            paint: paint::block,
            width: terminal_width,
            ..Self::on(out, std::io::stderr(), verbosity, rerun)
        }
    }

    /// A console without colours and without a status line.
    #[must_use]
    pub fn on(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        verbosity: Verbosity,
        rerun: RerunCommand,
    ) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            bars: None,
            paint: str::to_owned,
            width: || None,
            verbosity,
            rerun,
            history: None,
            progress: RunProgress::new(),
            not_passed: Vec::new(),
        }
    }

    /// Also prints how each verdict differs from the scenario's last one.
    #[must_use]
    pub fn compared_with(self, history: VerdictHistory) -> Self {
        Self {
            history: Some(history),
            ..self
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { scenarios, .. } => self.progress.scenarios = *scenarios,
            RunEvent::ImageWaiting { image } => {
                self.log(&format!("another process builds image {image}; waiting for it"));
                self.work(image, "built by another process");
            }
            RunEvent::ImageStarted { image, log } => {
                self.log(&format!("building image {image} (output in {log})"));
                self.work(image, "building");
            }
            RunEvent::ImageStep { image, text } => {
                if let Some(bars) = &mut self.bars {
                    bars.step(image, text);
                }
                self.work(image, text);
            }
            RunEvent::ImageDownload {
                image,
                file,
                bytes,
                total,
            } => {
                if let Some(bars) = &mut self.bars {
                    bars.download(image, file, *bytes, *total);
                }
                self.work(image, &downloaded(file, *bytes, *total));
            }
            RunEvent::ImageReady { image, seconds } => {
                self.progress.current.remove(image);
                self.progress.add_build(*seconds);
                if let Some(bars) = &mut self.bars {
                    bars.done(image);
                }
                self.log(&format!("built image {image} in {seconds:.0} s"));
            }
            RunEvent::ImageInspected { facts, .. } => {
                let line = format!("node image `{}`: {}", facts.source, facts.summary());
                if self.progress.inspected.insert(line.clone()) {
                    self.log(&line);
                }
            }
            RunEvent::ControlPlaneStarting { provider } => {
                self.work(&control_plane(provider), "starting");
            }
            RunEvent::ControlPlaneReady {
                provider,
                kubernetes,
                seconds,
                ..
            } => {
                self.progress.current.remove(&control_plane(provider));
                self.log(&format!(
                    "{provider} control plane, Kubernetes {kubernetes}, ready in {seconds:.1} s"
                ));
            }
            RunEvent::ScenarioStarted { scenario, .. } => self.work(scenario.as_str(), "booting"),
            RunEvent::PhaseReached { scenario, phase, at } => {
                let text = format!("{phase} after {:.1} s", *at as f64 / 1000.0);
                self.work(scenario.as_str(), &text);
            }
            RunEvent::Held {
                scenario,
                name,
                verdict,
                commands,
            } => {
                self.progress.current.remove(scenario.as_str());
                self.block(&text::held(name, verdict, commands));
            }
            RunEvent::ScenarioFinished { .. } => self.scenario(event),
            RunEvent::SnapshotWritten { path } => self.log(&format!("wrote {path}")),
            RunEvent::Warning { text } => self.log(&format!("warning: {text}")),
            RunEvent::Cancelling => self
                .log("cancelling: removing everything that the run created; interrupt again to exit at once"),
            RunEvent::RunFinished(summary) => self.finish(summary),
        }
    }

    /// Shows the passing of time. Call it about once a second.
    pub fn tick(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.progress.started);
        if let Some(bars) = &self.bars {
            let others = |key: &str| !bars.has(key);
            return bars.status(self.progress.line(elapsed, others));
        }
        let is_silent = now.saturating_duration_since(self.progress.printed) >= SILENCE;
        if is_silent && self.verbosity != Verbosity::Quiet && !self.progress.current.is_empty() {
            let line = self.progress.line(elapsed, |_| true);
            let _ = writeln!(self.err, "{line}");
            self.progress.printed = now;
        }
    }

    /// Removes the lines that change.
    pub fn end(&mut self) {
        if let Some(bars) = &mut self.bars {
            bars.end();
        }
    }

    /// The block of a finished scenario.
    fn scenario(&mut self, event: &RunEvent) {
        let RunEvent::ScenarioFinished {
            verdict,
            scenario,
            file,
            source,
            kept,
            evidence,
            name,
            seconds,
        } = event
        else {
            return;
        };
        self.progress.finished += 1;
        self.progress.current.remove(scenario.as_str());
        let history = self.history.as_ref();
        let changes = history.map_or_else(Vec::new, |history| history.record(scenario, verdict));
        let needs_action = matches!(verdict.outcome, Outcome::Failed | Outcome::Errored(_));
        if self.verbosity == Verbosity::Quiet && !needs_action {
            return;
        }
        let counted = format!("{}{name}", self.progress.counter());
        let detail = match self.verbosity {
            Verbosity::Verbose => Detail::Full,
            Verbosity::Quiet | Verbosity::Normal => Detail::Normal,
        };
        let mut block = text::header(verdict, *seconds, &counted) + &text::details(verdict, detail);
        changes
            .iter()
            .for_each(|change| rows::line(&mut block, "changed", change));
        if needs_action {
            let place = shown_place(scenario, file, source);
            rows::line(&mut block, "scenario", &place);
            rows::line(&mut block, "again", &(self.rerun)(scenario, file));
            self.not_passed.push(text::header(verdict, *seconds, &place));
        }
        if let Some(folder) = evidence {
            rows::line(&mut block, "evidence", &from_here(folder));
        }
        kept.iter().for_each(|line| rows::line(&mut block, "kept", line));
        self.block(&block);
    }

    fn finish(&mut self, summary: &Summary) {
        self.progress.current.clear();
        self.end();
        // A single block is still in view.
        if self.progress.finished > 1 && !self.not_passed.is_empty() {
            let lines = std::mem::take(&mut self.not_passed);
            self.print("did not pass:");
            lines.iter().for_each(|line| self.block(line));
        }
        self.print(&total(summary, self.progress.seconds_of_builds()));
        for object in &summary.left_behind {
            self.alert(&format!(
                "could not remove {object}; run `nodejoin sweep` after this process has ended"
            ));
        }
    }

    /// Notes current work, and shows it on a terminal.
    fn work(&mut self, key: &str, text: &str) {
        self.progress.current.insert(key.to_owned(), shortened(text));
        if self.bars.is_some() {
            self.tick(Instant::now());
        }
    }

    /// Prints the lines of a scenario on standard output.
    fn block(&mut self, text: &str) {
        let fitting = wrap::block(text, (self.width)());
        self.print(&(self.paint)(&fitting));
    }

    /// Prints text on standard output.
    fn print(&mut self, text: &str) {
        let out = &mut self.out;
        // A closed pipe (`| head`) must not stop the teardown.
        permanently(self.bars.as_ref(), || drop(writeln!(out, "{text}")));
        self.progress.printed = Instant::now();
    }

    /// Prints a permanent line on standard error.
    fn log(&mut self, text: &str) {
        if self.verbosity != Verbosity::Quiet {
            self.alert(text);
        }
    }

    /// Prints a permanent line on standard error, also for a quiet console.
    fn alert(&mut self, text: &str) {
        let err = &mut self.err;
        permanently(self.bars.as_ref(), || drop(writeln!(err, "{text}")));
        self.progress.printed = Instant::now();
    }
}

/// The width of the terminal on standard output, at this moment: a person may change it.
fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(width.0))
}

/// Prints permanent text, above the lines that change.
fn permanently(bars: Option<&Bars>, print: impl FnOnce()) {
    match bars {
        Some(bars) => bars.around(print),
        None => print(),
    }
}

/// The id of a scenario with its file, and the line that the verdict refers to, which can be that of a script.
fn shown_place(scenario: &ScenarioId, file: &str, source: &SourceLine) -> String {
    let line = |line: u64| format!(":{line}");
    let line = source.line.map(line).unwrap_or_default();
    if source.file == file || source.file.is_empty() {
        return format!("{scenario} ({file}{line})");
    }
    // A trial fills in values and unpacks messages: that user data is in the evidence, and in no file beside.
    if source.file.ends_with(".user-data") && !Path::new(&source.file).exists() {
        let number = source
            .line
            .map_or_else(String::new, |line| format!("line {line} of "));
        return format!("{scenario} ({file}), {number}its user data, which is in the evidence");
    }
    format!("{scenario} ({file}), at {}{line}", source.file)
}

fn control_plane(provider: &str) -> String {
    format!("{provider} control plane")
}

/// A path below the current folder, relative to it: shorter, and it can be copied.
fn from_here(path: &str) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| Path::new(path).strip_prefix(here).ok().map(Path::to_owned));
    relative.map_or_else(|| path.to_owned(), |path| path.display().to_string())
}

/// The last line of the report.
fn total(summary: &Summary, images: f64) -> String {
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
    let mut text = format!(
        "{scenarios}: {} in {:.1} s",
        text::counts(summary),
        summary.seconds
    );
    if images > 0.0 {
        text.push_str(&format!(", of which images {images:.0} s"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_user_data_that_is_in_no_file_names_none() {
        let source = |file: &str| SourceLine {
            file: file.to_owned(),
            line: Some(3),
        };
        let place = |file: &str| shown_place(&"web".parse().unwrap(), "web.sh", &source(file));
        assert_eq!(place("web.sh"), "web (web.sh:3)");
        assert_eq!(place("/x/join.sh"), "web (web.sh), at /x/join.sh:3");
        assert_eq!(
            place("/missing/web.user-data"),
            "web (web.sh), line 3 of its user data, which is in the evidence"
        );
    }

    #[test]
    fn the_last_line_counts_every_outcome() {
        let summary = Summary {
            passed: 1,
            failed: 1,
            not_run: 2,
            seconds: 18.4,
            ..Summary::default()
        };
        assert_eq!(
            total(&summary, 0.0),
            "4 scenarios: 1 passed, 1 failed, 0 errored, 0 skipped, 2 not run in 18.4 s"
        );
        let summary = Summary {
            cancelled: 1,
            seconds: 70.0,
            ..Summary::default()
        };
        assert_eq!(
            total(&summary, 61.3),
            "1 scenario: 0 passed, 0 failed, 0 errored, 0 skipped, 1 cancelled in 70.0 s, of which images 61 s"
        );
    }
}
