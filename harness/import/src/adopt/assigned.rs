//! Names that a script sets in any way, so that a shell fills them in.

use std::collections::BTreeSet;

use crate::here_document::HereDocument;

/// Files of the system, which set names of their own.
const SYSTEM_FILES: [&str; 2] = ["/etc/environment", "/etc/os-release"];

/// The names that a script sets.
pub(super) struct Assigned {
    by_script: BTreeSet<String>,
    /// Those of here-documents with their first lines: such a file sets nothing before it exists.
    by_documents: Vec<(usize, BTreeSet<String>)>,
}

impl Assigned {
    /// `None` if another file may set more.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (mut script, mut documents) = (String::new(), Vec::<(usize, String)>::new());
        let mut end: Option<HereDocument> = None;
        for (number, line) in (1..).zip(text.lines()) {
            match (&end, documents.last_mut()) {
                (Some(document), _) if line.trim() == document.end => end = None,
                (Some(_), Some((_, document))) => document.push_str(&format!("{line}\n")),
                _ => {
                    script.push_str(&format!("{line}\n"));
                    end = HereDocument::begun(line);
                    documents.extend(end.is_some().then(|| (number, String::new())));
                }
            }
        }
        // Without its end, it is none.
        if end.is_some() {
            script = text.to_owned();
        }
        let by_documents = documents
            .into_iter()
            .map(|(number, document)| Some((number, assigned(&document)?)));
        Some(Self {
            by_script: assigned(&script)?,
            by_documents: by_documents.collect::<Option<_>>()?,
        })
    }

    /// Whether the script sets a name, or a here-document before this line does.
    pub(super) fn has(&self, name: &str, number: usize) -> bool {
        let mut before = self.by_documents.iter().filter(|(first, _)| *first < number);
        self.by_script.contains(name) || before.any(|(_, names)| names.contains(name))
    }
}

/// The names that a script sets in any way; `None` if another file may set more.
fn assigned(text: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        // Files of the system, which set names of their own.
        if ["source", "."].contains(&first) && words.next().is_some_and(|file| SYSTEM_FILES.contains(&file)) {
            continue;
        }
        if ["source", ".", "eval"].contains(&first)
            || line.contains("&& source ")
            || line.contains("; source ")
        {
            return None;
        }
        for (at, _) in line.match_indices('=') {
            let value = line[at + 1..].trim_start_matches(['"', '\'']);
            // `a+=b`, and `${a:=b}`, which sets what is unset.
            let before = line[..at].trim_end_matches(['+', ':']);
            let rest = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            // A flag, such as `--node-labels=`, sets no variable.
            if rest.ends_with('-') {
                continue;
            }
            let name = &before[rest.len()..];
            // `pool=${pool}` needs a value from elsewhere.
            if !value.starts_with(&format!("${{{name}}}")) {
                names.insert(name.to_owned());
            }
        }
        let words: Vec<&str> = line.split([' ', '\t', ';']).collect();
        for (index, word) in words.iter().enumerate() {
            if ["for", "read", "mapfile", "readarray", "-v", "getopts", "select"].contains(word) {
                names.extend(words[index + 1..].iter().map(|word| (*word).to_owned()));
            }
        }
    }
    Some(names)
}
