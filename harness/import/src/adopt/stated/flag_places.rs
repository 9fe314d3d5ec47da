//! Flags of the kubelet in the text of user data: those that no call passes on, and the lines of others.

use super::Stated;
use crate::adopt::kubelet_flags::{self, KubeletFlags};
use crate::adopt::shell::UNKNOWN;
use crate::source_lines::SourceLines;

impl Stated {
    pub(super) fn find_flags_elsewhere(&mut self) {
        if !self.flags.unclear.is_empty() || self.flags.has_cut_value() {
            return;
        }
        let is_code = |line: &&str| !line.trim_start().starts_with('#');
        let is_unread = |flag: &String| {
            let mut flags = KubeletFlags::default();
            flags.add(flag);
            flags.remove(&self.flags);
            let is_empty = flags.labels.is_empty() && flags.taints.is_empty() && flags.unclear.is_empty();
            !is_empty || flags.max_pods.is_some()
        };
        let values = kubelet_flags::READ.iter().filter_map(|flag| {
            let lines = self.text.lines().filter(is_code);
            let mut values = lines.filter_map(|line| Some(format!("{flag}={}", literal_of(line, flag)?)));
            values.find(is_unread)
        });
        let found: Vec<String> = values.collect();
        self.flags_elsewhere = found;
    }

    /// The line of a text such as `--max-pods=3` in file or user data, such as ` (line 3)`.
    pub(in crate::adopt) fn place_of(&self, flag: &str, lines: &SourceLines<'_>) -> String {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        let texts = [flag.to_owned(), format!("{name} {value}")];
        let has_flag = |line: &str| {
            let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
            let is_found = |text: &String| {
                line.split_once(text.as_str())
                    .is_some_and(|(_, rest)| is_end(rest))
            };
            !line.trim_start().starts_with('#') && texts.iter().any(is_found)
        };
        let number = self.text.lines().position(has_flag).map(|index| index + 1);
        let place = number.and_then(|number| lines.known_place(&self.text, number));
        place.map(|place| format!(" ({place})")).unwrap_or_default()
    }
}

/// The value of a flag in a line without the words in it that are variables. A slash behind the last sign of a label or
/// taint ends the text of `sed`.
fn literal_of(line: &str, flag: &str) -> Option<String> {
    let (_, after) = line.split_once(flag)?;
    let value = after.strip_prefix('=')?.trim_start_matches(['"', '\'', '\\']);
    let end = value.find([' ', '"', '\'', '\\', ';']).unwrap_or(value.len());
    let last = value[..end].rfind(['=', ':']).unwrap_or(0);
    let slash = value[last..end].find('/').map(|slash| last + slash);
    let words = value[..slash.unwrap_or(end)].split(',');
    let known = words.filter(|word| !word.is_empty() && !word.contains(['$', UNKNOWN]));
    let value = known.collect::<Vec<_>>().join(",");
    // The end of a list of YAML.
    let value = value.trim_end_matches([']', '}']).to_owned();
    (!value.is_empty()).then_some(value)
}
