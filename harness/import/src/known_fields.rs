//! The fields of a mapping whose tool refuses unknown ones.

use crate::error::ImportError;
use crate::tree::Tree;

/// A word of at least this many letters can be another one with a typing error.
const SHORTEST: usize = 4;
/// Letters that are added, removed, replaced or swapped in a typing error.
const MOST_EDITS: usize = 2;

/// The fields that a tool knows in one place of its files.
pub(crate) struct KnownFields {
    /// The place, such as `spec` of a kind.
    pub(crate) place: &'static str,
    /// Says what the tool does with another field, such as `eksctl refuses it`.
    pub(crate) consequence: &'static str,
    /// Lists of fields.
    pub(crate) fields: &'static [&'static [&'static str]],
    /// Another place, and the fields that it alone has.
    pub(crate) elsewhere: Option<(&'static str, &'static [&'static str])>,
}

impl KnownFields {
    /// Checks the keys of a mapping. A field that is like no known one may belong to a newer version: it is a note.
    ///
    /// # Errors
    /// A key is a misspelt field, or a field of another place.
    pub(crate) fn check(&self, tree: &Tree, notes: &mut Vec<String>) -> Result<(), ImportError> {
        for (key, value) in tree.entries() {
            let mut fields = self.fields.iter().copied().flatten().copied();
            if fields.clone().any(|field| field == key) {
                continue;
            }
            let refused = |hint: String| ImportError::Invalid {
                line: value.line(),
                column: None,
                problem: format!("{} has no field `{key}`: {}", self.place, self.consequence),
                hint,
            };
            if let Some((place, own)) = self.elsewhere
                && own.contains(&key.as_str())
            {
                return Err(refused(format!("remove `{key}`: only {place} has it")));
            }
            if let Some(meant) = meant(key, &mut fields) {
                return Err(refused(format!("write `{meant}`")));
            }
            let line = value
                .line()
                .map(|line| format!("line {line}: "))
                .unwrap_or_default();
            notes.push(format!(
                "{line}nodejoin knows no field `{key}` of {}: if your version has none either, {}",
                self.place, self.consequence
            ));
        }
        Ok(())
    }
}

/// The field that a key means with a typing error, or in other capitals.
fn meant(key: &str, fields: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    let edits = |field: &&str| strsim::damerau_levenshtein(&lower, &field.to_ascii_lowercase());
    let nearest = fields.min_by_key(edits)?;
    let allowed = match key.len() {
        length if length < SHORTEST => 0,
        length if length < 3 * SHORTEST => 1,
        _ => MOST_EDITS,
    };
    (edits(&nearest) <= allowed).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_means_a_field_and_another_word_does_not() {
        let fields = ["labels", "maxPodsPerNode", "userData", "ami", "role"].into_iter();
        for (key, field) in [
            ("label", Some("labels")),
            ("Labels", Some("labels")),
            ("maxPodPerNodes", Some("maxPodsPerNode")),
            ("userdata", Some("userData")),
            ("amis", Some("ami")),
            ("am", None),
            ("roles", Some("role")),
            ("rules", None),
            ("podsPerCore", None),
        ] {
            assert_eq!(meant(key, fields.clone()), field, "{key}");
        }
    }
}
