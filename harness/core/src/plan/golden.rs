//! A node against a snapshot of it that is kept beside the scenario: files and the kubelet's arguments, with what differs from run to
//! run replaced by its name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::Collected;
use crate::user_data::Values;

/// What of a node is held against a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoldenFile {
    /// The snapshot, relative to this file; the scenario's own name with `.snapshot` where absent.
    pub snapshot: Option<String>,
    /// Files of the node, by absolute path.
    pub files: Vec<String>,
    /// Whether the kubelet's arguments are part of it, each on a line.
    pub argv: bool,
}

/// The same, with what stands in the snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoldenPlan {
    /// The snapshot's path, as it is read and written.
    pub path: String,
    /// Files of the node.
    pub files: Vec<String>,
    /// Whether the kubelet's arguments are part of it.
    pub argv: bool,
    /// What stands in it; `None` where it is not there yet.
    pub text: Option<String>,
}

const HEAD: &str = "# What this scenario's node had at its end. `nodejoin run --bless` writes it anew.\n";
const MARK: &str = "==> ";

impl GoldenPlan {
    /// The snapshot of a node.
    #[must_use]
    pub fn render(&self, collected: &Collected, values: &Values) -> String {
        let mut text = HEAD.to_owned();
        if self.argv {
            text.push_str(&format!("{MARK}kubelet\n"));
            let argv = collected.kubelet_argv.as_deref().unwrap_or_default();
            argv.iter()
                .for_each(|argument| text.push_str(&format!("{argument}\n")));
        }
        for path in &self.files {
            let found = collected.files.get(path).filter(|file| file.exists);
            match found {
                Some(file) => {
                    text.push_str(&format!("{MARK}{path} {:04o}\n{}", file.mode, file.text));
                    if !file.text.ends_with('\n') {
                        text.push_str("\n(no line end)\n");
                    }
                }
                None => text.push_str(&format!("{MARK}{path} is not there\n")),
            }
        }
        values.named(&text)
    }
}

/// The lines that differ, `-` as the snapshot has them and `+` as they were seen, with two lines around each and the place of each
/// group; empty where nothing differs.
#[must_use]
pub fn difference(wanted: &str, seen: &str) -> String {
    let (wanted, seen): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), seen.lines().collect());
    let lines = edits(&wanted, &seen);
    let is_near = |index: usize| {
        let around = index.saturating_sub(AROUND)..(index + AROUND + 1).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut text, mut place, mut shown) = (String::new(), "", None);
    for (index, (mark, line)) in lines.iter().enumerate() {
        if line.starts_with(MARK) {
            place = line;
        }
        if !is_near(index) {
            continue;
        }
        if shown != index.checked_sub(1) || index == 0 {
            text.push_str(&format!("in {}\n", place.trim_start_matches(MARK)));
        }
        shown = Some(index);
        text.push_str(&format!("{mark} {line}\n"));
    }
    text
}

const AROUND: usize = 2;

/// Every line of both, each once, by the longest common subsequence.
fn edits<'t>(wanted: &[&'t str], seen: &[&'t str]) -> Vec<(char, &'t str)> {
    let width = seen.len() + 1;
    let mut common = vec![0_u32; (wanted.len() + 1) * width];
    for (row, left) in wanted.iter().enumerate().rev() {
        for (column, right) in seen.iter().enumerate().rev() {
            common[row * width + column] = if left == right {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < wanted.len() || column < seen.len() {
        let is_same = row < wanted.len() && column < seen.len() && wanted[row] == seen[column];
        let is_gone = column == seen.len()
            || (row < wanted.len() && common[(row + 1) * width + column] >= common[row * width + column + 1]);
        if is_same {
            lines.push((' ', wanted[row]));
            (row, column) = (row + 1, column + 1);
        } else if is_gone {
            lines.push(('-', wanted[row]));
            row += 1;
        } else {
            lines.push(('+', seen[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::CollectedFile;
    use crate::plan::tests::plan;

    #[test]
    fn a_snapshot_names_what_differs_from_run_to_run() {
        let golden = GoldenPlan {
            path: "x".into(),
            files: vec!["/etc/ca".into(), "/etc/none".into()],
            argv: true,
            text: None,
        };
        let file = CollectedFile {
            exists: true,
            mode: 0o644,
            text: "-----BEGIN-----\nkey\nip-192-168-40-16.eu-west-1.compute.internal 192.168.40.16".into(),
        };
        let collected = Collected {
            kubelet_argv: Some(vec!["kubelet".into(), "--node-ip=192.168.40.16".into()]),
            files: [("/etc/ca".to_owned(), file)].into(),
            ..Collected::default()
        };
        let values = Values::of(&plan(), "-----BEGIN-----\nkey\n");
        assert_eq!(
            golden.render(&collected, &values),
            format!(
                "{HEAD}==> kubelet\nkubelet\n--node-ip={{{{ instance.private_ip }}}}\n==> /etc/ca 0644\n\
                 {{{{ cluster.certificate_authority }}}}\n{{{{ instance.private_dns_name }}}} {{{{ instance.private_ip }}}}\n\
                 (no line end)\n==> /etc/none is not there\n"
            )
        );
    }

    #[test]
    fn a_difference_shows_its_lines_and_what_is_around_them() {
        let wanted = "==> /a 0644\n1\n2\n3\n4\n5\n6\n7\n8\n9\n==> /b 0644\nx\n";
        let seen = "==> /a 0644\n1\n2\n3\n4\n5b\n6\n7\n8\n9\n==> /b 0644\nx\ny\n";
        assert_eq!(
            difference(wanted, seen),
            "in /a 0644\n  3\n  4\n- 5\n+ 5b\n  6\n  7\nin /b 0644\n  ==> /b 0644\n  x\n+ y\n"
        );
        assert_eq!(difference(seen, seen), "");
    }
}
