//! Splits user data in the same way as cloud-init: parts with their names, and faults that cloud-init would report.

use super::cloud_config::{CloudConfig, CloudConfigLoss};
use super::gzip::{GZIP, gunzip};
use super::mime::{Message, decode_base64};
use crate::vocabulary::nearest::nearest;

/// User data, split into parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the message.
    pub parts: Vec<Part>,
    /// Faults of the parts.
    pub faults: Vec<PartFault>,
}

/// A part of user data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// File name in the header, else `part-001` and so on.
    pub name: String,
    /// MIME type, from the header or detected by the first line.
    pub mime: String,
    /// Decoded and decompressed content.
    pub content: Vec<u8>,
    /// Whether it is a part of a message that is a part itself: cloud-init reads it, nodeadm does not.
    pub is_nested: bool,
}

/// A fault of user data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFault {
    /// Name of the part; `None`: the user data as a whole.
    pub part: Option<String>,
    pub kind: FaultKind,
    /// Description of the fault.
    pub what: String,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A script without `#!` in its first line: `Exec format error`.
    MissingShebang,
    /// Content of an unknown type. cloud-init warns and continues.
    Unhandled,
    /// A declared type that cloud-init does not handle. It warns and continues.
    UnknownType,
    /// Base64 instead of plain bytes. cloud-init does not decode user data as a whole.
    Base64,
    /// A MIME message without parts, or a part that cannot be decoded.
    Damaged,
    /// A cloud-config that cloud-init ignores, or a module of it that ends.
    CloudConfig,
    /// A part of a cloud-config that cloud-init skips, or reads in another way than written.
    CloudConfigEntry,
}

/// A script that cloud-init runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Name of its part, or `runcmd`.
    pub name: String,
    pub content: Vec<u8>,
}

/// Splits user data.
#[must_use]
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut parsed = Parsed::default();
    let Some(bytes) = unpacked(bytes) else {
        parsed.fault(None, FaultKind::Damaged, "damaged gzip data");
        return parsed;
    };
    if is_mime(&bytes) {
        parsed.message(&Message::read(&bytes), 0);
    } else if !bytes.is_empty() {
        parsed.part(None, "text/x-not-multipart".to_owned(), bytes, false);
    }
    parsed
}

impl Parsed {
    /// The scripts in the order of the final stage of cloud-init: by name, including `runcmd`.
    #[must_use]
    pub fn scripts(&self) -> Vec<Script> {
        let shell = self.parts.iter().filter(|part| part.mime == SHELL);
        let mut scripts: Vec<Script> = shell
            .map(|part| Script {
                name: part.name.clone(),
                content: unix(&part.content),
            })
            .collect();
        scripts.extend(self.cloud_config().runcmd.map(|content| Script {
            name: "runcmd".to_owned(),
            content,
        }));
        scripts.sort_by(|left, right| left.name.cmp(&right.name));
        scripts
    }

    /// All cloud-configs, merged. Invalid ones are omitted; [`Parsed::faults`] lists them.
    #[must_use]
    pub fn cloud_config(&self) -> CloudConfig {
        let mut all = CloudConfig::default();
        for part in self.parts.iter().filter(|part| part.mime == CLOUD_CONFIG) {
            if let Ok(config) = CloudConfig::read(&String::from_utf8_lossy(&part.content)) {
                all.merge(config);
            }
        }
        all
    }

    /// Adds a message, or a part of one. `depth`: how many messages contain it.
    fn message(&mut self, message: &Message, depth: usize) {
        if message.is_multipart() {
            match message.parts() {
                Some(parts) => parts.iter().for_each(|part| self.message(part, depth + 1)),
                None => self.fault(None, FaultKind::Damaged, &message.lack_of_parts()),
            }
            return;
        }
        let payload = message.payload().and_then(|payload| unpacked(&payload));
        match payload {
            Some(content) => self.part(message.filename(), message.content_type(), content, depth > 1),
            None => {
                let name = message.filename().unwrap_or_else(|| self.next_name());
                self.fault(
                    Some(name),
                    FaultKind::Damaged,
                    "damaged transfer encoding or compression",
                );
            }
        }
    }

    fn next_name(&self) -> String {
        format!("part-{:03}", self.parts.len() + 1)
    }

    fn part(&mut self, filename: Option<String>, declared: String, content: Vec<u8>, is_nested: bool) {
        let name = filename.unwrap_or_else(|| self.next_name());
        let mime = match declared.as_str() {
            "text/plain" | "text/x-not-multipart" | "application/gzip" | "application/x-gzip" => {
                detected_type(&content).map_or(declared, str::to_owned)
            }
            // Python takes a type that is not of the form `a/b` for text/plain.
            _ if declared.matches('/').count() != 1 => {
                detected_type(&content).map_or(declared, str::to_owned)
            }
            _ => declared,
        };
        self.check(&name, &mime, &content);
        self.parts.push(Part {
            name,
            mime,
            content,
            is_nested,
        });
    }

    fn check(&mut self, name: &str, mime: &str, content: &[u8]) {
        let first = String::from_utf8_lossy(content.split(|byte| *byte == b'\n').next().unwrap_or_default())
            .into_owned();
        let name = Some(name.to_owned());
        match mime {
            SHELL if !content.starts_with(b"#!") => {
                self.fault(
                    name,
                    FaultKind::MissingShebang,
                    &format!("a script must start with `#!`, found `{first}`"),
                );
            }
            BOOTHOOK if !is_executable_boothook(content) => {
                self.fault(
                    name,
                    FaultKind::MissingShebang,
                    "a boothook must start with `#!` behind its line `#cloud-boothook`",
                );
            }
            CLOUD_CONFIG => self.check_cloud_config(name, &String::from_utf8_lossy(content)),
            // cloud-init warns; nodeadm reads it.
            "text/x-not-multipart" if is_node_config(content) => {}
            "text/x-not-multipart" if is_base64(content) => {
                self.fault(
                    name,
                    FaultKind::Base64,
                    "base64, which cloud-init does not decode",
                );
            }
            "text/x-not-multipart" => {
                self.fault(
                    name,
                    FaultKind::Unhandled,
                    &format!("unknown type: cloud-init does not recognize `{first}`"),
                );
            }
            _ if !HANDLED.contains(&mime) => {
                let meant = match is_node_config(content) {
                    true => Some(NODE_CONFIG),
                    false => nearest(mime, HANDLED).filter(|_| mime != "text/plain"),
                };
                let meant = meant
                    .map(|meant| format!("; did you mean `{meant}`?"))
                    .unwrap_or_default();
                let empty = if content.trim_ascii().is_empty() {
                    "; the part is empty"
                } else {
                    ""
                };
                let what = format!("cloud-init does not handle the type `{mime}`{meant}{empty}");
                self.fault(name, FaultKind::UnknownType, &what);
            }
            _ => {}
        }
    }

    fn check_cloud_config(&mut self, name: Option<String>, text: &str) {
        let problems = match CloudConfig::read(text) {
            Ok(config) => config.problems,
            Err(error) => return self.fault(name, FaultKind::CloudConfig, &error.to_string()),
        };
        for problem in problems {
            let kind = match problem.loss {
                CloudConfigLoss::Entry => FaultKind::CloudConfigEntry,
                CloudConfigLoss::Files | CloudConfigLoss::Commands => FaultKind::CloudConfig,
            };
            self.fault(name.clone(), kind, &problem.to_string());
        }
    }

    fn fault(&mut self, part: Option<String>, kind: FaultKind, what: &str) {
        self.faults.push(PartFault {
            part,
            kind,
            what: what.to_owned(),
        });
    }
}

pub(super) const SHELL: &str = "text/x-shellscript";
const CLOUD_CONFIG: &str = "text/cloud-config";
const BOOTHOOK: &str = "text/cloud-boothook";
/// nodeadm reads it.
const NODE_CONFIG: &str = "application/node.eks.aws";

/// The types that cloud-init 22.1 and later handles, and the one of nodeadm.
const HANDLED: [&str; 13] = [
    NODE_CONFIG,
    SHELL,
    "text/x-shellscript-per-boot",
    "text/x-shellscript-per-instance",
    "text/x-shellscript-per-once",
    CLOUD_CONFIG,
    "text/cloud-config-archive",
    "text/cloud-config-jsonp",
    BOOTHOOK,
    "text/jinja2",
    "text/part-handler",
    "text/x-include-once-url",
    "text/x-include-url",
];

/// cloud-init removes the line `#cloud-boothook` and executes what follows.
fn is_executable_boothook(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    let text = text.strip_prefix("#cloud-boothook").unwrap_or(&text);
    text.trim_start().starts_with("#!")
}

/// cloud-init searches the first 4 KiB for the header.
fn is_mime(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).to_lowercase();
    start.contains("mime-version:") || start.starts_with("content-type: multipart/")
}

/// Detects the type by the first line.
fn detected_type(content: &[u8]) -> Option<&'static str> {
    const STARTS: [(&str, &str); 9] = [
        ("#include-once", "text/x-include-once-url"),
        ("#include", "text/x-include-url"),
        ("#!", SHELL),
        ("#cloud-config-archive", "text/cloud-config-archive"),
        ("#cloud-config", CLOUD_CONFIG),
        ("#cloud-boothook", BOOTHOOK),
        ("#part-handler", "text/part-handler"),
        ("## template: jinja", "text/jinja2"),
        ("#upstart-job", "text/upstart-job"),
    ];
    let text = String::from_utf8_lossy(&content[..content.len().min(256)]).to_lowercase();
    let text = text.trim_start();
    STARTS
        .iter()
        .find(|(start, _)| text.starts_with(start))
        .map(|(_, mime)| *mime)
}

/// The content without its compression; `None` if it is damaged.
#[must_use]
pub fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.starts_with(&GZIP) {
        gunzip(bytes)
    } else {
        Some(bytes.to_vec())
    }
}

/// Whether the content is base64 of valid user data.
fn is_base64(content: &[u8]) -> bool {
    content.len() >= 16
        && decode_base64(content)
            .is_some_and(|inner| inner.starts_with(&GZIP) || inner.starts_with(b"#") || is_mime(&inner))
}

/// Converts line endings to LF, as cloud-init does for scripts whose first line ends with CRLF.
fn unix(content: &[u8]) -> Vec<u8> {
    let first = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if !first.ends_with(b"\r") {
        return content.to_vec();
    }
    let mut lines = Vec::with_capacity(content.len());
    for (index, byte) in content.iter().enumerate() {
        if *byte != b'\r' || content.get(index + 1) != Some(&b'\n') {
            lines.push(*byte);
        }
    }
    lines
}

/// Whether the content is a configuration of nodeadm.
pub(super) fn is_node_config(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.lines()
        .any(|line| line.contains("apiVersion") && line.contains(NODE_CONFIG_GROUP))
}

const NODE_CONFIG_GROUP: &str = "node.eks.aws/";

#[cfg(test)]
mod tests;
