//! The reports that the command line and the environment request, all written from the one stream of events.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nodejoin_core::run::env;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::RerunCommand;
use nodejoin_engine::report::console::Console;
use nodejoin_engine::report::github::{self, Checkout};
use nodejoin_engine::report::history::VerdictHistory;
use nodejoin_engine::report::junit::Junit;
use nodejoin_engine::report::outputs;
use nodejoin_engine::report::summary::{LIMIT, SummaryPage};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::last_run::LastRunFile;
use crate::process;
use crate::run_args::{Format, RunOptions};

/// The environment of a step of GitHub Actions.
pub(crate) struct Github {
    is_on: bool,
    checkout: Checkout,
    step_summary: Option<PathBuf>,
    run_url: Option<String>,
}

impl Github {
    /// Reads environment variables by `lookup`.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let folder = process::current_dir();
        let run_url = || {
            let (server, repository) = (
                given(env::GITHUB_SERVER_URL.name)?,
                given(env::GITHUB_REPOSITORY.name)?,
            );
            Some(format!(
                "{server}/{repository}/actions/runs/{}",
                given(env::GITHUB_RUN_ID.name)?
            ))
        };
        Self {
            is_on: given(env::GITHUB_ACTIONS.name).as_deref() == Some("true"),
            checkout: Checkout {
                workspace: given(env::GITHUB_WORKSPACE.name).map_or_else(|| folder.clone(), PathBuf::from),
                folder,
            },
            step_summary: given(env::GITHUB_STEP_SUMMARY.name).map(PathBuf::from),
            run_url: run_url(),
        }
    }

    /// The requested format, or the default of this environment.
    fn format(&self, requested: Option<Format>) -> Format {
        let default = if self.is_on { Format::Github } else { Format::Text };
        requested.unwrap_or(default)
    }

    /// The checkout in which refused scenarios are annotated; `None` for other formats.
    pub(crate) fn annotates(&self, requested: Option<Format>) -> Option<&Checkout> {
        (self.format(requested) == Format::Github).then_some(&self.checkout)
    }
}

/// All reports of a run.
pub(crate) struct Reports {
    format: Format,
    console: Console,
    checkout: Checkout,
    junit: Option<(PathBuf, Junit)>,
    page: Option<(PageFile, SummaryPage)>,
    outputs: Option<PathBuf>,
    last_run: Option<LastRunFile>,
}

enum PageFile {
    /// Overwritten.
    Own(PathBuf),
    /// The step's file, which can have text already.
    Step(PathBuf),
}

impl Reports {
    /// The reports that the command line and the environment request.
    pub(crate) fn new(
        args: &RunOptions,
        github: &Github,
        last_run: Option<LastRunFile>,
        rerun: RerunCommand,
    ) -> Self {
        let own = args.summary.clone().map(PageFile::Own);
        let page = own.or_else(|| github.step_summary.clone().map(PageFile::Step));
        Self {
            format: github.format(args.format),
            console: Console::new(args.verbosity(), rerun),
            checkout: github.checkout.clone(),
            junit: args.junit.clone().map(|file| (file, Junit::new())),
            page: page.map(|file| (file, SummaryPage::new(github.run_url.clone()))),
            outputs: args.outputs.clone(),
            last_run,
        }
    }

    /// The reports, which also print how each verdict differs from the last one of its scenario.
    pub(crate) fn compared_with(self, history: VerdictHistory) -> Self {
        Self {
            console: self.console.compared_with(history),
            ..self
        }
    }

    /// Passes each event to all reports until the stream ends, then writes the files.
    pub(crate) async fn follow(mut self, mut stream: UnboundedReceiver<RunEvent>) -> Result<(), ExitCode> {
        let mut counts = String::new();
        let mut second = tokio::time::interval(Duration::from_secs(1));
        loop {
            let event = tokio::select! {
                event = stream.recv() => event,
                _ = second.tick() => {
                    self.tick();
                    continue;
                }
            };
            let Some(event) = event else { break };
            self.show(&event);
            if let Some((_, junit)) = &mut self.junit {
                junit.take(&event);
            }
            if let Some((_, page)) = &mut self.page {
                page.take(&event);
            }
            if let Some(last_run) = &mut self.last_run {
                last_run.take(&event);
            }
            counts.extend(outputs::event(&event));
        }
        self.write(&counts)
    }

    fn tick(&mut self) {
        match self.format {
            Format::Text | Format::Github => self.console.tick(Instant::now()),
            Format::Json => {}
        }
    }

    fn show(&mut self, event: &RunEvent) {
        match self.format {
            Format::Text => self.console.show(event),
            Format::Json => print_json(event),
            Format::Github => match github::event(event, &self.checkout) {
                Some(text) => process::print(format_args!("{text}")),
                None => self.console.show(event),
            },
        }
    }

    /// Tries every file, even after one could not be written.
    fn write(self, counts: &str) -> Result<(), ExitCode> {
        let junit = self.junit.map(|(file, junit)| {
            let xml = junit.to_xml().map_err(io::Error::other);
            report_write(&file, xml.and_then(|xml| overwrite(&file, &xml)))
        });
        let page = self.page.map(|(file, page)| match file {
            PageFile::Own(path) => report_write(&path, overwrite(&path, &page.to_markdown(LIMIT))),
            PageFile::Step(path) => report_write(&path, add_page(&path, &page)),
        });
        let outputs = self.outputs.map(|file| report_write(&file, add(&file, counts)));
        let last_run = self.last_run.map(|file| report_write(&file.path(), file.write()));
        [junit, page, outputs, last_run]
            .into_iter()
            .flatten()
            .fold(Ok(()), Result::and)
    }
}

fn print_json(event: &RunEvent) {
    if let Ok(line) = serde_json::to_string(event) {
        process::print(format_args!("{line}"));
    }
}

fn report_write(file: &Path, result: io::Result<()>) -> Result<(), ExitCode> {
    result.map_err(|error| {
        process::report_error(&format!("could not write `{}`", file.display()), &error, None);
        ExitCode::Environment
    })
}

fn overwrite(file: &Path, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(file, text)
}

/// GitHub limits the size of a step's whole page.
fn add_page(file: &Path, page: &SummaryPage) -> io::Result<()> {
    let used = fs::metadata(file).map_or(0, |found| found.len());
    let room = LIMIT.saturating_sub(usize::try_from(used).unwrap_or(LIMIT));
    add(file, &page.to_markdown(room))
}

fn add(file: &Path, text: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(file)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn github(variables: &[(&str, &str)]) -> Github {
        Github::from_lookup(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_default_format_is_github_in_a_workflow_and_text_elsewhere() {
        let workflow = github(&[("GITHUB_ACTIONS", "true")]);
        let terminal = github(&[("GITHUB_ACTIONS", "")]);
        assert_eq!(workflow.format(None), Format::Github);
        assert_eq!(workflow.format(Some(Format::Json)), Format::Json);
        assert_eq!(terminal.format(None), Format::Text);
        assert!(workflow.annotates(Some(Format::Text)).is_none());
        assert!(terminal.annotates(Some(Format::Github)).is_some());
    }

    #[test]
    fn the_url_of_the_run_needs_all_three_variables() {
        let all = [
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "a/b"),
            ("GITHUB_RUN_ID", "7"),
        ];
        assert_eq!(
            github(&all).run_url.as_deref(),
            Some("https://github.com/a/b/actions/runs/7")
        );
        assert_eq!(github(&all[..2]).run_url, None);
    }
}
