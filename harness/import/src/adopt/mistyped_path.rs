//! Misspelt paths of the bootstrap script.

use std::collections::BTreeMap;

use nodejoin_core::user_data::parse;

use super::bootstrap_call::BOOTSTRAP;
use super::shell;
use super::wrappers::behind_shells;
use crate::known_fields::meant;
use crate::source_lines::SourceLines;

const FOLDER: &str = "/etc/eks";
const NAME: &str = "bootstrap.sh";
/// Its name without the end.
const SHORT: &str = "bootstrap";
/// Commands that enter a folder and write nothing.
const ENTER: [&str; 2] = ["cd", "pushd"];

/// A sentence for each such path that a script of the user data runs, and that nothing else in it names.
pub(super) fn mistyped_paths(user_data: &[u8], lines: &SourceLines<'_>) -> Vec<String> {
    let parsed = parse(user_data);
    let parts = parsed.parts.iter().map(|part| part.content.clone());
    let files = parsed.cloud_config().files.into_iter().map(|file| file.content);
    let whole: Vec<u8> = parts.chain(files).flatten().collect();
    let whole = String::from_utf8_lossy(&whole);
    if is_folder_named(&whole) {
        return Vec::new();
    }
    let mut calls: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for script in parsed.scripts() {
        let text = String::from_utf8_lossy(&script.content);
        for command in shell::read(&text).commands {
            let path = command.words.get(behind_shells(&command.words));
            let Some(path) = path.filter(|path| is_mistyped(path)) else {
                continue;
            };
            let place = lines.place(&text, command.first_line, "the script");
            calls.entry(path.clone()).or_insert((0, place)).0 += 1;
        }
    }
    let is_only_run = |path: &str, count: usize| {
        let name = path.rsplit('/').next().unwrap_or_default();
        whole.matches(name).count() <= count
    };
    let calls = calls
        .into_iter()
        .filter(|(path, (count, _))| is_only_run(path, *count));
    let sentence = |(path, (_, place)): (String, (usize, String))| {
        format!(
            "no EKS AMI has `{path}` ({place}), and nothing in the user data writes it; did you mean `{BOOTSTRAP}`?"
        )
    };
    calls.map(sentence).collect()
}

/// Whether a path means that of the script. A digit in it is not an error of typing.
fn is_mistyped(path: &str) -> bool {
    let name = path.strip_prefix(FOLDER).and_then(|name| name.strip_prefix('/'));
    let Some(name) = name.filter(|name| *name != NAME) else {
        return false;
    };
    let is_word = name
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || b"._-".contains(&byte));
    is_word && (name == SHORT || meant(name, std::iter::once(NAME)).is_some())
}

/// Whether a text names the folder itself: a command can write any file into it.
fn is_folder_named(text: &str) -> bool {
    text.match_indices(FOLDER).any(|(at, _)| {
        let rest = &text[at + FOLDER.len()..];
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let is_end = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let before = text[..at].trim_end_matches(['"', '\'', ' ']);
        is_end && !ENTER.iter().any(|command| before.ends_with(command))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        mistyped_paths(text.as_bytes(), &SourceLines::default())
    }

    #[test]
    fn a_misspelt_path_is_named_with_the_one_that_is_meant() {
        for (path, before) in [
            ("/etc/eks/boostrap.sh", ""),
            ("/etc/eks/bootsrap.sh", "sudo -E "),
            ("/etc/eks/bootstarp.sh", "cd /etc/eks && bash -x "),
            ("/etc/eks/Bootstrap.sh", "set -x; "),
            ("/etc/eks/bootstrap", ""),
        ] {
            let text = format!("#!/bin/bash\n{before}{path} demo --use-max-pods false\n");
            let expected = format!(
                "no EKS AMI has `{path}` (line 2 of the script), and nothing in the user data writes it; did you mean \
                 `/etc/eks/bootstrap.sh`?"
            );
            assert_eq!(found(&text), [expected], "{text}");
        }
        let runcmd = "#cloud-config\nruncmd:\n- [/etc/eks/boostrap.sh, demo]\n";
        assert_eq!(found(runcmd).len(), 1);
        let twice = "#!/bin/bash\n/etc/eks/boostrap.sh demo || /etc/eks/boostrap.sh demo\n";
        assert_eq!(found(twice).len(), 1);
    }

    #[test]
    fn a_path_that_user_data_may_write_is_not_misspelt() {
        for text in [
            "/etc/eks/bootstrap.sh demo",
            "cp /opt/boostrap.sh /etc/eks/boostrap.sh\n/etc/eks/boostrap.sh demo",
            "aws s3 sync s3://files /etc/eks\n/etc/eks/boostrap.sh demo",
            "tar -C \"/etc/eks/\" -xf /x\n/etc/eks/boostrap.sh demo",
            "cp /opt/* /etc/eks/.\n/etc/eks/boostrap.sh demo",
            "/etc/eks/bootstrap2.sh demo",
            "/etc/eks/max-pods-calculator.sh",
            "/opt/boostrap.sh demo",
            "/etc/eks/boostrap-own-nodes.sh demo",
            "echo /etc/eks/boostrap.sh",
        ] {
            assert_eq!(found(&format!("#!/bin/bash\n{text}\n")), [""; 0], "{text}");
        }
        let written = "#cloud-config\nwrite_files:\n- path: /etc/eks/boostrap.sh\n  content: x\nruncmd:\n- [/etc/eks/boostrap.sh, demo]\n";
        assert_eq!(found(written), [""; 0]);
    }
}
