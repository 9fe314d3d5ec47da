//! The scripts of user data that bash or a shell like it runs.

use nodejoin_core::user_data::parse;

use super::wrappers::SHELLS;

/// Their texts, as cloud-init writes them. Those that are not text, or have carriage returns, are missing.
pub(super) fn shell_scripts(user_data: &[u8]) -> Vec<String> {
    let scripts = parse(user_data).scripts().into_iter();
    let texts = scripts.filter_map(|script| String::from_utf8(script.content).ok());
    texts
        .filter(|text| is_for_shell(text) && !text.contains('\r'))
        .collect()
}

/// Whether the first line of a script names such a shell, also behind `env`.
fn is_for_shell(text: &str) -> bool {
    let Some(line) = text.strip_prefix("#!").and_then(|rest| rest.lines().next()) else {
        return false;
    };
    let names = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let mut names = names.filter(|name| !name.starts_with('-'));
    let first = names.next();
    let name = if first == Some("env") { names.next() } else { first };
    name.is_some_and(|name| SHELLS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_shell() {
        for line in [
            "#!/bin/bash",
            "#!/bin/sh -e",
            "#! /usr/bin/env bash",
            "#!/usr/bin/env -S bash -x",
        ] {
            assert!(is_for_shell(&format!("{line}\na\n")), "{line}");
        }
        for line in [
            "#!/usr/bin/python3",
            "#!/usr/bin/env python3",
            "#!",
            "a",
            "#!/bin/zsh",
        ] {
            assert!(!is_for_shell(&format!("{line}\n# bash\n")), "{line}");
        }
    }

    #[test]
    fn parts_and_commands_are_scripts() {
        let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\na\n\
                    --B\nContent-Type: text/x-shellscript\n\n#!/usr/bin/python3\n--B\nContent-Type: text/cloud-config\n\n\
                    #cloud-config\nruncmd: [b]\n--B--\n";
        let scripts = shell_scripts(text.as_bytes());
        assert_eq!(scripts.len(), 2, "{scripts:?}");
        assert_eq!(shell_scripts(b"#!/bin/bash\r\na\r\n"), ["#!/bin/bash\na\n"]);
        assert_eq!(shell_scripts(b"#!/bin/bash\na\r\n"), [""; 0]);
    }
}
