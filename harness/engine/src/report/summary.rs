//! The summary page of a job on GitHub, in Markdown: a row for each scenario, and an explanation for each that did not
//! pass.

use std::path::Path;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::redact::redact;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_core::run::shard::Shard;

use crate::report::text;

/// Maximum size of a step's summary on GitHub, in bytes. GitHub drops a longer one completely.
pub const LIMIT: usize = 1024 * 1024;
/// Bytes reserved for the lines that report omissions.
const RESERVE: usize = 512;
/// Maximum length of a cause in the table; the explanation has the full text.
const LONGEST: usize = 160;

/// Collects a run for one page.
#[derive(Debug, Default)]
pub struct SummaryPage {
    /// The page of the workflow's run, which links uploaded evidence.
    run_url: Option<String>,
    shard: Option<Shard>,
    control_planes: Vec<String>,
    rows: Vec<ScenarioRow>,
    summary: Option<Summary>,
}

#[derive(Debug)]
struct ScenarioRow {
    id: String,
    name: String,
    verdict: Verdict,
    seconds: f64,
    evidence: Option<String>,
}

impl SummaryPage {
    /// An empty page; names of evidence folders link to `run_url`.
    #[must_use]
    pub fn new(run_url: Option<String>) -> Self {
        Self {
            run_url,
            ..Self::default()
        }
    }

    /// Adds one event.
    pub fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { shard, .. } => self.shard = *shard,
            RunEvent::ControlPlaneReady {
                provider, kubernetes, ..
            } => self
                .control_planes
                .push(format!("{provider} control plane, Kubernetes {kubernetes}")),
            RunEvent::ScenarioFinished {
                scenario,
                name,
                verdict,
                seconds,
                evidence,
                ..
            } => self.rows.push(ScenarioRow {
                id: scenario.to_string(),
                name: name.clone(),
                verdict: (**verdict).clone(),
                seconds: *seconds,
                evidence: evidence.clone(),
            }),
            RunEvent::RunFinished(summary) => self.summary = Some(summary.clone()),
            _ => {}
        }
    }

    /// The page in Markdown with at most `room` bytes. Scenarios that did not pass come first; omissions are counted.
    #[must_use]
    pub fn to_markdown(&self, room: usize) -> String {
        let mut rows: Vec<&ScenarioRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| (rank(&row.verdict.outcome), &row.id));
        let mut page = Cut::new(self.heading(), room.saturating_sub(RESERVE));
        if !rows.is_empty() {
            page.text
                .push_str("\n| verdict | scenario | phase | cause | time | evidence |\n| --- | --- | --- | --- | ---: | --- |\n");
        }
        let lines = rows.iter().map(|row| row.line(self.run_url.as_deref()));
        let left_out = page.push_all(lines);
        page.note(left_out, "scenarios are omitted from this table");
        let details = rows.iter().filter_map(|row| row.details());
        let left_out = page.push_all(details);
        page.note(left_out, "explanations are omitted");
        page.text
    }

    fn heading(&self) -> String {
        let summary = self.summary.clone().unwrap_or_default();
        let mut about = self.control_planes.clone();
        about.extend(self.shard.map(|shard| format!("shard {shard}")));
        about.push(format!("{:.1} s", summary.seconds));
        format!(
            "## nodejoin: {}\n\n{}\n",
            text::counts(&summary),
            escaped(&about.join(" · "))
        )
    }
}

impl ScenarioRow {
    fn line(&self, run_url: Option<&str>) -> String {
        let phase = self.verdict.phases.keys().max();
        let evidence = self.evidence.as_deref().map(|folder| evidence(folder, run_url));
        format!(
            "| {} | {}<br>{} | {} | {} | {:.1} s | {} |\n",
            word(&self.verdict.outcome),
            escaped(&self.name),
            escaped(&self.id),
            phase.map(ToString::to_string).unwrap_or_default(),
            escaped(&self.cause()),
            self.seconds,
            evidence.unwrap_or_default(),
        )
    }

    /// The name of the cause if there is one, otherwise a short reason.
    fn cause(&self) -> String {
        let cause = self
            .verdict
            .diagnosis
            .as_ref()
            .map(|diagnosis| text::cause(diagnosis.cause));
        let cause = match (&self.verdict.outcome, cause) {
            (Outcome::Failed | Outcome::Passed, Some(cause)) => cause,
            (Outcome::Passed, None) => String::new(),
            _ => text::summary(&self.verdict),
        };
        shortened(&redact(&cause))
    }

    /// The text report of a failed or errored scenario, folded.
    fn details(&self) -> Option<String> {
        let shown = match self.verdict.outcome {
            Outcome::Passed | Outcome::Skipped(_) | Outcome::Cancelled => return None,
            Outcome::Failed | Outcome::Errored(_) => {
                text::scenario(&self.name, &self.verdict, self.seconds, self.evidence.as_deref())
            }
        };
        Some(format!(
            "\n<details><summary>{} {}</summary>\n\n<pre>{}</pre>\n\n</details>\n",
            word(&self.verdict.outcome),
            html(&redact(&self.name)),
            html(&redact(&shown))
        ))
    }
}

/// Text of limited size.
struct Cut {
    text: String,
    room: usize,
}

impl Cut {
    fn new(text: String, room: usize) -> Self {
        Self { text, room }
    }

    /// Appends pieces until one does not fit. Returns the number of omitted pieces.
    fn push_all(&mut self, pieces: impl Iterator<Item = String>) -> usize {
        let mut left_out = 0;
        for piece in pieces {
            if left_out == 0 && self.text.len() + piece.len() <= self.room {
                self.text.push_str(&piece);
            } else {
                left_out += 1;
            }
        }
        left_out
    }

    fn note(&mut self, left_out: usize, what: &str) {
        if left_out > 0 {
            self.text.push_str(&format!(
                "\n**{left_out} {what}**: GitHub accepts 1 MiB per step. The log has all of them.\n"
            ));
        }
    }
}

/// Sort order of outcomes: those that need action come first.
fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Failed => 0,
        Outcome::Errored(_) => 1,
        Outcome::Cancelled => 2,
        Outcome::Skipped(_) => 3,
        Outcome::Passed => 4,
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "✅ passed",
        Outcome::Failed => "❌ failed",
        Outcome::Errored(_) => "⚠️ errored",
        Outcome::Skipped(_) => "⏭️ skipped",
        Outcome::Cancelled => "⏹️ not finished",
    }
}

/// The name of the folder: the folder itself is on a machine that will be gone.
fn evidence(folder: &str, run_url: Option<&str>) -> String {
    let name = Path::new(folder)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    match run_url {
        Some(url) => format!("[{}]({url}#artifacts)", escaped(&name)),
        None => escaped(&name),
    }
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Text as it is, in a cell of a table: neither Markdown nor HTML, and on one line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in html(&redact(text)).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '#' => safe.extend(['\\', c]),
            '\n' | '\r' => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::github::tests::{failed, finished};
    use super::*;

    fn run() -> Vec<RunEvent> {
        let summary = Summary {
            passed: 1,
            failed: 1,
            skipped: 1,
            seconds: 59.14,
            ..Summary::default()
        };
        vec![
            RunEvent::RunStarted {
                run: "abcdefghij".parse().unwrap(),
                scenarios: 3,
                shard: Some("1/4".parse().unwrap()),
            },
            RunEvent::ControlPlaneReady {
                provider: "local".to_owned(),
                kubernetes: "v1.20.2".to_owned(),
                seconds: 4.1,
                parts: BTreeMap::new(),
            },
            finished("al2/joins", Outcome::Passed),
            finished("al2/k3s", Outcome::Skipped("the image\nis not there".to_owned())),
            failed("refused"),
            RunEvent::RunFinished(summary),
        ]
    }

    fn page(events: &[RunEvent], room: usize) -> String {
        let mut page = SummaryPage::new(Some("https://github.com/a/b/actions/runs/7".to_owned()));
        events.iter().for_each(|event| page.take(event));
        page.to_markdown(room)
    }

    #[test]
    fn a_page_has_a_row_for_each_scenario_and_explains_failures() {
        assert_eq!(
            page(&run(), LIMIT),
            "## nodejoin: 1 passed, 1 failed, 0 errored, 1 skipped\n\
             \n\
             local control plane, Kubernetes v1.20.2 · shard 1/4 · 59.1 s\n\
             \n\
             | verdict | scenario | phase | cause | time | evidence |\n\
             | --- | --- | --- | --- | ---: | --- |\n\
             | ❌ failed | the node of refused joins<br>refused | metadata | script-failed | 14.0 s | [refused](https://github.com/a/b/actions/runs/7#artifacts) |\n\
             | ⏭️ skipped | the node of al2/k3s joins<br>al2/k3s | metadata | the image | 14.0 s |  |\n\
             | ✅ passed | the node of al2/joins joins<br>al2/joins | metadata |  | 14.0 s |  |\n\
             \n\
             <details><summary>❌ failed the node of refused joins</summary>\n\
             \n\
             <pre>  FAIL    14.0 s  the node of refused joins (script-failed)\n        \
             booted 0.5  metadata 0.7\n        \
             stopped after `metadata`\n        \
             because   it is 100% &lt;b&gt;wrong&lt;/b&gt; | `so`\n        \
             seen      bootstrap.sh, 2.1 s: line 12\n                  \
             ::error::not ours\n                  \
             ##[error]nor this\n        \
             do        mend it\n        \
             evidence  /checkout/target/nodejoin/abc/refused</pre>\n\
             \n\
             </details>\n"
        );
    }

    #[test]
    fn a_cell_is_escaped_and_redacted() {
        assert_eq!(
            escaped("a|b <img src=x> & `c`\n![d](e) *f* _g_ \\"),
            "a\\|b &lt;img src=x&gt; &amp; \\`c\\` \\!\\[d\\](e) \\*f\\* \\_g\\_ \\\\"
        );
        assert!(!escaped(&format!("k8s-aws-v1.{}", "a".repeat(80))).contains("aaaa"));
    }

    #[test]
    fn a_page_that_is_too_long_reports_its_omissions() {
        let mut events = vec![finished("ok", Outcome::Passed)];
        events.extend((0..9000).map(|number| failed(&format!("refused/{number}"))));
        let cut = page(&events, LIMIT);
        assert!(
            cut.len() <= LIMIT && cut.len() > LIMIT - 2 * RESERVE,
            "{}",
            cut.len()
        );
        assert!(cut.contains("scenarios are omitted from this table**"));
        assert!(cut.contains("9000 explanations are omitted**: GitHub accepts 1 MiB"));
        // Without room only the counts remain.
        let cut = page(&run(), 0);
        assert!(
            cut.len() < 1024 && cut.contains("3 scenarios are omitted from this table"),
            "{cut}"
        );
    }
}
