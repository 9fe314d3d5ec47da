//! Flags in lines behind a call of the bootstrap script that are commands of their own.

use super::call::{ARGUMENTS, BootstrapCall, CutFlag, FLAGS, WhyCut};
use crate::adopt::kubelet_flag_names;
use crate::adopt::shell::{ShellCommand, ShellScript};
use crate::known_fields::meant;

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
