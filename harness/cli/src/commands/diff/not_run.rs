//! What no compared machine shows of a change: statements that none was seen to run, and files that none differs by.

use std::ops::Range;
use std::path::Path;

use nodejoin_core::compare::{ChangedPlace, Group};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::sources::SourceLine;
use nodejoin_engine::{Pair, TraceLog};
use nodejoin_script::{CoverageReport, CoveredScript};

use crate::commands::coverage;
use crate::process;

/// What no machine shows of a change.
pub(super) struct Unseen {
    /// The changed statements that ran on no machine of the new version, by their first lines. Only scripts of which a
    /// statement ran are judged: bash reports none of a script for another shell, nor of one that a unit starts.
    pub(super) statements: Vec<SourceLine>,
    /// The changed places of other files that no difference is about.
    pub(super) places: Vec<SourceLine>,
}

/// What no machine shows of the change of these pairs, which differ as the groups say.
pub(super) fn unseen(pairs: &[Pair], groups: &[Group], traces: &TraceLog) -> Unseen {
    let plans: Vec<Plan> = pairs.iter().filter_map(|pair| pair.new.clone()).collect();
    let report = coverage::report(&plans, traces.take());
    let here = process::current_dir();
    let (mut statements, mut places) = (Vec::new(), Vec::new());
    let changed = pairs.iter().flat_map(|pair| {
        let places = pair.changed_places().into_iter();
        places.map(move |place| (pair, place))
    });
    for (pair, place) in changed {
        let lines = not_run_of(&place, &report, &here);
        statements.extend(lines.into_iter().map(|line| SourceLine {
            file: place.source.file.clone(),
            line: Some(line),
        }));
        let is_different = groups.iter().any(|group| differs_in(pair, &place.source, group));
        if !is_different && !is_seen(&place.source, groups, &report, &here) {
            places.push(place.source);
        }
    }
    Unseen {
        statements: sorted(statements),
        places: sorted(places),
    }
}

fn sorted(mut lines: Vec<SourceLine>) -> Vec<SourceLine> {
    lines.sort_by_key(|line| (line.file.clone(), line.line));
    lines.dedup();
    lines
}

/// Whether a group has a difference of the file where the overlay lays it down. Of several places that explain a
/// difference, a group names only the likeliest.
fn differs_in(pair: &Pair, place: &SourceLine, group: &Group) -> bool {
    let overlay = pair.new.iter().flat_map(|plan| &plan.image.overlay);
    let mut parts = overlay
        .filter(|file| file.from == place.file)
        .map(|file| format!("file {}", file.to));
    parts.any(|part| group.differences.iter().any(|difference| difference.part == part))
}

/// Whether a statement of the file ran, or a group names the file.
fn is_seen(place: &SourceLine, groups: &[Group], report: &CoverageReport, here: &Path) -> bool {
    let name = shown_name(place, here);
    let mut changed = groups.iter().flat_map(|group| &group.changed);
    report.scripts.iter().any(|script| script.name == name) || changed.any(|line| line.file == place.file)
}

/// The name of the file in a report of coverage.
fn shown_name(place: &SourceLine, here: &Path) -> String {
    let file = Path::new(&place.file);
    file.strip_prefix(here).unwrap_or(file).display().to_string()
}

fn not_run_of(place: &ChangedPlace, report: &CoverageReport, here: &Path) -> Vec<u64> {
    let file = Path::new(&place.source.file);
    let name = shown_name(&place.source, here);
    let changed = place.new_lines();
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let scripts = report.scripts.iter();
    let scripts = scripts.filter(|script| script.name == name && has_lines_of(script, &text, &changed));
    let statements = scripts.flat_map(|script| script.statements_in(&changed));
    let never = statements.filter(|(_, count)| *count == 0);
    never.map(|(line, _)| line).collect()
}

/// Whether a script has these lines as its file has them. User data of the old version has the same name, and other
/// lines; a line with a value of the scenario is another one on the node, and says nothing here.
fn has_lines_of(script: &CoveredScript, file: &str, lines: &Range<u64>) -> bool {
    let line_of = |text: &str, line: u64| -> Option<String> {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        text.lines().nth(index).map(|line| line.trim().to_owned())
    };
    lines.clone().all(|line| {
        let on_node = line.checked_sub(script.offset);
        let on_node = on_node.and_then(|line| line_of(&script.text, line));
        on_node.is_some() && on_node == line_of(file, line)
    })
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::OverlayFile;
    use nodejoin_core::testing::plan;
    use nodejoin_script::{ParsedScript, coverage};

    use super::*;

    const NEW: &str = "#!/bin/bash\necho always\nif [ -e /x ]; then\n  echo never\nfi\necho \\\n  more\n";

    fn not_run(old: &str, commands: &[(u64, &str, u64)]) -> Vec<u64> {
        not_run_of_script(old, NEW, commands)
    }

    fn not_run_of_script(old: &str, on_node: &str, commands: &[(u64, &str, u64)]) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let with = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            let mut plan = plan();
            plan.image.overlay = vec![OverlayFile {
                from: file.display().to_string(),
                to: "/usr/bin/pool".to_owned(),
                mode: 0o755,
                removed: false,
                may_be_missing: false,
                patched: None,
            }];
            plan
        };
        let pair = Pair {
            id: plan().id,
            world: None,
            old: Some(with("old", old)),
            new: Some(with("new", NEW)),
            inputs: Default::default(),
            blessed: None,
        };
        let places = pair.changed_places();
        let mut report = CoverageReport::default();
        let covered = coverage(&ParsedScript::of(on_node), commands.iter().copied());
        report.add("a", "new", 0, on_node, covered);
        not_run_of(&places[0], &report, folder.path())
    }

    #[test]
    fn a_changed_statement_that_ran_in_no_world_is_found_if_its_script_ran() {
        let ran = [(2, "echo always", 1), (6, "echo more", 1)];
        assert_eq!(not_run(&NEW.replace("never", "ever"), &ran), [4]);
        assert_eq!(not_run(&NEW.replace("never", "ever"), &[]), [0_u64; 0]);
        assert_eq!(not_run(&NEW.replace("always", "often"), &ran), [0_u64; 0]);
        assert_eq!(not_run(&NEW.replace("  more", "  less"), &ran), [0_u64; 0]);
        assert_eq!(not_run(&NEW.replace("bash", "bash -e"), &ran), [0_u64; 0]);
        // What the old version did not run says nothing about the new one.
        let old = NEW.replace("never", "ever");
        assert_eq!(not_run_of_script(&old, &old, &ran), [0_u64; 0]);
    }

    #[test]
    fn a_changed_file_that_differs_on_the_node_is_seen_although_no_group_names_its_line() {
        let mut plan = plan();
        plan.image.overlay = vec![OverlayFile {
            from: "/here/kubelet.json".to_owned(),
            to: "/etc/kubelet.json".to_owned(),
            mode: 0o644,
            removed: false,
            may_be_missing: false,
            patched: None,
        }];
        let pair = Pair {
            id: plan.id.clone(),
            world: None,
            old: None,
            new: Some(plan),
            inputs: Default::default(),
            blessed: None,
        };
        let group = |part: &str| Group {
            id: "0123456789".to_owned(),
            differences: vec![
                serde_json::from_value(serde_json::json!({"part": part, "lines": []})).unwrap(),
            ],
            scenarios: Vec::new(),
            only_with: None,
            in_all: false,
            changed: Vec::new(),
            follows: Vec::new(),
        };
        let place = SourceLine {
            file: "/here/kubelet.json".to_owned(),
            line: Some(3),
        };
        assert!(differs_in(&pair, &place, &group("file /etc/kubelet.json")));
        assert!(!differs_in(&pair, &place, &group("file /etc/other.json")));
    }

    #[test]
    fn a_changed_file_that_nothing_differs_by_is_found() {
        let place = SourceLine {
            file: "/here/providers.json".to_owned(),
            line: Some(3),
        };
        let (report, here) = (CoverageReport::default(), Path::new("/here"));
        assert!(!is_seen(&place, &[], &report, here));
        let group = Group {
            id: "0123456789".to_owned(),
            differences: Vec::new(),
            scenarios: Vec::new(),
            only_with: None,
            in_all: false,
            changed: vec![place.clone()],
            follows: Vec::new(),
        };
        assert!(is_seen(&place, &[group], &report, here));
        let mut ran = CoverageReport::default();
        let covered = coverage(&ParsedScript::of(NEW), [(2, "echo always", 1)]);
        ran.add("a", "providers.json", 0, NEW, covered);
        assert!(is_seen(&place, &[], &ran, here));
    }
}
