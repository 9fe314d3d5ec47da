//! Commands of `aws eks` about a cluster, wherever a script has them: also in `$(...)`, of whose text the reader of
//! commands knows nothing.

use std::collections::BTreeMap;

use super::shell::{self, ShellCommand, UNKNOWN};

/// Their words, each with the flag that names the cluster.
const COMMANDS: [(&str, &str); 4] = [
    ("describe-cluster", "--name"),
    ("update-kubeconfig", "--name"),
    ("cluster-active", "--name"),
    ("get-token", "--cluster-name"),
];
/// What ends a command.
const ENDS: [char; 6] = [';', '|', '&', '(', ')', '`'];

/// A command about a cluster.
#[derive(Debug)]
pub(super) struct EksCommand {
    command: ShellCommand,
    /// The word that says what it does, such as `describe-cluster`.
    pub(super) word: &'static str,
    name_flag: &'static str,
}

/// The commands of a script in their order. `variables`: those that the script sets.
pub(super) fn eks_commands(text: &str, variables: &BTreeMap<String, String>) -> Vec<EksCommand> {
    let is_about_eks = COMMANDS.iter().any(|(word, _)| text.contains(word));
    if !is_about_eks {
        return Vec::new();
    }
    let is_plain = |value: &String| !value.contains([UNKNOWN, '\'', '\n']);
    let known = variables.iter().filter(|(_, value)| is_plain(value));
    let known: String = known.map(|(name, value)| format!("{name}='{value}'\n")).collect();
    // A backslash continues a line.
    let text = text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let commands = lines.flat_map(|line| line.split(ENDS));
    commands
        .filter_map(|command| EksCommand::of(command, &known))
        .collect()
}

impl EksCommand {
    fn of(text: &str, known: &str) -> Option<Self> {
        if !text.contains("eks") || !COMMANDS.iter().any(|(word, _)| text.contains(word)) {
            return None;
        }
        let command = shell::read(&format!("{known}{text}\n")).commands.pop()?;
        let at = command.words.iter().position(|word| word == "eks")?;
        let is_there = |(word, _): &&(&str, &str)| command.words[at..].iter().any(|other| other == word);
        let (word, name_flag) = *COMMANDS.iter().find(is_there)?;
        Some(Self {
            command,
            word,
            name_flag,
        })
    }

    /// The cluster, if its name is known.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.value(self.name_flag)
    }

    /// The region, if it is known.
    pub(super) fn region(&self) -> Option<&str> {
        let of_environment = || {
            let mut names = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter();
            names.find_map(|name| self.command.environment.get(name))
        };
        self.value("--region")
            .or_else(|| of_environment().map(String::as_str))
    }

    fn value(&self, flag: &str) -> Option<&str> {
        let mut words = self.command.words.iter();
        let value = loop {
            let word = words.next()?;
            if word == flag {
                break words.next()?.as_str();
            }
            if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                break value;
            }
        };
        (!value.is_empty() && !value.contains([UNKNOWN, '$'])).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_also_in_values() {
        let text = "#!/bin/bash\nNAME=demo\nREGION=us-west-2\n# aws eks describe-cluster --name old\n\
                    aws eks wait cluster-active --name=prod\n\
                    CA=\"$(aws --region $REGION eks describe-cluster \\\n  --name \"$NAME\" --output text | base64 -d)\"\n\
                    until AWS_REGION=eu-west-1 aws eks update-kubeconfig --name $OTHER; do sleep 1; done\n\
                    T=`aws eks get-token --cluster-name $NAME`\naws eks list-clusters\n";
        let variables = shell::read(text).variables;
        let commands = eks_commands(text, &variables);
        let found: Vec<_> = commands
            .iter()
            .map(|command| (command.word, command.cluster(), command.region()))
            .collect();
        assert_eq!(
            found,
            [
                ("cluster-active", Some("prod"), None),
                ("describe-cluster", Some("demo"), Some("us-west-2")),
                ("update-kubeconfig", None, Some("eu-west-1")),
                ("get-token", Some("demo"), None),
            ]
        );
    }
}
