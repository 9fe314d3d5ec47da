//! Finds the line of the caller's files that a verdict belongs to: a line of the script if it is known, else of the
//! scenario.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::diagnosis::ScriptLocation;
use crate::judge::verdict::Verdict;
use crate::plan::sources::SourceLine;
use crate::plan::{OverlayFile, Plan};
use crate::user_data::{self, PlaceholderTypo, Script, Values};

/// The line of the script or of the scenario that a verdict belongs to.
#[must_use]
pub fn locate(plan: &Plan, verdict: &Verdict) -> SourceLine {
    let script = verdict
        .diagnosis
        .as_ref()
        .and_then(|diagnosis| diagnosis.script.as_ref());
    script
        .and_then(|location| of_script(plan, location))
        .unwrap_or_else(|| in_scenario(plan, verdict))
}

/// The names of user data that are almost one of nodejoin's and reach the node as text: a sentence each, with its
/// position.
#[must_use]
pub fn placeholder_typos(plan: &Plan) -> Vec<String> {
    let user_data = plan.user_data.as_ref();
    let bytes = user_data.and_then(|data| STANDARD.decode(&data.base64).ok());
    let typos = user_data::placeholder_typos(&bytes.unwrap_or_default(), &Values::of(plan, ""));
    let sentence = |typo: PlaceholderTypo| {
        let known = of_user_data(plan, &typo.part, Some(typo.line));
        let position = known.map_or_else(
            || format!("line {} of {}", typo.line, typo.part),
            |source| format!("{}:{}", source.file, source.line.unwrap_or_default()),
        );
        format!(
            "{position}: `{{{{ {} }}}}` reaches the node as text: did you mean `{{{{ {} }}}}`?",
            typo.name, typo.nearest
        )
    };
    typos.into_iter().map(sentence).collect()
}

/// The line of the first failed check that has one, or the file.
fn in_scenario(plan: &Plan, verdict: &Verdict) -> SourceLine {
    let mut broken = verdict.checks.iter().filter(|check| !check.held);
    SourceLine {
        file: plan.file.clone(),
        line: broken.find_map(|check| plan.sources.of_check(&check.key)),
    }
}

fn of_script(plan: &Plan, location: &ScriptLocation) -> Option<SourceLine> {
    let Some(script) = &location.script else {
        return of_nameless(plan, location.line);
    };
    of_user_data(plan, script, location.line)
        .or_else(|| of_overlay(plan, script, location.line))
        .or_else(|| caller_of(plan, script))
}

/// A trap printed a line without a script: use the overlay file that the user data calls, else the only script.
fn of_nameless(plan: &Plan, line: Option<u64>) -> Option<SourceLine> {
    let scripts = scripts(plan);
    let is_called = |path: &str| scripts.iter().any(|script| line_with(script, path).is_some());
    let called: Vec<&OverlayFile> = plan
        .image
        .added()
        .rev()
        .filter(|file| is_called(&file.to))
        .collect();
    // User data names other files as well, such as configuration.
    let program = called.iter().find(|file| file.mode & 0o111 != 0);
    if let Some(file) = program.or(called.first()) {
        return of_overlay(plan, &file.to, line);
    }
    match (plan.sources.scripts.as_slice(), plan.image.overlay.as_slice()) {
        ([only], []) => of_user_data(plan, &only.name, line),
        _ => None,
    }
}

/// cloud-init runs a part as `/var/lib/cloud/instance/scripts/part-001`; without cloud-init it runs as
/// `.../scripts/001.part-001`.
fn of_user_data(plan: &Plan, script: &str, line: Option<u64>) -> Option<SourceLine> {
    let name = file_name(script);
    let numbered = |known: &str| {
        let number = name
            .strip_suffix(known)
            .and_then(|number| number.strip_suffix('.'));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_of_user_data = !script.starts_with('/') || script.contains("/scripts/");
    let known = plan.sources.scripts.iter().find(|known| {
        let is_named = known.name == name || numbered(&known.name);
        is_of_user_data && is_named
    })?;
    let line = known.line + line.unwrap_or(1) - 1;
    let patched = known.patched.as_ref().and_then(|lines| lines.source(line));
    Some(patched.unwrap_or_else(|| SourceLine {
        file: known.file.clone(),
        line: Some(line),
    }))
}

/// The overlay file at the path that the node names, or with the file name if the node names no path. A line of a
/// patched file is a line of the patch if the patch inserted it, else of the original.
fn of_overlay(plan: &Plan, script: &str, line: Option<u64>) -> Option<SourceLine> {
    let is_it = |to: &str| to == script || (!script.contains('/') && file_name(to) == script);
    let file = plan.image.added().rev().find(|file| is_it(&file.to))?;
    let patched = file
        .patched
        .as_ref()
        .and_then(|patched| patched.lines.source(line?));
    Some(patched.unwrap_or_else(|| SourceLine {
        file: file.from.clone(),
        line,
    }))
}

/// The caller cannot change a script of the image: blame the line that calls it.
fn caller_of(plan: &Plan, script: &str) -> Option<SourceLine> {
    scripts(plan).iter().find_map(|caller| {
        let line = line_with(caller, script)?;
        of_user_data(plan, &caller.name, Some(line))
    })
}

fn line_with(script: &Script, text: &str) -> Option<u64> {
    let content = String::from_utf8_lossy(&script.content).into_owned();
    let mut lines = (1..).zip(content.lines());
    lines
        .find(|(_, line)| line.contains(text) && !line.trim_start().starts_with('#'))
        .map(|(number, _)| number)
}

fn scripts(plan: &Plan) -> Vec<Script> {
    let user_data = plan.user_data.as_ref();
    let bytes = user_data.and_then(|user_data| STANDARD.decode(&user_data.base64).ok());
    bytes.map_or(Vec::new(), |bytes| user_data::parse(&bytes).scripts())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::diagnosis::{Cause, Diagnosis};
    use crate::judge::verdict::{Check, Outcome};
    use crate::plan::sources::{LineMap, ScriptSource};
    use crate::plan::{PatchedFile, UserDataEngine, UserDataPlan};

    /// User data at line 3 of `demo.yaml` that calls the bootstrap script in its second line.
    fn plan(overlay: &[(&str, &str)]) -> Plan {
        let overlay = overlay.iter().map(|(from, to)| OverlayFile {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            mode: 0o755,
            removed: false,
            may_be_missing: false,
            patched: None,
        });
        let text = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
        let mut plan = crate::testing::plan();
        plan.image.overlay = overlay.collect();
        plan.user_data = Some(UserDataPlan {
            engine: UserDataEngine::CloudInit,
            base64: STANDARD.encode(text),
            gzip: false,
            replace: None,
            is_translated: false,
        });
        plan.sources.scripts = vec![ScriptSource {
            name: "part-001".to_owned(),
            file: "demo.yaml".to_owned(),
            line: 3,
            patched: None,
        }];
        plan.sources.expect = [
            ("", 10),
            ("node", 11),
            ("node.labels", 12),
            ("node.labels.a.b/c", 13),
        ]
        .map(|(key, line)| (key.to_owned(), line))
        .into();
        plan
    }

    fn verdict(script: Option<ScriptLocation>, broken: &[&str]) -> Verdict {
        let diagnosis = Diagnosis {
            phase: None,
            cause: Cause::ScriptFailed,
            because: String::new(),
            seen: String::new(),
            remedy: String::new(),
            script,
        };
        let checks = broken.iter().map(|key| Check {
            key: (*key).to_owned(),
            held: false,
            expected: String::new(),
            seen: String::new(),
        });
        Verdict {
            outcome: Outcome::Failed,
            phases: BTreeMap::new(),
            diagnosis: Some(diagnosis),
            checks: checks.collect(),
            notes: Vec::new(),
            node: None,
            deviations: Vec::new(),
            parts: Vec::new(),
            versions: None,
        }
    }

    fn found(plan: &Plan, script: Option<&str>, line: u64) -> String {
        let location = ScriptLocation {
            script: script.map(str::to_owned),
            line: Some(line),
        };
        shown(&locate(plan, &verdict(Some(location), &["node.labels.x"])))
    }

    fn shown(source: &SourceLine) -> String {
        format!("{}:{}", source.file, source.line.unwrap_or_default())
    }

    #[test]
    fn a_script_of_an_overlay_is_blamed_in_its_file() {
        let plan = plan(&[
            ("/src/boot.sh", "/etc/eks/bootstrap.sh"),
            ("/src/lib", "/usr/lib/x"),
        ]);
        for (script, source) in [
            (Some("/etc/eks/bootstrap.sh"), "/src/boot.sh:7"),
            (Some("bootstrap.sh"), "/src/boot.sh:7"),
            (Some("/usr/lib/x"), "/src/lib:7"),
            // Amazon's trap prints no script: use the one that the user data calls.
            (None, "/src/boot.sh:7"),
        ] {
            assert_eq!(found(&plan, script, 7), source, "{script:?}");
        }
    }

    #[test]
    fn a_line_without_a_script_is_of_a_program_that_the_user_data_names() {
        let mut plan = plan(&[
            ("/src/boot.sh", "/etc/eks/bootstrap.sh"),
            ("/src/settings", "/etc/eks/bootstrap"),
        ]);
        plan.image.overlay[1].mode = 0o644;
        assert_eq!(found(&plan, None, 7), "/src/boot.sh:7");
        plan.image.overlay[0].mode = 0o644;
        assert_eq!(found(&plan, None, 7), "/src/settings:7");
    }

    #[test]
    fn a_line_of_a_patched_file_is_the_patchs_or_the_originals() {
        let lines = lines(&[(1, "/src/boot.sh", 1), (5, "/x.patch", 6), (6, "/src/boot.sh", 5)]);
        let mut plan = plan(&[("/src/boot.sh", "/etc/eks/bootstrap.sh")]);
        plan.image.overlay[0].patched = Some(PatchedFile {
            patch: "/x.patch".to_owned(),
            content: String::new(),
            lines,
        });
        let script = Some("/etc/eks/bootstrap.sh");
        for (line, source) in [(4, "/src/boot.sh:4"), (5, "/x.patch:6"), (9, "/src/boot.sh:8")] {
            assert_eq!(found(&plan, script, line), source);
        }
    }

    #[test]
    fn a_line_of_patched_user_data_is_the_patchs_or_the_originals() {
        let mut plan = plan(&[]);
        plan.sources.scripts[0].patched = Some(lines(&[(1, "data", 1), (4, "x.patch", 6)]));
        assert_eq!(found(&plan, Some("part-001"), 1), "data:3");
        assert_eq!(found(&plan, Some("part-001"), 2), "x.patch:6");
    }

    fn lines(runs: &[(u64, &str, u64)]) -> LineMap {
        let mut lines = LineMap::default();
        for (first, file, line) in runs {
            lines.push(*first, (*file).to_owned(), *line);
        }
        lines
    }

    #[test]
    fn a_script_of_the_user_data_is_blamed_in_the_scenario() {
        let plan = plan(&[]);
        for script in [
            "/var/lib/cloud/instance/scripts/part-001",
            "/opt/nodejoin/user-data/scripts/001.part-001",
            "part-001",
        ] {
            assert_eq!(found(&plan, Some(script), 2), "demo.yaml:4", "{script}");
        }
    }

    #[test]
    fn a_script_of_the_image_is_blamed_where_it_is_called() {
        assert_eq!(
            found(&plan(&[]), Some("/etc/eks/bootstrap.sh"), 99),
            "demo.yaml:4"
        );
    }

    #[test]
    fn a_verdict_without_a_script_is_blamed_at_the_failed_check() {
        let plan = plan(&[]);
        for (broken, line) in [
            (&["node.labels.a.b/c"][..], 13),
            (&["node.labels.a.b/cc"], 12),
            (&["node.taints"], 11),
            (&["aws"], 10),
            (&[], 0),
        ] {
            let source = locate(&plan, &verdict(None, broken));
            assert_eq!(shown(&source), format!("demo.yaml:{line}"), "{broken:?}");
        }
        // The origin of this script is unknown.
        assert_eq!(found(&plan, Some("/usr/bin/other"), 1), "demo.yaml:12");
    }
}
