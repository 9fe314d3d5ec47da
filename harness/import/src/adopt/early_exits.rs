//! Commands that end a script, or restart the instance, before the call of the bootstrap script.

use super::bootstrap_call::{BOOTSTRAP, calls};
use super::shell;
use super::shell_grammar::outline;
use super::shell_scripts::shell_scripts;
use crate::source_lines::SourceLines;

/// What a message calls a script whose line it cannot find in the user data.
const SCRIPT: &str = "the script";
/// Texts of user data that cloud-init may run at each start.
const RUN_AGAIN: [&str; 4] = [
    "scripts-user",
    "scripts_user",
    "/var/lib/cloud",
    "cloud-init clean",
];

/// A sentence for a script with such a command, if no other script has a call.
pub(super) fn note(user_data: &[u8], lines: &SourceLines<'_>) -> Option<String> {
    let scripts = shell_scripts(user_data).into_iter();
    let callers: Vec<String> = scripts.filter(|text| has_call(text)).collect();
    let [script] = &callers[..] else { return None };
    let outline = outline(script);
    let place = |number: usize| lines.place(script, number, SCRIPT);
    let call = |line: usize| call_behind(script, line).map(&place);
    if let Some((line, command)) = &outline.restart
        && let Some(call) = call(*line)
        && !RUN_AGAIN.iter().any(|text| script.contains(text))
    {
        let at = place(*line);
        return Some(format!(
            "`{command}` in {at} restarts the instance, and cloud-init runs a script at the first start alone: the call of bootstrap.sh \
             in {call} may never run; call it before the restart"
        ));
    }
    let line = outline.exit?;
    let call = call(line)?;
    let at = place(line);
    Some(format!(
        "`exit` in {at} ends the script: the call of bootstrap.sh in {call} does not run"
    ))
}

fn has_call(text: &str) -> bool {
    !calls(&shell::read(text)).is_empty()
}

/// The line of the first call, if all calls are behind this line.
fn call_behind(script: &str, line: usize) -> Option<usize> {
    let all: Vec<&str> = script.lines().collect();
    let (before, behind) = all.split_at_checked(line)?;
    if has_call(&before.join("\n")) || !has_call(&behind.join("\n")) {
        return None;
    }
    let is_call = |code: &&str| !code.trim_start().starts_with('#') && code.contains(BOOTSTRAP);
    Some(line + 1 + behind.iter().position(is_call)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(script: &str) -> Option<String> {
        note(
            format!("#!/bin/bash\n{script}").as_bytes(),
            &SourceLines::default(),
        )
    }

    #[test]
    fn a_call_behind_an_exit_or_a_restart_is_named() {
        assert_eq!(
            note_of("echo start\nexit 0\n# /etc/eks/bootstrap.sh x\n/etc/eks/bootstrap.sh demo\n").as_deref(),
            Some(
                "`exit` in line 3 of the script ends the script: the call of bootstrap.sh in line 5 of the script does not run"
            )
        );
        assert_eq!(
            note_of("if [ -f /a ]; then exit 0; fi\nyum -y update\nreboot\n/etc/eks/bootstrap.sh demo\n")
                .as_deref(),
            Some(
                "`reboot` in line 4 of the script restarts the instance, and cloud-init runs a script at the first start alone: the call \
                 of bootstrap.sh in line 5 of the script may never run; call it before the restart"
            )
        );
    }

    #[test]
    fn other_calls_have_no_note() {
        for script in [
            "/etc/eks/bootstrap.sh demo\nexit 0\n",
            "/etc/eks/bootstrap.sh demo\nreboot\n",
            "join() {\n  /etc/eks/bootstrap.sh demo\n}\njoin\nexit 0\n/etc/eks/bootstrap.sh demo\n",
            "a || exit 1\n/etc/eks/bootstrap.sh demo\n",
            "rm -rf /var/lib/cloud/instance/sem\nreboot\n/etc/eks/bootstrap.sh demo\n",
            "exit 0\n",
        ] {
            assert_eq!(note_of(script), None, "{script}");
        }
    }
}
