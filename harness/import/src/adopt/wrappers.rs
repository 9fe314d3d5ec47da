//! Programs that run another one, such as `sudo` and `timeout`, and the words before that one.

/// Shells that run a script, or a text with `-c`.
pub(super) const SHELLS: [&str; 3] = ["bash", "sh", "dash"];

/// Programs that run the text behind `-c` with a shell, wherever the option stands.
pub(super) const SHELL_USERS: [&str; 3] = ["su", "runuser", "script"];

/// A program that runs the one behind its options and operands.
struct Wrapper {
    names: &'static [&'static str],
    /// Options of one letter, and long ones, whose value is a word of its own.
    letters: &'static str,
    long: &'static [&'static str],
    /// Options of one letter with which it runs no program behind them, or reads it from a text.
    others: &'static str,
    /// Words between the options and the program.
    operands: usize,
    /// Whether words such as `NAME=value` stand between the options and the program.
    assigns: bool,
}

const PLAIN: Wrapper = Wrapper {
    names: &["nohup", "setsid", "source", ".", "chronic", "unbuffer"],
    letters: "",
    long: &[],
    others: "",
    operands: 0,
    assigns: false,
};

const WRAPPERS: &[Wrapper] = &[
    PLAIN,
    Wrapper {
        names: &["sudo"],
        letters: "CDgpRrtTuU",
        long: &["--user", "--group", "--prompt", "--chdir"],
        others: "elvVK",
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &["env"],
        letters: "uC",
        long: &["--unset", "--chdir"],
        others: "S",
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &["exec"],
        letters: "a",
        ..PLAIN
    },
    Wrapper {
        names: &["command"],
        others: "vV",
        ..PLAIN
    },
    Wrapper {
        names: &["timeout"],
        letters: "ks",
        long: &["--kill-after", "--signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["nice"],
        letters: "n",
        long: &["--adjustment"],
        ..PLAIN
    },
    Wrapper {
        names: &["ionice"],
        letters: "cn",
        long: &["--class", "--classdata"],
        others: "pPu",
        ..PLAIN
    },
    Wrapper {
        names: &["stdbuf"],
        letters: "ioe",
        long: &["--input", "--output", "--error"],
        ..PLAIN
    },
    Wrapper {
        names: &["time"],
        letters: "fo",
        long: &["--format", "--output"],
        ..PLAIN
    },
    Wrapper {
        names: &["flock"],
        letters: "wE",
        long: &["--wait", "--timeout", "--conflict-exit-code"],
        others: "cu",
        operands: 1,
        ..PLAIN
    },
    Wrapper {
        names: &["systemd-cat"],
        letters: "tp",
        long: &["--identifier", "--priority"],
        ..PLAIN
    },
    Wrapper {
        names: &["systemd-run"],
        letters: "HMpuE",
        long: &[
            "--description",
            "--gid",
            "--nice",
            "--on-active",
            "--on-boot",
            "--on-calendar",
            "--on-startup",
            "--property",
            "--service-type",
            "--setenv",
            "--slice",
            "--timer-property",
            "--uid",
            "--unit",
            "--working-directory",
        ],
        ..PLAIN
    },
    // How often, and a name.
    Wrapper {
        names: &["cloud-init-per"],
        operands: 2,
        ..PLAIN
    },
];

const SHELL: &[Wrapper] = &[Wrapper {
    names: &SHELLS,
    letters: "oO",
    long: &["--rcfile", "--init-file"],
    others: "cns",
    ..PLAIN
}];

/// The index of the word behind programs that run another one, except shells.
pub(super) fn behind_wrappers(words: &[String]) -> usize {
    behind(words, |word| WRAPPERS.iter().find(|wrapper| wrapper.is(word)))
}

/// The index of the word behind programs that run another one, also behind a shell: a script can be there.
pub(super) fn behind_shells(words: &[String]) -> usize {
    let all = || WRAPPERS.iter().chain(SHELL);
    behind(words, |word| all().find(|wrapper| wrapper.is(word)))
}

fn behind(words: &[String], find: impl Fn(&str) -> Option<&'static Wrapper>) -> usize {
    let mut at = 0;
    while let Some(wrapper) = words.get(at).and_then(|word| find(word)) {
        match wrapper.program(words, at + 1) {
            Some(program) => at = program,
            None => break,
        }
    }
    at
}

impl Wrapper {
    fn is(&self, word: &str) -> bool {
        word.rsplit('/')
            .next()
            .is_some_and(|name| self.names.contains(&name))
    }

    /// The index of the program, which `at` and options of the wrapper come before. `None`: it runs none.
    fn program(&self, words: &[String], mut at: usize) -> Option<usize> {
        while let Some(word) = words.get(at) {
            let is_assignment = self.assigns && word.contains('=') && !word.starts_with(['-', '/']);
            if word == "--" {
                at += 1;
                break;
            }
            if !is_assignment && !word.starts_with(['-', '+']) {
                break;
            }
            let is_option = !is_assignment;
            if is_option && self.is_other(word) {
                return None;
            }
            at += 1 + usize::from(is_option && self.takes_next(word));
        }
        Some(at + self.operands)
    }

    fn is_other(&self, option: &str) -> bool {
        !option.starts_with("--") && option.contains(|c: char| self.others.contains(c))
    }

    /// Whether the value of an option is the next word. Behind its letter, it is in the same one.
    fn takes_next(&self, option: &str) -> bool {
        if option.starts_with("--") {
            return self.long.contains(&option);
        }
        let letter = option.find(|c: char| self.letters.contains(c));
        letter.is_some_and(|at| at + 1 == option.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(command: &str, behind: fn(&[String]) -> usize) -> String {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        words.get(behind(&words)..).unwrap_or_default().join(" ")
    }

    #[test]
    fn a_program_stands_behind_options_and_operands_of_those_that_run_it() {
        for before in [
            "sudo",
            "sudo -E",
            "sudo -Eu root",
            "sudo -u root A=b C=d",
            "sudo --user root --",
            "/usr/bin/env A=b",
            "env -i -u X A=b bash",
            "timeout 300 bash -x",
            "timeout -k 5 -s KILL 300",
            "timeout --signal=KILL --foreground 5m nice -n 10 sh",
            "nice -10 ionice -c2 -n 7",
            "exec nohup",
            "bash -euxo pipefail",
            "bash -o errexit -o xtrace +e --norc",
            "flock -n /run/lock",
            "stdbuf -oL /bin/bash",
            "command .",
            "systemd-run --unit=join --no-block -p Type=oneshot",
            "systemd-run --unit join -E A=b bash -x",
            "cloud-init-per once join",
            "systemd-cat -t join",
        ] {
            let command = format!("{before} ./run x");
            assert_eq!(rest(&command, behind_shells), "./run x", "{before}");
        }
        for other in ["retry 3 ./run x", "chmod +x ./run", "./run -x"] {
            assert_eq!(rest(other, behind_shells), other);
        }
    }

    #[test]
    fn a_wrapper_that_runs_nothing_is_the_program() {
        for command in [
            "command -v ./run",
            "bash -n ./run",
            "bash -ec ./run",
            "sudo -l ./run",
        ] {
            assert_eq!(rest(command, behind_shells), command);
        }
        assert_eq!(rest("sudo -E bash -c x", behind_wrappers), "bash -c x");
        for unfinished in ["timeout", "sudo -u", "exec"] {
            assert_eq!(rest(unfinished, behind_shells), "", "{unfinished}");
        }
    }
}
