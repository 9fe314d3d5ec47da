//! Scripts that the system cannot start: their lines end as in Windows, or their mode does not allow it.

use super::facts::Facts;
use super::script_output::lines_before_the_end;

/// What the messages of a shell or of `env` have if a carriage return is part of a name.
const CARRIAGE_RETURNS: [&str; 5] = [
    "sh\\r': No such file or directory",
    "sh\r: No such file or directory",
    "^M: bad interpreter",
    "\r: bad interpreter",
    "$'\\r': command not found",
];
/// Ends the message of a shell about a file that it may not execute.
const DENIED: &str = ": Permission denied";
/// Exit code of a shell for such a file.
const NOT_EXECUTABLE: i32 = 126;

/// A script that does not start, and what to do.
pub(super) struct UnusableScript<'a> {
    pub(super) message: &'a str,
    pub(super) remedy: String,
}

/// Such a script at the end of the user data.
pub(super) fn unusable_script<'a>(facts: &Facts<'a>) -> Option<UnusableScript<'a>> {
    let lines = lines_before_the_end(facts);
    let mut messages = lines.iter().rev().map(|(_, line)| line.message.trim());
    let of_windows = |message: &&str| CARRIAGE_RETURNS.iter().any(|words| message.contains(words));
    if let Some(message) = messages.clone().find(of_windows) {
        let remedy = "save the script with the line ends of Unix, such as with `sed -i 's/\\r$//' FILE`: a carriage return at the \
                      end of a line is part of its last word"
            .to_owned();
        return Some(UnusableScript { message, remedy });
    }
    let collected = facts.observation.collected.as_ref()?;
    let codes = &collected.user_data.as_ref()?.exit_codes;
    if !codes.values().any(|code| *code == NOT_EXECUTABLE) {
        return None;
    }
    let message = messages.find(|message| message.ends_with(DENIED))?;
    let path = message.strip_suffix(DENIED)?.rsplit(": ").next()?;
    let remedy = format!(
        "make {path} executable: `chmod 755` where the image is made, or `mode: \"0755\"` in its entry of the overlay"
    );
    path.starts_with('/')
        .then_some(UnusableScript { message, remedy })
}
