//! Lists of a cloud-config that the list of a later part replaces: cloud-init keeps the last one by its default
//! (`DEF_MERGERS` in its handlers/cloud_config.py, 19.3 to 25.3).

use nodejoin_core::user_data::{CloudConfig, Parsed, Part, unpacked};

use super::unhandled_parts::CLOUD_CONFIG;
use crate::source_lines::SourceLines;
use crate::tree::{Tree, yaml};

/// The lists with what a node runs.
const LISTS: [&str; 3] = ["bootcmd", "runcmd", "write_files"];
/// What merges lists in another way, in a part or in its header.
const KEYS: [&str; 2] = ["merge_how", "merge_type"];
const HEADERS: [&str; 2] = ["merge-type:", "x-merge-type:"];

/// A list without effect.
struct ReplacedList<'a> {
    key: &'static str,
    part: &'a Part,
    by: &'a Part,
}

/// A sentence for each such list of user data.
pub(super) fn replaced_lists(user_data: &[u8], parsed: &Parsed, lines: &SourceLines<'_>) -> Vec<String> {
    let sentence = |list: ReplacedList<'_>| {
        let ReplacedList { key, part, by } = list;
        let text = String::from_utf8_lossy(&part.content);
        let number = text.lines().position(|line| line.starts_with(key));
        let place = number.map(|index| lines.place(&text, index + 1, "the part"));
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        format!(
            "`{key}` of {}{place} has no effect: {} has one, too, and cloud-init keeps the last one only; write both into one part, or \
             `merge_how: list(append)+dict(recurse_array)+str()` into the later one",
            part.name, by.name
        )
    };
    found(user_data, parsed).into_iter().map(sentence).collect()
}

/// The files and commands of such lists.
pub(super) fn replaced_config(user_data: &[u8], parsed: &Parsed) -> Option<CloudConfig> {
    let mut all = CloudConfig::default();
    for list in found(user_data, parsed) {
        let Ok(config) = CloudConfig::read(&String::from_utf8_lossy(&list.part.content)) else {
            continue;
        };
        match list.key {
            "write_files" => all.files.extend(config.files),
            "runcmd" => all.runcmd = config.runcmd.or(all.runcmd),
            _ => {}
        }
    }
    (!all.files.is_empty() || all.runcmd.is_some()).then_some(all)
}

fn found<'a>(user_data: &[u8], parsed: &'a Parsed) -> Vec<ReplacedList<'a>> {
    let is_header = |line: &str| {
        let line = line.to_ascii_lowercase();
        HEADERS.iter().any(|header| line.starts_with(header))
    };
    let mut found = Vec::new();
    let plain = unpacked(user_data).unwrap_or_default();
    if String::from_utf8_lossy(&plain).lines().any(is_header) {
        return found;
    }
    let configs: Vec<(&Part, Tree)> = parsed.parts.iter().filter_map(config_of).collect();
    for key in LISTS {
        let mut kept: Vec<(&Part, &Tree)> = Vec::new();
        for (part, config) in &configs {
            let Some(list) = config.get(key) else {
                continue;
            };
            if KEYS.iter().all(|key| config.get(key).is_none()) {
                let is_lost = |earlier: &Tree| earlier.without_lines() != list.without_lines();
                let lost = kept.drain(..).filter(|(_, earlier)| is_lost(earlier));
                found.extend(lost.map(|(earlier, _)| ReplacedList {
                    key,
                    part: earlier,
                    by: part,
                }));
            }
            if !list.items().is_empty() {
                kept.push((*part, list));
            }
        }
    }
    found
}

/// The cloud-config in a part that cloud-init can read.
fn config_of(part: &Part) -> Option<(&Part, Tree)> {
    let text = String::from_utf8_lossy(&part.content);
    let is_config = part.mime == CLOUD_CONFIG && CloudConfig::read(&text).is_ok();
    let document = is_config.then(|| yaml(&text))?.ok()?.into_iter().next()?;
    Some((part, document))
}

#[cfg(test)]
mod tests {
    use nodejoin_core::user_data::parse;

    use super::*;

    fn notes(parts: &[&str]) -> Vec<String> {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| format!("--B\nContent-Type: text/cloud-config\n\n#cloud-config\n{part}\n"))
            .collect();
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n{}--B--\n",
            parts.concat()
        );
        replaced_lists(text.as_bytes(), &parse(text.as_bytes()), &SourceLines::default())
    }

    #[test]
    fn a_list_that_a_later_part_replaces_is_named() {
        let found = notes(&[
            "timezone: UTC\nruncmd:\n- a",
            "runcmd: [b]\nwrite_files: [{ path: /a }]",
        ]);
        assert_eq!(
            found,
            [
                "`runcmd` of part-001 (line 3 of the part) has no effect: part-002 has one, too, and cloud-init keeps the last one only; \
                 write both into one part, or `merge_how: list(append)+dict(recurse_array)+str()` into the later one"
            ]
        );
        assert_eq!(notes(&["bootcmd: [a]", "runcmd: [b]", "bootcmd: [c]"]).len(), 1);
        assert_eq!(notes(&["runcmd: [a]", "runcmd: [b]", "runcmd: [c]"]).len(), 2);
    }

    #[test]
    fn lists_that_are_merged_or_equal_are_not_named() {
        let merged = "merge_how: list(append)+dict(recurse_array)+str()\nruncmd: [b]";
        for parts in [
            ["runcmd: [a]", "write_files: [{ path: /a }]"],
            ["runcmd: [a]", merged],
            ["runcmd: [a]", "# Again.\nruncmd:\n- a"],
            ["runcmd: []", "runcmd: [a]"],
            ["runcmd: [a", "runcmd: [b]"],
        ] {
            assert_eq!(notes(&parts), [""; 0], "{parts:?}");
        }
        let with_header = [
            "runcmd: [a]\n--B\nMerge-Type: list(append)+dict(recurse_array)+str()\nContent-Type: text/cloud-config\n\n\
                            #cloud-config\nruncmd: [b]",
        ];
        assert_eq!(notes(&with_header), [""; 0]);
    }
}
