//! Values of `settings.kubernetes` that have the right type, and that the models of Bottlerocket's settings reject.

use std::net::IpAddr;

use super::refusals::invalid;
use crate::error::ImportError;

/// What the value of a setting can be.
#[derive(Debug, Clone, Copy)]
enum ValueRule {
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number between two others, also as text.
    Between(i64, i64),
    Quantity,
    /// A quantity or a percentage.
    Threshold,
    Duration,
    Address,
    ClusterName,
    Label,
    Taint,
}

/// What the names in a table can be.
#[derive(Debug, Clone, Copy)]
enum KeyRule {
    Label,
    /// A signal of the kubelet.
    Signal,
    Resource,
}

/// Settings with one value or a list of values.
const VALUES: &[(&str, ValueRule)] = &[
    ("authentication-mode", ValueRule::Word(&["aws", "tls"])),
    ("cluster-dns-ip", ValueRule::Address),
    ("cluster-name", ValueRule::ClusterName),
    ("container-log-max-size", ValueRule::Quantity),
    ("container-log-monitor-interval", ValueRule::Duration),
    ("cpu-manager-policy", POLICY),
    ("cpu-manager-reconcile-period", ValueRule::Duration),
    (
        "hostname-override-source",
        ValueRule::Word(&["private-dns-name", "instance-id"]),
    ),
    ("image-gc-high-threshold-percent", PERCENT),
    ("image-gc-low-threshold-percent", PERCENT),
    ("image-maximum-gc-age", ValueRule::Duration),
    ("image-minimum-gc-age", ValueRule::Duration),
    ("log-level", ValueRule::Between(0, 255)),
    ("max-pods", ValueRule::Between(0, 4_294_967_295)),
    ("memory-manager-policy", POLICY),
    ("node-ip", ValueRule::Address),
    ("shutdown-grace-period", ValueRule::Duration),
    ("shutdown-grace-period-for-critical-pods", ValueRule::Duration),
    (
        "topology-manager-policy",
        ValueRule::Word(&["none", "restricted", "best-effort", "single-numa-node"]),
    ),
    ("topology-manager-scope", ValueRule::Word(&["container", "pod"])),
];
const POLICY: ValueRule = ValueRule::Word(&["none", "static", "None", "Static"]);
const PERCENT: ValueRule = ValueRule::Between(0, 100);
/// Settings that are tables.
const TABLES: &[(&str, KeyRule, ValueRule)] = &[
    ("eviction-hard", KeyRule::Signal, ValueRule::Threshold),
    ("eviction-soft", KeyRule::Signal, ValueRule::Threshold),
    ("eviction-soft-grace-period", KeyRule::Signal, ValueRule::Duration),
    ("kube-reserved", KeyRule::Resource, ValueRule::Quantity),
    ("node-labels", KeyRule::Label, ValueRule::Label),
    ("node-taints", KeyRule::Label, ValueRule::Taint),
    ("system-reserved", KeyRule::Resource, ValueRule::Quantity),
];
const SIGNALS: [&str; 6] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];
/// Beginnings of other signals of the kubelet, which newer releases may have.
const OTHER_SIGNALS: [&str; 2] = ["containerfs.", "allocatableMemory."];
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Length of the names and values of labels.
const LENGTH: usize = 63;
/// Length of the name of a cluster.
const CLUSTER_LENGTH: usize = 100;
/// Length of the domain before the name of a label.
const DOMAIN: usize = 253;

/// Checks the values of `settings.kubernetes`. `text` are the settings, for the line.
///
/// # Errors
/// A value that Bottlerocket rejects.
pub(super) fn check(text: &str, kubernetes: &toml::Table) -> Result<(), ImportError> {
    for (name, rule) in VALUES {
        if let Some(value) = kubernetes.get(*name) {
            rule.check(text, &format!("settings.kubernetes.{name}"), name, value)?;
        }
    }
    for (name, keys, values) in TABLES {
        let table = kubernetes.get(*name).and_then(toml::Value::as_table);
        for (key, value) in table.into_iter().flatten() {
            if !is_open(key) && !keys.admits(key) {
                let expected = keys.words();
                let problem =
                    format!("invalid key `{key}` of `settings.kubernetes.{name}`: expected {expected}");
                return Err(invalid(text, key, problem));
            }
            values.check(text, &format!("settings.kubernetes.{name}.{key}"), key, value)?;
        }
    }
    Ok(())
}

/// Whether a person or another tool fills in a text.
fn is_open(text: &str) -> bool {
    let is_mark = text.starts_with(['%', '[']) || text.starts_with("__");
    is_mark || text.contains(['$', '{', '<', '@'])
}

impl ValueRule {
    fn check(self, text: &str, path: &str, key: &str, value: &toml::Value) -> Result<(), ImportError> {
        // A program that prints the settings makes `%` of `%%`.
        let is_printed = text.contains("%s");
        let is_valid = |one: &str| {
            let is_valid_if_printed = || is_printed && self.admits(&one.replace("%%", "%"));
            is_open(one) || self.admits(one) || is_valid_if_printed()
        };
        match texts(value).iter().all(|one| is_valid(one)) {
            true => Ok(()),
            false => {
                let problem = format!("invalid `{path}`: expected {}", self.words());
                Err(invalid(text, key, problem))
            }
        }
    }

    fn admits(self, text: &str) -> bool {
        match self {
            Self::Word(words) => words.contains(&text),
            Self::Between(least, most) => text
                .parse::<i64>()
                .is_ok_and(|number| (least..=most).contains(&number)),
            Self::Quantity => is_quantity(text),
            Self::Threshold => match text.strip_suffix('%') {
                Some(number) => number
                    .parse::<f32>()
                    .is_ok_and(|number| (0.0..100.0).contains(&number)),
                None => is_quantity(text),
            },
            Self::Duration => is_duration(text),
            Self::Address => text.parse::<IpAddr>().is_ok(),
            Self::ClusterName => is_cluster_name(text),
            Self::Label => text.is_empty() || is_word(text),
            Self::Taint => is_taint(text),
        }
    }

    /// The rule in words.
    fn words(self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Between(least, most) => format!("a number from {least} to {most}"),
            Self::Quantity => "a quantity of Kubernetes, such as `10Mi`".to_owned(),
            Self::Threshold => {
                "a quantity of Kubernetes, such as `10Mi`, or a percentage, such as `10%`".to_owned()
            }
            Self::Duration => "a duration, such as `1h30m` or `10s`".to_owned(),
            Self::Address => "an address".to_owned(),
            Self::ClusterName => format!(
                "at most {CLUSTER_LENGTH} letters, digits, `-` and `_`, with a letter or digit at the beginning"
            ),
            Self::Label => format!(
                "at most {LENGTH} letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
            ),
            Self::Taint => "`VALUE:EFFECT` or `:EFFECT`".to_owned(),
        }
    }
}

impl KeyRule {
    fn admits(self, key: &str) -> bool {
        match self {
            Self::Label => is_label_key(key),
            Self::Signal => {
                SIGNALS.contains(&key) || OTHER_SIGNALS.iter().any(|begin| key.starts_with(begin))
            }
            Self::Resource => RESOURCES.contains(&key),
        }
    }

    /// The rule in words.
    fn words(self) -> String {
        match self {
            Self::Label => format!(
                "at most {LENGTH} letters, digits, `-`, `_` and `.`, with a letter or digit at both ends, and before them perhaps \
                 a domain and `/`"
            ),
            Self::Signal => format!("one of {}", SIGNALS.join(", ")),
            Self::Resource => format!("one of {}", RESOURCES.join(", ")),
        }
    }
}

/// The texts and numbers of a value or of a list.
fn texts(value: &toml::Value) -> Vec<String> {
    let one = std::slice::from_ref(value);
    let values = value.as_array().map_or(one, Vec::as_slice);
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    values.iter().filter_map(text).collect()
}

/// The rule of EKS.
fn is_cluster_name(text: &str) -> bool {
    text.len() <= CLUSTER_LENGTH
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The name or the value of a label.
fn is_word(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    let mut bytes = text.bytes();
    text.len() <= LENGTH
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_label_key(key: &str) -> bool {
    let is_of_domain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    match key.split_once('/') {
        Some((domain, name)) => {
            let is_domain = !domain.is_empty() && domain.len() <= DOMAIN && domain.bytes().all(is_of_domain);
            is_domain && is_word(name)
        }
        None => is_word(key),
    }
}

/// A value, which can be empty, and any word as the effect: the kubelet knows which it has.
fn is_taint(text: &str) -> bool {
    text.split_once(':').is_some_and(|(value, effect)| {
        (value.is_empty() || is_word(value))
            && !effect.is_empty()
            && effect.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Such as `100m`, `1.5Gi` or `129e6`.
fn is_quantity(text: &str) -> bool {
    const UNITS: [&str; 17] = [
        "", "n", "u", "m", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let number = text.strip_prefix(['+', '-']).unwrap_or(text);
    let unit = number.trim_start_matches(is_of_number);
    let is_exponent = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_unit = UNITS.contains(&unit) || unit.strip_prefix('e').is_some_and(is_exponent);
    unit.len() < number.len() && is_unit
}

/// Hours, minutes, seconds and milliseconds, in this order.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 4] = ["h", "m", "s", "ms"];
    let (mut rest, mut next) = (text, 0);
    while !rest.is_empty() {
        let unit_begins = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - unit_begins.len()];
        rest = unit_begins.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &unit_begins[..unit_begins.len() - rest.len()];
        let place = UNITS.iter().position(|known| *known == unit);
        let Some(place) = place.filter(|place| *place >= next && is_decimal(number)) else {
            return false;
        };
        next = place + 1;
    }
    next > 0
}

/// Digits, with at most one point between them.
fn is_decimal(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_those_of_the_models() {
        let (long, too_long) = ("a".repeat(64), "a".repeat(101));
        for (rule, good, bad) in [
            (
                ValueRule::Quantity,
                &["129e6", "10Mi", "1024M", "120Ki", "1000n", "100m", "5", "-1.5Gi"][..],
                &[
                    "", "12%", "12ki", "100e23m", "1100KTi", "100Kiii", "1000i", "lots", "20Megs", "Mi",
                ][..],
            ),
            (
                ValueRule::Threshold,
                &["10%", "0%", "99.5%", "500Mi"],
                &["12%%", "100%", "-1%", "anything%", "%", ""],
            ),
            (
                ValueRule::Duration,
                &["9ms", "99s", "20m", "1h", "1h2m3s10ms", "2h3s10ms", "1.5h3.5m"],
                &[
                    "",
                    "100",
                    "...3ms",
                    "1..5s",
                    "ten second",
                    "1m2h",
                    "9ns",
                    "h",
                    "1h2h",
                ],
            ),
            (
                ValueRule::Label,
                &["", "more-chars_here.now", "1"],
                &[".bad", "bad.", "bad value!", &long],
            ),
            (
                ValueRule::ClusterName,
                &[
                    "demo",
                    "1",
                    "trailing-dash-",
                    "under_score_",
                    &long,
                    &too_long[..CLUSTER_LENGTH],
                ],
                &["", "de mo", "bad.", "a.b", "-bad", "_bad", &too_long],
            ),
            (
                ValueRule::Taint,
                &["value:NoSchedule", ":NoSchedule", "a-b:Schedule"],
                &[
                    "bad",
                    "value:",
                    ":",
                    "-a:NoSchedule",
                    "a-:NoSchedule",
                    "a:No_Schedule",
                ],
            ),
            (ValueRule::Between(0, 100), &["0", "100"], &["-1", "101", "", "x"]),
            (
                ValueRule::Address,
                &["10.0.0.10", "fd00::a"],
                &["not-an-ip", "10.0.0.0/16"],
            ),
        ] {
            for text in good {
                assert!(rule.admits(text), "{rule:?} {text}");
            }
            for text in bad {
                assert!(!rule.admits(text), "{rule:?} {text}");
            }
        }
        for key in ["no-prefix", "have.a/prefix", "more-chars_here.now"] {
            assert!(KeyRule::Label.admits(key), "{key}");
        }
        for key in [".bad", "bad.", "a/b/c", "/a", "a_b/c", &long] {
            assert!(!KeyRule::Label.admits(key), "{key}");
        }
    }
}
