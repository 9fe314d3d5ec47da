//! Arguments of a call that no script of an EKS AMI reads, each with what to do.

use nodejoin_core::vocabulary::nearest::nearest;

use super::BOOTSTRAP;
use super::call::{ARGUMENTS, BootstrapCall, CutFlag, FLAGS, OF_THE_NAME, WhyCut};
use crate::adopt::kubelet_flag_names;
use crate::adopt::shell::ShellScript;
use crate::adopt::shell_grammar::{ShellMistake, outline};
use crate::source_lines::SourceLines;
use crate::words::shortened;

/// What a message calls a script whose line it cannot find in the user data.
const SCRIPT: &str = "the script";

/// Characters that word processors and web pages write in place of those of a keyboard: each with its name, and the one
/// that is meant.
const TYPOGRAPHIC: [(char, &str, &str); 13] = [
    ('\u{201c}', "a typographic quote", "\""),
    ('\u{201d}', "a typographic quote", "\""),
    ('\u{201e}', "a typographic quote", "\""),
    ('\u{2018}', "a typographic quote", "'"),
    ('\u{2019}', "a typographic quote", "'"),
    ('\u{2010}', "a hyphen of typography", "-"),
    ('\u{2011}', "a hyphen of typography", "-"),
    ('\u{2013}', "a dash", "--"),
    ('\u{2014}', "a dash", "--"),
    ('\u{2212}', "a minus sign", "-"),
    ('\u{a0}', "a no-break space", " "),
    ('\u{200b}', "a space without width", ""),
    ('\u{feff}', "a space without width", ""),
];

/// A script with calls.
struct CallText<'a> {
    lines: &'a [String],
    text: String,
    source: &'a SourceLines<'a>,
}

impl BootstrapCall {
    /// What has no effect in a call of this script.
    pub(crate) fn ignored(&self, script: &ShellScript, source: &SourceLines<'_>) -> Vec<String> {
        let text = CallText::of(script, source);
        let at = |word: &str| text.at(self, word);
        let is_unknown = |flag: &&String| !FLAGS.contains(&flag.as_str());
        let unknown = self.flags.iter().filter(is_unknown);
        let unknown = unknown.map(|flag| self.unknown_flag(flag, &at(flag)));
        let joined = self.joined.iter().map(|word| self.joined(word, &at(word)));
        let repeated = self.repeated.iter().map(|flag| {
            let at = at(flag);
            format!(
                "bootstrap.sh gets `{flag}` several times{at}, and the last value replaces the others: write all into one"
            )
        });
        let glued = self.glued.iter().map(|flag| {
            let at = at(flag);
            format!(
                "a blank is missing before `{flag}`{at}: bootstrap.sh takes it for the end of the cluster's name"
            )
        });
        let literal = self.values.get(ARGUMENTS);
        let literal = literal.and_then(|arguments| literal_command(arguments));
        let literal = literal.map(|command| {
            let at = at("$(");
            format!(
                "no shell evaluates `{command}` between single quotes{at}: the kubelet gets this text; put `--kubelet-extra-args` into \
                 double quotes, or interrupt the single ones, `'\"{command}\"'`"
            )
        });
        let nameless = self.is_without_name().then(|| {
            let at = at(BOOTSTRAP);
            format!(
                "the call of bootstrap.sh names no cluster{at}: the script exits without the name; write it behind the path, \
                 `{BOOTSTRAP} NAME`"
            )
        });
        let cut = self.cut.iter().map(|cut| text.cut(cut));
        let all = unknown.chain(joined).chain(repeated).chain(glued);
        all.chain(literal)
            .chain(nameless)
            .chain(cut)
            .chain(text.typographic(self))
            .collect()
    }

    /// What bootstrap.sh of Amazon Linux 2 refuses in a call of this script, and which arguments do not reach the
    /// kubelet.
    pub(crate) fn refused(&self, script: &ShellScript, source: &SourceLines<'_>) -> Vec<String> {
        let text = CallText::of(script, source);
        let at = |word: &str| text.at(self, word);
        let (first, last) = self.lines;
        let mut lines = script.lines.iter().take(last).skip(first.saturating_sub(1));
        let is_shown = !self.flags.contains(ARGUMENTS) || lines.any(|line| line.contains(ARGUMENTS));
        let mut notes = self.refused_values(&at);
        // A quote without its end is an error of the shell: the call does not run.
        let fault = outline(&script.lines.join("\n")).fault;
        let runs = !fault.is_some_and(|fault| matches!(fault.mistake, ShellMistake::Quote(_)));
        notes.extend(self.drop_in_note(&at(ARGUMENTS), is_shown).filter(|_| runs));
        notes
    }

    /// Whether the script gets no word that it takes for the name of the cluster. A path alone may be part of a list.
    fn is_without_name(&self) -> bool {
        let is_other = self.is_open || self.flags.is_empty() || self.flags.contains("--help");
        self.cluster.is_none() && self.as_name.is_none() && self.cut.is_empty() && !is_other
    }

    /// The lines of a script whose blank behind the backslash ends a call: their notes are among [`Self::ignored`].
    pub(crate) fn lines_with_blanks<'s>(&self, script: &'s ShellScript) -> Vec<&'s str> {
        let cut = self.cut.iter().filter(|cut| cut.why == WhyCut::Blank);
        let lines = cut.filter_map(|cut| script.lines.get(cut.end.checked_sub(1)?));
        lines.map(String::as_str).collect()
    }

    /// Most often the arguments of the kubelet lack quotes, so that the flag takes the first of them.
    fn joined(&self, word: &str, at: &str) -> String {
        let flag = word.split('=').next().unwrap_or_default();
        let shown = shortened(word);
        let is_flag = FLAGS.contains(&flag);
        match self.as_name.as_deref() == Some(word) {
            true => {
                let advice = match self.values.get(ARGUMENTS).filter(|_| !is_flag) {
                    Some(first) => {
                        format!(
                            "quote the arguments of the kubelet as one value, `{ARGUMENTS} '{first} {shown}'`"
                        )
                    }
                    None if is_flag => format!("write `{flag} VALUE`"),
                    None => format!("arguments of the kubelet belong into `{ARGUMENTS} '{shown}'`"),
                };
                format!(
                    "bootstrap.sh takes `{shown}`{at} for the name of the cluster, because it stands before the name: {advice}"
                )
            }
            false if is_flag => {
                format!("bootstrap.sh reads no `{flag}=VALUE`{at}: it has no effect; write `{flag} VALUE`")
            }
            false => self.unknown_flag(flag, at),
        }
    }

    /// A flag of the kubelet, a misspelt one, or one for the name of the cluster.
    fn unknown_flag(&self, flag: &str, at: &str) -> String {
        let what = format!("bootstrap.sh of the EKS AMIs has no flag `{flag}`{at}");
        let is_name = self.as_name.as_deref() == Some(flag);
        let taken = match is_name {
            true => " and takes it for the name of the cluster, because it stands before the name",
            false => "",
        };
        if OF_THE_NAME.contains(&flag) {
            let name = self.cluster.as_deref().unwrap_or("NAME");
            return match is_name {
                true => format!("{what}{taken}: write the name without a flag, `bootstrap.sh {name}`"),
                false => {
                    format!(
                        "{what}: it has no effect, as the name of the cluster is an argument without a flag"
                    )
                }
            };
        }
        let meant = nearest(flag, FLAGS.iter().copied()).filter(|_| !kubelet_flag_names::is_known(flag));
        match meant {
            Some(meant) => format!("{what}{taken}: did you mean `{meant}`?"),
            None if is_name => format!(
                "{what}{taken}: arguments of the kubelet belong into `--kubelet-extra-args '{flag}=VALUE'`"
            ),
            None => format!(
                "{what}: it has no effect; arguments of the kubelet belong into `--kubelet-extra-args '{flag}=VALUE'`"
            ),
        }
    }
}

impl<'a> CallText<'a> {
    fn of(script: &'a ShellScript, source: &'a SourceLines<'a>) -> Self {
        Self {
            lines: &script.lines,
            text: script.lines.join("\n"),
            source,
        }
    }

    /// The line of a call with a word, such as ` (line 3)`: the last one, which has the value that counts.
    fn at(&self, call: &BootstrapCall, word: &str) -> String {
        let (first, last) = call.lines;
        let mut own = (first..=last).rev();
        let has_word = |number: &usize| {
            number
                .checked_sub(1)
                .is_some_and(|at| self.lines.get(at).is_some_and(|line| line.contains(word)))
        };
        format!(" ({})", self.place(own.find(has_word).unwrap_or(first)))
    }

    /// The first typographic character of a call, which the shell takes for a letter.
    fn typographic(&self, call: &BootstrapCall) -> Option<String> {
        let (first, last) = call.lines;
        (first..=last).find_map(|number| {
            let line = self.lines.get(number.checked_sub(1)?)?;
            let (found, name, meant) = TYPOGRAPHIC.iter().find(|(found, ..)| line.contains(*found))?;
            // Neither a blank nor what has no width can be seen.
            let shown = match meant.trim() {
                "" => format!("U+{:04X}", u32::from(*found)),
                _ => format!("`{found}`"),
            };
            let advice = match *meant {
                "" => "remove it".to_owned(),
                " " => "write a blank".to_owned(),
                meant => format!("write `{meant}`"),
            };
            Some(format!(
                "the call of bootstrap.sh has {name}, {shown} ({}): the shell takes it for a letter of a word; {advice}",
                self.place(number)
            ))
        })
    }

    fn place(&self, number: usize) -> String {
        self.source.place(&self.text, number, SCRIPT)
    }

    /// Why a call ends before a flag.
    fn cut(&self, cut: &CutFlag) -> String {
        let (flag, line, end) = (shortened(&cut.flag), self.place(cut.line), self.place(cut.end));
        let name = flag.split('=').next().unwrap_or_default();
        let between: Vec<String> = (cut.end + 1..cut.line).map(|number| self.place(number)).collect();
        let and_between = match between.is_empty() {
            true => String::new(),
            false => format!(", and remove {}", between.join(", ")),
        };
        let (why, advice) = match cut.why {
            WhyCut::NoBackslash => (
                format!("at {end}, which does not end with a backslash"),
                format!("end that line with `\\`{and_between}"),
            ),
            WhyCut::Blank => (
                format!("at {end}, because a blank follows its backslash"),
                format!("remove the blank{and_between}"),
            ),
            WhyCut::CarriageReturn => (
                format!("at {end}, because a carriage return follows its backslash"),
                format!(
                    "save the file with line ends of Unix (LF){and_between}; cloud-init converts those of a script only if its \
                     first line ends with CRLF"
                ),
            ),
            WhyCut::InComment => (
                format!("at {end}, because its backslash belongs to a comment"),
                format!("remove the comment{and_between}"),
            ),
            WhyCut::Comment => (
                format!("at the comment in {end}, which no backslash continues"),
                format!("remove that line{and_between}"),
            ),
            WhyCut::Empty => (
                format!("at {end}, which is empty"),
                format!("remove that line{and_between}"),
            ),
        };
        format!(
            "the call of bootstrap.sh ends {why}: the shell runs `{flag}` ({line}) as a command (`{name}: command not found`), and \
             bootstrap.sh does not get it; {advice}"
        )
    }
}

/// A command that quotes keep from a shell, without its arguments. What a shell evaluates is not in the value.
fn literal_command(arguments: &str) -> Option<String> {
    let (_, command) = arguments.split_once("$(")?;
    let command = command.split_once(')').map_or(command, |(command, _)| command);
    let shown = command
        .split_once(' ')
        .map(|(first, _)| format!("$({first} ...)"));
    Some(shown.unwrap_or_else(|| format!("$({command})")))
}
