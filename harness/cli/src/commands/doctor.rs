//! `nodejoin doctor`

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::doctor::{self, CheckResult, State};

use crate::process;

/// Checks the host and prints how to fix each problem.
pub(crate) async fn doctor(factor: TimeFactor) -> ExitCode {
    let settings = process::image_settings();
    let results = doctor::check(&settings, factor).await;
    for line in results.iter().flat_map(lines) {
        out!("{line}");
    }
    match results.iter().any(|result| result.state == State::Bad) {
        true => ExitCode::Host,
        false => ExitCode::Passed,
    }
}

/// The line of a check, and a line for each step of its remedy.
fn lines(result: &CheckResult) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<6}{:<22}{}",
        word(result.state),
        result.name,
        result.seen
    )];
    let remedy = result.remedy.iter().flat_map(|remedy| remedy.lines());
    lines.extend(remedy.map(|step| format!("{:<28}do: {step}", "")));
    lines
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Warn => "warn",
        State::Bad => "BAD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_mark_and_each_step_of_a_remedy_its_line() {
        let result = |name, state, seen: &str, remedy: Option<&str>| CheckResult {
            name,
            state,
            seen: seen.to_owned(),
            remedy: remedy.map(str::to_owned),
        };
        let results = [
            result("engine", State::Ok, "28.0 with API 1.48", None),
            result(
                "images",
                State::Warn,
                "2 are missing",
                Some("nodejoin images build"),
            ),
            result(
                "storage driver",
                State::Bad,
                "vfs",
                Some("use overlay2\nrestart Docker"),
            ),
        ];
        let lines: Vec<_> = results.iter().flat_map(lines).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
