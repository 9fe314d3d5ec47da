//! Fields and values of files whose tool refuses others: unknown fields, values of another type, effects of taints.

use crate::error::ImportError;
use crate::tree::{Tree, TreeValue};

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

/// The word, such as a field, that another one means with a typing error, or in other capitals.
pub(crate) fn meant(key: &str, fields: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    meant_name(key, fields)
}

/// The name of a file that another one means with a typing error, or in other capitals.
pub(crate) fn meant_name<'a>(key: &str, fields: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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

/// Checks that a value is text for YAML. Kubernetes and eksctl refuse `true` and `1.30` where text belongs.
///
/// # Errors
/// A value without quotes that YAML reads as a boolean or a number.
pub(crate) fn check_text(tree: &Tree, place: &str, consequence: &str) -> Result<(), ImportError> {
    let TreeValue::Scalar { text, is_plain: true } = &tree.value else {
        return Ok(());
    };
    match plain_type(text) {
        None => Ok(()),
        Some(kind) => Err(ImportError::Invalid {
            line: tree.line(),
            column: None,
            problem: format!("`{text}` of {place} is {kind} in YAML, and text belongs there: {consequence}"),
            hint: format!("write it in quotes: `\"{text}\"`"),
        }),
    }
}

/// Checks that the values of a mapping, such as labels, are text for YAML.
///
/// # Errors
/// Those of [`check_text`].
pub(crate) fn check_texts(tree: Option<&Tree>, place: &str, consequence: &str) -> Result<(), ImportError> {
    let entries = tree.map(Tree::entries).unwrap_or_default();
    entries
        .iter()
        .try_for_each(|(key, value)| check_text(value, &format!("{place} `{key}`"), consequence))
}

/// The type that Kubernetes' reader of YAML gives a scalar without quotes; `None`: text. It knows words of YAML 1.1.
pub(crate) fn plain_type(text: &str) -> Option<&'static str> {
    const WORDS: [&str; 8] = ["y", "yes", "true", "on", "n", "no", "false", "off"];
    let is_word = |word: &&str| {
        let capital = word[..1].to_ascii_uppercase() + &word[1..];
        text == *word || text == capital || text == word.to_ascii_uppercase()
    };
    if WORDS.iter().any(is_word) {
        return Some("a boolean");
    }
    is_number(&text.to_ascii_lowercase().replace('_', "")).then_some("a number")
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let of_base = |prefix: &str, base: u32| {
        let digits = unsigned.strip_prefix(prefix).unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base))
    };
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.parse::<f64>().is_ok_and(f64::is_finite);
    is_decimal || of_base("0x", 16) || of_base("0o", 8) || of_base("0b", 2)
}

/// The effects of taints.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks a taint of a list: a mapping with a key and an effect.
///
/// # Errors
/// One of them is missing, or Kubernetes does not know the effect.
pub(crate) fn check_taint(taint: &Tree, consequence: &str) -> Result<(), ImportError> {
    let Some(key) = taint.text_at(&["key"]) else {
        return Err(ImportError::Invalid {
            line: taint.line(),
            column: None,
            problem: format!("a taint has no `key`: {consequence}"),
            hint: "write it as `{ key: KEY, value: VALUE, effect: NoSchedule }`".to_owned(),
        });
    };
    if let Some(value) = taint.get("value") {
        check_text(value, &format!("the taint `{key}`"), consequence)?;
    }
    let effect = taint.text_at(&["effect"]).unwrap_or_default();
    check_effect(taint.get("effect").unwrap_or(taint), &key, &effect, consequence)
}

/// Checks the effect of a taint with a key, at a place of the file.
///
/// # Errors
/// The taint has none, or one that Kubernetes does not know.
pub(crate) fn check_effect(
    place: &Tree,
    key: &str,
    effect: &str,
    consequence: &str,
) -> Result<(), ImportError> {
    if EFFECTS.contains(&effect) {
        return Ok(());
    }
    let problem = match effect {
        "" => format!("the taint `{key}` has no effect: {consequence}"),
        _ => format!(
            "the taint `{key}` has the effect `{effect}`, which Kubernetes does not know: {consequence}"
        ),
    };
    Err(ImportError::Invalid {
        line: place.line(),
        column: None,
        problem,
        hint: "give the taint one of the effects NoSchedule, PreferNoSchedule and NoExecute".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_without_quotes_are_not_text() {
        for (text, kind) in [
            ("true", Some("a boolean")),
            ("Yes", Some("a boolean")),
            ("OFF", Some("a boolean")),
            ("tRUE", None),
            ("1.30", Some("a number")),
            ("+1_000", Some("a number")),
            (".5", Some("a number")),
            ("12e4", Some("a number")),
            ("0x1F", Some("a number")),
            ("1.30-eks", None),
            ("1.30.1", None),
            ("12e4567", None),
            ("2026-01-01", None),
            ("web", None),
            ("inf", None),
            ("-", None),
            ("", None),
            ("\u{e4}", None),
        ] {
            assert_eq!(plain_type(text), kind, "{text}");
        }
    }

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
