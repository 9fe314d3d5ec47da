//! `<name>` in user data where a value belongs: behind a flag, in an assignment, in a field, in a call of the bootstrap
//! script. Elsewhere it is text for a reader, such as a comment or a usage line.

use std::collections::BTreeSet;

use super::name_marks::{is_place, mark_at};

/// Words in `<...>` that a person replaces. Others are syntax of a shell, of XML or of a mail address.
const NAMES: [&str; 13] = [
    "cluster",
    "endpoint",
    "region",
    "account",
    "role",
    "token",
    "cert",
    "your",
    "name",
    "bucket",
    "api",
    "value",
    "activation",
];
/// Commands whose arguments are text for a reader, if nothing writes it into a file.
const PRINTERS: [&str; 14] = [
    "echo", "printf", "print", "logger", "wall", "die", "err", "error", "fail", "fatal", "warn", "info",
    "msg", "usage",
];
/// Beginnings of names of functions that print.
const PRINTER_BEGINS: [&str; 3] = ["log", "echo_", "print_"];
/// Commands whose arguments are patterns: they fill in names of a template themselves.
const PATTERNS: [&str; 7] = ["sed", "perl", "ruby", "awk", "gawk", "grep", "egrep"];
/// Words before a command.
const BEFORE: [&str; 13] = [
    "-", "!", "if", "elif", "then", "else", "do", "while", "until", "sudo", "command", "exec", "time",
];
/// Calls whose positional arguments are values.
const CALLS: [&str; 3] = ["bootstrap.sh", "kubeadm join", "nodeadm"];

/// What a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOf {
    /// A configuration file: everything in it is a value.
    Config,
    /// A call of the bootstrap script that began on a line before.
    Call,
    Other,
}

/// Reads the lines of user data in their order: a text that is printed can have several.
#[derive(Debug, Default)]
pub(super) struct AngleReader {
    /// The open quote of a text that is printed.
    printed: Option<char>,
    /// Whether a command that prints goes on behind a backslash.
    is_continued: bool,
    /// Names that a command of the user data fills in.
    filled: BTreeSet<String>,
}

impl AngleReader {
    /// The names of a line that stand for values.
    pub(super) fn read(&mut self, line: &str, of: LineOf) -> Vec<String> {
        let mut found = Vec::new();
        let (mut quote, mut start) = (self.printed, 0);
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            if let Some(mark) = mark_at(&line[at..]) {
                let scope = &line[start..at];
                let is_pattern = of != LineOf::Config && PATTERNS.contains(&command(scope));
                let is_at_place = is_pattern || is_place(scope, of == LineOf::Config);
                if is_at_place && self.is_value(line, start..at, mark, of) {
                    found.push(mark.to_owned());
                }
            }
            match (quote, c) {
                (Some('"'), '"') if before == '\\' => {}
                (Some(open), c) if c == open => {
                    quote = None;
                    self.printed = None;
                }
                (None, '"' | '\'') if before != '\\' => quote = Some(c),
                (None, '#') if before.is_whitespace() => break,
                (None, ';' | '|' | '&' | '(' | '{') => {
                    start = at + 1;
                    self.is_continued = false;
                }
                (_, '<') => {
                    let name = name_at(&line[at..]);
                    let is_named = |name: &String| is_telling(name, &line[start..at], of);
                    let name = name.filter(|name| self.is_value(line, start..at, name, of));
                    found.extend(name.filter(is_named));
                }
                _ => {}
            }
            before = c;
        }
        let command = command(&line[start..]);
        let is_further = self.printed.is_some() || self.is_continued;
        let is_printed = is_further || (of != LineOf::Config && is_printer(command));
        self.printed = quote.filter(|_| is_printed);
        self.is_continued = is_printed && quote.is_none() && line.trim_end().ends_with('\\');
        found
    }

    /// Whether a command of the lines so far fills in a name.
    pub(super) fn is_filled(&self, name: &str) -> bool {
        self.filled.contains(name)
    }

    /// Whether a name behind `before`, a part of the line, stands for a value.
    fn is_value(&mut self, line: &str, before: std::ops::Range<usize>, name: &str, of: LineOf) -> bool {
        let rest = &line[before.end + name.len()..];
        let before = &line[before];
        let command = command(before);
        if of == LineOf::Config {
            return true;
        }
        if PATTERNS.contains(&command) {
            self.filled.insert(name.to_owned());
            return false;
        }
        let is_further = self.printed.is_some() || self.is_continued;
        if (is_further || is_printer(command)) && !is_written(rest) {
            return false;
        }
        let blank = before.char_indices().rfind(|(_, c)| c.is_whitespace());
        let (words, word) = match blank {
            Some((at, blank)) => before.split_at(at + blank.len_utf8()),
            None => ("", before),
        };
        let last = words.trim_end().rsplit(char::is_whitespace).next();
        let last = last.unwrap_or_default().trim_matches(['"', '\'', ',']);
        let is_flag = last.starts_with('-') && last.contains(|c: char| c.is_ascii_alphabetic());
        let is_field = (last.ends_with(':') || last == "-" || word.ends_with("\":")) && is_last_word(rest);
        let is_call = of == LineOf::Call || CALLS.iter().any(|call| before.contains(call));
        is_flag || is_field || is_call || word.contains('=') || word.contains("://")
    }
}

/// `<cluster-name>` at the beginning of a text, but neither a `<file >other` nor an element of XML.
fn name_at(text: &str) -> Option<String> {
    let inside = text.strip_prefix('<')?.split_once('>')?.0;
    let is_plain = inside
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_ ".contains(&byte));
    let is_name = is_plain
        && !inside.is_empty()
        && !inside.starts_with(' ')
        && !inside.ends_with(' ')
        && !text.contains("</");
    is_name.then(|| format!("<{inside}>"))
}

/// Whether a name is one to fill in: it tells so itself, or it stands behind `before` where a call or a configuration
/// file needs a value.
fn is_telling(name: &str, before: &str, of: LineOf) -> bool {
    let lower = name.to_lowercase();
    let is_phrase = name.contains(['-', '_', ' ']) || *name == name.to_uppercase();
    let is_needed = of != LineOf::Other || CALLS.iter().any(|call| before.contains(call));
    let has_word = NAMES.iter().any(|word| lower.contains(word));
    (has_word && (is_phrase || is_needed)) || is_place(before, of == LineOf::Config)
}

/// The command of a text, without what can be before it.
pub(super) fn command(text: &str) -> &str {
    let is_before = |word: &&str| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        let is_redirection = word.starts_with('>') || word.bytes().all(|byte| byte.is_ascii_digit());
        BEFORE.contains(word) || is_assignment || is_redirection
    };
    let word = text.split_whitespace().find(|word| !is_before(word));
    let word = word.unwrap_or_default().trim_matches(['"', '\'', '[', ',']);
    word.rsplit('/').next().unwrap_or_default()
}

pub(super) fn is_printer(command: &str) -> bool {
    PRINTERS.contains(&command) || PRINTER_BEGINS.iter().any(|begin| command.starts_with(begin))
}

/// Whether the rest of a command writes into a file, and not to a stream.
fn is_written(rest: &str) -> bool {
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        if word == "tee" {
            return true;
        }
        let Some(target) = word.strip_prefix('>') else {
            continue;
        };
        let target = target.trim_start_matches('>');
        let target = match target {
            "" => words.next().unwrap_or_default(),
            target => target,
        };
        if !target.starts_with('&') && !target.starts_with("/dev/") {
            return true;
        }
    }
    false
}

/// Whether a value ends with the word of a name, as in a field of a file.
fn is_last_word(rest: &str) -> bool {
    let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let after = after.trim_start();
    after.is_empty() || after.starts_with(['#', '}', ']']) || word.ends_with([',', '}', ']'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut reader = AngleReader::default();
        let lines: Vec<Vec<String>> = text
            .lines()
            .map(|line| reader.read(line, LineOf::Other))
            .collect();
        let found = lines.into_iter().flatten();
        found.filter(|name| !reader.is_filled(name)).collect()
    }

    #[test]
    fn a_name_can_have_blanks() {
        let text = "amazon-ssm-agent -register -code <activation code> -id <activation id>";
        assert_eq!(found(text), ["<activation code>", "<activation id>"]);
    }

    #[test]
    fn values_are_names_to_fill_in() {
        for text in [
            "/etc/eks/bootstrap.sh <cluster-name> --x",
            "- [/etc/eks/bootstrap.sh, <cluster-name>]",
            "aws eks describe-cluster --name <cluster-name> --region r",
            "aws eks describe-cluster --name \"<cluster-name>\" # of the team",
            "export CLUSTER=<cluster-name>",
            "x --kubelet-extra-args '--node-labels=team=<cluster-name>'",
            "name: <cluster-name>",
            "  \"name\": \"<cluster-name>\",",
            "{ name: <cluster-name>, cidr: 10.0.0.0/16 }",
            "- <cluster-name>",
            "aws s3 cp s3://<cluster-name>/x /x",
            "echo \"CLUSTER=<cluster-name>\" >> /etc/environment",
            "echo 'CLUSTER=<cluster-name>' | tee /etc/x",
            "echo joins && /etc/eks/bootstrap.sh <cluster-name>",
            "kubeadm join <cluster-name>:6443",
            "echo joins; \\\n  run --name <cluster-name>",
            "echo joins \\\n  && run --name <cluster-name>",
        ] {
            assert_eq!(found(text), ["<cluster-name>"], "{text}");
        }
    }

    #[test]
    fn a_call_of_the_bootstrap_script_needs_values_in_any_spelling() {
        for (text, name) in [
            ("/etc/eks/bootstrap.sh <clusterName> --x", "<clusterName>"),
            ("/etc/eks/bootstrap.sh <cluster> --x", "<cluster>"),
            ("/etc/eks/bootstrap.sh '<prod>'", "<prod>"),
            ("/etc/eks/bootstrap.sh demo --b64-cluster-ca <ca>", "<ca>"),
            ("kubeadm join <endpoint>:6443", "<endpoint>"),
            ("CLUSTER_NAME=\"<x>\"", "<x>"),
            ("A=$(aws eks describe-cluster --name <cluster>)", "<cluster>"),
            ("/etc/eks/bootstrap.sh %CLUSTER% --x", "%CLUSTER%"),
            ("/etc/eks/bootstrap.sh \"[cluster-name]\"", "[cluster-name]"),
            ("/etc/eks/bootstrap.sh #{cluster}", "#{cluster}"),
            ("/etc/eks/bootstrap.sh <%= @cluster %>", "<%= @cluster %>"),
            ("CLUSTER_NAME=__CLUSTER__", "__CLUSTER__"),
            ("export B64_CLUSTER_CA='@@CA@@'", "@@CA@@"),
            ("/etc/eks/bootstrap.sh replaceme", "replaceme"),
        ] {
            assert_eq!(found(text), [name], "{text}");
        }
    }

    #[test]
    fn a_field_of_a_configuration_needs_a_value_in_any_spelling() {
        for (line, name) in [
            ("    name: <clusterName>", "<clusterName>"),
            ("    apiServerEndpoint: https://<apiserver>", "<apiserver>"),
            ("    certificateAuthority: '<b64>'", "<b64>"),
            ("    name: [cluster]", "[cluster]"),
            ("    name: #{cluster}", "#{cluster}"),
            ("cluster-name = \"%CLUSTER%\"", "%CLUSTER%"),
        ] {
            let mut reader = AngleReader::default();
            assert_eq!(reader.read(line, LineOf::Config), [name], "{line}");
        }
        for line in [
            "    name: demo",
            "    flags: [cluster]",
            "    text: <p>50%</p><name>a</name>",
            "    motd: <prod>",
            "    cidr: 10.100.0.0/16 # [cidr]",
        ] {
            let mut reader = AngleReader::default();
            assert_eq!(reader.read(line, LineOf::Config), [""; 0], "{line}");
        }
    }

    #[test]
    fn texts_for_a_reader_are_none() {
        for text in [
            "echo \"usage: $0 --name <cluster-name>\"",
            "echo 'usage: $0 \n --name <cluster-name> \n --region=<aws-region>'",
            "printf 'joins name=<cluster-name>\\n' >&2",
            "echo usage: run \\\n  --name <cluster-name> \\\n  --region=<aws-region>",
            ">&2 echo \"name=<cluster-name>\"",
            "[ -n \"$1\" ] || { log_error \"--name <cluster-name> is missing\"; exit 1; }",
            "- echo \"--name <cluster-name>\"",
            "/etc/eks/bootstrap.sh demo # instead of --name <cluster-name>",
            "usage: run <cluster-name> <aws-region>",
            "Welcome to <cluster-name>",
            "cat > /x <<E\nname: <cluster-name>\nE\nsed -i \"s/<cluster-name>/$NAME/\" /x",
            "<powershell>",
            "mail --to <a@b.c>",
            "sort <in >out-file",
            "/etc/eks/bootstrap.sh demo <in",
            "/etc/eks/bootstrap.sh $CLUSTER %CLUSTER%",
            "/etc/eks/bootstrap.sh demo #{cluster}",
            "echo \"usage: /etc/eks/bootstrap.sh [cluster-name]\"",
            "[ -n __CLUSTER__ ] && date +%F%T",
            "CLUSTER_NAME=__CLUSTER__; sed -i s/__CLUSTER__/$NAME/ /x",
            "CLUSTER_NAME=your-cluster-name-2",
            "TEAM=changeme",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn everything_in_a_configuration_is_a_value() {
        let mut reader = AngleReader::default();
        assert_eq!(
            reader.read("  name: the <cluster-name>", LineOf::Config),
            ["<cluster-name>"]
        );
        assert_eq!(
            reader.read("  name: demo # not <cluster-name>", LineOf::Config),
            [""; 0]
        );
    }
}
