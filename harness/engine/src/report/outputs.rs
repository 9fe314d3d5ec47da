//! The counts of a run as `name=value` lines, the format of step outputs in GitHub Actions.

use nodejoin_core::run::event::{RunEvent, Summary};

/// The lines for the last event; `None` for all others.
#[must_use]
pub fn event(event: &RunEvent) -> Option<String> {
    match event {
        RunEvent::RunFinished(summary) => Some(counts(summary)),
        _ => None,
    }
}

fn counts(summary: &Summary) -> String {
    let Summary {
        passed,
        failed,
        errored,
        skipped,
        cancelled,
        ..
    } = summary;
    format!("passed={passed}\nfailed={failed}\nerrored={errored}\nskipped={skipped}\ncancelled={cancelled}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_a_line() {
        let summary = Summary {
            passed: 2,
            skipped: 1,
            ..Summary::default()
        };
        assert_eq!(
            event(&RunEvent::RunFinished(summary)).unwrap(),
            "passed=2\nfailed=0\nerrored=0\nskipped=1\ncancelled=0\n"
        );
        assert_eq!(event(&RunEvent::Cancelling), None);
    }
}
