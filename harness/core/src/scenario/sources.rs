//! Positions of expectations and scripts in the files of a scenario.

use std::collections::BTreeMap;

use crate::input::yaml::{YamlTree, YamlValue};
use crate::plan::sources::{LineMap, ScriptSource};
use crate::user_data::parse;

/// The lines of all keys below `expect`, by path.
pub(super) fn expectations(scenario: &YamlTree) -> BTreeMap<String, u64> {
    let mut lines = BTreeMap::new();
    if let Some(expect) = scenario.entry("expect") {
        lines.insert(String::new(), expect.position.line);
        below(&expect.tree, "", &mut lines);
    }
    if let Some(then) = scenario.entry("then") {
        steps(&then.tree, &mut lines);
    }
    lines
}

/// Keys of a step have its index as a prefix: `then[0].phase`.
fn steps(then: &YamlTree, lines: &mut BTreeMap<String, u64>) {
    let YamlValue::List(items) = &then.value else {
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let key = format!("then[{index}]");
        lines.insert(key.clone(), item.position.line);
        if let Some(expect) = item.entry("expect") {
            below(&expect.tree, &key, lines);
        }
    }
}

fn below(tree: &YamlTree, path: &str, lines: &mut BTreeMap<String, u64>) {
    let mut add = |path: String, line: u64, tree: &YamlTree| {
        below(tree, &path, lines);
        lines.insert(path, line);
    };
    match &tree.value {
        YamlValue::Map(entries) => entries
            .iter()
            .for_each(|entry| add(joined(path, &entry.key), entry.position.line, &entry.tree)),
        YamlValue::List(items) => (0..).zip(items).for_each(|(index, item): (usize, _)| {
            // Checks refer to list items by text or by index.
            if let YamlValue::Text(text) = &item.value {
                add(joined(path, text), item.position.line, item);
            }
            add(format!("{path}[{index}]"), item.position.line, item);
        }),
        _ => {}
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// A source file of user data.
pub(super) struct Text {
    pub(super) file: String,
    pub(super) text: String,
    /// Maps lines of `text` to the file and its patch, if there is one.
    pub(super) patched: Option<LineMap>,
}

/// Finds the scripts of user data in its source texts.
///
/// Searches for complete runs of lines, which covers YAML blocks, MIME messages and plain files alike. Encoded
/// scripts are not found.
pub(super) fn scripts(user_data: &[u8], texts: &[Text]) -> Vec<ScriptSource> {
    let mut found: Vec<ScriptSource> = Vec::new();
    for script in parse(user_data).parts {
        let content = String::from_utf8_lossy(&script.content).into_owned();
        let lines: Vec<&str> = content.trim_end().lines().map(str::trim).collect();
        let is_taken = |text: &Text, line: u64| {
            let mut others = found.iter();
            others.any(|one| one.file == text.file && one.patched == text.patched && one.line == line)
        };
        let start = texts
            .iter()
            .flat_map(|text| starts_in(text, &lines))
            .find(|(text, line)| !is_taken(text, *line));
        if let Some((text, line)) = start {
            found.push(ScriptSource {
                name: script.name,
                file: text.file.clone(),
                line,
                patched: text.patched.clone(),
            });
        }
    }
    found
}

/// The lines of a text at which the given lines start.
fn starts_in<'t>(text: &'t Text, wanted: &[&str]) -> Vec<(&'t Text, u64)> {
    let all: Vec<&str> = text.text.lines().map(str::trim).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let starts = (1..).zip(all.windows(wanted.len()));
    starts
        .filter(|(_, window)| *window == wanted)
        .map(|(line, _)| (text, line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::yaml;

    #[test]
    fn every_expectation_has_its_line() {
        let text = "name: x\nexpect:\n  phase: ready\n  node:\n    labels: { a.b/c: d }\n  kubelet:\n    argv:\n      - --x=1\n  certificates:\n    - signer: s\nthen:\n  - do: reboot\n    expect:\n      phase: ready\n";
        let lines = expectations(&yaml::parse(text).unwrap());
        for (path, line) in [
            ("", 2),
            ("phase", 3),
            ("node", 4),
            ("node.labels.a.b/c", 5),
            ("kubelet.argv.--x=1", 8),
            ("kubelet.argv[0]", 8),
            ("certificates[0].signer", 10),
            ("then[0]", 12),
            ("then[0].phase", 14),
        ] {
            assert_eq!(lines.get(path), Some(&line), "{path}");
        }
        assert!(expectations(&yaml::parse("name: x\n").unwrap()).is_empty());
    }

    #[test]
    fn scripts_are_found_in_blocks_files_and_messages() {
        let mime = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho 1\n--b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho 1\n--b--\n";
        let block = "name: x\nuser_data: |\n  #!/bin/sh\n  echo 1\n";
        for (user_data, text, lines) in [
            ("#!/bin/sh\necho 1\n", block, vec![3]),
            ("#!/bin/sh\necho 1\n", "#!/bin/sh\necho 1\n", vec![1]),
            (mime, mime, vec![7, 12]),
            (
                "#!/bin/sh\necho 1\n",
                "user_data: \"#!/bin/sh\\necho 1\"\n",
                vec![],
            ),
        ] {
            let text = Text {
                file: "f".to_owned(),
                text: text.to_owned(),
                patched: None,
            };
            let found: Vec<u64> = scripts(user_data.as_bytes(), &[text])
                .iter()
                .map(|script| script.line)
                .collect();
            assert_eq!(found, lines, "{user_data}");
        }
    }
}
