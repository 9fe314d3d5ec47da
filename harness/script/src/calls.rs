//! Which programs a script calls by their path.

use tree_sitter::Node;

use crate::{children, parsed, visit};

/// Commands that run the program of their arguments.
const CALLERS: [&str; 10] = [
    "exec", "sudo", "bash", "sh", "env", "nohup", "time", "timeout", "source", ".",
];

/// The line of the first command that runs a program by this path, from 1; `None` if the script calls it nowhere.
#[must_use]
pub fn line_of_call(script: &str, path: &str) -> Option<usize> {
    let tree = parsed(script)?;
    let mut found = None;
    visit(tree.root_node(), &mut |node| {
        if node.kind() == "command" && found.is_none() && calls(node, script, path) {
            found = Some(node.start_position().row + 1);
        }
    });
    found
}

fn calls(command: Node<'_>, script: &str, path: &str) -> bool {
    let words: Vec<&str> = children(command)
        .into_iter()
        .filter_map(|word| script.get(word.byte_range()))
        .map(|word| word.trim_matches(['"', '\'']))
        .collect();
    let is_before = |word: &&&str| {
        CALLERS.contains(*word) || word.starts_with(['-', '+']) || word.contains('=') || is_duration(word)
    };
    words.iter().find(|word| !is_before(word)) == Some(&path)
}

/// Whether a word is the time of `timeout`, such as `60s`.
fn is_duration(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_command_and_no_other_mention_of_the_path() {
        for (script, line) in [
            ("#!/bin/bash\n/opt/x/join.sh demo\n", Some(2)),
            (
                "#!/bin/bash\nif true; then\n  exec \"/opt/x/join.sh\" \"$@\"\nfi\n",
                Some(3),
            ),
            ("sudo -E bash /opt/x/join.sh demo\n", Some(1)),
            ("cat <<EOF\nusage: /opt/x/join.sh CLUSTER\nEOF\n", None),
            ("# /opt/x/join.sh demo\necho /opt/x/join.sh\n", None),
            ("/opt/x/join.sh.orig demo\n", None),
            ("sudo cp /opt/x/join.sh /root/\n", None),
            ("A=b timeout 60s /opt/x/join.sh demo\n", Some(1)),
        ] {
            assert_eq!(line_of_call(script, "/opt/x/join.sh"), line, "{script}");
        }
    }
}
