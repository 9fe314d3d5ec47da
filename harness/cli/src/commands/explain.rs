//! `nodejoin explain`

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::vocabulary::nearest::nearest;

use crate::args::ExplainArgs;

/// The book's page of diagnoses.
const PAGE: &str = include_str!("../../pages/diagnoses.md");

/// Prints the section of a cause, or all causes.
pub(crate) fn explain(args: &ExplainArgs) -> ExitCode {
    let Some(word) = &args.cause else {
        Cause::ALL
            .iter()
            .for_each(|cause| out!("{:<34} {}", cause.word(), cause.meaning()));
        return ExitCode::Passed;
    };
    match section(word) {
        Some(text) => {
            out!("{text}");
            ExitCode::Passed
        }
        None => {
            let words = Cause::ALL.iter().map(|cause| cause.word());
            let hint = nearest(word, words).map_or_else(
                || "`nodejoin explain` lists all causes".to_owned(),
                |right| format!("did you mean `{right}`?"),
            );
            eprintln!("error: unknown cause `{word}`\n  {hint}");
            ExitCode::Usage
        }
    }
}

/// The section of a cause, without its heading's mark.
fn section(word: &str) -> Option<&'static str> {
    let sections = PAGE.split("\n## ").skip(1);
    let mut sections = sections.map(str::trim_end);
    sections.find(|section| section.lines().next() == Some(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_section() {
        for cause in Cause::ALL {
            let text = section(cause.word()).unwrap_or_else(|| panic!("{}", cause.word()));
            for part in ["- Last phase: ", "- Evidence: ", "- Remedy: ", "- Proved by: "] {
                assert!(text.contains(part), "{part} is missing in {text}");
            }
        }
        assert_eq!(section("no-such-cause"), None);
    }
}
