//! What to do about the last words of a script that failed.

use super::facts::{Facts, between};
use super::limits::{is_removed, missing_command, unit_not_found};
use super::paths::missing_path;
use super::script_output::shortened;
use crate::user_data::parse;

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

/// What to do about a script whose commands stand in its first line, behind `#!`.
pub(super) fn missing_line_break(facts: &Facts<'_>) -> Option<String> {
    let parsed = parse(&facts.user_data()?);
    let mut parts = parsed
        .parts
        .iter()
        .map(|part| String::from_utf8_lossy(&part.content));
    parts.find_map(|text| {
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let mut words = first.strip_prefix("#!")?.split_whitespace();
        let interpreter = words.next()?;
        let has_command = interpreter.contains("sh/") || words.any(|word| word.contains('/'));
        let is_env = interpreter.ends_with("/env");
        (has_command && !is_env && rest.trim().is_empty()).then(|| {
            format!(
                "write a line break behind the interpreter: `{}` is the first line of the script and all of it, so the interpreter takes \
                 the commands for its arguments. `Fn::Join` with \"\" adds no line breaks",
                shortened(first)
            )
        })
    })
}

/// What to do about a file of the kubelet that the shell emptied before a command of the user data read it.
pub(super) fn emptied_file(facts: &Facts<'_>, message: &str) -> Option<String> {
    let text = facts.user_data_text()?;
    (1..).zip(text.lines()).find_map(|(number, line)| {
        let path = path_read_and_emptied(line).filter(|path| message.contains(path))?;
        Some(format!(
            "line {number} of the user data empties {path} before its command reads it, because the shell opens the file behind `>` first: \
             write into another file, and move that to {path}"
        ))
    })
}

/// The path behind `>` of a command that has the same path as an argument.
fn path_read_and_emptied(line: &str) -> Option<&str> {
    let (command, rest) = line.trim_start().split_once('>')?;
    // `>>` appends, and `2>` is about errors.
    if rest.starts_with('>') || command.ends_with(|c: char| c.is_ascii_digit()) || command.starts_with('#') {
        return None;
    }
    let path = rest.split_whitespace().next()?.trim_matches(['"', '\'']);
    // What earlier commands of a pipe read, they may read before.
    let mut words = command.rsplit('|').next()?.split_whitespace();
    let is_read = words.any(|word| word.trim_matches(['"', '\'']) == path);
    (path.starts_with('/') && is_read).then_some(path)
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
    unset_variable(message)
        .or_else(|| cut_authority(facts, message))
        .or_else(|| unknown_kubeadm_api(facts, message))
}

/// What to do about a configuration in a version of kubeadm's API that this kubeadm does not know.
fn unknown_kubeadm_api(facts: &Facts<'_>, message: &str) -> Option<String> {
    let api = between(message, "is registered for version \"kubeadm.k8s.io/", &['"'])?;
    Some(format!(
        "run it with the Kubernetes version that the user data is for (`--kubernetes VERSION`): kubeadm {} does not know \
         kubeadm.k8s.io/{api}, which belongs to another version",
        facts.observation.kubelet
    ))
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
    use super::{path_read_and_emptied, unknown_package};

    #[test]
    fn a_file_that_its_reader_empties_is_found() {
        let path = "/etc/x.json";
        for line in [
            "jq '.a=1' /etc/x.json > /etc/x.json",
            "  cat /etc/y | sed s/a/b/ \"/etc/x.json\" >/etc/x.json && true",
        ] {
            assert_eq!(path_read_and_emptied(line), Some(path), "{line}");
        }
        for line in [
            "jq '.a=1' /etc/x.json > /etc/y.json",
            "cat /etc/x.json >> /etc/x.json",
            "# jq . /etc/x.json > /etc/x.json",
            "jq . /etc/x.json 2> /etc/x.json",
            "echo hi > /etc/x.json",
            "echo hi",
        ] {
            assert_eq!(path_read_and_emptied(line), None, "{line}");
        }
    }

    #[test]
    fn a_package_that_a_tool_does_not_find_is_known_by_its_message() {
        assert_eq!(unknown_package("No package fuse available."), Some("fuse"));
        assert_eq!(unknown_package("No match for argument: fuse"), Some("fuse"));
        assert_eq!(unknown_package("No package manager"), None);
    }
}
