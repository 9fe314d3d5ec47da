//! Files of no known tool that contain user data: where it is in a document, and the kind of a text that only mentions
//! the programs by which nodes join.

use nodejoin_core::run::shell::quoted;

use crate::error::ImportError;
use crate::here_document::HereDocument;
use crate::text;
use crate::tree::{Tree, TreeValue};

/// The program that prints one text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Printer {
    Jq,
    Yq,
}

/// A text in a document.
struct TextInside<'t> {
    line: Option<usize>,
    /// As jq writes it.
    path: String,
    text: &'t str,
}

/// The error for documents of an unknown tool with user data in them; `None` without user data.
pub(crate) fn inside(documents: &[Tree], printer: Printer, name: &str) -> Option<ImportError> {
    let mut found = Vec::new();
    for document in documents {
        add_texts(document, "", &mut found);
    }
    let TextInside {
        line,
        path: first,
        text,
    } = found.first()?;
    if let Some(end) = end_of_user_data(text) {
        return Some(ImportError::UserDataElsewhere {
            line: *line,
            owner: format!("the commands at `{first}`"),
            place: format!("their here-document up to `{end}`"),
            hint: format!("give what stands between `<<{end}` and `{end}`"),
        });
    }
    let program = match printer {
        Printer::Jq => "jq",
        Printer::Yq => "yq",
    };
    // Each program of this name prints `null` for a document without the path.
    let filter = match documents.len() {
        0 | 1 => first.clone(),
        _ => format!("{first} | select(. != null)"),
    };
    Some(ImportError::UserDataInside {
        line: *line,
        paths: found.iter().map(|one| one.path.clone()).collect(),
        command: format!(
            "{program} -r {} {} | nodejoin try -",
            quoted(&filter),
            quoted(name)
        ),
    })
}

/// The error for a file of a known tool without a machine. It names the user data of a resource that its reader leaves
/// out.
pub(crate) fn with_place(error: ImportError, document: &Tree, printer: Printer, name: &str) -> ImportError {
    let ImportError::NoMachine { format, .. } = &error else {
        return error;
    };
    let Some(ImportError::UserDataInside { line, paths, command }) =
        inside(std::slice::from_ref(document), printer, name)
    else {
        return error;
    };
    let path = paths.first().map(String::as_str).unwrap_or_default();
    let place = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    // yq does not know a function in its short form as a key.
    let has_functions = printer == Printer::Yq && path.contains("[\"Fn::");
    ImportError::NoMachine {
        format: format.clone(),
        why: format!(
            "no resource of it starts machines with user data that nodejoin reads; a text like user data is at `{path}`{place}"
        ),
        hint: match has_functions {
            true => "give that text as a file of its own, with values in place of names of the template"
                .to_owned(),
            false => format!("give that text alone: `{command}`"),
        },
    }
}

fn add_texts<'t>(tree: &'t Tree, path: &str, found: &mut Vec<TextInside<'t>>) {
    match &tree.value {
        TreeValue::Scalar { text, .. } => {
            if is_user_data(text) {
                found.push(TextInside {
                    line: tree.line(),
                    path: path.to_owned(),
                    text,
                });
            }
        }
        TreeValue::List(items) => {
            let begin = if path.is_empty() { "." } else { "" };
            for (index, item) in items.iter().enumerate() {
                add_texts(item, &format!("{path}{begin}[{index}]"), found);
            }
        }
        TreeValue::Map(entries) => {
            for (key, value) in entries {
                add_texts(value, &format!("{path}{}", key_step(key, path)), found);
            }
        }
    }
}

/// The step of jq and yq to a key.
fn key_step(key: &str, path: &str) -> String {
    let is_plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begin = if path.is_empty() { "." } else { "" };
    match is_plain {
        true => format!(".{key}"),
        false => format!("{begin}[{}]", serde_json::Value::from(key)),
    }
}

/// Whether a value is user data, or its base64.
fn is_user_data(text: &str) -> bool {
    let is_script = |text: &str| text::format(text).is_some() || text::joins(text);
    is_script(text)
        || text::decoded(text.as_bytes())
            .is_some_and(|decoded| std::str::from_utf8(&decoded).is_ok_and(is_script))
}

/// The word that ends the user data in a text of commands, such as a step of a workflow: a here-document of them is
/// user data, which they give to a tool, and they themselves run no program that joins.
fn end_of_user_data(text: &str) -> Option<String> {
    const USES: [&str; 4] = [
        "--user-data",
        "launch-configuration",
        "launch-template",
        "run-instances",
    ];
    if text::format(text).is_some() {
        return None;
    }
    let (mut outside, mut body) = (String::new(), String::new());
    let (mut document, mut end): (Option<HereDocument>, Option<String>) = (None, None);
    for line in text.lines() {
        match &document {
            Some(begun) if line.trim() == begun.end => {
                end = end.or_else(|| is_user_data(&body).then(|| begun.end.clone()));
                body.clear();
                document = None;
            }
            Some(_) => body.push_str(&format!("{line}\n")),
            None => {
                outside.push_str(&format!("{line}\n"));
                document = HereDocument::begun(line);
            }
        }
    }
    let is_given = USES.iter().any(|word| outside.contains(word));
    end.filter(|_| is_given && !text::joins(&outside))
}

/// The kind of a text that is not a script, with its article, and the line that shows it.
pub(crate) fn kind(text: &str) -> Option<(&'static str, usize)> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let line =
        |is_match: &dyn Fn(&str) -> bool| lines.iter().position(|line| is_match(line)).map(|at| at + 1);
    let first = lines.iter().position(|line| !line.trim().is_empty())?;
    let begin = lines[first].trim_start();
    if begin.starts_with('<') {
        return Some(("XML or HTML", first + 1));
    }
    if is_console(begin) {
        return Some(("the output of a console", first + 1));
    }
    if let Some(at) = line(&|line| line.trim_start().starts_with("```")) {
        return Some(("Markdown", at));
    }
    if let Some(at) = line(&|line| line.starts_with("@@ -")) {
        return Some(("a patch", at));
    }
    if let Some(at) = line(&|line| line.starts_with("FROM ")) {
        return Some(("a Dockerfile", at));
    }
    if let Some(at) = line(&|line| line == "pipeline {" || line.starts_with("pipeline {")) {
        return Some(("a pipeline of Jenkins", at));
    }
    if let Some(at) = line(&is_block) {
        return Some(("HCL", at));
    }
    if line(&|line| line.trim() == "end").is_some()
        && let Some(at) = line(&|line| line.ends_with(" do"))
    {
        return Some(("Ruby", at));
    }
    if let Some(at) = recipe(&lines) {
        return Some(("a Makefile", at));
    }
    around_script(&lines).map(|at| ("a text around a script", at))
}

/// The error for commands of a shell that hand manifests to a tool, such as `kubectl apply -f - <<EOF`.
pub(crate) fn around_manifests(text: &str) -> Option<ImportError> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("apiVersion:"))?;
    // A script of a node writes its NodeConfig so.
    if lines[first].contains("node.eks.aws/") {
        return None;
    }
    let before = lines[..first].iter().enumerate();
    let mut begun = before.filter_map(|(at, line)| Some((at, HereDocument::begun(line)?)));
    let (at, document) = begun.next_back()?;
    let has_ended = lines[at + 1..first]
        .iter()
        .any(|line| line.trim() == document.end);
    (!has_ended).then(|| ImportError::Invalid {
        line: Some(at + 1),
        column: None,
        problem: "a script that hands manifests to a tool, not a file with manifests".to_owned(),
        hint: format!(
            "give what stands between `<<{end}` and `{end}`",
            end = document.end
        ),
    })
}

/// Whether a line has the time of the kernel's log, such as `[   12.345678] cloud-init[812]:`.
pub(crate) fn is_console(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    time.is_some_and(|(time, rest)| {
        let time = time.trim_start();
        rest.starts_with(' ')
            && time.contains('.')
            && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// Whether a line opens a block or a map of HCL: `inputs = {`, `source "amazon-ebs" "node" {`.
fn is_block(line: &str) -> bool {
    let Some(head) = line.strip_suffix('{').map(str::trim_end) else {
        return false;
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    if let Some(name) = head.strip_suffix(" =") {
        return is_name(name.trim());
    }
    let mut words = head.split(' ');
    let is_labelled = words.next().is_some_and(is_name);
    let labels: Vec<&str> = words.collect();
    let is_label = |word: &&str| word.len() > 2 && word.starts_with('"') && word.ends_with('"');
    is_labelled && !labels.is_empty() && labels.iter().all(is_label)
}

/// The line of a target whose commands follow, each after a tab.
fn recipe(lines: &[&str]) -> Option<usize> {
    let is_target = |line: &str| {
        let name = line.split(':').next().unwrap_or_default();
        name.len() < line.len() && !name.is_empty() && !name.contains([' ', '"', '\'', '$', '/', '\t'])
    };
    let at = lines
        .windows(2)
        .position(|pair| is_target(pair[0]) && pair[1].starts_with('\t'))?;
    Some(at + 1)
}

/// The line of a `#!` behind text that is neither a comment nor a here-document.
fn around_script(lines: &[&str]) -> Option<usize> {
    let has_document = lines.iter().any(|line| line.contains("<<"));
    let at = lines
        .iter()
        .position(|line| line.trim_start().starts_with("#!/"))?;
    let mut before = lines[..at].iter().filter(|line| !line.trim().is_empty());
    let is_text = before.any(|line| !line.trim_start().starts_with('#'));
    (is_text && !has_document).then_some(at + 1)
}
