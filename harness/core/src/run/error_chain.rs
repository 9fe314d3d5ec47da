//! An error with its causes as one line, for reports, logs and verdicts.

use std::error::Error;

/// The error's text, followed by the text of each cause that the line does not contain yet: some libraries print their
/// cause themselves.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    fn link(text: &'static str, source: Option<Link>) -> Link {
        Link {
            text,
            source: source.map(Box::new),
        }
    }

    #[test]
    fn causes_follow_their_error() {
        let error = link("start", Some(link("connect", Some(link("refused", None)))));
        assert_eq!(chain(&error), "start: connect: refused");
    }

    #[test]
    fn a_cause_that_its_parent_prints_appears_once() {
        for text in ["connect: refused", "connect (refused), twice"] {
            let error = link("start", Some(link(text, Some(link("refused", None)))));
            assert_eq!(chain(&error), format!("start: {text}"));
        }
    }
}
