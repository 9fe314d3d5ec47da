//! Places in user data that a generator, a person or a shell outside of the instance has to fill in.

use std::collections::BTreeMap;

use super::angle_names::{AngleReader, LineOf};
use super::assigned::Assigned;
use super::kubernetes_settings::KubernetesLines;
use super::name_marks;
use super::printed_documents::DocumentReader;
use super::replaced_marks;
use crate::here_document::HereDocument;
use crate::words::OF_AUTHENTICATOR;

/// Names in `{{ }}` that nodejoin fills in itself.
pub(crate) const OWN_NAMES: [&str; 4] = ["cluster.", "instance.", "account.", "identity."];
/// Words that people leave to be replaced.
const MARKERS: [&str; 6] = [
    "REPLACE_ME",
    "REPLACEME",
    "CHANGE_ME",
    "CHANGEME",
    "REPLACE_WITH",
    "FIXME",
];
/// Words of lines whose values the bootstrap script needs.
const CALLS: [&str; 3] = ["bootstrap.sh", "--b64-cluster-ca", "--apiserver-endpoint"];
/// Variables whose values it needs.
const VALUES: [&str; 8] = [
    "API_SERVER_URL",
    "APISERVER_ENDPOINT",
    "B64_CLUSTER_CA",
    "CLUSTER_NAME",
    "DNS_CLUSTER_IP",
    "EKS_CLUSTER_NAME",
    "K8S_CLUSTER_DNS_IP",
    "SERVICE_IPV4_CIDR",
];
/// Commands whose arguments contain templates of Go.
const GO_TEMPLATES: [&str; 5] = [
    "--format",
    "-o go-template",
    "--template",
    "inspect",
    "go-template=",
];
/// Variables that exist without an assignment in the script.
const KNOWN_VARIABLES: [&str; 20] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "ftp_proxy",
    "HOME",
    "PATH",
    "USER",
    "HOSTNAME",
    "PWD",
    "UID",
    "EUID",
    "RANDOM",
    "SECONDS",
    "IFS",
    "LINENO",
    "SHELL",
    "LANG",
    "OSTYPE",
    "INSTANCE_ID",
    "BASH_SOURCE",
];

/// A place that is not filled in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placeholder {
    /// Line of the text, from 1.
    pub line: usize,
    /// How a message names the line, such as `line 3 of the user data`.
    pub place: String,
    /// Such as `<cluster-name>`.
    pub text: String,
}

/// What a program that prints a text fills in.
const FORMATS: [&str; 3] = ["%s", "%v", "%q"];

/// Fills in `${NAME}`, `<NAME>`, `{{ NAME }}`, `${{ NAME }}` of a workflow, `<%= NAME %>`, and names that stand for
/// themselves, such as `REPLACE_ME` and `%CLUSTER%`.
pub(crate) fn filled(text: &str, set: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in set {
        for form in [
            format!("${{{{ {name} }}}}"),
            format!("${{{{{name}}}}}"),
            format!("${{{name}}}"),
            format!("<{name}>"),
            format!("{{{{ {name} }}}}"),
            format!("{{{{{name}}}}}"),
            format!("<%= {name} %>"),
        ] {
            text = text.replace(&form, value);
        }
        if MARKERS.iter().any(|marker| name.contains(marker))
            || name.starts_with("YOUR_")
            || is_crossed_out(name)
            || is_cut_off(name)
            || name_marks::is_mark(name)
        {
            text = text.replace(name.as_str(), value);
        }
    }
    text
}

/// The line by which cloud-init recognizes a template, which it fills in.
pub(super) const JINJA: &str = "## template: jinja";

/// The places that are not filled in. A text that a shell, cloud-init or a container engine fills in is not one: a
/// false stop is worse than a run that fails with a cause.
pub(crate) fn find(text: &str) -> Vec<Placeholder> {
    let assigned = Assigned::of(text);
    let found = found_in(text, assigned.as_ref(), Kind::Script);
    // Where one name is left to a template engine, others are, too.
    let is_of_engine = |text: &str| text.starts_with("${") && !text.starts_with("${{");
    let is_template = found.iter().any(|one| is_of_engine(&one.text));
    match is_template {
        true => found_in(text, assigned.as_ref(), Kind::Template),
        false => found,
    }
}

/// Those in settings of Bottlerocket, which no shell reads.
pub(crate) fn find_in_settings(text: &str) -> Vec<Placeholder> {
    found_in(text, None, Kind::Settings)
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Script,
    /// Names of it are left to a template engine.
    Template,
    /// A shell fills in nothing.
    Settings,
}

fn found_in(text: &str, assigned: Option<&Assigned>, kind: Kind) -> Vec<Placeholder> {
    let mut is_jinja = text.trim_start().starts_with(JINJA);
    let is_message = crate::mime::is_mime(text);
    let mut is_behind_blank = false;
    let mut found = Vec::new();
    let mut angles = AngleReader::default();
    let (mut is_node_config, mut is_call, mut is_continued) = (kind == Kind::Settings, false, false);
    let mut document: Option<HereDocument> = None;
    let mut reader = DocumentReader::Program;
    let mut settings = KubernetesLines::default();
    for (number, line) in (1..).zip(text.lines()) {
        let is_of_kubernetes = kind == Kind::Settings && settings.read(line);
        let is_for_person = reader == DocumentReader::Person;
        let is_filled = document.as_ref().is_some_and(|document| document.is_filled);
        match &document {
            Some(begun) if line.trim() == begun.end => {
                document = None;
                reader = DocumentReader::Program;
                is_node_config = kind == Kind::Settings;
            }
            Some(_) if reader == DocumentReader::Absent => continue,
            Some(_) => {}
            None => {
                document = HereDocument::begun(line);
                let is_end = |line: &str| document.as_ref().is_some_and(|begun| line.trim() == begun.end);
                // Without its end, it is none.
                if text.lines().skip(number).any(is_end) {
                    reader = DocumentReader::of(line);
                }
            }
        }
        if line.starts_with("--") || line.trim() == "---" {
            is_node_config = false;
        }
        if is_message {
            // Each part of a message has a beginning of its own, behind the empty line that ends its header.
            is_jinja &= !line.starts_with("--");
            is_jinja |= is_behind_blank && line.starts_with(JINJA);
            is_behind_blank = line.trim().is_empty();
        }
        is_node_config |= line.trim_start().starts_with("apiVersion: node.eks.aws/");
        if line.trim_start().starts_with('#') {
            continue;
        }
        let mut texts = markers(line);
        texts.extend(braces(line));
        // A call with its flags on further lines.
        let is_further = is_call && is_continued;
        // A call in a text for a person is none. A NodeConfig in it can be one that a function writes.
        let is_text = is_for_person && !is_node_config;
        is_call = !is_text && (is_call_or_value(line) || is_whole_value(line) || is_further);
        is_continued = line.trim_end().ends_with('\\');
        let of = match (is_node_config, is_further) {
            (true, _) => LineOf::Config,
            (false, true) => LineOf::Call,
            (false, false) => LineOf::Other,
        };
        if !is_text {
            texts.extend(angles.read(line, of));
        }
        if is_call || is_node_config {
            texts.extend(damaged_values(line));
        }
        if is_call || is_node_config {
            let mut further = erb_values(line);
            further.extend(expressions(line).into_iter().filter(|_| is_call));
            further.retain(|text| !texts.contains(text));
            texts.append(&mut further);
        }
        if is_jinja {
            texts.retain(|text| !text.trim_start_matches('$').starts_with("{{"));
        }
        let scope = DollarScope {
            is_node_config,
            is_filled,
            is_call,
            is_template: kind == Kind::Template,
            number,
            assigned,
        };
        texts.extend(dollars(line, &scope));
        let is_field = is_node_config && is_name_or_cidr(line);
        if !is_text {
            texts.extend(formats(line, is_of_kubernetes || is_field));
        }
        found.extend(texts.into_iter().map(|text| Placeholder {
            line: number,
            place: format!("line {number}"),
            text,
        }));
    }
    found.retain(|one| !angles.is_filled(&one.text) && !replaced_marks::is_replaced(text, &one.text));
    found
}

fn markers(line: &str) -> Vec<String> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| {
            let is_yours = word.starts_with("YOUR_") && word.len() > 5;
            is_yours || MARKERS.iter().any(|marker| word.starts_with(marker))
        })
        .map(str::to_owned)
        .collect()
}

/// Values that are crossed out or cut off.
fn damaged_values(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let values = line.split(|c: char| c.is_whitespace() || "'\"=,".contains(c));
    let found = words.filter(|word| is_crossed_out(word));
    let found = found.chain(values.filter(|value| is_cut_off(value)));
    found.map(str::to_owned).collect()
}

/// `xxxxxxxx`, of which no value consists.
fn is_crossed_out(word: &str) -> bool {
    word.len() >= 8 && (word.bytes().all(|byte| byte == b'x') || word.bytes().all(|byte| byte == b'X'))
}

/// The beginning of a certificate or of a URL, such as `LS0tLS1CRUdJTiB...`.
fn is_cut_off(value: &str) -> bool {
    let is_value = ["LS0t", "https://"].iter().any(|begin| value.starts_with(begin));
    is_value && (value.ends_with("...") || value.ends_with('\u{2026}'))
}

fn braces(line: &str) -> Vec<String> {
    if GO_TEMPLATES.iter().any(|word| line.contains(word)) {
        return Vec::new();
    }
    positions(line, "{{", "}}")
        .filter(|(_, inside)| {
            let name = inside.trim();
            let path = name.trim_start_matches('.');
            let is_path = path.starts_with(|c: char| c.is_ascii_alphabetic())
                && path
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
            let is_own =
                OWN_NAMES.iter().any(|prefix| name.starts_with(prefix)) || OF_AUTHENTICATOR.contains(&name);
            (is_path || name.contains(".Values")) && !is_own
        })
        .map(|(at, inside)| {
            // Of a workflow, which fills in `${{ NAME }}` as a whole.
            let dollar = if line[..at].ends_with('$') { "$" } else { "" };
            format!("{dollar}{{{{{inside}}}}}")
        })
        .collect()
}

/// Expressions of a template engine, such as `{{ labels | join(',') }}`.
fn expressions(line: &str) -> Vec<String> {
    if GO_TEMPLATES.iter().any(|word| line.contains(word)) {
        return Vec::new();
    }
    let found = line.match_indices("{{").filter_map(|(at, _)| {
        let is_of_workflow = line[..at].ends_with('$');
        name_marks::mark_at(&line[at - usize::from(is_of_workflow)..])
    });
    found.map(str::to_owned).collect()
}

/// Values of ERB, such as `<%= @role %>`.
fn erb_values(line: &str) -> Vec<String> {
    let found = line.match_indices("<%=");
    let found = found.filter_map(|(at, _)| name_marks::mark_at(&line[at..]));
    found.map(str::to_owned).collect()
}

/// Whether the bootstrap script needs the values of a line.
fn is_call_or_value(line: &str) -> bool {
    let assigns = |name: &&str| {
        line.trim_start_matches("export ")
            .starts_with(&format!("{name}="))
    };
    CALLS.iter().any(|word| line.contains(word)) || VALUES.iter().any(assigns)
}

/// Whether a line gives a variable the value of a name in small letters and nothing else, such as `A="${b}"`.
fn is_whole_value(line: &str) -> bool {
    const BEFORE: [&str; 4] = ["export ", "readonly ", "local ", "declare "];
    let line = line.trim();
    let line = BEFORE
        .iter()
        .find_map(|word| line.strip_prefix(word))
        .unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else {
        return false;
    };
    let value = value.trim_matches(['"', '\'']);
    let inside = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    !name.is_empty() && is_word(name) && inside.is_some_and(is_in_small_letters)
}

fn is_in_small_letters(text: &str) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_small)
}

/// Where a line stands.
struct DollarScope<'a> {
    is_node_config: bool,
    /// Whether a shell fills in its variables: a script writes it.
    is_filled: bool,
    is_call: bool,
    /// Whether other names of the text are left to a template engine.
    is_template: bool,
    /// Number of the line.
    number: usize,
    /// Names that the script sets; `None` if another file may set more.
    assigned: Option<&'a Assigned>,
}

/// `${...}` that no shell fills in: expressions of Terraform and CloudFormation anywhere, and names that the script
/// never sets where the bootstrap script or a NodeConfig needs them, and in a template anywhere.
fn dollars(line: &str, scope: &DollarScope<'_>) -> Vec<String> {
    let is_unknown = |name: &str| {
        !name.is_empty()
            && !is_of_environment(name)
            && scope
                .assigned
                .is_some_and(|assigned| !assigned.has(name, scope.number))
    };
    let is_open = |inside: &&str| {
        let is_name = inside
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_expression = inside.starts_with(|c: char| c.is_ascii_alphabetic())
            && (inside.contains("::")
                || inside.split_once('.').is_some_and(|(left, right)| {
                    is_word(left) && right.starts_with(|c: char| c.is_ascii_alphabetic())
                }))
            || (inside.contains(" ? ") && inside.contains(" : "));
        let is_unset = is_name && is_unknown(inside);
        // For a shell this is a name with a default; a name of Terraform can have hyphens.
        let has_hyphen = inside.split_once('-').is_some_and(|(name, rest)| {
            is_in_small_letters(name) && is_unknown(name) && rest.split('-').all(is_in_small_letters)
        });
        is_expression
            || (is_name && scope.is_node_config && (!scope.is_filled || is_unset))
            || (is_unset && (scope.is_call || (scope.is_template && is_in_small_letters(inside))))
            || has_hyphen
    };
    let texts = between(line, "${", "}").filter(is_open);
    texts.map(|inside| format!("${{{inside}}}")).collect()
}

/// Whether a program that prints the text fills in a place.
pub(super) fn is_format(text: &str) -> bool {
    FORMATS.contains(&text)
}

/// Whether a program prints the text, and fills in values or marks of it.
pub(crate) fn is_printed(text: &str) -> bool {
    let is_of_program = |one: &Placeholder| is_format(&one.text) || name_marks::is_mark(&one.text);
    find(text).iter().any(is_of_program)
}

/// Whether a line of a NodeConfig has one of these fields, whose names are words of other texts, too.
fn is_name_or_cidr(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("name:") || line.starts_with("cidr:")
}

/// `%s` as a value of the cluster, and in a line whose words are all values.
fn formats(line: &str, are_values: bool) -> Vec<String> {
    let of_cluster = [
        "bootstrap.sh",
        "--b64-cluster-ca",
        "--apiserver-endpoint",
        "apiServerEndpoint:",
        "certificateAuthority:",
    ];
    let is_value = are_values || of_cluster.iter().any(|word| line.contains(word));
    line.split(|c: char| c.is_whitespace() || c == '\'' || c == '"')
        .filter(|word| is_value && is_format(word))
        .map(str::to_owned)
        .collect()
}

/// Whether a variable exists without an assignment in the script.
pub(super) fn is_of_environment(name: &str) -> bool {
    KNOWN_VARIABLES.contains(&name) || name.starts_with("AWS_")
}

fn is_word(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The texts between two marks, on one line.
fn between<'a>(line: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    positions(line, open, close).map(|(_, inside)| inside)
}

/// Each of them with the place of its first mark.
fn positions<'a>(line: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    line.match_indices(open).filter_map(move |(at, _)| {
        let inside = &line[at + open.len()..];
        inside.find(close).map(|end| (at, &inside[..end]))
    })
}

#[cfg(test)]
mod tests;
