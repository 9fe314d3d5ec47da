//! Files that are user data themselves: their encoding, and what would read them.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use nodejoin_core::user_data::{Part, parse};

use crate::error::ImportError;
use crate::machine::{AmiFamily, FileFormat, Machine, System, Traits};
use crate::mime::{MIME_HEAD, begins_with_header, is_mime};
use crate::{bottlerocket, scope, windows};

/// The first bytes of gzip data.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Far more than any user data or plan; a bomb of gzip data stops here.
const UNPACKED: u64 = 256 * 1024 * 1024;
/// First lines by which cloud-init recognizes a part.
const PARTS: &[(&str, FileFormat)] = &[
    ("#!", FileFormat::ShellScript),
    ("#cloud-config", FileFormat::CloudConfig),
    ("#cloud-boothook", FileFormat::CloudInit),
    ("#include", FileFormat::CloudInit),
    ("#part-handler", FileFormat::CloudInit),
    ("## template: jinja", FileFormat::CloudInit),
];

pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(GZIP)
}

/// Unpacks gzip data.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes)
        .take(UNPACKED)
        .read_to_end(&mut unpacked);
    read.map_err(|error| ImportError::Invalid {
        line: None,
        column: None,
        problem: format!("damaged gzip data: {error}"),
        hint: "copy the file again in binary mode".to_owned(),
    })?;
    Ok(unpacked)
}

/// The content of a text that is one base64 value, which may have line breaks.
pub(crate) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let compact: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    if compact.is_empty() || !compact.iter().all(is_base64) {
        return None;
    }
    STANDARD.decode(compact).ok()
}

/// The user data in a field of an API, which is base64.
pub(crate) fn from_base64(text: &str, line: Option<usize>) -> Result<Vec<u8>, ImportError> {
    decoded(text.as_bytes()).ok_or_else(|| ImportError::Invalid {
        line,
        column: None,
        problem: format!(
            "invalid base64 in the user data, which begins with `{}`",
            beginning(text)
        ),
        hint: "the field takes the base64 of the user data, not the user data or the name of its file"
            .to_owned(),
    })
}

/// The format of user data, if cloud-init, nodeadm, Windows or Bottlerocket would recognize it.
pub(crate) fn format(text: &str) -> Option<FileFormat> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    // cloud-init ignores case. A comment that only begins with such a word is likelier in other files.
    let first = start.lines().next().unwrap_or_default();
    if first.trim_end().eq_ignore_ascii_case("#cloud-config") {
        return Some(FileFormat::CloudConfig);
    }
    // Also with a message inside: one that does not begin with a header has none, and its whole text is one part.
    if let Some((_, format)) = PARTS.iter().find(|(begin, _)| start.starts_with(begin)) {
        return Some(*format);
    }
    if is_mime(text) {
        return Some(FileFormat::Mime);
    }
    let is_windows = ["<powershell>", "<script>"].iter().any(|tag| {
        start
            .get(..tag.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(tag))
    });
    if is_windows {
        return Some(FileFormat::WindowsScript);
    }
    let is_settings =
        |line: &str| line == "[settings]" || line.starts_with("[settings.") || line.starts_with("settings.");
    let is_in_template = || {
        let begins = ["Resources:", "AWSTemplateFormatVersion"];
        text.lines()
            .any(|line| begins.iter().any(|word| line.starts_with(word)))
    };
    let is_in_manifest = text.contains("apiVersion:");
    // The readers of TOML skip a byte order mark.
    if start.lines().any(|line| is_settings(line.trim())) && !is_in_manifest && !is_in_template() {
        return Some(FileFormat::BottlerocketSettings);
    }
    None
}

/// Whether a text, which may be gzip data, is user data by its beginning or its commands.
pub(crate) fn is_user_data(bytes: &[u8]) -> bool {
    let plain = match is_gzip(bytes) {
        true => unpacked(bytes).unwrap_or_default(),
        false => bytes.to_vec(),
    };
    std::str::from_utf8(&plain).is_ok_and(|text| format(text).is_some() || joins(text))
}

/// Whether a text calls, or configures, a program that joins a cluster.
pub(crate) fn joins(text: &str) -> bool {
    is_bootstrap_script(text)
        || ["node.eks.aws/", "[settings.kubernetes", "Start-EKSBootstrap"]
            .iter()
            .any(|word| text.contains(word))
}

/// Lines that only a bootstrap script has.
pub(crate) fn is_bootstrap_script(text: &str) -> bool {
    ["/etc/eks/bootstrap.sh", "nodeadm init", "kubeadm join"]
        .iter()
        .any(|command| text.contains(command))
}

/// Whether nodeadm reads the text as user data that is not MIME.
pub(crate) fn is_node_config(text: &str) -> bool {
    const API: &str = "apiVersion:node.eks.aws/";
    text.lines().any(|line| {
        let line = line.replace(['"', '\'', ' ', '\t'], "");
        line.starts_with(API) || line.starts_with('{') && has_field(&line, API)
    })
}

/// Whether a line of JSON, such as one of Terraform's `jsonencode`, has such a field in its outer object: a manifest
/// may contain a NodeConfig.
fn has_field(line: &str, field: &str) -> bool {
    let depth = |text: &str| {
        text.matches(['{', '['])
            .count()
            .checked_sub(text.matches(['}', ']']).count())
    };
    let mut found = line.match_indices(field).map(|(at, _)| &line[..at]);
    found.any(|before| before.ends_with(['{', ',']) && depth(before) == Some(1))
}

/// A machine whose user data is the whole file.
pub(crate) fn machine(
    name: &str,
    user_data: Vec<u8>,
    text: &str,
    format: FileFormat,
) -> Result<Machine, ImportError> {
    let mut machine = Machine {
        name: name.to_owned(),
        line: Some(1),
        user_data: Some(user_data),
        ..Machine::default()
    };
    describe(&mut machine, text, format)?;
    Ok(machine)
}

/// Adds what the text of user data shows about the machine: its system, its AMI family, and what its readers ignore.
pub(crate) fn describe(machine: &mut Machine, text: &str, format: FileFormat) -> Result<(), ImportError> {
    let family = |traits: &mut Traits, family| {
        traits.ami_family.get_or_insert(family);
    };
    scope::check_user_data(text)?;
    if format == FileFormat::Mime {
        check_settings_in_message(machine, text)?;
    }
    match format {
        FileFormat::BottlerocketSettings => {
            machine.system = System::Bottlerocket;
            family(&mut machine.traits, AmiFamily::Bottlerocket);
            let table = settings(text)?;
            let mut problems = bottlerocket::check(text, &table, machine.managed.is_some())?;
            machine.problems.append(&mut problems);
            bottlerocket::describe(&table, &mut machine.traits);
        }
        FileFormat::WindowsScript => {
            machine.system = System::Windows;
            family(&mut machine.traits, AmiFamily::Windows);
            if !text.to_ascii_lowercase().contains("<powershell>") {
                machine.notes.push(
                    "there is no tag `<powershell>`: Windows runs the file only as part of the user data that EKS composes"
                        .to_owned(),
                );
            }
            let mut call = windows::check(text)?;
            machine.notes.append(&mut call.notes);
            let cluster = &mut machine.traits.cluster;
            cluster.name = cluster.name.take().or(call.cluster);
        }
        FileFormat::NodeConfig => family(&mut machine.traits, AmiFamily::Al2023),
        // The note about the byte order mark says that nothing reads the message.
        FileFormat::Mime if text.starts_with('\u{feff}') => {}
        FileFormat::Mime if !begins_with_header(text) => machine.notes.push(format!(
            "`MIME-Version:` is in the first {MIME_HEAD} bytes: cloud-init reads the file as a MIME message, although \
             other text comes first"
        )),
        FileFormat::ShellScript if is_message_behind_first_line(text) => machine.problems.push(
            "a line stands before the header of the MIME message: cloud-init runs the whole file as one script, with the header \
             and the boundaries as commands; remove the line"
                .to_owned(),
        ),
        FileFormat::ShellScript if !text.trim_start().starts_with("#!") => {
            match unmarked_cloud_config(text) {
                Some(problem) => machine.problems.push(problem),
                None => machine.notes.push(
                    "the first line does not begin with `#!`: cloud-init does not run the file".to_owned(),
                ),
            }
        }
        _ => {}
    }
    Ok(())
}

/// Finds settings of Bottlerocket in a part of a message: it takes TOML alone, and no other system reads them.
///
/// # Errors
/// Nothing else of the message is for a node, and the file does not state another system.
fn check_settings_in_message(machine: &mut Machine, text: &str) -> Result<(), ImportError> {
    let parts = parse(text.as_bytes()).parts;
    // Such a part is a program that handles types of its own.
    if parts.iter().any(|part| part.mime == "text/part-handler") {
        return Ok(());
    }
    let content = |part: &Part| String::from_utf8_lossy(&part.content).into_owned();
    let is_settings = |text: &String| {
        let is_toml = format(text) == Some(FileFormat::BottlerocketSettings);
        is_toml && settings(text).is_ok_and(|table| table.contains_key("settings"))
    };
    let (found, others): (Vec<String>, Vec<String>) = parts.iter().map(content).partition(is_settings);
    if found.is_empty() {
        return Ok(());
    }
    let line = text.lines().position(|line| line.trim().starts_with("[settings"));
    let problem = "the MIME message has settings of Bottlerocket in a part: Bottlerocket takes TOML alone and rejects the message, and no \
                   other system reads the part";
    let is_for_other = machine.traits.ami_family.is_some() || machine.managed.is_some();
    if is_for_other || others.iter().any(|other| joins(other)) {
        machine.problems.push(problem.to_owned());
        return Ok(());
    }
    Err(ImportError::Invalid {
        line: line.map(|index| index + 1),
        column: None,
        problem: problem.to_owned(),
        hint: "give the settings without the message".to_owned(),
    })
}

/// Whether a text has keys of a cloud-config, also without the first line of one.
pub(crate) fn has_cloud_config_keys(text: &str) -> bool {
    const KEYS: [&str; 4] = ["bootcmd:", "packages:", "runcmd:", "write_files:"];
    text.lines()
        .any(|line| KEYS.iter().any(|key| line.starts_with(key)))
}

/// What is wrong with the beginning of a cloud-config. cloud-init looks for `#cloud-config` there only.
fn unmarked_cloud_config(text: &str) -> Option<String> {
    if !has_cloud_config_keys(text) {
        return None;
    }
    let comment = |line: &&str| {
        let comment = line.trim().strip_prefix('#').map(str::trim_start);
        comment.is_some_and(|comment| comment.to_ascii_lowercase().starts_with("cloud-config"))
    };
    let why = match text.lines().find(comment).map(str::trim) {
        Some(line) if line.to_ascii_lowercase().starts_with("#cloud-config") => {
            "`#cloud-config` is not at the beginning of the file".to_owned()
        }
        Some(line) => format!("`{line}` is not `#cloud-config`"),
        None => "the file has keys of a cloud-config and does not begin with `#cloud-config`".to_owned(),
    };
    Some(format!(
        "{why}: cloud-init does not take it for a cloud-config and runs nothing of it; begin the file with `#cloud-config`"
    ))
}

/// Parses settings of Bottlerocket.
///
/// # Errors
/// The text is not TOML, or a script.
pub(crate) fn settings(text: &str) -> Result<toml::Table, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let script = text.lines().position(|line| !line.trim().is_empty());
    let script = script.filter(|_| text.trim_start().starts_with("#!"));
    if let Some(index) = script {
        return Err(ImportError::Invalid {
            line: Some(index + 1),
            column: None,
            problem: "Bottlerocket takes settings in TOML, and this is a script".to_owned(),
            hint: "write settings such as `[settings.kubernetes]`, or choose the AMI of another family"
                .to_owned(),
        });
    }
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let (line, column) = error.span().map(|span| position(text, span.start)).unzip();
        ImportError::Invalid {
            line,
            column,
            problem: format!(
                "invalid TOML: {}",
                error.message().lines().collect::<Vec<_>>().join("; ")
            ),
            hint: "Bottlerocket ignores all of its user data if the TOML is invalid; correct the line"
                .to_owned(),
        }
    })?;
    Ok(table)
}

/// Whether settings of Bottlerocket become TOML only when the names in `${...}` have values.
pub(crate) fn is_open_settings(text: &str) -> bool {
    format(text) == Some(FileFormat::BottlerocketSettings) && text.contains("${") && settings(text).is_err()
}

/// Line and column of a byte, from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

fn is_message_behind_first_line(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let second = lines.nth(1).unwrap_or_default();
    text.trim_start().starts_with("#!") && is_mime(second) && begins_with_header(second)
}

/// The beginning of a text for messages.
pub(crate) fn beginning(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let begin: String = line.chars().take(40).collect();
    if begin.len() < line.len() {
        format!("{begin}...")
    } else {
        begin
    }
}
