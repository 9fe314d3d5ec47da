//! A command between single quotes in the kubelet's arguments, such as `'--node-labels=a=$(curl ...)'`: no shell
//! evaluates it, and the kubelet gets its text.

use super::facts::{Facts, between};

/// What is before the arguments in user data.
const ARGUMENTS: [&str; 2] = ["--kubelet-extra-args", "KUBELET_EXTRA_ARGS="];

/// The command, with what is before it in its argument.
pub(super) struct LiteralCommand {
    /// Such as `--node-labels=a=`.
    argument: String,
    /// Such as `$(curl -s http://169.254.169.254/latest/meta-data/instance-id)`.
    command: String,
}

impl LiteralCommand {
    /// The command that is the value of a label.
    pub(super) fn of_value(facts: &Facts<'_>, value: &str) -> Option<Self> {
        let is_it = |found: &Self| value.contains(found.command.as_str());
        all(&facts.user_data_text()?).into_iter().find(is_it)
    }

    /// The command whose word a kubelet took for a flag or a command of its own.
    pub(super) fn of_error(facts: &Facts<'_>, message: &str) -> Option<Self> {
        const STARTS: [&str; 4] = [
            "unknown shorthand flag: ",
            "unknown flag: ",
            "unknown command: ",
            "unknown command ",
        ];
        let start = STARTS.into_iter().find(|start| message.contains(start))?;
        let rest = between(message, start, &['\n'])?;
        // `'s' in -s`: the word is behind the letter.
        let word = rest.split_once(" in ").map_or(rest, |(_, word)| word);
        let word = word.split(' ').next()?.trim_matches(['"', '\'', '\\']);
        let is_it = |found: &Self| found.command.split_whitespace().any(|part| part == word);
        all(&facts.user_data_text()?).into_iter().find(is_it)
    }

    pub(super) fn because(&self) -> String {
        format!(
            "its arguments have the text `{}`, because no shell evaluates a command between single quotes",
            self.shown()
        )
    }

    pub(super) fn remedy(&self) -> String {
        let (argument, command) = (&self.argument, self.shown());
        format!(
            "put the arguments into double quotes, `--kubelet-extra-args \"{argument}{command}\"`, or interrupt the single ones, \
             `'{argument}'\"{command}\"`: between double quotes the shell of the script evaluates it"
        )
    }

    /// The command without its arguments.
    fn shown(&self) -> String {
        match self.command.split_once(char::is_whitespace) {
            Some((first, _)) if first.starts_with("$(") => format!("{first} ...)"),
            Some((first, _)) => format!("{first} ...`"),
            None => self.command.clone(),
        }
    }
}

/// The commands between single quotes in the arguments of a text.
fn all(text: &str) -> Vec<LiteralCommand> {
    let starts = ARGUMENTS
        .iter()
        .flat_map(|start| text.match_indices(start).map(|(at, _)| at + start.len()));
    starts.filter_map(|at| first_in(&text[at..])).collect()
}

/// The first command of arguments that begin with a single quote.
fn first_in(text: &str) -> Option<LiteralCommand> {
    let quoted = text
        .trim_start_matches([' ', '\t', '\\', '\n'])
        .strip_prefix('\'')?;
    let quoted = &quoted[..quoted.find('\'')?];
    let start = [quoted.find("$("), quoted.find('`')]
        .into_iter()
        .flatten()
        .min()?;
    let (before, command) = quoted.split_at(start);
    let length = match command.strip_prefix('`') {
        Some(rest) => rest.find('`')? + 2,
        None => closed(command)?,
    };
    Some(LiteralCommand {
        argument: before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default()
            .to_owned(),
        command: command[..length].to_owned(),
    })
}

/// The length of a command in brackets at the start of a text.
fn closed(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at + 1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let all = all(text).into_iter();
        all.map(|one| format!("{}{}", one.argument, one.command))
            .collect()
    }

    #[test]
    fn commands_between_single_quotes_are_found() {
        for (text, expected) in [
            (
                "b.sh demo --kubelet-extra-args '--v=2 --node-labels=a=$(curl -s x)'",
                "--node-labels=a=$(curl -s x)",
            ),
            (
                "b.sh demo --kubelet-extra-args \\\n  '--node-labels=a=`hostname`,b=c'",
                "--node-labels=a=`hostname`",
            ),
            (
                "export KUBELET_EXTRA_ARGS='--node-labels=a=$(x $(y) z)'",
                "--node-labels=a=$(x $(y) z)",
            ),
        ] {
            assert_eq!(found(text), [expected], "{text}");
        }
        for text in [
            "b.sh --kubelet-extra-args \"--node-labels=a=$(x)\"",
            "b.sh --kubelet-extra-args '--node-labels=a='\"$(x)\"",
            "b.sh --kubelet-extra-args '--node-labels=a=b' $(x)",
            "b.sh --kubelet-extra-args '--node-labels=a=$(x",
            "echo '$(x)'",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
