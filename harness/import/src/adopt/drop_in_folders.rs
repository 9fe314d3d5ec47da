//! Drop-ins of systemd in folders that it does not read.

use nodejoin_core::user_data::parse;
use nodejoin_core::vocabulary::unit::TYPES;

use crate::source_lines::SourceLines;

/// In the paths of all folders with unit files.
const UNITS: &str = "/systemd/system/";

/// One sentence for each such folder that the user data names. `decoded`: the text of its parts and files.
pub(super) fn unread(user_data: &str, decoded: &str, lines: &SourceLines<'_>) -> Vec<String> {
    let decoded_lines: Vec<(usize, &str)> = folders(decoded);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for (number, unit) in folders(user_data) {
        if found.iter().all(|(_, known)| *known != unit) {
            found.push((number, unit));
        }
    }
    let sentence = |(number, unit): (usize, &str)| {
        let of_file = decoded_lines.iter().filter(|(_, other)| *other == unit);
        let of_file = of_file.filter_map(|(number, _)| lines.place_in_file(decoded, *number));
        let place = of_file.into_iter().next();
        let place = place.unwrap_or_else(|| lines.place(user_data, number, "the user data"));
        format!(
            "systemd reads no drop-ins of a folder `{unit}.d` ({place}): those of {unit}.service are in `{unit}.service.d`"
        )
    };
    found.into_iter().map(sentence).collect()
}

/// The lines that name such a folder, each with its unit.
fn folders(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let names = line.match_indices(UNITS).map(|(at, _)| &line[at + UNITS.len()..]);
        let units = names.filter_map(unit_of_drop_in).filter(|unit| !has_type(unit));
        found.extend(units.map(|unit| (number, unit)));
    }
    found
}

/// Flags of the kubelet in drop-ins of such folders, which nothing reads.
pub(super) fn lost_flags(user_data: &[u8]) -> Vec<String> {
    let config = parse(user_data).cloud_config();
    let files = config.files.iter().filter(|file| is_unread(&file.path));
    let files = files.map(|file| String::from_utf8_lossy(&file.content).into_owned());
    let documents = documents(&String::from_utf8_lossy(user_data));
    let mut flags = Vec::new();
    for text in files.chain(documents) {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let of_line = |line: &str| Some(line[line.find("--")?..].trim_end_matches(['"', '\'']).to_owned());
        flags.extend(lines.filter_map(of_line));
    }
    flags
}

/// Here-documents of commands that name such a folder.
fn documents(user_data: &str) -> Vec<String> {
    let mut lines = user_data.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some((_, rest)) = line.split_once("<<").filter(|_| is_unread(line)) else {
            continue;
        };
        let word = rest.trim_start_matches(['-', ' ']).split_whitespace().next();
        let word = word.unwrap_or_default().trim_matches(['"', '\'']);
        let body = lines.by_ref().take_while(|line| line.trim() != word);
        found.push(body.collect::<Vec<_>>().join("\n"));
    }
    found
}

fn is_unread(line: &str) -> bool {
    !folders(line).is_empty()
}

/// The unit in a path such as `kubelet.service.d/10-labels.conf`.
fn unit_of_drop_in(rest: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "@_.-".contains(c);
    let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
    rest[..end].strip_suffix(".d").filter(|unit| !unit.is_empty())
}

/// Whether a name ends with the type of its unit. A folder with the type alone is for all units of it.
fn has_type(unit: &str) -> bool {
    let last = unit.rsplit('.').next().unwrap_or_default();
    TYPES.contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_type_of_its_unit_is_named_once() {
        let script = "#!/bin/bash\nmkdir -p /etc/systemd/system/kubelet.d\ncat > /etc/systemd/system/kubelet.d/10-labels.conf <<E\nE\n";
        let expected = "systemd reads no drop-ins of a folder `kubelet.d` (line 2 of the user data): those of kubelet.service are in \
                        `kubelet.service.d`";
        assert_eq!(unread(script, "", &SourceLines::default()), [expected]);
    }

    #[test]
    fn flags_in_such_a_folder_are_lost() {
        let line = "Environment=\"KUBELET_EXTRA_ARGS=--node-labels=a=b --max-pods=9\"";
        let script = format!(
            "#!/bin/bash\ncat > /etc/systemd/system/kubelet.d/a.conf <<'E'\n[Service]\n{line}\nE\n--other\n"
        );
        let files = format!(
            "#cloud-config\nwrite_files:\n- path: /etc/systemd/system/kubelet.d/a.conf\n  content: |\n    {line}\n"
        );
        for user_data in [&script, &files] {
            assert_eq!(
                lost_flags(user_data.as_bytes()),
                ["--node-labels=a=b --max-pods=9"],
                "{user_data}"
            );
            let read = user_data.replace("kubelet.d", "kubelet.service.d");
            assert_eq!(lost_flags(read.as_bytes()), Vec::<String>::new());
        }
    }

    #[test]
    fn folders_that_systemd_reads_are_not() {
        let script = "mkdir -p /etc/systemd/system/kubelet.service.d /etc/systemd/system/service.d \"/usr/lib/systemd/system/a@.socket.d/\"\n\
                      # /etc/systemd/system/kubelet.d\nls /etc/systemd/system/multi-user.target.wants /etc/systemd/system.conf.d\n";
        assert_eq!(unread(script, "", &SourceLines::default()), Vec::<String>::new());
    }
}
