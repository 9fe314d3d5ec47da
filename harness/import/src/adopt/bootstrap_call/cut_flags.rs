//! Flags in lines behind a call of the bootstrap script that are commands of their own.

use super::{ARGUMENTS, BootstrapCall, FLAGS};
use crate::adopt::kubelet_flag_names;
use crate::adopt::shell::{ShellCommand, ShellScript};
use crate::known_fields::meant;

/// A flag that the shell runs as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutFlag {
    /// The first word of the line.
    pub(super) flag: String,
    /// The line, from 1, and the one that ends the command before it.
    pub(super) line: usize,
    pub(super) end: usize,
    pub(super) why: WhyCut,
    /// Arguments of the kubelet in the line.
    pub(super) arguments: Vec<String>,
}

/// Why a command ends before the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhyCut {
    /// The line does not end with a backslash.
    NoBackslash,
    /// A blank follows the backslash.
    Blank,
    /// The line is empty, and the one before it ends with a backslash.
    Empty,
    /// The line is a comment, which no backslash continues.
    Comment,
    /// A comment in the line contains its backslash.
    InComment,
}

impl WhyCut {
    fn of(line: &str) -> Self {
        let code = line.trim();
        match code {
            "" => Self::Empty,
            _ if code.starts_with('#') => Self::Comment,
            _ if !code.ends_with('\\') => Self::NoBackslash,
            _ if line.ends_with('\\') => Self::InComment,
            _ => Self::Blank,
        }
    }
}

/// Those directly behind the command with this index.
pub(super) fn behind(script: &ShellScript, index: usize) -> Vec<CutFlag> {
    let mut cut = Vec::new();
    for pair in script.commands[index..].windows(2) {
        let [before, command] = pair else { break };
        let Some(flag) = cut_flag(script, before, command) else {
            break;
        };
        cut.push(flag);
    }
    cut
}

fn cut_flag(script: &ShellScript, before: &ShellCommand, command: &ShellCommand) -> Option<CutFlag> {
    let (end, line) = (before.last_line, command.first_line);
    let between = script.lines.get(end..line.checked_sub(1)?)?;
    let is_empty = |line: &String| line.trim().is_empty() || line.trim_start().starts_with('#');
    let flag = command.words.first().filter(|word| is_flag(word))?;
    if !between.iter().all(is_empty) {
        return None;
    }
    let mut of_command = BootstrapCall::default();
    of_command.arguments(&command.words);
    let mut arguments = of_command.lost_flags();
    arguments.extend(of_command.values.remove(ARGUMENTS));
    Some(CutFlag {
        flag: flag.clone(),
        line,
        end,
        why: WhyCut::of(script.lines.get(end.checked_sub(1)?)?),
        arguments,
    })
}

/// Whether a word is a flag of the script or of a kubelet, or a misspelt one. The boundary of a MIME message begins
/// with two hyphens, too.
fn is_flag(word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    let is_known = FLAGS.contains(&flag) || kubelet_flag_names::is_known(flag);
    let is_misspelt =
        || meant(flag, FLAGS.iter().copied()).is_some() || kubelet_flag_names::meant(flag).is_some();
    flag.starts_with("--") && !word.ends_with("--") && (is_known || is_misspelt())
}
