//! The reports that the command line and the environment ask for, all fed from the one stream of events.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::report::console::Console;
use nodejoin_engine::report::github::{self, Checkout};
use nodejoin_engine::report::junit::Junit;
use nodejoin_engine::report::outputs;
use nodejoin_engine::report::summary::{LIMIT, Page};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::{Format, Run};
use crate::edge;

/// What GitHub Actions tells a step by its environment.
pub(crate) struct Github {
    is_on: bool,
    checkout: Checkout,
    step_summary: Option<PathBuf>,
    run_url: Option<String>,
}

impl Github {
    /// Read from a look-up of environment variables.
    pub(crate) fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let folder = edge::here();
        let run_url = || {
            let (server, repository) = (given("GITHUB_SERVER_URL")?, given("GITHUB_REPOSITORY")?);
            Some(format!(
                "{server}/{repository}/actions/runs/{}",
                given("GITHUB_RUN_ID")?
            ))
        };
        Self {
            is_on: given("GITHUB_ACTIONS").as_deref() == Some("true"),
            checkout: Checkout {
                workspace: given("GITHUB_WORKSPACE").map_or_else(|| folder.clone(), PathBuf::from),
                folder,
            },
            step_summary: given("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            run_url: run_url(),
        }
    }

    /// What is printed: what was asked for, else what this place reads best.
    fn format(&self, asked: Option<Format>) -> Format {
        let usual = if self.is_on { Format::Github } else { Format::Text };
        asked.unwrap_or(usual)
    }

    /// Where refused scenarios are annotated; `None` where they are not.
    pub(crate) fn annotates(&self, asked: Option<Format>) -> Option<&Checkout> {
        (self.format(asked) == Format::Github).then_some(&self.checkout)
    }
}

/// All reports of a run.
pub(crate) struct Reports {
    format: Format,
    console: Console,
    checkout: Checkout,
    junit: Option<(PathBuf, Junit)>,
    page: Option<(PageFile, Page)>,
    outputs: Option<PathBuf>,
}

enum PageFile {
    /// Written anew.
    Own(PathBuf),
    /// A file of the step, in which more may stand.
    Step(PathBuf),
}

impl Reports {
    /// Those that were asked for.
    pub(crate) fn new(args: &Run, github: &Github) -> Self {
        let own = args.summary.clone().map(PageFile::Own);
        let page = own.or_else(|| github.step_summary.clone().map(PageFile::Step));
        Self {
            format: github.format(args.format),
            console: Console::new(),
            checkout: github.checkout.clone(),
            junit: args.junit.clone().map(|file| (file, Junit::new())),
            page: page.map(|file| (file, Page::new(github.run_url.clone()))),
            outputs: args.outputs.clone(),
        }
    }

    /// Feeds every report until the stream ends, and writes the files.
    pub(crate) async fn follow(mut self, mut stream: UnboundedReceiver<RunEvent>) -> Result<(), ExitCode> {
        let mut counts = String::new();
        while let Some(event) = stream.recv().await {
            self.show(&event);
            if let Some((_, junit)) = &mut self.junit {
                junit.take(&event);
            }
            if let Some((_, page)) = &mut self.page {
                page.take(&event);
            }
            counts.extend(outputs::event(&event));
        }
        self.write(&counts)
    }

    fn show(&mut self, event: &RunEvent) {
        match self.format {
            Format::Text => self.console.show(event),
            Format::Json => print_json(event),
            Format::Github => match github::event(event, &self.checkout) {
                Some(text) => edge::print(format_args!("{text}")),
                None => self.console.show(event),
            },
        }
    }

    /// Each file is tried: one that cannot be written takes no other with it.
    fn write(self, counts: &str) -> Result<(), ExitCode> {
        let junit = self.junit.map(|(file, junit)| {
            let xml = junit.to_xml().map_err(io::Error::other);
            written(&file, xml.and_then(|xml| write_anew(&file, &xml)))
        });
        let page = self.page.map(|(file, page)| match file {
            PageFile::Own(path) => written(&path, write_anew(&path, &page.to_markdown(LIMIT))),
            PageFile::Step(path) => written(&path, add_page(&path, &page)),
        });
        let outputs = self.outputs.map(|file| written(&file, add(&file, counts)));
        [junit, page, outputs]
            .into_iter()
            .flatten()
            .fold(Ok(()), Result::and)
    }
}

fn print_json(event: &RunEvent) {
    if let Ok(line) = serde_json::to_string(event) {
        edge::print(format_args!("{line}"));
    }
}

fn written(file: &Path, result: io::Result<()>) -> Result<(), ExitCode> {
    result.map_err(|error| {
        edge::complain(&format!("could not write `{}`", file.display()), &error, None);
        ExitCode::Environment
    })
}

fn write_anew(file: &Path, text: &str) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(file, text)
}

/// GitHub counts all that a step writes to its page.
fn add_page(file: &Path, page: &Page) -> io::Result<()> {
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
    fn what_is_printed_is_what_was_asked_for_or_what_reads_best_there() {
        let there = github(&[("GITHUB_ACTIONS", "true")]);
        let elsewhere = github(&[("GITHUB_ACTIONS", "")]);
        assert_eq!(there.format(None), Format::Github);
        assert_eq!(there.format(Some(Format::Json)), Format::Json);
        assert_eq!(elsewhere.format(None), Format::Text);
        assert!(there.annotates(Some(Format::Text)).is_none());
        assert!(elsewhere.annotates(Some(Format::Github)).is_some());
    }

    #[test]
    fn the_page_of_the_run_needs_all_three_words() {
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
