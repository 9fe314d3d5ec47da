//! Each scenario of this folder is a test; each script that is broken on purpose must be caught by one.
//!
//! `main` has no side effects until a test runs: runners list tests by starting this program again and again.

mod broken;
mod evidence;
mod shards;
mod suite;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or_else(joins_at_a_time);
    let suite = match suite::Suite::load() {
        Ok(suite) => suite,
        Err(error) => {
            eprintln!("Error: {error}");
            return ExitCode::from(101);
        }
    };
    let trials: Vec<Trial> = suite.trials();
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Not `conclusion.exit()`: what the tests made has to be removed first.
    let left = suite.tear_down();
    left.iter()
        .for_each(|object| eprintln!("Error: left behind: {object}"));
    if conclusion.has_failed() || !left.is_empty() {
        ExitCode::from(101)
    } else {
        ExitCode::SUCCESS
    }
}

/// Three per processor: a join waits more than half of its time, for example for the kubelet's first status.
fn joins_at_a_time() -> Option<usize> {
    let processors = std::thread::available_parallelism().ok()?;
    Some(processors.get() * 3)
}
