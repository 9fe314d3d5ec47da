//! How a version of Kubernetes is written and compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is no version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a version of Kubernetes")]
pub struct InvalidVersion {
    /// What was given.
    pub value: String,
}

impl InvalidVersion {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "write it like `1.32` for the newest release of it that can be had, or like `1.32.1`"
    }
}

/// A minor version of Kubernetes 1, such as `1.32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u32);

impl Minor {
    /// The oldest one that the table of differences is for.
    pub const OLDEST: Self = Self(20);
    /// The newest one that the table of differences is for. A newer one is taken to be like it.
    pub const NEWEST: Self = Self(37);

    /// `Minor::new(32)` is Kubernetes 1.32.
    #[must_use]
    pub const fn new(minor: u32) -> Self {
        Self(minor)
    }

    /// The number behind `1.`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The minor version of a text such as `v1.22.12-eks-ba74326`. One that says nothing counts as the newest.
    #[must_use]
    pub fn of(version: &str) -> Self {
        version
            .parse()
            .map_or(Self::NEWEST, |version: Version| version.minor())
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl FromStr for Minor {
    type Err = InvalidVersion;

    fn from_str(value: &str) -> Result<Self, InvalidVersion> {
        let parsed = bare(value).strip_prefix("1.").and_then(number);
        parsed.map(Self).ok_or_else(|| InvalidVersion {
            value: value.to_owned(),
        })
    }
}

/// A release of Kubernetes, such as `v1.32.1` or a vendor's `v1.22.12-eks-ba74326`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    minor: Minor,
    patch: u32,
    /// What stands behind the numbers, with its `-` or `+`.
    suffix: String,
}

impl Version {
    /// Its minor version.
    #[must_use]
    pub fn minor(&self) -> Minor {
        self.minor
    }

    /// The third number.
    #[must_use]
    pub fn patch(&self) -> u32 {
        self.patch
    }

    /// What is greater for a newer version: the numbers, and a release after its candidates.
    #[must_use]
    pub fn rank(&self) -> (Minor, u32, bool) {
        (self.minor, self.patch, self.is_final())
    }

    /// Whether it is a release, and no alpha, beta or candidate of one.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !["-alpha.", "-beta.", "-rc."]
            .iter()
            .any(|word| self.suffix.starts_with(word))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}{}", self.minor, self.patch, self.suffix)
    }
}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(value: &str) -> Result<Self, InvalidVersion> {
        parse(value).ok_or_else(|| InvalidVersion {
            value: value.to_owned(),
        })
    }
}

impl TryFrom<String> for Version {
    type Error = InvalidVersion;

    fn try_from(value: String) -> Result<Self, InvalidVersion> {
        value.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

fn parse(value: &str) -> Option<Version> {
    let bare = bare(value);
    let end = bare.find(['-', '+']).unwrap_or(bare.len());
    let (numbers, suffix) = bare.split_at(end);
    let (minor, patch) = numbers.strip_prefix("1.")?.split_once('.')?;
    // A version becomes part of a path and of a URL.
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    suffix.bytes().all(is_safe).then_some(Version {
        minor: Minor(number(minor)?),
        patch: number(patch)?,
        suffix: suffix.to_owned(),
    })
}

fn bare(value: &str) -> &str {
    value.strip_prefix('v').unwrap_or(value)
}

/// Digits alone: `parse` takes a sign, too.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// A version as somebody asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum VersionAsk {
    /// `1.32`: any release of it that can be had, the newest first.
    Minor(Minor),
    /// `1.32.1`: this one.
    Exact(Version),
}

impl VersionAsk {
    /// The minor version that is asked for.
    #[must_use]
    pub fn minor(&self) -> Minor {
        match self {
            Self::Minor(minor) => *minor,
            Self::Exact(version) => version.minor(),
        }
    }

    /// Whether a release is one that is asked for. A vendor's suffix does not matter to who asks for numbers alone.
    #[must_use]
    pub fn admits(&self, version: &Version) -> bool {
        match self {
            Self::Minor(minor) => version.minor() == *minor && version.is_final(),
            Self::Exact(wanted) => {
                let numbers = |version: &Version| (version.minor, version.patch);
                let is_vendors = wanted.suffix.is_empty() && version.is_final();
                numbers(wanted) == numbers(version) && (wanted.suffix == version.suffix || is_vendors)
            }
        }
    }
}

impl fmt::Display for VersionAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(minor) => minor.fmt(f),
            Self::Exact(version) => version.fmt(f),
        }
    }
}

impl TryFrom<String> for VersionAsk {
    type Error = InvalidVersion;

    fn try_from(value: String) -> Result<Self, InvalidVersion> {
        value.parse()
    }
}

impl From<VersionAsk> for String {
    fn from(ask: VersionAsk) -> Self {
        ask.to_string()
    }
}

impl FromStr for VersionAsk {
    type Err = InvalidVersion;

    fn from_str(value: &str) -> Result<Self, InvalidVersion> {
        let minor = value.parse().map(Self::Minor);
        minor.or_else(|_| value.parse().map(Self::Exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_written_in_one_way() {
        assert_eq!(version("1.29.4").to_string(), "v1.29.4");
        assert_eq!(version("v1.30.0-rc.1").to_string(), "v1.30.0-rc.1");
        assert_eq!(version("v1.22.12-eks-ba74326").minor(), Minor::new(22));
        for wrong in [
            "1.29",
            "latest",
            "v1.29.x",
            "",
            "2.1.0",
            "1.+2.3",
            "1.2.3/../x",
            "v1.2.3-a/b",
            "v0.0.0-master",
        ] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn minor_versions_are_in_order_and_one_that_is_not_told_is_the_newest() {
        assert!("1.9".parse::<Minor>().unwrap() < "v1.20".parse().unwrap());
        assert_eq!(Minor::of("v1.20.2"), Minor::new(20));
        assert_eq!(Minor::of(""), Minor::NEWEST);
        for wrong in ["1", "1.x", "1.20.2", "", "1.-1"] {
            assert!(wrong.parse::<Minor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_ask_admits_releases_of_its_minor_version_or_the_one_that_it_names() {
        let ask = |text: &str| text.parse::<VersionAsk>().unwrap();
        assert!(ask("1.32").admits(&version("v1.32.13")));
        assert!(ask("1.32").admits(&version("v1.32.13-eks-1")));
        assert!(!ask("1.32").admits(&version("v1.32.0-rc.1")));
        assert!(!ask("1.3").admits(&version("v1.32.13")));
        assert!(ask("1.32.1").admits(&version("v1.32.1+k3s1")));
        assert!(!ask("1.32.1").admits(&version("v1.32.1-rc.1")));
        assert!(!ask("1.32.1").admits(&version("v1.32.13")));
        assert!(ask("1.32.0-rc.1").admits(&version("v1.32.0-rc.1")));
        let wrong = "1.32.x".parse::<VersionAsk>().unwrap_err();
        assert_eq!(wrong.to_string(), "`1.32.x` is not a version of Kubernetes");
    }
}
