//! An argument of the kubelet whose value has a blank: the kubelet takes the word after the blank for a command.

use super::facts::{Facts, between};

/// The remedy if the kubelet ended because of a word that is not a flag.
pub(super) fn remedy(facts: &Facts<'_>, message: &str) -> Option<String> {
    let start = ["unknown command: ", "unknown command "]
        .into_iter()
        .find(|start| message.contains(start))?;
    let word = between(message, start, &[' ', '\n'])?.trim_matches(['"', '\'']);
    let argv = facts.observation.collected.as_ref();
    let argv = argv.and_then(|collected| collected.kubelet_argv.as_ref());
    let text = facts.user_data_text().unwrap_or_default();
    let argument = argument_before(&text, word).or_else(|| argument_before(&argv?.join(" "), word));
    let Some(argument) = argument else {
        return Some(format!(
            "remove the word `{word}` from the kubelet's arguments: a value of `--kubelet-extra-args` has a blank, or the word is \
             not a flag"
        ));
    };
    let is_list = ["--node-labels", "--register-with-taints"]
        .iter()
        .any(|flag| argument.starts_with(flag));
    let rule = match is_list {
        true => "labels and taints cannot have blanks, and their list has none after a comma",
        false => "or put the value into double quotes, between which systemd does not split arguments",
    };
    Some(format!(
        "remove the blank from `{argument}` in `--kubelet-extra-args`: the kubelet takes `{word}` for a command; \
         {rule}"
    ))
}

/// The argument up to a word that follows a blank in its value: `--node-labels=team=pay ments`.
fn argument_before(text: &str, word: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().map(without_quotes).collect();
    let cut = |at: usize| {
        let flag = words[..at].iter().rposition(|word| word.starts_with("--"))?;
        let (name, value) = words[flag].split_once('=').unwrap_or((words[flag], ""));
        // `--flag value` is complete: the word after it is one too many.
        let has_value = !value.is_empty() || at > flag + 1;
        (has_value && name != "--kubelet-extra-args").then(|| words[flag..=at].join(" "))
    };
    (1..words.len()).filter(|at| words[*at] == word).find_map(cut)
}

fn without_quotes(word: &str) -> &str {
    word.trim_matches(['"', '\'', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_ends_with_the_word_that_the_kubelet_took_for_a_command() {
        for (text, word, argument) in [
            (
                "b.sh x --kubelet-extra-args '--node-labels=team=pay ments --v=2'",
                "ments",
                Some("--node-labels=team=pay ments"),
            ),
            (
                "--kubelet-extra-args \"--v 2 --node-labels a=b, c=d\"",
                "c=d",
                Some("--node-labels a=b, c=d"),
            ),
            ("kubelet --a=1 --b=x y z", "z", Some("--b=x y z")),
            (
                "echo ments; b.sh x --kubelet-extra-args '--node-labels=$L'",
                "ments",
                None,
            ),
            ("b.sh --kubelet-extra-args ments", "ments", None),
            ("--flag ments", "ments", None),
            ("", "ments", None),
        ] {
            assert_eq!(argument_before(text, word).as_deref(), argument, "{text}");
        }
    }
}
