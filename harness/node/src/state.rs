//! Reads what changed on the machine of a probe, by a single exec.

use std::collections::BTreeMap;
use std::io;

use crate::collect::files_of;

const SCRIPT: &str = include_str!("../guest/state");
/// Folder in the archive for parts that are not files of the node.
const PARTS: &str = "parts/";

/// The command that prints the archive.
pub(crate) fn command() -> [&'static str; 3] {
    ["/bin/sh", "-c", SCRIPT]
}

/// Parses the archive: a text for each part, by its name.
pub(crate) fn read(archive: &[u8]) -> io::Result<BTreeMap<String, String>> {
    let (mut parts, mut contents) = (BTreeMap::new(), BTreeMap::new());
    let (mut paths, mut digests) = (String::new(), String::new());
    for (path, content) in files_of(archive)? {
        let text = String::from_utf8_lossy(&content).into_owned();
        match path.strip_prefix(PARTS) {
            Some(part) if !text.is_empty() => {
                parts.insert(part.to_owned(), without_times(&text));
            }
            Some(_) => {}
            None if path == "paths" => paths = text,
            None if path == "digests" => digests = text,
            None => {
                contents.insert(path, text);
            }
        }
    }
    let fields: Vec<&str> = paths.split('\0').collect();
    for fields in fields.chunks_exact(4) {
        let (path, kind, owned, target) = (fields[0], fields[1], fields[2], fields[3]);
        let digest = digests.lines().find_map(|line| {
            let (digest, of) = line.split_once("  ")?;
            (of == path).then(|| format!("SHA-256 {digest}\n"))
        });
        let content = contents.remove(path).or(digest).unwrap_or_default();
        parts.insert(
            format!("{} {path}", kind_word(kind)),
            described(owned, target, &content),
        );
    }
    Ok(parts)
}

/// The type that `find` prints as a letter.
fn kind_word(kind: &str) -> &'static str {
    match kind {
        "f" => "file",
        "d" => "folder",
        "l" => "link",
        "s" => "socket",
        "p" => "pipe",
        "b" | "c" => "device",
        _ => "path",
    }
}

/// Mode, owner and target in the first line, then the content.
fn described(owned: &str, target: &str, content: &str) -> String {
    let (mode, owner) = owned.split_once(' ').unwrap_or((owned, ""));
    let arrow = if target.is_empty() { "" } else { " -> " };
    // A comparison takes changed digits for noise if they change from run to run, as those of a time do.
    let mode = u32::from_str_radix(mode, 8).map_or_else(|_| mode.to_owned(), mode_letters);
    format!("{mode} {owner}{arrow}{target}\n{content}")
}

/// The mode as `ls` prints it, without the type.
fn mode_letters(mode: u32) -> String {
    let letters = (0..9).map(|bit| match mode >> (8 - bit) & 1 {
        1 => ['r', 'w', 'x'][bit % 3],
        _ => '-',
    });
    let special = match mode >> 9 {
        0 => String::new(),
        bits => format!("+{bits:o}"),
    };
    letters.collect::<String>() + &special
}

/// Properties whose value is a list of units without order.
const LISTS: [&str; 9] = [
    "After",
    "Before",
    "Requires",
    "Wants",
    "PartOf",
    "BindsTo",
    "Conflicts",
    "WantedBy",
    "RequiredBy",
];

/// The output of `systemctl show`, without what differs at each start: times and processes of commands, and the order
/// of units.
fn without_times(text: &str) -> String {
    let line = |line: &str| {
        if let Some((command, _)) = line.split_once(" ; start_time=") {
            return format!("{command} }}\n");
        }
        match line.split_once('=') {
            Some((name, units)) if LISTS.contains(&name) => {
                let mut units: Vec<&str> = units.split(' ').collect();
                units.sort_unstable();
                format!("{name}={}\n", units.join(" "))
            }
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            // As GNU tar with --absolute-names writes it.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn each_path_is_a_part_with_mode_owner_and_content() {
        let parts = read(&archive(&[
            (
                "paths",
                "/etc/a\0f\x00644 root:root\0\0/etc/l\0l\x00777 root:root\0/etc/a\0/run/s\0s\x00660 root:docker\0\0\
                 /opt/big\0f\x00755 root:root\0\0/tmp/t\0d\x001777 root:root\0\0",
            ),
            ("digests", "abc  /opt/big\n"),
            ("/etc/a", "one\ntwo\n"),
        ]))
        .unwrap();
        let part = |name: &str| parts[name].as_str();
        assert_eq!(part("file /etc/a"), "rw-r--r-- root:root\none\ntwo\n");
        assert_eq!(part("link /etc/l"), "rwxrwxrwx root:root -> /etc/a\n");
        assert_eq!(part("socket /run/s"), "rw-rw---- root:docker\n");
        assert_eq!(part("file /opt/big"), "rwxr-xr-x root:root\nSHA-256 abc\n");
        assert_eq!(part("folder /tmp/t"), "rwxrwxrwx+1 root:root\n");
    }

    #[test]
    fn parts_of_the_machine_keep_their_names_and_lose_times() {
        let parts = read(&archive(&[
            ("parts/kubelet arguments", "/usr/bin/kubelet\n--v=2\n"),
            (
                "parts/unit x.service",
                "ExecStart={ path=/bin/x ; argv[]=/bin/x -v ; ignore_errors=no ; start_time=[Sat 10:00] ; pid=7 ; status=0/0 }\nWants=b.service a.service\nSlice=a\n",
            ),
            ("parts/failed units", ""),
        ]))
        .unwrap();
        assert_eq!(parts["kubelet arguments"], "/usr/bin/kubelet\n--v=2\n");
        assert_eq!(
            parts["unit x.service"],
            "ExecStart={ path=/bin/x ; argv[]=/bin/x -v ; ignore_errors=no }\nWants=a.service b.service\nSlice=a\n"
        );
        assert!(!parts.contains_key("failed units"));
    }
}
