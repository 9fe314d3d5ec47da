//! Reads facts of a node by a single exec: each exec takes a tenth of a second or more.

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use nodejoin_core::observation::{Collected, CollectedFile, ScriptTrace};
use nodejoin_core::vocabulary::file_type::FileType;
use serde::Deserialize;

use crate::request::CollectRequest;
use crate::user_data::{self, Traces};

const SCRIPT: &str = include_str!("../guest/collect");
/// Folder in the archive for facts that are not files of the node.
const FACTS: &str = "facts/";

/// The command that prints the archive.
pub(crate) fn command(request: &CollectRequest) -> Vec<&str> {
    let words = ["/bin/sh", "-c", SCRIPT, "collect"];
    words
        .into_iter()
        .chain(request.units.iter().map(String::as_str))
        .chain(["--"])
        .chain(request.files.iter().map(String::as_str))
        .collect()
}

/// Parses the archive.
pub(crate) fn read(archive: &[u8]) -> io::Result<Collected> {
    let mut collected = Collected::default();
    let (mut facts, mut contents) = (BTreeMap::new(), BTreeMap::new());
    for (path, content) in files_of(archive)? {
        if let Some(fact) = path.strip_prefix(FACTS) {
            facts.insert(fact.to_owned(), content);
            continue;
        }
        contents.insert(path, String::from_utf8_lossy(&content).into_owned());
    }
    collected.files = facts.get("paths").map(|bytes| paths(bytes)).unwrap_or_default();
    for (path, text) in contents {
        collected.files.entry(path).or_default().text = text;
    }
    let changed = facts.get("changed-settings");
    let changed: ChangedSettings = changed
        .and_then(|bytes| serde_json::from_slice(bytes).ok())
        .unwrap_or_default();
    collected.kubelet_argv = facts
        .get("argv")
        .map(|bytes| script_arguments(argv(bytes), &changed.added_arguments))
        .filter(|argv| !argv.is_empty());
    collected.chosen_configuration = changed.chosen_configuration;
    collected.units = facts.get("units").map(|bytes| units(bytes)).unwrap_or_default();
    collected.unit_properties = properties(&facts);
    collected.units_enabled = facts.get("enabled").map(|bytes| lines(bytes));
    collected.user_data_processes = facts
        .get("processes")
        .map(|bytes| processes(bytes))
        .unwrap_or_default();
    collected.redirected_output = facts
        .get("redirected")
        .map(|bytes| lines(bytes))
        .unwrap_or_default();
    collected.user_data = Some(user_data::result(&traces(&facts)));
    collected.script_trace = script_trace(&facts);
    Ok(collected)
}

/// The files of an archive with their paths.
pub(crate) fn files_of(archive: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.push((path, content));
    }
    Ok(files)
}

/// Splits `/proc/PID/cmdline`, whose words end in NUL.
fn argv(bytes: &[u8]) -> Vec<String> {
    let words = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if words.is_empty() {
        return Vec::new();
    }
    words
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// What the harness changed of the kubelet's settings.
#[derive(Debug, Default, Deserialize)]
struct ChangedSettings {
    /// Behind those of the script.
    added_arguments: Vec<String>,
    /// The fields of the configuration as the script chose them.
    chosen_configuration: BTreeMap<String, serde_json::Value>,
}

/// Where the real kubelet lies when a program of the harness takes its place.
const WRAPPED: &str = "/opt/nodejoin/real";

/// The command as the script started it: at its own path, and without arguments that the harness added behind it.
fn script_arguments(mut argv: Vec<String>, added: &[String]) -> Vec<String> {
    if let Some(program) = argv.first_mut()
        && let Some(path) = program.strip_prefix(WRAPPED)
    {
        *program = path.to_owned();
    }
    if argv.ends_with(added) {
        argv.truncate(argv.len() - added.len());
    }
    argv
}

/// Four fields for each path, each ending in NUL: the path, its type, mode and owner, the target of a link.
fn paths(bytes: &[u8]) -> BTreeMap<String, CollectedFile> {
    let text = String::from_utf8_lossy(bytes);
    let fields: Vec<&str> = text.split('\0').collect();
    let files = fields.chunks_exact(4).filter_map(|fields| {
        let (mode, owner) = fields[2].split_once(' ')?;
        let file = CollectedFile {
            exists: true,
            file_type: FileType::of_stat(fields[1])?,
            target: Some(fields[3].to_owned()).filter(|target| !target.is_empty()),
            owner: owner.to_owned(),
            mode: u32::from_str_radix(mode, 8).ok()?,
            text: String::new(),
        };
        Some((fields[0].to_owned(), file))
    });
    files.collect()
}

/// The output of `systemctl show` for each unit, by `UNIT PROPERTY`.
fn properties(facts: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    let shown = facts
        .iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("show/")?, bytes)));
    let properties = shown.flat_map(|(unit, bytes)| {
        let lines = lines(bytes).into_iter();
        lines.filter_map(move |line| {
            let (name, value) = line.split_once('=')?;
            Some((format!("{unit} {name}"), value.to_owned()))
        })
    });
    properties.collect()
}

/// The counted records of bash, and for each script a file with its path and its text.
fn script_trace(facts: &BTreeMap<String, Vec<u8>>) -> Option<ScriptTrace> {
    let records = String::from_utf8_lossy(facts.get("trace")?).into_owned();
    let scripts = facts.iter().filter(|(name, _)| name.starts_with("traced/"));
    let texts = scripts.filter_map(|(_, bytes)| {
        let file = String::from_utf8_lossy(bytes);
        let (path, text) = file.split_once('\n')?;
        Some((path.to_owned(), text.to_owned()))
    });
    Some(ScriptTrace::parse(&records, &texts.collect()))
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::to_owned).collect()
}

/// Lines of `ps`: seconds since the start, CPU time, command.
fn processes(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (seconds, time) = (words.next()?, words.next()?);
        let command = words.collect::<Vec<_>>().join(" ");
        Some(format!("`{command}` for {seconds} s (CPU time {time})"))
    });
    lines.collect()
}

fn units(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(unit, state)| (unit.to_owned(), state.trim().to_owned()))
        .collect()
}

fn traces(facts: &BTreeMap<String, Vec<u8>>) -> Traces {
    let fact = |name: &str| {
        facts
            .get(name)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    Traces {
        status: fact("status.json"),
        result: fact("result.json"),
        log: fact("cloud-init.log").unwrap_or_default(),
        output: fact("cloud-init-output.log").unwrap_or_default(),
        direct_status: fact("direct-status"),
        direct_codes: fact("direct-codes").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, mode, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(*mode);
            // As GNU tar with --absolute-names writes it.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn the_archive_s_facts_and_files_are_separated() {
        let bytes = archive(&[
            (
                "facts/argv",
                0o644,
                b"/usr/bin/kubelet\0--v=2\0--node-labels=\0--added\0",
            ),
            (
                "facts/changed-settings",
                0o644,
                br#"{"added_arguments": ["--added"], "chosen_configuration": {"maxPods": 4}}"#,
            ),
            (
                "facts/units",
                0o644,
                b"kubelet.service active\nx.service inactive\n",
            ),
            ("facts/enabled", 0o644, b"kubelet.service\n"),
            (
                "facts/show/kubelet.service",
                0o644,
                b"Slice=runtime.slice\nEnvironment=A=b\n",
            ),
            (
                "facts/paths",
                0o644,
                b"/etc/kubernetes/pki/ca.crt\0regular file\x00644 root:root\0\0\
                  /run/docker.sock\0socket\x00660 root:docker\0\0\
                  /run/link\0symbolic link\x00777 root:root\0/gone\0",
            ),
            ("/etc/kubernetes/pki/ca.crt", 0o100_644, b"PEM"),
        ]);
        let collected = read(&bytes).unwrap();
        assert_eq!(
            collected.kubelet_argv.unwrap(),
            ["/usr/bin/kubelet", "--v=2", "--node-labels="]
        );
        assert_eq!(collected.units["kubelet.service"], "active");
        let file = &collected.files["/etc/kubernetes/pki/ca.crt"];
        assert_eq!((file.mode, file.text.as_str()), (0o644, "PEM"));
        let socket = &collected.files["/run/docker.sock"];
        assert_eq!((socket.file_type, socket.mode), (FileType::Socket, 0o660));
        assert_eq!(socket.owner, "root:docker");
        assert_eq!(collected.files["/run/link"].target.as_deref(), Some("/gone"));
        assert_eq!(
            collected.unit_properties["kubelet.service Slice"],
            "runtime.slice"
        );
        assert_eq!(collected.unit_properties["kubelet.service Environment"], "A=b");
        assert_eq!(collected.units_enabled.unwrap(), ["kubelet.service"]);
    }

    #[test]
    fn without_a_kubelet_there_is_no_argv() {
        assert_eq!(
            read(&archive(&[("facts/argv", 0o644, b"")]))
                .unwrap()
                .kubelet_argv,
            None
        );
    }
}
