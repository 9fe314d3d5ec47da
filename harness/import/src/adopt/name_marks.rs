//! Marks of templates, such as `%CLUSTER%`, where the name of a cluster, its endpoint or its certificate authority
//! stands.

/// How templates begin and end a name.
const FORMS: [(&str, &str); 10] = [
    (OF_ERB, "%>"),
    (OF_RUBY, "}"),
    (OF_WORKFLOW, "}}"),
    ("{{{", "}}}"),
    (OF_ENGINE, "}}"),
    ("%{", "}"),
    ("@@", "@@"),
    ("__", "__"),
    ("%", "%"),
    (BRACKET, "]"),
];
/// As in `<%= @cluster %>`.
const OF_ERB: &str = "<%";
/// As in `#{cluster}`, also an expression.
const OF_RUBY: &str = "#{";
/// As in `${{ inputs.cluster || 'demo' }}` and `{{ cluster | quote }}`. A name alone is found wherever it stands.
const OF_WORKFLOW: &str = "${{";
const OF_ENGINE: &str = "{{";
const BRACKET: &str = "[";
/// Words of examples in small letters.
const WORDS: [&str; 8] = [
    "your-cluster-name",
    "your_cluster_name",
    "your-cluster",
    "replaceme",
    "replace-me",
    "replace_me",
    "changeme",
    "change-me",
];
/// Fields of a NodeConfig and settings of Bottlerocket.
const FIELDS: [&str; 7] = [
    "name",
    "apiServerEndpoint",
    "certificateAuthority",
    "cidr",
    "cluster-name",
    "api-server",
    "cluster-certificate",
];
/// Flags of the bootstrap script.
const FLAGS: [&str; 2] = ["--b64-cluster-ca", "--apiserver-endpoint"];
/// Flags of `aws eks`.
const OF_EKS: [&str; 2] = ["--name", "--cluster-name"];
const VARIABLES: [&str; 8] = [
    "API_SERVER_URL",
    "APISERVER_ENDPOINT",
    "B64_CLUSTER_CA",
    "CLUSTER",
    "CLUSTER_CA",
    "CLUSTER_ENDPOINT",
    "CLUSTER_NAME",
    "EKS_CLUSTER_NAME",
];
const QUOTES: [char; 3] = ['"', '\'', '\\'];

/// The mark at the beginning of a text.
pub(super) fn mark_at(text: &str) -> Option<&str> {
    let is_in_word = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let words = WORDS.iter().filter_map(|word| text.split_at_checked(word.len()));
    let mut words = words.filter(|(word, rest)| WORDS.contains(word) && !is_in_word(rest));
    if let Some((word, _)) = words.next() {
        return Some(word);
    }
    FORMS.iter().find_map(|&(begin, end)| {
        let after = text.strip_prefix(begin)?;
        let length = after.find(end)?;
        let is_end = begin != BRACKET || !is_in_word(&after[length + end.len()..]);
        (is_end && is_inside(&after[..length], begin)).then(|| &text[..begin.len() + length + end.len()])
    })
}

/// Whether a text is a mark and nothing else.
pub(super) fn is_mark(text: &str) -> bool {
    mark_at(text) == Some(text)
}

/// The name in `<%= NAME %>`.
pub(super) fn name_of_erb(text: &str) -> Option<&str> {
    let inside = text.strip_prefix(OF_ERB)?.strip_suffix("%>")?;
    Some(inside.trim_matches(['=', '-', ' ']))
}

/// Whether `before`, a part of a line, ends where a name of the cluster begins. `is_config`: the line is one of a
/// configuration file.
pub(super) fn is_place(before: &str, is_config: bool) -> bool {
    let value = before.trim_end_matches(QUOTES);
    let value = value.strip_suffix("https://").unwrap_or(value);
    let value = value.trim_end_matches(QUOTES);
    if let Some(key) = value.trim_end().strip_suffix([':', '=']) {
        let key = last_word(key.trim_end());
        let field = key.rsplit('.').next().unwrap_or_default();
        return (is_config && FIELDS.contains(&field))
            || (value.ends_with('=') && (VARIABLES.contains(&key) || FLAGS.contains(&key)));
    }
    let call = value.trim_end_matches(|c: char| c.is_whitespace() || c == ',');
    let word = last_word(call);
    let is_of_eks = OF_EKS.contains(&word) && call.contains("aws eks ");
    call.len() < value.len() && (FLAGS.contains(&word) || is_of_eks || is_bootstrap_script(word))
}

fn is_inside(inside: &str, begin: &str) -> bool {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || (byte == b' ' && begin == BRACKET)
    };
    match begin {
        OF_ERB | OF_RUBY => !inside.trim().is_empty(),
        OF_WORKFLOW | OF_ENGINE => is_expression(inside.trim_matches(['-', ' '])),
        _ => {
            inside.starts_with(|c: char| c.is_ascii_alphabetic())
                && inside.ends_with(|c: char| c.is_ascii_alphanumeric())
                && inside.bytes().all(is_plain)
        }
    }
}

/// Whether a text is a name with a filter, or a call: `cluster | quote`, `lookup('env', 'CLUSTER')`.
fn is_expression(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '_');
    begins && text.contains(['|', '(']) && !text.contains(['{', '}', '\n', ';'])
}

fn is_bootstrap_script(word: &str) -> bool {
    word.rsplit('/').next() == Some("bootstrap.sh")
}

/// The last word of a text, without the signs of a list or a mapping around it.
fn last_word(text: &str) -> &str {
    let is_between = |c: char| c.is_whitespace() || "\"'[{,".contains(c);
    let text = text.trim_end_matches(QUOTES);
    text.rsplit(is_between).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_templates() {
        for mark in [
            "%CLUSTER%",
            "@@CLUSTER@@",
            "__CLUSTER_NAME__",
            "[cluster-name]",
            "[your cluster]",
            "#{cluster}",
            "#{node['eks']['cluster']}",
            "<%= @cluster %>",
            "your-cluster-name",
            "replaceme",
            "%{cluster}",
            "{{{cluster}}}",
            "{{ cluster | quote }}",
            "{{- .cluster | default \"demo\" -}}",
            "{{ lookup('env','CLUSTER') }}",
            "${{ inputs.cluster || 'demo' }}",
        ] {
            assert!(is_mark(mark), "{mark}");
            assert_eq!(mark_at(&format!("{mark} --x")), Some(mark));
        }
        for text in [
            "",
            "%",
            "%s",
            "50% 60%",
            "%s-%s",
            "____",
            "__a",
            "@@",
            "[[ -n x ]]",
            "[ -n x ]",
            "[a-z]bc",
            "[\"a\"]",
            "#{}",
            "# {a}",
            "<%%>",
            "demo",
            "your-cluster-name-2",
            "replacement",
            "\u{e9}eplaceme",
            "{{ cluster }}",
            "{{ print $1; f(2) }}",
            "{{ \"a\": f(1) }}",
            "%{if cluster}",
            "%{}",
        ] {
            assert_eq!(mark_at(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_of_the_cluster_has_its_places() {
        for (before, is_config) in [
            ("/etc/eks/bootstrap.sh ", false),
            ("- [/etc/eks/bootstrap.sh, '", false),
            ("bash -x '/etc/eks/bootstrap.sh' \"", false),
            ("bootstrap.sh demo --b64-cluster-ca ", false),
            ("bootstrap.sh demo --apiserver-endpoint https://", false),
            ("aws eks describe-cluster --name ", false),
            ("export CLUSTER_NAME=\"", false),
            ("    name: ", true),
            ("\"name\":\"", true),
            ("    apiServerEndpoint: https://", true),
            ("settings.kubernetes.cluster-name = \"", true),
        ] {
            assert!(is_place(before, is_config), "{before}");
        }
        for (before, is_config) in [
            ("", true),
            ("/etc/eks/bootstrap.sh", false),
            ("/etc/eks/bootstrap.sh demo ", false),
            ("/etc/other-bootstrap.sh.bak ", false),
            ("    name: ", false),
            ("    hostname: ", true),
            ("TEAM=", false),
            ("run --name ", false),
        ] {
            assert!(!is_place(before, is_config), "{before}");
        }
    }
}
