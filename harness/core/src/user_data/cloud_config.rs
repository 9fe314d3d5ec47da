//! The part of `#cloud-config` that bootstrapping needs: `write_files` and `runcmd`.

use std::fmt;

use super::gzip::gunzip;
use super::mime::decode_base64;
use crate::input::mode::octal;
use crate::input::problem::Position;
use crate::input::yaml::{self, YamlEntry, YamlTree, YamlValue};

/// The first line of the script of commands.
const INTERPRETER: &[u8] = b"#!/bin/sh\n";

/// The files and commands of a cloud-config, as far as cloud-init can use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudConfig {
    /// Files of `write_files`, in order.
    pub files: Vec<WriteFile>,
    /// The script that cloud-init creates for `runcmd`. Without `set -e`, its exit code is that of its last command.
    pub runcmd: Option<Vec<u8>>,
    /// What cloud-init skips or reads in another way than written. Its modules are independent of each other.
    pub problems: Vec<CloudConfigProblem>,
    /// Whether its lists follow those of earlier configs, as its `merge_how` says.
    pub is_appended: bool,
}

/// A part of a cloud-config that cloud-init does not use as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudConfigProblem {
    pub position: Position,
    /// The problem and what cloud-init does, in one sentence.
    pub message: String,
    pub loss: CloudConfigLoss,
}

/// What cloud-init does not do because of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudConfigLoss {
    /// A file, a value or a key.
    Entry,
    /// The rest of `write_files`.
    Files,
    /// All of `runcmd`.
    Commands,
}

impl fmt::Display for CloudConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.position.line, self.message)
    }
}

/// A file of `write_files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// Absolute path.
    pub path: String,
    /// Decoded content.
    pub content: Vec<u8>,
    /// File mode.
    pub mode: u32,
    /// `user:group`.
    pub owner: String,
    /// Whether to append to an existing file.
    pub append: bool,
}

/// A cloud-config that cloud-init ignores as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {message}", position.line)]
pub struct CloudConfigError {
    pub position: Position,
    /// The problem in one sentence.
    pub message: String,
}

impl CloudConfig {
    /// Reads a cloud-config as the modules of cloud-init do (`cc_write_files.py`, `cc_bootcmd.py` and `cc_runcmd.py`
    /// of 19.3 to 25.3).
    ///
    /// # Errors
    /// The text is not YAML, or not a mapping.
    pub fn read(text: &str) -> Result<Self, CloudConfigError> {
        let (tree, replaced) = yaml::parse_last_wins(text).map_err(|error| CloudConfigError {
            position: error.position,
            message: error.message,
        })?;
        if !matches!(tree.value, YamlValue::Map(_) | YamlValue::Null) {
            return Err(CloudConfigError {
                position: tree.position,
                message: format!("expected a mapping, found {}", tree.kind()),
            });
        }
        let mut config = Self::default();
        config.problems.extend(replaced.into_iter().map(|key| {
            let message = format!(
                "the key `{}` is given twice: cloud-init takes the last one only",
                key.key
            );
            problem(key.position, CloudConfigLoss::Entry, message)
        }));
        let merge_how = ["merge_how", "merge_type"].iter();
        config.is_appended = merge_how.filter_map(|key| tree.get(key)).any(appends_lists);
        if let Some(files) = tree.get("write_files")
            && let Err(problem) = config.write_files(files, text)
        {
            config.problems.push(problem);
        }
        // Nothing reads the commands of `bootcmd`; the other modules do not depend on them.
        let bootcmd = tree.get("bootcmd").map(|commands| script("bootcmd", commands));
        if let Some(Err(lost)) = bootcmd {
            let loss = CloudConfigLoss::Entry;
            config.problems.push(CloudConfigProblem { loss, ..lost });
        }
        match tree.get("runcmd").map(|commands| script("runcmd", commands)) {
            Some(Ok(script)) => config.runcmd = script,
            Some(Err(problem)) => config.problems.push(problem),
            None => {}
        }
        Ok(config)
    }

    /// Merges a later cloud-config. By the default of cloud-init, its lists replace earlier ones.
    pub fn merge(&mut self, later: Self) {
        if later.is_appended {
            self.files.extend(later.files);
        } else if !later.files.is_empty() {
            self.files = later.files;
        }
        match (&mut self.runcmd, later.runcmd) {
            (Some(commands), Some(more)) if later.is_appended => {
                commands.extend_from_slice(more.strip_prefix(INTERPRETER).unwrap_or(&more));
            }
            (runcmd, Some(commands)) => *runcmd = Some(commands),
            (_, None) => {}
        }
        self.problems.extend(later.problems);
    }

    /// Reads files up to the first one that ends the module of cloud-init.
    fn write_files(&mut self, files: &YamlTree, source: &str) -> Result<(), CloudConfigProblem> {
        let items = match &files.value {
            YamlValue::List(items) => items,
            _ if is_empty(files) => return Ok(()),
            _ => {
                let what = format!("invalid `write_files`: expected a list, found {}", files.kind());
                return Err(no_more_files(files, &what));
            }
        };
        for item in items {
            if !matches!(item.value, YamlValue::Map(_)) {
                let what = format!(
                    "invalid entry of `write_files`: expected a mapping, found {}",
                    item.kind()
                );
                return Err(no_more_files(item, &what));
            }
            let file = self.write_file(item, source)?;
            self.files.extend(file);
        }
        Ok(())
    }

    /// `None`: cloud-init skips the entry.
    fn write_file(&mut self, tree: &YamlTree, source: &str) -> Result<Option<WriteFile>, CloudConfigProblem> {
        let text = |key: &str| tree.get(key).and_then(scalar);
        let Some(path) = text("path").filter(|path| !path.is_empty()) else {
            let message = "missing `path` in an entry of `write_files`: cloud-init skips the entry";
            self.note(tree, message.to_owned());
            return Ok(None);
        };
        let content = self.content(tree, &path, source)?;
        let owner = text("owner").unwrap_or_else(|| "root:root".to_owned());
        Ok(Some(WriteFile {
            mode: self.mode(tree, &path, source),
            path,
            content,
            owner,
            append: tree.get("append").is_some_and(is_true),
        }))
    }

    fn content(&mut self, tree: &YamlTree, path: &str, source: &str) -> Result<Vec<u8>, CloudConfigProblem> {
        let content = tree.get("content");
        if let Some(content) = content.filter(|content| !is_text(content)) {
            let what = format!(
                "the content of {path} is {}, and only text in quotes can be written",
                content.kind()
            );
            return Err(no_more_files(content, &what));
        }
        let mut bytes = content.and_then(scalar).unwrap_or_default().into_bytes();
        if tree
            .entry("content")
            .is_some_and(|content| is_binary(content, source))
        {
            bytes = python_base64(&bytes).ok_or_else(|| {
                let what = format!("the content of {path} is not base64, as `!!binary` requires");
                no_more_files(content.unwrap_or(tree), &what)
            })?;
        }
        let encoding = tree.get("encoding").and_then(scalar).unwrap_or_default();
        match decode(&bytes, encoding.to_lowercase().trim()) {
            Decoded::Content(content) => Ok(content),
            Decoded::UnknownEncoding => {
                let message = format!(
                    "unknown encoding `{encoding}` of {path}: cloud-init writes the content as it stands; expected `b64`, \
                     `gzip` or `gz+b64`"
                );
                self.note(tree, message);
                Ok(bytes)
            }
            Decoded::Damaged => {
                let what = format!("the content of {path} is not {encoding}");
                Err(no_more_files(content.unwrap_or(tree), &what))
            }
        }
    }

    /// A number is decimal, unless it begins with 0; text is octal.
    fn mode(&mut self, tree: &YamlTree, path: &str, source: &str) -> u32 {
        const DEFAULT: u32 = 0o644;
        let Some(permissions) = tree.get("permissions").filter(|found| !is_empty(found)) else {
            return DEFAULT;
        };
        let text = scalar(permissions).unwrap_or_default();
        let decimal = match &permissions.value {
            YamlValue::Number(number) => number.as_u64().and_then(|mode| u32::try_from(mode).ok()),
            _ => None,
        };
        // Python's YAML takes `0o644` for text, and `int` reads its prefix.
        let has_prefix = || {
            let line = permissions.position.line.saturating_sub(1);
            let line = usize::try_from(line)
                .ok()
                .and_then(|line| source.lines().nth(line));
            line.is_some_and(|line| line.contains("0o"))
        };
        if let Some(mode) = decimal.filter(|mode| *mode > 0) {
            if has_prefix() {
                return mode & 0o7777;
            }
            let message = format!(
                "the permissions {text} of {path} are a decimal number, and those that cloud-init sets are {mode:o}: write \
                 `'{text:0>4}'`"
            );
            self.note(permissions, message);
            return mode & 0o7777;
        }
        octal(&text).unwrap_or_else(|| {
            let message = format!("invalid permissions `{text}` of {path}: cloud-init sets 644");
            self.note(permissions, message);
            DEFAULT
        })
    }

    fn note(&mut self, tree: &YamlTree, message: String) {
        self.problems
            .push(problem(tree.position, CloudConfigLoss::Entry, message));
    }
}

fn problem(position: Position, loss: CloudConfigLoss, message: String) -> CloudConfigProblem {
    CloudConfigProblem {
        position,
        message,
        loss,
    }
}

fn no_more_files(tree: &YamlTree, what: &str) -> CloudConfigProblem {
    let message = format!("{what}: cloud-init ends `write_files` here and writes no further file");
    problem(tree.position, CloudConfigLoss::Files, message)
}

fn no_commands(key: &str, tree: &YamlTree, what: &str) -> CloudConfigProblem {
    let message = format!("{what}: cloud-init runs no command of `{key}`");
    problem(tree.position, CloudConfigLoss::Commands, message)
}

/// Whether Python takes the value for false.
fn is_empty(tree: &YamlTree) -> bool {
    match &tree.value {
        YamlValue::Null | YamlValue::Bool(false) => true,
        YamlValue::Text(text) => text.is_empty(),
        YamlValue::List(items) => items.is_empty(),
        YamlValue::Map(entries) => entries.is_empty(),
        YamlValue::Bool(true) | YamlValue::Number(_) => false,
    }
}

/// Whether a content is text. Newer releases write an empty file for null, and only a whole number without leading
/// zeros is a number for every reader of YAML.
fn is_text(tree: &YamlTree) -> bool {
    match &tree.value {
        YamlValue::Null | YamlValue::Text(_) => true,
        YamlValue::Number(number) => number.is_f64(),
        YamlValue::Bool(_) | YamlValue::List(_) | YamlValue::Map(_) => false,
    }
}

/// Whether a value has the tag `!!binary`, which stands between key and value.
fn is_binary(entry: &YamlEntry, source: &str) -> bool {
    let is_between = |number: u64| (entry.position.line..=entry.tree.position.line).contains(&number);
    let mut lines = (1..)
        .zip(source.lines())
        .filter(|(number, _)| is_between(*number));
    lines.any(|(_, line)| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !word.ends_with("content:"));
        words.nth(1) == Some("!!binary") || line.trim_start().starts_with("!!binary")
    })
}

/// Whether a `merge_how` adds lists to earlier ones. Of a key that both dictionaries have, cloud-init keeps one value,
/// unless it is to look into its list.
fn appends_lists(merge_how: &YamlTree) -> bool {
    let text = joined_texts(merge_how);
    let looks_into = ["recurse_array", "recurse_list"];
    text.contains("append") && looks_into.iter().any(|word| text.contains(word))
}

fn joined_texts(tree: &YamlTree) -> String {
    match &tree.value {
        YamlValue::Text(text) => text.clone(),
        YamlValue::List(items) => items.iter().map(joined_texts).collect(),
        YamlValue::Map(entries) => entries.iter().map(|entry| joined_texts(&entry.tree)).collect(),
        YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) => String::new(),
    }
}

/// `is_true` of cloud-init.
fn is_true(tree: &YamlTree) -> bool {
    let text = scalar(tree).unwrap_or_default().to_lowercase();
    ["true", "1", "on", "yes"].contains(&text.trim())
}

enum Decoded {
    Content(Vec<u8>),
    UnknownEncoding,
    Damaged,
}

fn decode(content: &[u8], encoding: &str) -> Decoded {
    let decoded = match encoding {
        "" | "text/plain" => Some(content.to_vec()),
        "b64" | "base64" => python_base64(content),
        "gz" | "gzip" => gunzip(content),
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => {
            python_base64(content).and_then(|inner| gunzip(&inner))
        }
        _ => return Decoded::UnknownEncoding,
    };
    decoded.map_or(Decoded::Damaged, Decoded::Content)
}

/// `b64decode` of Python: skips other characters, ends at the padding, and requires it.
fn python_base64(content: &[u8]) -> Option<Vec<u8>> {
    let is_of_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let mut digits: Vec<u8> = Vec::new();
    let mut padding = 0;
    for byte in content {
        if is_of_alphabet(byte) {
            digits.push(*byte);
            padding = 0;
        } else if *byte == b'=' && digits.len() % 4 >= 2 {
            padding += 1;
            if digits.len() % 4 + padding == 4 {
                digits.extend(std::iter::repeat_n(b'=', padding));
                break;
            }
        }
    }
    digits.len().is_multiple_of(4).then(|| decode_base64(&digits))?
}

/// `shellify` of cloud-init: a text is a command line, a list is quoted word by word. Every word is quoted, so that a
/// reserved word of the shell remains the name of a command. `None`: no command.
fn script(key: &str, tree: &YamlTree) -> Result<Option<Vec<u8>>, CloudConfigProblem> {
    let commands = match &tree.value {
        YamlValue::List(commands) => commands,
        YamlValue::Null => return Ok(None),
        _ => {
            let what = format!("invalid `{key}`: expected a list, found {}", tree.kind());
            return Err(no_commands(key, tree, &what));
        }
    };
    let mut script = INTERPRETER.to_vec();
    for command in commands {
        let line = match &command.value {
            YamlValue::List(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
            YamlValue::Text(text) => text.clone(),
            YamlValue::Null => continue,
            YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Map(_) => {
                let what = format!(
                    "invalid command: expected text or a list of words, found {}; quotes make it text",
                    command.kind()
                );
                return Err(no_commands(key, command, &what));
            }
        };
        script.extend_from_slice(line.as_bytes());
        script.push(b'\n');
    }
    Ok((!commands.is_empty()).then_some(script))
}

/// A word as Python writes it.
fn word(tree: &YamlTree) -> String {
    quoted(&match &tree.value {
        YamlValue::Bool(true) => "True".to_owned(),
        YamlValue::Bool(false) => "False".to_owned(),
        YamlValue::Null => "None".to_owned(),
        _ => scalar(tree).unwrap_or_default(),
    })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn scalar(tree: &YamlTree) -> Option<String> {
    match &tree.value {
        YamlValue::Text(text) => Some(text.clone()),
        YamlValue::Number(number) => Some(number.to_string().trim_end_matches(".0").to_owned()),
        YamlValue::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
