//! The part of `#cloud-config` that bootstrapping needs: `write_files` and `runcmd`.

use std::io::Read as _;

use super::mime::decode_base64;
use crate::input::mode::octal;
use crate::input::problem::Position;
use crate::input::yaml::{self, YamlTree, YamlValue};

/// The files and commands of a cloud-config.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudConfig {
    /// Files of `write_files`, in order.
    pub files: Vec<WriteFile>,
    /// The script that cloud-init creates for `runcmd`. Without `set -e`, its exit code is that of its last command.
    pub runcmd: Option<Vec<u8>>,
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

/// A cloud-config that cloud-init rejects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {message}", position.line)]
pub struct CloudConfigError {
    pub position: Position,
    /// The problem in one sentence.
    pub message: String,
}

impl CloudConfig {
    /// Reads a cloud-config.
    ///
    /// # Errors
    /// The text is not YAML, or `write_files` or `runcmd` has a wrong format.
    pub fn read(text: &str) -> Result<Self, CloudConfigError> {
        let tree = yaml::parse(text).map_err(|error| CloudConfigError {
            position: error.position,
            message: error.message,
        })?;
        let files = items(&tree, "write_files")?
            .iter()
            .map(write_file)
            .collect::<Result<_, _>>()?;
        let commands = items(&tree, "runcmd")?;
        let runcmd = if commands.is_empty() {
            None
        } else {
            Some(script(commands)?)
        };
        Ok(Self { files, runcmd })
    }

    /// Merges a later cloud-config. By the default of cloud-init, its lists replace earlier ones.
    pub fn merge(&mut self, later: Self) {
        if !later.files.is_empty() {
            self.files = later.files;
        }
        if later.runcmd.is_some() {
            self.runcmd = later.runcmd;
        }
    }
}

fn refuse(tree: &YamlTree, message: String) -> CloudConfigError {
    CloudConfigError {
        position: tree.position,
        message,
    }
}

fn items<'a>(tree: &'a YamlTree, key: &str) -> Result<&'a [YamlTree], CloudConfigError> {
    match tree.get(key).map(|found| (&found.value, found)) {
        None | Some((YamlValue::Null, _)) => Ok(&[]),
        Some((YamlValue::List(items), _)) => Ok(items),
        Some((_, found)) => Err(refuse(
            found,
            format!("invalid `{key}`: expected a list, found {}", found.kind()),
        )),
    }
}

fn write_file(tree: &YamlTree) -> Result<WriteFile, CloudConfigError> {
    let text = |key: &str| tree.get(key).and_then(scalar);
    let path =
        text("path").ok_or_else(|| refuse(tree, "missing `path` in an entry of `write_files`".to_owned()))?;
    let content = text("content").unwrap_or_default();
    let encoding = text("encoding").unwrap_or_default();
    let content = decode(content.as_bytes(), &encoding.to_lowercase())
        .ok_or_else(|| refuse(tree, format!("invalid content of {path}: expected {encoding}")))?;
    let permissions = text("permissions").unwrap_or_else(|| "0644".to_owned());
    let mode = octal(&permissions)
        .ok_or_else(|| refuse(tree, format!("invalid permissions `{permissions}` of {path}")))?;
    let owner = text("owner").unwrap_or_else(|| "root:root".to_owned());
    let append = matches!(
        tree.get("append").map(|append| &append.value),
        Some(YamlValue::Bool(true))
    );
    Ok(WriteFile {
        path,
        content,
        mode,
        owner,
        append,
    })
}

fn decode(content: &[u8], encoding: &str) -> Option<Vec<u8>> {
    match encoding {
        "" | "text/plain" => Some(content.to_vec()),
        "b64" | "base64" => decode_base64(content),
        "gz" | "gzip" => gunzip(content),
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => gunzip(&decode_base64(content)?),
        _ => None,
    }
}

pub(super) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    // User data has at most 16 KiB; protects from decompression bombs.
    const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(MAX_UNPACKED)
        .read_to_end(&mut unpacked)
        .ok()?;
    Some(unpacked)
}

/// `shellify` of cloud-init: a text is a command line, a list is quoted word by word. Every word is quoted, so that a
/// reserved word of the shell remains the name of a command.
fn script(commands: &[YamlTree]) -> Result<Vec<u8>, CloudConfigError> {
    let mut script = b"#!/bin/sh\n".to_vec();
    for command in commands {
        let line = match &command.value {
            YamlValue::List(words) => words
                .iter()
                .filter_map(scalar)
                .map(|word| quoted(&word))
                .collect::<Vec<_>>()
                .join(" "),
            YamlValue::Null => continue,
            _ => scalar(command).ok_or_else(|| {
                refuse(
                    command,
                    "invalid command: expected text or a list of words".to_owned(),
                )
            })?,
        };
        script.extend_from_slice(line.as_bytes());
        script.push(b'\n');
    }
    Ok(script)
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
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_are_parsed() {
        let config = CloudConfig::read(
            "#cloud-config\npackages: null\nwrite_files:\n  - path: /etc/eksctl/kubelet.env\n    content: |\n      A=b\n    permissions: '0600'\n  \
             - { path: /b, encoding: b64, content: aGk=, owner: 'ubuntu:ubuntu', permissions: 0755, append: true }\n\
             runcmd:\n  - /var/lib/cloud/scripts/eksctl/bootstrap.al2.sh\n  - [echo, \"it's\", 1]\n",
        )
        .unwrap();
        assert_eq!(config.files[0].content, b"A=b\n");
        assert_eq!(
            (config.files[0].mode, config.files[0].owner.as_str()),
            (0o600, "root:root")
        );
        assert_eq!(
            (
                config.files[1].content.as_slice(),
                config.files[1].mode,
                config.files[1].append
            ),
            (&b"hi"[..], 0o755, true)
        );
        let script = String::from_utf8(config.runcmd.unwrap()).unwrap();
        assert_eq!(
            script,
            "#!/bin/sh\n/var/lib/cloud/scripts/eksctl/bootstrap.al2.sh\n'echo' 'it'\\''s' '1'\n"
        );
    }

    #[test]
    fn invalid_cloud_configs_are_rejected_with_their_line() {
        for (text, message) in [
            (
                "runcmd: x\n",
                "line 1: invalid `runcmd`: expected a list, found text",
            ),
            (
                "write_files:\n  - content: x\n",
                "line 2: missing `path` in an entry of `write_files`",
            ),
            ("write_files: [{ path: /a, encoding: rot13 }]\n", "expected rot13"),
            (
                "write_files: [{ path: /a, permissions: rwx }]\n",
                "invalid permissions `rwx`",
            ),
            ("runcmd: [\n", "line 1:"),
        ] {
            let error = CloudConfig::read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_later_list_replaces_an_earlier_one() {
        let read = |text: &str| CloudConfig::read(text).unwrap();
        let mut config = read("runcmd: [a]\nwrite_files: [{ path: /a }]\n");
        config.merge(read("runcmd: [b]\n"));
        assert_eq!(config.runcmd.unwrap(), b"#!/bin/sh\nb\n");
        assert_eq!(config.files.len(), 1);
    }
}
