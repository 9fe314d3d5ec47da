//! Which commands of shell scripts ran on a node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Scripts whose commands bash reported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScriptTrace(pub Vec<TracedScript>);

/// A script that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedScript {
    /// Absolute path on the node.
    pub path: String,
    /// Its content at the end.
    pub text: String,
    /// Each command that ran, by its line.
    pub commands: Vec<TracedCommand>,
}

/// A command that bash ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCommand {
    /// The line that bash reports. Within `$( )` of several lines, bash before 5.3 counts from the last line of the
    /// statement.
    pub line: u64,
    /// The first characters of the command, in bash's own notation.
    pub start: String,
    /// How often it ran.
    pub count: u64,
}

impl ScriptTrace {
    /// Parses lines of `COUNT FOLDER<tab>SCRIPT<tab>LINE<tab>COMMAND`. Scripts without a text are left out: those of
    /// `bash -c`, and scripts that no longer exist.
    #[must_use]
    pub fn parse(lines: &str, texts: &BTreeMap<String, String>) -> Self {
        let mut commands: BTreeMap<String, Vec<TracedCommand>> = BTreeMap::new();
        for (path, command) in lines.lines().filter_map(command) {
            commands.entry(path).or_default().push(command);
        }
        let with_text = |(path, commands): (String, Vec<TracedCommand>)| {
            let text = texts.get(&path)?.clone();
            Some(TracedScript { path, text, commands })
        };
        Self(commands.into_iter().filter_map(with_text).collect())
    }
}

fn command(line: &str) -> Option<(String, TracedCommand)> {
    let (count, rest) = line.trim_start().split_once(' ')?;
    let mut fields = rest.splitn(4, '\t');
    let (folder, script) = (fields.next()?, fields.next()?);
    let path = match script.starts_with('/') {
        true => script.to_owned(),
        false => format!("{}/{script}", folder.trim_end_matches('/')),
    };
    let command = TracedCommand {
        line: fields.next()?.parse().ok()?,
        start: fields.next()?.to_owned(),
        count: count.parse().ok()?,
    };
    Some((path, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_belong_to_scripts_whose_text_is_known() {
        let lines = "      2 /\t/etc/eks/join.sh\t3\tset -o errexit\n      1 /opt\t./late.sh\t1\techo a\tb\n\
                     \x20     7 /root\tbash\t0\techo of bash -c\nnot a record\n";
        let texts = ["/etc/eks/join.sh", "/opt/./late.sh"].map(|path| (path.to_owned(), "text".to_owned()));
        let ScriptTrace(scripts) = ScriptTrace::parse(lines, &texts.into());
        let paths: Vec<&str> = scripts.iter().map(|script| script.path.as_str()).collect();
        assert_eq!(paths, ["/etc/eks/join.sh", "/opt/./late.sh"]);
        let command = |line, start: &str, count| TracedCommand {
            line,
            start: start.to_owned(),
            count,
        };
        assert_eq!(scripts[0].commands, [command(3, "set -o errexit", 2)]);
        assert_eq!(scripts[1].commands, [command(1, "echo a\tb", 1)]);
    }
}
