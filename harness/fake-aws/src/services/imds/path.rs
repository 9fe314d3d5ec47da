//! A metadata path: its version root and the rest.

use crate::http::decode_path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetadataPath {
    /// First segment: `latest` or a date; empty for `/`.
    pub version: String,
    /// The decoded rest, without a leading slash. A trailing slash stays.
    pub rest: String,
    /// The path without doubled slashes, if it has any inside.
    pub collapsed: Option<String>,
}

impl MetadataPath {
    /// Parses a path. Skips doubled slashes at the start: clients create them from an endpoint with a trailing slash.
    #[must_use]
    pub(super) fn parse(path: &str) -> Self {
        let trimmed = path.trim_start_matches('/');
        let collapsed = trimmed.contains("//").then(|| format!("/{}", collapse(trimmed)));
        let (version, rest) = trimmed.split_once('/').unwrap_or((trimmed, ""));
        Self {
            version: version.to_owned(),
            rest: decode_path(rest.trim_start_matches('/')),
            collapsed,
        }
    }

    /// Whether this is the token's path, under any version.
    #[must_use]
    pub(super) fn is_token(&self) -> bool {
        self.rest == "api/token"
    }

    /// The path below its version, for the transcript.
    #[must_use]
    pub(super) fn without_version(&self) -> String {
        if self.rest.is_empty() {
            "/".to_owned()
        } else {
            self.rest.clone()
        }
    }
}

fn collapse(path: &str) -> String {
    let mut collapsed = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !collapsed.ends_with('/') {
            collapsed.push(c);
        }
    }
    collapsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed() {
        let table = [
            ("/", "", "", None),
            ("/latest", "latest", "", None),
            ("/latest/meta-data/", "latest", "meta-data/", None),
            ("//latest/meta-data/mac", "latest", "meta-data/mac", None),
            (
                "/latest/meta-data/tags/instance/a%20b",
                "latest",
                "meta-data/tags/instance/a b",
                None,
            ),
            ("/latest/x//y", "latest", "x//y", Some("/latest/x/y")),
            ("/latest/%zz%f", "latest", "%zz%f", None),
        ];
        for (path, version, rest, collapsed) in table {
            let parsed = MetadataPath::parse(path);
            assert_eq!(
                (
                    parsed.version.as_str(),
                    parsed.rest.as_str(),
                    parsed.collapsed.as_deref()
                ),
                (version, rest, collapsed)
            );
        }
    }
}
