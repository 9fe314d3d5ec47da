//! Parses and compares versions of Kubernetes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text is not a version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid Kubernetes version `{value}`")]
pub struct InvalidVersion {
    pub value: String,
}

impl InvalidVersion {
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "use a form such as `1.32` for its newest available release, or `1.32.1`"
    }
}

/// A minor version of Kubernetes 1, such as `1.32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u32);

impl Minor {
    /// The oldest version in the table of differences.
    pub const OLDEST: Self = Self(20);
    /// The newest version in the table of differences. Newer versions are treated like it.
    pub const NEWEST: Self = Self(37);

    /// `Minor::new(32)` is Kubernetes 1.32.
    #[must_use]
    pub const fn new(minor: u32) -> Self {
        Self(minor)
    }

    /// The number after `1.`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The minor version of a text such as `v1.22.12-eks-ba74326`; the newest for a text without a version.
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
    /// The text after the numbers, with its `-` or `+`.
    suffix: String,
}

impl Version {
    #[must_use]
    pub fn minor(&self) -> Minor {
        self.minor
    }

    #[must_use]
    pub fn patch(&self) -> u32 {
        self.patch
    }

    /// A sort key: the numbers, with a release after its candidates.
    #[must_use]
    pub fn rank(&self) -> (Minor, u32, bool) {
        (self.minor, self.patch, self.is_final())
    }

    /// Whether it is a release, not an alpha, beta or release candidate.
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
    // Versions become part of paths and URLs.
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

/// Accepts digits only: `parse` would accept a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// A requested version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum VersionRequest {
    /// `1.32`: the newest available release.
    Minor(Minor),
    /// `1.32.1`: this release.
    Exact(Version),
}

impl VersionRequest {
    /// The requested minor version.
    #[must_use]
    pub fn minor(&self) -> Minor {
        match self {
            Self::Minor(minor) => *minor,
            Self::Exact(version) => version.minor(),
        }
    }

    /// Whether a release matches the request. A request without a suffix matches releases with a vendor's suffix.
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

impl fmt::Display for VersionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(minor) => minor.fmt(f),
            Self::Exact(version) => version.fmt(f),
        }
    }
}

impl TryFrom<String> for VersionRequest {
    type Error = InvalidVersion;

    fn try_from(value: String) -> Result<Self, InvalidVersion> {
        value.parse()
    }
}

impl From<VersionRequest> for String {
    fn from(ask: VersionRequest) -> Self {
        ask.to_string()
    }
}

impl FromStr for VersionRequest {
    type Err = InvalidVersion;

    fn from_str(value: &str) -> Result<Self, InvalidVersion> {
        let minor = value.parse().map(Self::Minor);
        minor.or_else(|_| value.parse().map(Self::Exact))
    }
}

/// Whether a version such as `v1.22.12-eks-ba74326` is in a range. Ignores the suffix of vendors: semver sorts it
/// before `1.22.12`, outside of most ranges.
#[must_use]
pub fn version_in_range(range: &semver::VersionReq, version: &str) -> bool {
    let numbers = version
        .trim_start_matches('v')
        .split(['-', '+'])
        .next()
        .unwrap_or_default();
    numbers.parse().is_ok_and(|version| range.matches(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_have_one_form() {
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
    fn minor_versions_are_ordered_and_a_missing_one_is_the_newest() {
        assert!("1.9".parse::<Minor>().unwrap() < "v1.20".parse().unwrap());
        assert_eq!(Minor::of("v1.20.2"), Minor::new(20));
        assert_eq!(Minor::of(""), Minor::NEWEST);
        for wrong in ["1", "1.x", "1.20.2", "", "1.-1"] {
            assert!(wrong.parse::<Minor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_matches_releases_of_its_minor_version_or_one_release() {
        let ask = |text: &str| text.parse::<VersionRequest>().unwrap();
        assert!(ask("1.32").admits(&version("v1.32.13")));
        assert!(ask("1.32").admits(&version("v1.32.13-eks-1")));
        assert!(!ask("1.32").admits(&version("v1.32.0-rc.1")));
        assert!(!ask("1.3").admits(&version("v1.32.13")));
        assert!(ask("1.32.1").admits(&version("v1.32.1+k3s1")));
        assert!(!ask("1.32.1").admits(&version("v1.32.1-rc.1")));
        assert!(!ask("1.32.1").admits(&version("v1.32.13")));
        assert!(ask("1.32.0-rc.1").admits(&version("v1.32.0-rc.1")));
        let wrong = "1.32.x".parse::<VersionRequest>().unwrap_err();
        assert_eq!(wrong.to_string(), "invalid Kubernetes version `1.32.x`");
    }

    #[test]
    fn version_ranges_ignore_the_suffix_of_a_vendor() {
        let range: semver::VersionReq = ">=1.20, <1.27".parse().unwrap();
        for (version, within) in [
            ("v1.20.2", true),
            ("v1.22.12-eks-ba74326", true),
            ("1.26.0+k3s1", true),
            ("v1.27.0", false),
            ("v0.0.0-master+$Format:%H$", false),
            ("", false),
        ] {
            assert_eq!(version_in_range(&range, version), within, "{version}");
        }
    }
}
