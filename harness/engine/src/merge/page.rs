//! The page of several runs: what did not pass first, then what is flaky, then all scenarios by their time.

use std::io;
use std::path::Path;

use askama::Template;
use nodejoin_core::plan::ids::ScenarioId;

use super::runs::{MergedRuns, MergedScenario};
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

impl MergedRuns {
    /// One page, with links to the evidence relative to its folder where that is above the evidence.
    ///
    /// # Errors
    /// When the template cannot be rendered.
    pub fn to_page(&self, folder: &Path) -> io::Result<String> {
        let mut scenarios: Vec<_> = self.scenarios().collect();
        scenarios.sort_by(|(_, one), (_, other)| {
            let first = other.needs_action().cmp(&one.needs_action());
            first.then(other.seconds.total_cmp(&one.seconds))
        });
        let flaky = self.flaky().into_iter();
        let page = MergedPage {
            policy: policy(),
            style: STYLE,
            runs: self.runs().collect::<Vec<_>>().join(", "),
            counts: text::counts(&self.summary()),
            missing: self.missing_shards().join(", "),
            flaky: flaky.map(|(id, counts)| (id, text::counts(&counts))).collect(),
            scenarios: scenarios
                .into_iter()
                .map(|(id, one)| row(id, one, folder))
                .collect(),
        };
        page.render().map_err(io::Error::other)
    }
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
