//! The commands of `bootcmd` in a cloud-config, which run at each boot, before the others.

use crate::tree::{Tree, yaml};

/// Them as a script; `None`: the text has none.
pub(super) fn early_commands(text: &str) -> Option<String> {
    let document = yaml(text).ok()?.into_iter().next()?;
    let commands = document.items_at(&["bootcmd"]);
    let lines = commands.iter().filter_map(|command| match command.items() {
        [] => command.text().map(str::to_owned),
        words => Some(joined(words)),
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("#!/bin/sh\n{}\n", lines.join("\n")))
}

fn joined(words: &[Tree]) -> String {
    let words = words.iter().filter_map(Tree::text);
    let quoted: Vec<String> = words
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_texts_or_lists_of_words() {
        let script = early_commands("#cloud-config\nbootcmd:\n- a b\n- [c, \"d e\"]\nruncmd: [f]\n");
        assert_eq!(script.as_deref(), Some("#!/bin/sh\na b\n'c' 'd e'\n"));
        assert_eq!(early_commands("#cloud-config\nruncmd: [f]\n"), None);
    }
}
