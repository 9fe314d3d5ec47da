//! The changed statements of scripts that no compared machine was seen to run.

use std::ops::Range;
use std::path::Path;

use nodejoin_core::compare::ChangedPlace;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::sources::SourceLine;
use nodejoin_engine::{Pair, TraceLog};
use nodejoin_script::{CoverageReport, CoveredScript};

use crate::commands::coverage;
use crate::process;

/// The changed statements that ran on no machine of the new version, by their first lines. Only scripts of which a
/// statement ran are judged: bash reports none of a script for another shell, nor of one that a unit starts.
pub(super) fn not_run(pairs: &[Pair], traces: &TraceLog) -> Vec<SourceLine> {
    let plans: Vec<Plan> = pairs.iter().filter_map(|pair| pair.new.clone()).collect();
    let report = coverage::report(&plans, traces.take());
    let here = process::current_dir();
    let mut found: Vec<SourceLine> = Vec::new();
    for place in pairs.iter().flat_map(Pair::changed_places) {
        let lines = not_run_of(&place, &report, &here);
        found.extend(lines.into_iter().map(|line| SourceLine {
            file: place.source.file.clone(),
            line: Some(line),
        }));
    }
    found.sort_by_key(|line| (line.file.clone(), line.line));
    found.dedup();
    found
}

fn not_run_of(place: &ChangedPlace, report: &CoverageReport, here: &Path) -> Vec<u64> {
    let file = Path::new(&place.source.file);
    let name = file.strip_prefix(here).unwrap_or(file).display().to_string();
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
}
