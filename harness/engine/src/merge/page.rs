//! The page of several runs: what did not pass first, then what is flaky, then all scenarios by their time.

use std::io;
use std::path::Path;

use askama::Template;
use nodejoin_core::plan::ids::ScenarioId;

use super::{MergedRuns, MergedScenario};
use crate::page::{RunPageRow, STYLE, policy, url_path};
use crate::report::text::{self, outcome_word};

#[derive(Template)]
#[template(path = "merged.html")]
struct MergedPage<'a> {
    policy: String,
    style: &'static str,
    runs: String,
    counts: String,
    missing: String,
    flaky: Vec<(String, String)>,
    scenarios: Vec<RunPageRow<'a>>,
}

/// The page, for a file in this folder.
pub(super) fn merged(runs: &MergedRuns, folder: &Path) -> io::Result<String> {
    let mut scenarios: Vec<_> = runs.scenarios().collect();
    scenarios.sort_by(|(_, one), (_, other)| {
        let first = other.needs_action().cmp(&one.needs_action());
        first.then(other.seconds.total_cmp(&one.seconds))
    });
    let flaky = runs.flaky().into_iter();
    let page = MergedPage {
        policy: policy(),
        style: STYLE,
        runs: runs.runs().collect::<Vec<_>>().join(", "),
        counts: text::counts(&runs.summary()),
        missing: runs.missing_shards().join(", "),
        flaky: flaky.map(|(id, counts)| (id, text::counts(&counts))).collect(),
        scenarios: scenarios
            .into_iter()
            .map(|(id, one)| row(id, one, folder))
            .collect(),
    };
    page.render().map_err(io::Error::other)
}

fn row<'a>(id: &'a ScenarioId, one: &'a MergedScenario, folder: &Path) -> RunPageRow<'a> {
    RunPageRow {
        word: outcome_word(&one.outcome),
        scenario: id.as_str(),
        name: if one.name.is_empty() {
            id.as_str()
        } else {
            &one.name
        },
        seconds: format!("{:.1}", one.seconds),
        because: one.because.as_deref().unwrap_or_default(),
        link: one.page.as_deref().map(|page| link(page, folder)),
    }
}

/// A link from a page in the folder to another page.
fn link(page: &Path, folder: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (page, folder) = (absolute(page), absolute(folder));
    let below = page.strip_prefix(&folder).unwrap_or(&page);
    url_path(&below.to_string_lossy())
}
