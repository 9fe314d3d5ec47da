//! Files that a cloud-config writes without the right to execute them, although a command executes them.

use std::collections::BTreeMap;

use nodejoin_core::user_data::Parsed;

use super::shell::{self, ShellCommand};
use super::wrappers::behind_wrappers;
use crate::source_lines::SourceLines;

/// The rights of owner, group and others to execute a file: without all of them, root may not either.
const EXECUTE: u32 = 0o111;
/// Commands that read a script themselves.
const SOURCES: [&str; 2] = [".", "source"];
/// Commands that may change the rights of a file, or test them.
const CHANGES: [&str; 9] = [
    "chmod", "install", "setfacl", "cp", "mv", "ln", "rsync", "test", "[",
];

/// A sentence for each such file. `decoded`: the text of all parts, files and commands.
pub(super) fn unexecutable(
    user_data: &str,
    parsed: &Parsed,
    decoded: &str,
    lines: &SourceLines<'_>,
) -> Vec<String> {
    let files = parsed.cloud_config().files;
    // The last entry for a path counts.
    let modes: BTreeMap<&str, u32> = files.iter().map(|file| (file.path.as_str(), file.mode)).collect();
    let scripts = parsed.scripts();
    let scripts = scripts
        .iter()
        .map(|script| shell::read(&String::from_utf8_lossy(&script.content)));
    let commands: Vec<ShellCommand> = scripts.flat_map(|script| script.commands).collect();
    let is_lost = |(path, mode): &(&str, u32)| {
        mode & EXECUTE == 0
            && commands.iter().any(|command| executes(command, path))
            && !may_change(decoded, path)
    };
    let lost = modes.into_iter().filter(is_lost);
    lost.map(|(path, mode)| {
        let is_entry = |(_, line): &(usize, &str)| line.contains("path:") && line.contains(path);
        let number = (1..).zip(user_data.lines()).find(is_entry);
        let place = number.map(|(number, _)| lines.place(user_data, number, "the user data"));
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        format!(
            "`write_files` gives {path}{place} the mode {mode:04o}, and a command executes it: `Permission denied`; write `permissions: \
             '0755'`, or run it with `bash {path}`"
        )
    })
    .collect()
}

/// Whether the program of a command is a file.
fn executes(command: &ShellCommand, path: &str) -> bool {
    let words = &command.words;
    let (before, program) = words.split_at(behind_wrappers(words).min(words.len()));
    let is_sourced = before.iter().any(|word| SOURCES.contains(&word.as_str()));
    !is_sourced && program.first().is_some_and(|word| word == path)
}

/// Whether a line may change the rights of a file, also by its folder or a pattern.
fn may_change(text: &str, path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    text.lines().any(|line| {
        let is_change = |word: &str| CHANGES.contains(&word.rsplit('/').next().unwrap_or_default());
        let mut words = line.split(|c: char| c.is_whitespace() || "'\"(`;|&,".contains(c));
        words.any(is_change) && (line.contains(folder) || line.contains(['*', '$']))
    })
}

#[cfg(test)]
mod tests {
    use nodejoin_core::user_data::parse;

    use super::*;
    use crate::adopt::stated::Stated;

    fn found(permissions: &str, commands: &str) -> Vec<String> {
        let text = format!(
            "#cloud-config\nwrite_files:\n- path: /opt/b.sh\n{permissions}  content: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh demo\n\
             {commands}\n"
        );
        let decoded = Stated::of(text.as_bytes()).text;
        unexecutable(&text, &parse(text.as_bytes()), &decoded, &SourceLines::default())
    }

    #[test]
    fn a_file_without_the_right_to_execute_it_does_not_run() {
        for (permissions, mode) in [("", "0644"), ("  permissions: '0600'\n", "0600")] {
            for command in [
                "/opt/b.sh",
                "[/opt/b.sh]",
                "[/opt/b.sh, x]",
                "sudo -E /opt/b.sh",
                "timeout 300 /opt/b.sh || shutdown -h now",
            ] {
                let found = found(permissions, &format!("runcmd:\n- {command}\n"));
                assert_eq!(
                    found,
                    [format!(
                        "`write_files` gives /opt/b.sh (line 3 of the user data) the mode {mode}, and a command executes it: `Permission \
                         denied`; write `permissions: '0755'`, or run it with `bash /opt/b.sh`"
                    )],
                    "{command}"
                );
            }
        }
    }

    #[test]
    fn other_files_run() {
        for (permissions, commands) in [
            ("  permissions: '0755'\n", "runcmd:\n- /opt/b.sh"),
            ("", "runcmd:\n- bash /opt/b.sh"),
            ("", "runcmd:\n- [sh, -x, /opt/b.sh]"),
            ("", "runcmd:\n- . /opt/b.sh"),
            ("", "runcmd:\n- source /opt/b.sh"),
            ("", "runcmd:\n- chmod +x /opt/b.sh\n- /opt/b.sh"),
            ("", "runcmd:\n- [chmod, -R, '0755', /opt]\n- /opt/b.sh"),
            ("", "bootcmd:\n- chmod 0755 /opt/*\nruncmd:\n- /opt/b.sh"),
            ("", "runcmd:\n- '[ -x /opt/b.sh ] && /opt/b.sh'"),
            ("", "runcmd:\n- echo /opt/b.sh"),
            ("", "runcmd:\n- /opt/other.sh"),
        ] {
            assert_eq!(found(permissions, commands), [""; 0], "{commands}");
        }
    }
}
