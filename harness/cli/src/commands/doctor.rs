//! `nodejoin doctor`

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::doctor::{self, State};

use crate::process;

/// Checks the host and prints how to fix each problem.
pub(crate) async fn doctor(factor: TimeFactor) -> ExitCode {
    let settings = process::image_settings();
    let results = doctor::check(&settings, factor).await;
    for result in &results {
        out!("{:<6}{:<22}{}", word(result.state), result.name, result.seen);
        if let Some(remedy) = &result.remedy {
            remedy.lines().for_each(|line| out!("{:<28}do: {line}", ""));
        }
    }
    match results.iter().any(|result| result.state == State::Bad) {
        true => ExitCode::Host,
        false => ExitCode::Passed,
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Ok => "ok",
        State::Warn => "warn",
        State::Bad => "BAD",
    }
}
