//! One share of many scenarios, so that several machines run them all and none runs one twice.
//!
//! The share of a scenario follows from the hash of its id alone. Taking turns along the sorted list would deal more evenly,
//! but one new file would move every scenario behind it: a red `2/4` of yesterday could not be compared with today's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A share, written `INDEX/COUNT`, such as `1/4` for the first of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Which, from 1.
    index: u32,
    /// Of how many.
    count: u32,
}

/// What is no share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is no shard: {why}")]
pub struct InvalidShard {
    value: String,
    why: String,
}

impl Shard {
    /// Whether something with this name belongs to the share.
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
            None => Err(refuse(
                "it is written INDEX/COUNT, such as 1/4 for the first of four",
            )),
            Some((_, 0)) => Err(refuse("there must be one share at least")),
            Some((0, count)) => Err(refuse(&format!("the first of {count} is 1/{count}"))),
            Some((index, count)) if index > count => {
                Err(refuse(&format!("the last of {count} is {count}/{count}")))
            }
            Some((index, count)) => Ok(Self { index, count }),
        }
    }
}

/// Digits only: `parse` alone would take a sign.
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
    fn each_scenario_is_in_exactly_one_share() {
        for count in [1, 2, 3, 4, 7, 100] {
            let shares = shares(count);
            for name in names(200) {
                let holding = shares.iter().filter(|share| share.holds(&name)).count();
                assert_eq!(holding, 1, "{name} of {count}");
            }
        }
    }

    #[test]
    fn shares_are_about_even() {
        for share in shares(4) {
            let held = names(400).iter().filter(|name| share.holds(name)).count();
            assert!((70..=130).contains(&held), "{share} holds {held} of 400");
        }
    }

    /// Not to be changed: whoever compares runs of two versions counts on it.
    #[test]
    fn a_scenario_keeps_its_share() {
        let share_of = |name: &str| {
            let share = shares(4).into_iter().find(|share| share.holds(name)).unwrap();
            share.to_string()
        };
        assert_eq!(share_of("first-join"), "3/4");
        assert_eq!(share_of("managed-node-group/joins"), "1/4");
    }

    #[test]
    fn what_is_no_share_is_told() {
        for (value, message) in [
            ("0/4", "`0/4` is no shard: the first of 4 is 1/4"),
            ("5/4", "`5/4` is no shard: the last of 4 is 4/4"),
            ("1/0", "`1/0` is no shard: there must be one share at least"),
            (
                "x",
                "`x` is no shard: it is written INDEX/COUNT, such as 1/4 for the first of four",
            ),
            ("", "it is written INDEX/COUNT"),
            ("1/", "it is written INDEX/COUNT"),
            ("+1/4", "it is written INDEX/COUNT"),
            ("1/4/2", "it is written INDEX/COUNT"),
            ("-1/4", "it is written INDEX/COUNT"),
            ("1/99999999999", "it is written INDEX/COUNT"),
        ] {
            let error = value.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains(message), "{value}: {error}");
        }
        assert_eq!("1/4".parse::<Shard>().unwrap().to_string(), "1/4");
    }
}
