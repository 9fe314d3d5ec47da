//! Environment variables in paths: the root of an overlay, a root file system.

use crate::input::files::Files;

/// An unset variable in `root`; empty for an unclosed `${`.
pub(super) struct Unset(String);

impl Unset {
    pub(super) fn what(&self) -> String {
        if self.0.is_empty() {
            "unclosed `${`".to_owned()
        } else {
            format!("the environment variable `{}` is not set", self.0)
        }
    }

    pub(super) fn why(&self) -> &'static str {
        if self.0.is_empty() {
            ""
        } else {
            "the overlay reads its files from the folder that it names"
        }
    }

    pub(super) fn hint(&self) -> String {
        if self.0.is_empty() {
            String::new()
        } else {
            format!("set it to your checkout: export {}=/path/to/it", self.0)
        }
    }
}

pub(super) fn expand(text: &str, files: &dyn Files) -> Result<String, Unset> {
    let Some((before, rest)) = text.split_once("${") else {
        return Ok(text.to_owned());
    };
    let (name, after) = rest.split_once('}').ok_or(Unset(String::new()))?;
    let value = files
        .variable(name)
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Unset(name.to_owned()))?;
    Ok(format!("{before}{value}{}", expand(after, files)?))
}
