//! A shard of the scenarios, so that several machines run all of them without overlap.
//!
//! Without recorded times (`recorded_times.rs`), the shard of a scenario depends only on the hash of its id. Round
//! robin over the sorted list would be more even, but a new file would move all scenarios after it, and results could
//! not be compared between runs.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A shard, written `INDEX/COUNT`, such as `1/4` for the first of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// From 1.
    index: u32,
    count: u32,
}

/// An invalid shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid shard `{value}`: {why}")]
pub struct InvalidShard {
    value: String,
    why: String,
}

impl Shard {
    /// Number of the shard, from 1.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Number of shards of the run.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the hash of this id belongs to the shard.
    #[must_use]
    pub fn holds(&self, name: &str) -> bool {
        let hash = Sha256::digest(name.as_bytes());
        let number = hash[..8]
            .iter()
            .fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
        number % u64::from(self.count) == u64::from(self.index - 1)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(value: &str) -> Result<Self, InvalidShard> {
        let refuse = |why: &str| InvalidShard {
            value: value.to_owned(),
            why: why.to_owned(),
        };
        let numbers = value
            .split_once('/')
            .and_then(|(index, count)| Some((number(index)?, number(count)?)));
        match numbers {
            None => Err(refuse("expected INDEX/COUNT, such as 1/4 for the first of four")),
            Some((_, 0)) => Err(refuse("the count must be at least 1")),
            Some((0, count)) => Err(refuse(&format!("the first of {count} is 1/{count}"))),
            Some((index, count)) if index > count => {
                Err(refuse(&format!("the last of {count} is {count}/{count}")))
            }
            Some((index, count)) => Ok(Self { index, count }),
        }
    }
}

/// Accepts digits only: `parse` alone accepts a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl TryFrom<String> for Shard {
    type Error = InvalidShard;

    fn try_from(value: String) -> Result<Self, InvalidShard> {
        value.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count)
            .map(|number| format!("area/scenario-{number}"))
            .collect()
    }

    fn shares(count: u32) -> Vec<Shard> {
        (1..=count).map(|index| Shard { index, count }).collect()
    }

    #[test]
    fn each_scenario_is_in_exactly_one_shard() {
        for count in [1, 2, 3, 4, 7, 100] {
            let shares = shares(count);
            for name in names(200) {
                let holding = shares.iter().filter(|share| share.holds(&name)).count();
                assert_eq!(holding, 1, "{name} of {count}");
            }
        }
    }

    #[test]
    fn shards_are_about_even() {
        for share in shares(4) {
            let held = names(400).iter().filter(|name| share.holds(name)).count();
            assert!((70..=130).contains(&held), "{share} holds {held} of 400");
        }
    }

    /// Must not change: users compare runs of different versions.
    #[test]
    fn a_scenario_keeps_its_shard() {
        let share_of = |name: &str| {
            let share = shares(4).into_iter().find(|share| share.holds(name)).unwrap();
            share.to_string()
        };
        assert_eq!(share_of("first-join"), "3/4");
        assert_eq!(share_of("managed-node-group/joins"), "1/4");
    }

    #[test]
    fn invalid_shards_are_rejected() {
        for (value, message) in [
            ("0/4", "invalid shard `0/4`: the first of 4 is 1/4"),
            ("5/4", "invalid shard `5/4`: the last of 4 is 4/4"),
            ("1/0", "invalid shard `1/0`: the count must be at least 1"),
            (
                "x",
                "invalid shard `x`: expected INDEX/COUNT, such as 1/4 for the first of four",
            ),
            ("", "expected INDEX/COUNT"),
            ("1/", "expected INDEX/COUNT"),
            ("+1/4", "expected INDEX/COUNT"),
            ("1/4/2", "expected INDEX/COUNT"),
            ("-1/4", "expected INDEX/COUNT"),
            ("1/99999999999", "expected INDEX/COUNT"),
        ] {
            let error = value.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains(message), "{value}: {error}");
        }
        assert_eq!("1/4".parse::<Shard>().unwrap().to_string(), "1/4");
    }
}
