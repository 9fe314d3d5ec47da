//! Labels that a kubelet or the API server refuses: the key or the value, and of which label.

use super::facts::{between, names};

/// A key or a value that Kubernetes rejects in a label.
pub(super) struct InvalidLabel<'t> {
    /// The key or the value.
    text: &'t str,
    is_key: bool,
    /// The rule that it breaks.
    reason: &'t str,
}

impl<'t> InvalidLabel<'t> {
    /// From a kubelet that exits: `invalid node labels: 'TEXT' - REASON`.
    pub(super) fn of_kubelet(message: &'t str) -> Option<Self> {
        let (text, reason) = message
            .split_once("invalid node labels: '")?
            .1
            .split_once("' - ")?;
        Some(Self::new(text, reason))
    }

    /// From the API server: `metadata.labels: Invalid value: "TEXT": REASON`.
    pub(super) fn of_api_server(message: &'t str) -> Option<Self> {
        let rest = message.split_once("metadata.labels: Invalid value: ")?.1;
        // In a line of klog, quotes are escaped.
        let rest = rest.strip_prefix("\\\"").or_else(|| rest.strip_prefix('"'))?;
        let (text, reason) = rest.split_once("\\\": ").or_else(|| rest.split_once("\": "))?;
        Some(Self::new(text, reason))
    }

    fn new(text: &'t str, reason: &'t str) -> Self {
        // Kubernetes names the parts of a key; a value is `a valid label`.
        const OF_KEYS: [&str; 4] = [
            "name part ",
            "prefix part ",
            "a qualified name ",
            "a valid label key ",
        ];
        let ends = [" (e.g.", ", regex used", " (regex used", "; '", "\n"];
        let end = ends.iter().filter_map(|end| reason.find(end)).min();
        Self {
            text,
            is_key: OF_KEYS.iter().any(|start| reason.starts_with(start)),
            reason: &reason[..end.unwrap_or(reason.len())],
        }
    }

    /// The key or the value in words; `user_data` has the label of a value.
    pub(super) fn words(&self, user_data: &str) -> String {
        let Self { text, reason, .. } = self;
        match (self.is_key, key_of(text, user_data)) {
            (true, _) => format!("the label key `{text}`: {reason}"),
            (false, Some(key)) => format!("the value `{text}` of the label `{key}`: {reason}"),
            (false, None) => format!("the label value `{text}`: {reason}"),
        }
    }

    /// The key or the value itself.
    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    pub(super) fn remedy(&self) -> &'static str {
        match self.is_key {
            true => {
                "correct the key in --node-labels: a name of at most 63 letters, digits, `-`, `_` and `.`, and before it, if at \
                 all, a DNS domain and one `/`"
            }
            false => "correct the value in --node-labels: at most 63 letters, digits, `-`, `_` and `.`",
        }
    }
}

/// The key of the label with a value, as the user data has it.
fn key_of<'u>(value: &str, user_data: &'u str) -> Option<&'u str> {
    let assigned = format!("={value}");
    let (before, _) = user_data.split_once(assigned.as_str())?;
    let key = before.rsplit([',', ' ', '\'', '"', '\n', '=', '{']).next()?;
    Some(key).filter(|key| !key.is_empty())
}

/// The labels of other domains in `--node-labels: [a b]`, in words.
pub(super) fn of_other_domains(message: &str) -> Option<String> {
    let keys: Vec<&str> = between(message, "--node-labels: [", &[']'])?
        .split_whitespace()
        .collect();
    Some(match keys.as_slice() {
        [one] => format!("the label {one}"),
        keys => format!("the labels {}", names(keys)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER_DATA: &str = "kubelet --node-labels='app=web,team=iron/man,env=b c'";

    fn words(message: &str) -> String {
        let label = InvalidLabel::of_kubelet(message).or_else(|| InvalidLabel::of_api_server(message));
        label.map_or("none".to_owned(), |label| label.words(USER_DATA))
    }

    /// ValidateKubeletFlags of cmd/kubelet/app/options/options.go: `'%s' - %s` for keys and values alike, with the
    /// messages of apimachinery's pkg/util/validation (to 1.33) and pkg/api/validate/content/kube.go (from 1.34 on).
    #[test]
    fn a_kubelet_names_the_key_or_the_value() {
        let value = "E0101 10:00:00.000001     321 run.go:74] \"command failed\" err=\"failed to validate kubelet flags: \
                     invalid node labels: 'iron/man' - a valid label must be an empty string or consist of alphanumeric \
                     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                     'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\"";
        assert_eq!(
            words(value),
            "the value `iron/man` of the label `team`: a valid label must be an empty string or consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        );
        for (reason, expected) in [
            (
                "name part must consist of alphanumeric characters (e.g. 'MyName',  or 'my.name')",
                "name part must consist of alphanumeric characters",
            ),
            (
                "a qualified name must consist of alphanumeric characters (e.g. 'MyName')",
                "a qualified name must consist of alphanumeric characters",
            ),
            (
                "a valid label key must consist of alphanumeric characters (e.g. 'MyName')",
                "a valid label key must consist of alphanumeric characters",
            ),
            (
                "prefix part must be no more than 253 characters; 'b c' - a valid label must be x",
                "prefix part must be no more than 253 characters",
            ),
        ] {
            let message = format!("invalid node labels: 'a/b/c' - {reason}");
            assert_eq!(words(&message), format!("the label key `a/b/c`: {expected}"));
        }
    }

    /// ValidateLabels of apimachinery's pkg/apis/meta/v1/validation: one field for keys and values, from 1.20 to 1.36.
    #[test]
    fn the_api_server_names_the_key_or_the_value() {
        let value = "Node \"x\" is invalid: metadata.labels: Invalid value: \"b c\": a valid label must be an empty string (e.g. 'x')";
        assert_eq!(
            words(value),
            "the value `b c` of the label `env`: a valid label must be an empty string"
        );
        let key = "Node \\\"x\\\" is invalid: metadata.labels: Invalid value: \\\"-team\\\": name part must consist of (e.g. 'x')";
        assert_eq!(words(key), "the label key `-team`: name part must consist of");
        assert_eq!(words("metadata.name: Invalid value: \"X\": no"), "none");
    }

    #[test]
    fn labels_of_other_domains_are_listed() {
        let message = |keys| {
            format!(
                "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{keys}]\\n--node"
            )
        };
        assert_eq!(
            of_other_domains(&message("a.k8s.io/x")).unwrap(),
            "the label a.k8s.io/x"
        );
        assert_eq!(
            of_other_domains(&message("a.k8s.io/x b.k8s.io/y")).unwrap(),
            "the labels `a.k8s.io/x` and `b.k8s.io/y`"
        );
    }
}
