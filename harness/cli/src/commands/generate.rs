//! Files that packages install beside the program: shell completions and man pages.

use std::io;
use std::path::Path;

use clap_complete::Shell;
use nodejoin_core::run::exit_code::ExitCode;

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::process;

/// Name of the program in both.
const PROGRAM: &str = "nodejoin";

/// `nodejoin completions SHELL`
pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    out!("{}", completion_script(args.shell).trim_end());
    ExitCode::Passed
}

fn completion_script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), PROGRAM, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// `nodejoin man FOLDER`
pub(crate) fn man(args: &ManArgs) -> ExitCode {
    match write_pages(&args.folder) {
        Ok(()) => ExitCode::Passed,
        Err(error) => {
            let what = format!("could not write man pages to `{}`", args.folder.display());
            process::report_error(&what, &error, None);
            ExitCode::Environment
        }
    }
}

/// One page for the program and one for each command, such as `nodejoin-run.1`.
fn write_pages(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_completes_every_command() {
        let commands: Vec<String> = command()
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = completion_script(shell);
            for command in &commands {
                assert!(script.contains(command), "{shell}: {command}");
            }
        }
    }

    #[test]
    fn each_command_has_a_man_page() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(folder.path()).unwrap();
        let run = std::fs::read_to_string(folder.path().join("nodejoin-run.1")).unwrap();
        assert!(run.contains("fail\\-fast"), "{run}");
        for command in command().get_subcommands() {
            let page = folder.path().join(format!("nodejoin-{}.1", command.get_name()));
            assert!(page.is_file(), "{}", page.display());
        }
    }
}
