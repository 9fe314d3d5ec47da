//! What to do about the last words of a script that failed.

use super::facts::Facts;
use super::limits::{is_removed, missing_command, missing_path, unit_not_found};

/// What to do about a name in the last words of a script that nothing has: a unit, a package, a file or a command. An
/// AMI may have what the node image lacks.
pub(super) fn missing_name(facts: &Facts<'_>, message: &str) -> Option<String> {
    if let Some(package) = unknown_package(message) {
        return Some(format!(
            "correct the name `{package}`: a line before it in the output says which package it resembles, or whose name it is. If \
             your AMI can install it, this is a limit of nodejoin (`harness-limit`) and no error of the script: lay a `yum` and a \
             `dnf` of your own over the node with an overlay (`--overlay MANIFEST`)"
        ));
    }
    if let Some(remedy) = missing_unit(message) {
        return Some(remedy);
    }
    let what = missing_path(message).or_else(|| missing_command(message))?;
    let text = facts.user_data_text().unwrap_or_default();
    if let Some(remedy) = cut_command(&text, what) {
        return Some(remedy);
    }
    if what.starts_with("--") {
        let end = format!(
            "if `{what}` is the end of a MIME message, write it alone on its line: what follows it there makes it a line \
             of the script"
        );
        return Some(end);
    }
    if is_removed(&text, what) {
        return None;
    }
    Some(format!(
        "if your AMI has `{what}`, this is a limit of nodejoin (`harness-limit`) and no error of the script: add it, or a stub, to \
         the node with an overlay (`--overlay MANIFEST`)"
    ))
}

/// What to do about a script that ends without a word.
pub(super) fn silent_end(facts: &Facts<'_>) -> Option<String> {
    const ENDS: [&str; 4] = ["set -e", "set -o errexit", "bash -e", "sh -e"];
    let text = facts.user_data_text()?;
    let line = (1..).zip(text.lines()).find(|(_, line)| {
        let line = line.trim_start();
        ENDS.iter().any(|words| line.contains(words)) && (line.starts_with("set ") || line.starts_with("#!"))
    });
    let (number, _) = line?;
    Some(format!(
        "line {number} lets a script end at the first command that fails, which can print nothing, as `grep` does when it finds nothing: \
         add `trap 'echo \"line $LINENO failed\" >&2' ERR` below that line to see whether and where, and `|| true` behind a command \
         that may fail"
    ))
}

/// What to do if `set -u` ended the script at a variable.
fn unset_variable(message: &str) -> Option<String> {
    let name = message
        .strip_suffix(": unbound variable")?
        .rsplit([' ', ':'])
        .next()?;
    // The script itself lacks the arguments that it reads.
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!(
            "pass the script its argument {name}, or read it as `${{{name}:-}}`: with `set -u`, a script ends at a value that it does \
             not have"
        ));
    }
    Some(format!(
        "set `{name}` before that line, or read it as `${{{name}:-}}`: with `set -u`, a script ends at a variable that has no \
         value. User data has the variables of no login, such as `HOME`, and none of a line that ran in a subshell or in a \
         script of its own"
    ))
}

/// What to do if `systemctl` does not find a unit that AMIs are not known to have.
fn missing_unit(message: &str) -> Option<String> {
    let unit = unit_not_found(message)?;
    Some(format!(
        "correct the name `{unit}`, or write the unit file before that line. If your AMI has `{unit}`, this is a limit of nodejoin \
         (`harness-limit`) and no error of the script: add the unit, or a stub of it, to the node with an overlay \
         (`--overlay MANIFEST`)"
    ))
}

/// What to do about last words that have one reason.
pub(super) fn certain_remedy(facts: &Facts<'_>, message: &str) -> Option<String> {
    unset_variable(message).or_else(|| cut_authority(facts, message))
}

/// What to do if `base64` cannot decode the CA that the user data passes to the script.
fn cut_authority(facts: &Facts<'_>, message: &str) -> Option<String> {
    const PASSED: [&str; 2] = ["--b64-cluster-ca", "B64_CLUSTER_CA"];
    let text = facts.user_data_text()?;
    let passed = PASSED.iter().find(|passed| text.contains(**passed))?;
    message.contains("base64: invalid input").then(|| {
        format!(
            "pass the whole CA of the cluster in `{passed}`: the base64 in the user data is cut or has other characters; \
             `aws eks describe-cluster --query cluster.certificateAuthority.data` prints it"
        )
    })
}

/// What to do if a flag begins a line because the line before lacks its backslash.
fn cut_command(text: &str, flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_flag = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_name);
    let is_boundary = || {
        let mut values = text.split("boundary=").skip(1);
        values.any(|value| {
            value
                .trim_start_matches('"')
                .starts_with(name.trim_end_matches('-'))
        })
    };
    if !is_flag || is_boundary() {
        return None;
    }
    let mut lines = text.lines().zip(text.lines().skip(1));
    let (before, _) = lines.find(|(_, line)| {
        let rest = line.trim_start().strip_prefix(flag);
        rest.is_some_and(|rest| !rest.starts_with(is_name))
    })?;
    let shown = before.trim();
    if let Some(command) = shown.strip_suffix('\\') {
        return Some(format!(
            "remove the blanks behind the backslash that follows `{}`",
            command.trim()
        ));
    }
    (!shown.is_empty()).then(|| {
        format!(
            "end the line before it, `{shown}`, with a backslash: `{flag}` is an argument of that command"
        )
    })
}

/// The package that a package tool does not find.
pub(crate) fn unknown_package(message: &str) -> Option<&str> {
    let of_yum = message.strip_prefix("No package ");
    let of_yum = of_yum.and_then(|rest| rest.strip_suffix(" available."));
    of_yum.or_else(|| message.strip_prefix("No match for argument: "))
}

#[cfg(test)]
mod tests {
    use super::unknown_package;

    #[test]
    fn a_package_that_a_tool_does_not_find_is_known_by_its_message() {
        assert_eq!(unknown_package("No package fuse available."), Some("fuse"));
        assert_eq!(unknown_package("No match for argument: fuse"), Some("fuse"));
        assert_eq!(unknown_package("No package manager"), None);
    }
}
