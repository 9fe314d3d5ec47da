//! The values of `format` in our JSON schemas: how a text of each is checked, so that a problem points at the text itself.

use std::str::FromStr;

use crate::plan::region::{Region, UnknownRegion};

/// Why a text does not have its format.
pub(crate) struct Refusal {
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) hint: Option<String>,
}

/// Checks a text against a format. Formats that are not ours are annotations, as in JSON schema itself.
pub(crate) fn check(format: &str, text: &str) -> Result<(), Refusal> {
    match format {
        "aws-region" => parse::<Region>(text, |error| Some(UnknownRegion::hint(error))),
        _ => Ok(()),
    }
}

fn parse<T: FromStr<Err: std::fmt::Display>>(
    text: &str,
    hint: impl FnOnce(&T::Err) -> Option<String>,
) -> Result<(), Refusal> {
    let refusal = |error: T::Err| Refusal {
        what: error.to_string(),
        why: String::new(),
        hint: hint(&error),
    };
    text.parse().map(|_: T| ()).map_err(refusal)
}
