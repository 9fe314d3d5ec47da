//! The terms of a filter expression.

use strum::{EnumCount, EnumString, IntoStaticStr};

use super::grammar::WrittenTerm;
use crate::diagnosis::Cause;
use crate::kubernetes::VersionRequest;
use crate::plan::Plan;
use crate::run::matrix;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::wildcard;

/// What a term compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumCount, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Key {
    Id,
    Name,
    Folder,
    Flow,
    Tag,
    Cause,
    Version,
}

impl Key {
    /// All keys, in the order of the help.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Id,
        Self::Name,
        Self::Folder,
        Self::Flow,
        Self::Tag,
        Self::Cause,
        Self::Version,
    ];

    /// What the key's value is compared with, for the help.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Id => "id: the whole id, or its last part",
            Self::Name => "name: contains this text",
            Self::Folder => "folder of the scenario, or one above it",
            Self::Flow => "first folder of the id",
            Self::Tag => "one of the scenario's `tags`",
            Self::Cause => "expected diagnosis of the join or of a step",
            Self::Version => "Kubernetes version, such as 1.36, to which the scenario applies",
        }
    }

    fn word(self) -> &'static str {
        self.into()
    }
}

/// A term with a valid key and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    /// Without a key: a text in the id or in the name.
    Text(String),
    Version(VersionRequest),
    /// Any other key with its pattern.
    Pattern(Key, String),
}

impl Term {
    /// Checks the key, and the value if its words are known.
    pub(super) fn new((key, value): WrittenTerm) -> Result<Self, String> {
        let Some(word) = key else {
            return Ok(Self::Text(value));
        };
        let key: Key = word.parse().map_err(|_| {
            let keys = Key::ALL.map(Key::word);
            let meant =
                nearest(&word, keys).map_or_else(String::new, |key| format!("; did you mean `{key}`?"));
            format!("unknown key `{word}`: expected one of {}{meant}", keys.join(", "))
        })?;
        match key {
            Key::Version => {
                let version = value.parse().map_err(|error| format!("{error}"))?;
                Ok(Self::Version(version))
            }
            Key::Cause => {
                known_cause(&value)?;
                Ok(Self::Pattern(key, value))
            }
            Key::Id | Key::Name | Key::Folder | Key::Flow | Key::Tag => Ok(Self::Pattern(key, value)),
        }
    }

    pub(super) fn selects(&self, plan: &Plan) -> bool {
        match self {
            Self::Text(text) => contains(plan.id.as_str(), text) || contains(&plan.name, text),
            Self::Version(version) => matrix::applies_to(plan, version),
            Self::Pattern(key, pattern) => matches(*key, pattern, plan),
        }
    }
}

fn matches(key: Key, pattern: &str, plan: &Plan) -> bool {
    let is = |text: &str| wildcard::matches(pattern, text);
    let id = plan.id.as_str();
    match key {
        Key::Id => is(id) || id.rsplit('/').next().is_some_and(is),
        Key::Name => contains(&plan.name, pattern),
        // Each slash ends the name of a folder.
        Key::Folder => id.match_indices('/').any(|(end, _)| is(&id[..end])),
        Key::Flow => id.split_once('/').is_some_and(|(flow, _)| is(flow)),
        Key::Tag => plan.tags.iter().any(|tag| is(tag.as_str())),
        Key::Cause => plan.causes().any(|cause| is(cause.word())),
        Key::Version => false,
    }
}

/// A text without wildcards can be anywhere.
fn contains(text: &str, pattern: &str) -> bool {
    text.contains(pattern) || wildcard::matches(pattern, text)
}

fn known_cause(pattern: &str) -> Result<(), String> {
    let words = Cause::ALL.iter().map(|cause| cause.word());
    if words.clone().any(|word| wildcard::matches(pattern, word)) {
        return Ok(());
    }
    let meant = nearest(pattern, words).map_or_else(
        || "`nodejoin explain` lists all causes".to_owned(),
        |cause| format!("did you mean `{cause}`?"),
    );
    Err(format!("unknown cause `{pattern}`; {meant}"))
}
