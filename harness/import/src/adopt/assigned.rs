//! Names that a script sets in any way, so that a shell fills them in.

use std::collections::BTreeSet;

use crate::here_document::HereDocument;

/// Words that can stand before a command: those of a shell, and the mark of an item in YAML.
const BEFORE_COMMANDS: [&str; 12] = [
    "!", "-", "[", "builtin", "command", "do", "elif", "else", "if", "then", "until", "while",
];
/// Commands that set the names in their arguments.
const SETTERS: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
/// Files of the system, which set names of their own.
const SYSTEM_FILES: [&str; 2] = [ENVIRONMENT, OS_RELEASE];
/// An AMI can set any name in it. Those of a template are in small letters.
const ENVIRONMENT: &str = "/etc/environment";
const OS_RELEASE: &str = "/etc/os-release";
/// Names of os-release(5), and those that Amazon Linux and Ubuntu add.
const OF_OS_RELEASE: [&str; 26] = [
    "ANSI_COLOR",
    "BUG_REPORT_URL",
    "BUILD_ID",
    "CPE_NAME",
    "DEFAULT_HOSTNAME",
    "DOCUMENTATION_URL",
    "HOME_URL",
    "ID",
    "ID_LIKE",
    "IMAGE_ID",
    "IMAGE_VERSION",
    "LOGO",
    "NAME",
    "PLATFORM_ID",
    "PRETTY_NAME",
    "PRIVACY_POLICY_URL",
    "SUPPORT_END",
    "SUPPORT_URL",
    "UBUNTU_CODENAME",
    "VARIANT",
    "VARIANT_ID",
    "VENDOR_NAME",
    "VENDOR_URL",
    "VERSION",
    "VERSION_CODENAME",
    "VERSION_ID",
];

/// The names that a script sets.
pub(super) struct Assigned {
    by_script: BTreeSet<String>,
    /// Those of here-documents with their first lines: such a file sets nothing before it exists.
    by_documents: Vec<(usize, BTreeSet<String>)>,
    /// Whether the script reads `/etc/environment`.
    has_environment: bool,
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
        let mut read = text.lines().flat_map(system_files);
        Some(Self {
            by_script: assigned(&script)?,
            by_documents: by_documents.collect::<Option<_>>()?,
            has_environment: read.any(|file| file == ENVIRONMENT),
        })
    }

    /// Whether the script sets a name, or a here-document before this line does.
    pub(super) fn has(&self, name: &str, number: usize) -> bool {
        let mut before = self.by_documents.iter().filter(|(first, _)| *first < number);
        let is_of_environment = self.has_environment && !name.contains(|c: char| c.is_ascii_lowercase());
        is_of_environment || self.by_script.contains(name) || before.any(|(_, names)| names.contains(name))
    }
}

/// The names that a script sets in any way; `None` if another file may set more.
fn assigned(text: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if system_files(line).contains(&OS_RELEASE) {
            names.extend(OF_OS_RELEASE.map(str::to_owned));
        }
        if sets_any(line) {
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

/// Whether a line may set names that only a run shows: it runs a file or a text in the shell, or a value is the name.
fn sets_any(line: &str) -> bool {
    let is_comment = line.starts_with('#');
    !is_comment && line.split([';', '&', '|', '(', ')', '{']).any(command_sets_any)
}

fn command_sets_any(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let unquoted = |word: &str| word.trim_start_matches(['"', '\'']).to_owned();
    let is_before = |word: &&&str| BEFORE_COMMANDS.contains(&unquoted(word).as_str());
    // A shell runs the text behind `-c`.
    let is_text = |word: &&str| {
        let flag = unquoted(word);
        flag.starts_with('-') && flag.trim_end_matches([',', '"', '\'']).ends_with('c')
    };
    let first = words.iter().take_while(is_before).count();
    let of_text = words.iter().position(is_text).map(|at| at + 1);
    let mut begins = [Some(first), of_text].into_iter().flatten();
    begins.any(|begin| {
        let program = words.get(begin).map(|word| unquoted(word)).unwrap_or_default();
        let arguments = words.get(begin + 1..).unwrap_or_default();
        let is_value = |word: &&str| unquoted(word).starts_with(['$', '`']);
        match program.as_str() {
            "eval" => true,
            "source" | "." => arguments.first().is_none_or(|file| {
                let file = file.trim_matches(['"', '\'']);
                !SYSTEM_FILES.contains(&file)
            }),
            "printf" => arguments
                .windows(2)
                .any(|pair| pair[0] == "-v" && is_value(&pair[1])),
            program => SETTERS.contains(&program) && arguments.iter().any(is_value),
        }
    })
}

/// The files of the system that a line reads into the shell.
fn system_files(line: &str) -> Vec<&'static str> {
    let words = line.split([' ', '\t', ';', '(', ')', '`', '&', '|']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_comment = line.trim_start().starts_with('#');
    let has = |file: &&str| {
        let mut pairs = words.windows(2);
        let is_read =
            |pair: &[&str]| ["source", "."].contains(&pair[0]) && pair[1].trim_matches(['"', '\'']) == *file;
        !is_comment && pairs.any(is_read)
    };
    SYSTEM_FILES.into_iter().filter(has).collect()
}
