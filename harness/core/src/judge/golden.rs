//! Compares a node with a snapshot next to its scenario: files and kubelet arguments, with values that differ between
//! runs replaced by their names.

use crate::compare::edits;
use crate::observation::Collected;
use crate::plan::golden::GoldenPlan;
use crate::user_data::Values;

const HEAD: &str = "# What this scenario's node had at its end. `nodejoin run --bless` writes it anew.\n";
/// Starts the head of each section.
const MARK: &str = "==> ";
/// Lines of context around a difference.
const AROUND: usize = 2;

impl GoldenPlan {
    /// Renders the snapshot of a node.
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
        values.named(&self.without_lines(&text))
    }

    fn without_lines(&self, text: &str) -> String {
        let is_kept = |line: &&str| !self.without_lines.iter().any(|part| line.contains(part));
        text.split_inclusive('\n').filter(is_kept).collect()
    }
}

/// Differing lines, `-` for the snapshot and `+` for the node, with two lines of context and the section of each
/// group; empty without differences.
#[must_use]
pub fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let lines = edits(&expected, &actual);
    let is_near = |index: usize| {
        let around = index.saturating_sub(AROUND)..(index + AROUND + 1).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut text, mut header, mut shown) = (String::new(), "", None);
    for (index, (mark, line)) in lines.iter().enumerate() {
        if line.starts_with(MARK) {
            header = line;
        }
        if !is_near(index) {
            continue;
        }
        if shown != index.checked_sub(1) || index == 0 {
            text.push_str(&format!("in {}\n", header.trim_start_matches(MARK)));
        }
        shown = Some(index);
        text.push_str(&format!("{mark} {line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::CollectedFile;
    use crate::testing::plan;

    #[test]
    fn values_that_differ_between_runs_are_replaced_by_their_names() {
        let golden = GoldenPlan {
            path: "x".into(),
            files: vec!["/etc/ca".into(), "/etc/none".into()],
            argv: true,
            without_lines: vec!["\"cpu\":".into()],
            text: None,
            machine: None,
            is_optional: false,
        };
        let file = CollectedFile {
            exists: true,
            mode: 0o644,
            ..CollectedFile::default()
        };
        let file = CollectedFile {
            text: "{\n  \"cpu\": \"70m\",\n}\n-----BEGIN-----\nkey\nip-192-168-40-16.eu-west-1.compute.internal 192.168.40.16".into(),
            ..file
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
                 {{\n}}\n{{{{ cluster.certificate_authority }}}}\n{{{{ instance.private_dns_name }}}} {{{{ instance.private_ip }}}}\n\
                 (no line end)\n==> /etc/none is not there\n"
            )
        );
    }

    #[test]
    fn differences_have_two_lines_of_context() {
        let expected = "==> /a 0644\n1\n2\n3\n4\n5\n6\n7\n8\n9\n==> /b 0644\nx\n";
        let actual = "==> /a 0644\n1\n2\n3\n4\n5b\n6\n7\n8\n9\n==> /b 0644\nx\ny\n";
        assert_eq!(
            difference(expected, actual),
            "in /a 0644\n  3\n  4\n- 5\n+ 5b\n  6\n  7\nin /b 0644\n  ==> /b 0644\n  x\n+ y\n"
        );
        assert_eq!(difference(actual, actual), "");
    }
}
