//! The settings of Bottlerocket outside of `settings.kubernetes`: their keys and types, from its models and its
//! documentation. A release rejects all of its user data for one value of another type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::keys::ValueKind;
use super::refusals::{check_keys, invalid};
use crate::error::ImportError;

/// What a setting can be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Of(ValueKind),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Base64 of anything.
    Base64,
    /// Base64 of certificates in PEM.
    Certificates,
    /// A table with these keys.
    Keys(&'static [(&'static str, Shape)]),
    /// A table of names that the user chooses.
    Names(&'static Shape),
}

const TEXT: Shape = Shape::Of(ValueKind::Text);
const TEXTS: Shape = Shape::Of(ValueKind::Texts);
const SWITCH: Shape = Shape::Of(ValueKind::Switch);
const NUMBER: Shape = Shape::Of(ValueKind::Number);
const ANY: Shape = Shape::Of(ValueKind::Any);
const MODE: Shape = Shape::Word(&["off", "once", "always"]);

/// The tables of `settings` whose content is checked.
pub(super) const TABLES: &[(&str, Shape)] = &[
    ("autoscaling", Shape::Keys(&[("should-wait", SWITCH)])),
    (
        "aws",
        Shape::Keys(&[
            ("config", Shape::Base64),
            ("credentials", Shape::Base64),
            ("profile", TEXT),
            ("region", TEXT),
        ]),
    ),
    (
        "boot",
        Shape::Keys(&[
            ("init", Shape::Names(&TEXTS)),
            ("init-parameters", Shape::Names(&TEXTS)),
            ("kernel", Shape::Names(&TEXTS)),
            ("kernel-parameters", Shape::Names(&TEXTS)),
            ("reboot-to-reconcile", SWITCH),
        ]),
    ),
    (
        "bootstrap-commands",
        Shape::Names(&Shape::Keys(&[
            ("commands", ANY),
            ("essential", SWITCH),
            ("mode", MODE),
        ])),
    ),
    (
        "bootstrap-containers",
        Shape::Names(&Shape::Keys(&[
            ("command", TEXTS),
            ("essential", SWITCH),
            ("mode", MODE),
            ("source", TEXT),
            ("user-data", Shape::Base64),
        ])),
    ),
    (
        "cloudformation",
        Shape::Keys(&[
            ("logical-resource-id", TEXT),
            ("should-signal", SWITCH),
            ("stack-name", TEXT),
        ]),
    ),
    (
        "container-runtime",
        Shape::Keys(&[
            // A number of bytes, or a text such as `64mb`.
            ("concurrent-download-chunk-size", ANY),
            ("concurrent-layer-fetch-buffer", ANY),
            ("enable-unprivileged-icmp", SWITCH),
            ("enable-unprivileged-ports", SWITCH),
            ("log-level", TEXT),
            ("max-concurrent-downloads", NUMBER),
            ("max-concurrent-unpacks", NUMBER),
            ("max-container-log-line-size", NUMBER),
            ("snapshotter", TEXT),
        ]),
    ),
    (
        "dns",
        Shape::Keys(&[("name-servers", TEXTS), ("search-list", TEXTS)]),
    ),
    (
        "host-containers",
        Shape::Names(&Shape::Keys(&[
            ("command", TEXTS),
            ("enabled", SWITCH),
            ("source", TEXT),
            ("superpowered", SWITCH),
            ("user-data", Shape::Base64),
        ])),
    ),
    (
        "kernel",
        Shape::Keys(&[
            ("drivers", ANY),
            ("hugepages", ANY),
            ("lockdown", Shape::Word(&["none", "integrity", "confidentiality"])),
            (
                "modules",
                Shape::Names(&Shape::Keys(&[("allowed", SWITCH), ("autoload", SWITCH)])),
            ),
            ("sysctl", Shape::Names(&TEXT)),
        ]),
    ),
    (
        "metrics",
        Shape::Keys(&[
            ("metrics-url", TEXT),
            ("send-metrics", SWITCH),
            ("service-checks", TEXTS),
        ]),
    ),
    ("motd", TEXT),
    (
        "network",
        Shape::Keys(&[
            ("disable-ipv6", TEXTS),
            ("hostname", TEXT),
            ("hosts", ANY),
            ("https-proxy", TEXT),
            ("no-proxy", TEXTS),
        ]),
    ),
    (
        "ntp",
        Shape::Keys(&[
            ("logging", TEXTS),
            ("options", TEXTS),
            // A list of names, a list of tables, or a table of such tables.
            ("time-servers", ANY),
        ]),
    ),
    (
        "pki",
        Shape::Names(&Shape::Keys(&[
            ("data", Shape::Certificates),
            ("trusted", SWITCH),
        ])),
    ),
    (
        "updates",
        Shape::Keys(&[
            ("ignore-waves", SWITCH),
            ("metadata-base-url", TEXT),
            ("seed", NUMBER),
            ("targets-base-url", TEXT),
            ("version-lock", TEXT),
        ]),
    ),
];

/// Checks a value and all below it. Keys that no table has are problems: newer releases may have them.
///
/// # Errors
/// A misspelled key, or a value of the wrong type.
pub(super) fn check(
    text: &str,
    path: &str,
    value: &toml::Value,
    shape: Shape,
    problems: &mut Vec<String>,
) -> Result<(), ImportError> {
    let wrong = |expected: &str| {
        let key = path.rsplit('.').next().unwrap_or(path);
        Err(invalid(
            text,
            key,
            format!("invalid `{path}`: expected {expected}"),
        ))
    };
    let decoded = || STANDARD.decode(value.as_str()?).ok();
    // Another tool fills it in.
    if value.as_str().is_some_and(|text| text.contains(['$', '{', '<'])) && !matches!(shape, Shape::Of(_)) {
        return Ok(());
    }
    match shape {
        Shape::Of(kind) if kind.admits(value) => Ok(()),
        Shape::Of(kind) => wrong(kind.words()),
        Shape::Word(words) if value.as_str().is_some_and(|word| words.contains(&word)) => Ok(()),
        Shape::Word(words) => wrong(&format!("one of {}", words.join(", "))),
        Shape::Base64 if decoded().is_some() => Ok(()),
        Shape::Base64 => wrong("base64"),
        Shape::Certificates => match decoded() {
            Some(bytes) if bytes.is_empty() || is_pem(&bytes) => Ok(()),
            _ => wrong("base64 of certificates in PEM"),
        },
        Shape::Keys(keys) => {
            let Some(table) = value.as_table() else {
                return wrong("a table");
            };
            let known: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
            check_keys(text, path, table, &known, problems)?;
            for (key, shape) in keys {
                if let Some(value) = table.get(*key) {
                    check(text, &format!("{path}.{key}"), value, *shape, problems)?;
                }
            }
            Ok(())
        }
        Shape::Names(shape) => {
            let Some(table) = value.as_table() else {
                return wrong("a table");
            };
            table
                .iter()
                .try_for_each(|(name, value)| check(text, &format!("{path}.{name}"), value, *shape, problems))
        }
    }
}

fn is_pem(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains("-----BEGIN CERTIFICATE-----")
}
