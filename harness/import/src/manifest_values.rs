//! `$NAME` and `<<NAME>>` as values of manifests: envsubst, a shell or a person fills them in before a tool reads the
//! file. `${NAME}` in other values is found in the user data that a tool makes of them.

use std::collections::BTreeMap;

use crate::error::ImportError;
use crate::tree::{Tree, TreeValue};
use crate::words::set_option;

/// The keys of a manifest that say what a machine is.
const PARTS: [&str; 5] = [
    "metadata",
    "spec",
    "kubernetesNetworkConfig",
    "nodeGroups",
    "managedNodeGroups",
];
/// Keys whose values say nothing about the machine, or are user data with variables of its own.
const OTHERS: [&str; 7] = [
    "annotations",
    "userData",
    "ssh",
    "subnets",
    "subnetIDs",
    "securityGroups",
    "securityGroupIDs",
];
/// Keys whose values a trial has stand-ins for.
const WITH_STAND_INS: [&str; 3] = ["role", "instanceProfile", "nodeRole"];
/// Ends of such keys: `preBootstrapCommands`, `subnetSelectorTerms`.
const ENDS_OF_OTHERS: [&str; 4] = ["Command", "Commands", "Selector", "SelectorTerms"];
/// Keys of groups, pools and classes whose values do not reach the node.
const NOT_OF_NODE: [&str; 8] = [
    "availabilityZones",
    "disruption",
    "expireAfter",
    "iam",
    "kmsKeyID",
    "limits",
    "tags",
    "volumeKmsKeyID",
];
/// Keys of requirements that say where a node is, which no user data states.
const PLACES: [&str; 5] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];
/// Keys whose values are in no user data: `${NAME}` counts in them, too.
const OF_INSTANCE: [&str; 3] = ["instanceType", "instanceTypes", "maxPodsPerNode"];
/// Groups whose user data is that of EKS: nothing else shows what is not filled in.
const MANAGED: &str = "managedNodeGroups";
/// The key of a requirement with instance types.
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// Variables that every shell has.
const OF_SHELL: [&str; 4] = ["HOME", "HOSTNAME", "PWD", "USER"];

/// A text in which names can be left to fill in.
struct ManifestValue<'a> {
    tree: &'a Tree,
    text: &'a str,
    /// Whether `${NAME}` counts.
    has_braces: bool,
}

/// A name to fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenName<'a> {
    /// Where it is in its value.
    at: usize,
    /// As in the file, such as `$NAME`.
    text: &'a str,
    name: &'a str,
}

/// The manifest with these values for its names.
pub(crate) fn filled(manifest: &Tree, set: &BTreeMap<String, String>) -> Tree {
    // `kubectl get -o yaml` prints a list of manifests.
    changed_entries(manifest, &|key| key == "items" || PARTS.contains(&key), set)
}

/// Rejects manifests whose names are not filled in.
pub(crate) fn check(manifests: &[&Tree]) -> Result<(), ImportError> {
    let mut values = Vec::new();
    for (key, value) in manifests.iter().flat_map(|manifest| manifest.entries()) {
        if PARTS.contains(&key.as_str()) {
            add_values(value, key == MANAGED, &mut values);
        }
    }
    let open: Vec<(&Tree, OpenName<'_>)> = values
        .into_iter()
        .flat_map(|value| {
            let names = open_names(value.text, value.has_braces).into_iter();
            names.map(move |open| (value.tree, open))
        })
        .collect();
    let Some((first, _)) = open.first() else {
        return Ok(());
    };
    let mut options: Vec<String> = Vec::new();
    for (_, open) in &open {
        let option = set_option(open.name);
        if !options.contains(&option) {
            options.push(option);
        }
    }
    let listed: Vec<String> = open.iter().map(|(tree, open)| listed(tree, open)).collect();
    Err(ImportError::Invalid {
        line: first.line(),
        column: None,
        problem: format!(
            "manifests with values that are not filled in: {}",
            listed.join(", ")
        ),
        hint: format!(
            "give the values: `{}`; or render the file, as with `envsubst`, and give the result",
            options.join(" ")
        ),
    })
}

fn listed(tree: &Tree, open: &OpenName<'_>) -> String {
    match tree.line() {
        Some(line) => format!("`{}` (line {line})", open.text),
        None => format!("`{}`", open.text),
    }
}

fn is_other(key: &str) -> bool {
    OTHERS.contains(&key) || ENDS_OF_OTHERS.iter().any(|end| key.ends_with(end))
}

/// Adds the values of a tree that are one text, and must be filled in.
fn add_values<'a>(tree: &'a Tree, has_braces: bool, values: &mut Vec<ManifestValue<'a>>) {
    for item in tree.items() {
        let key = item.text_at(&["key"]);
        let key = key.as_deref().unwrap_or_default();
        if !PLACES.contains(&key) {
            add_values(item, has_braces || key == INSTANCE_TYPE, values);
        }
    }
    let is_needless = |key: &str| WITH_STAND_INS.contains(&key) || NOT_OF_NODE.contains(&key);
    let needs_value = |key: &str| !is_other(key) && !is_needless(key);
    for (key, value) in tree.entries().iter().filter(|(key, _)| needs_value(key)) {
        add_values(value, has_braces || OF_INSTANCE.contains(&key.as_str()), values);
    }
    values.extend(tree.text().map(|text| ManifestValue {
        tree,
        text,
        has_braces,
    }));
}

fn changed(tree: &Tree, set: &BTreeMap<String, String>) -> Tree {
    let value = match &tree.value {
        TreeValue::Scalar { text, is_plain } => TreeValue::Scalar {
            text: filled_text(text, set),
            is_plain: *is_plain,
        },
        TreeValue::List(items) => TreeValue::List(items.iter().map(|item| changed(item, set)).collect()),
        TreeValue::Map(_) => return changed_entries(tree, &|key| !is_other(key), set),
    };
    tree.replaced(value)
}

fn changed_entries(tree: &Tree, is_changed: &dyn Fn(&str) -> bool, set: &BTreeMap<String, String>) -> Tree {
    let entries = tree.entries().iter().map(|(key, value)| {
        let value = match is_changed(key) {
            true => changed(value, set),
            false => value.clone(),
        };
        (key.clone(), value)
    });
    tree.replaced(TreeValue::Map(entries.collect()))
}

fn filled_text(text: &str, set: &BTreeMap<String, String>) -> String {
    let mut filled = String::new();
    let mut end = 0;
    // The others are filled in as in user data.
    for open in open_names(text, false) {
        if let Some(value) = set.get(open.name) {
            filled.push_str(&text[end..open.at]);
            filled.push_str(value);
            end = open.at + open.text.len();
        }
    }
    filled.push_str(&text[end..]);
    filled
}

/// The names in a value. A text with blanks can be a script.
fn open_names(text: &str, has_braces: bool) -> Vec<OpenName<'_>> {
    let mut names: Vec<OpenName<'_>> = Vec::new();
    if text.contains(char::is_whitespace) {
        return names;
    }
    for (at, _) in text.match_indices(['$', '<']) {
        let is_escaped = text[..at].ends_with(['$', '\\']);
        let is_inside = names.last().is_some_and(|last| at < last.at + last.text.len());
        let rest = &text[at..];
        let name = of_variable(rest).or_else(|| in_angles(rest));
        let name = name.or_else(|| in_braces(rest).filter(|_| has_braces));
        if let Some((text, name)) = name.filter(|_| !is_escaped && !is_inside) {
            names.push(OpenName { at, text, name });
        }
    }
    names
}

/// `$NAME` at the beginning of a text, and its name.
fn of_variable(text: &str) -> Option<(&str, &str)> {
    let after = text.strip_prefix('$')?;
    let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let length = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
    let (name, rest) = after.split_at(length);
    let is_name = length > 1 && name.starts_with(|c: char| c.is_ascii_uppercase());
    let is_whole = !rest.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_name && is_whole && !OF_SHELL.contains(&name)).then(|| (&text[..=length], name))
}

/// `${NAME}` at the beginning of a text, and its name.
fn in_braces(text: &str) -> Option<(&str, &str)> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_of_name);
    is_name.then(|| (&text[..name.len() + 3], name))
}

/// `<<NAME>>` at the beginning of a text, and its name.
fn in_angles(text: &str) -> Option<(&str, &str)> {
    let (name, _) = text.strip_prefix("<<")?.split_once(">>")?;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_of_name);
    is_name.then(|| (&text[..name.len() + 4], name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    #[test]
    fn names_to_fill_in_are_found_in_a_value() {
        let cases: [(&str, &[&str]); 18] = [
            ("$CLUSTER_NAME", &["$CLUSTER_NAME"]),
            ("a-$CLUSTER-b-$REGION", &["$CLUSTER", "$REGION"]),
            ("arn:aws:iam::$ACCOUNT:role/x", &["$ACCOUNT"]),
            ("<<KARPENTER_ROLE>>", &["<<KARPENTER_ROLE>>"]),
            ("x-<<a-b>>-<<c>>", &["<<a-b>>", "<<c>>"]),
            ("$HOME/.ssh/id.pub", &[]),
            ("${CLUSTER}", &[]),
            ("$(CLUSTER)", &[]),
            ("$$CLUSTER", &[]),
            ("\\$CLUSTER", &[]),
            ("$cluster", &[]),
            ("$1", &[]),
            ("costs-$5", &[]),
            ("$NAMEs", &[]),
            ("echo $NAME", &[]),
            ("<<>>", &[]),
            ("<<EOF", &[]),
            ("demo", &[]),
        ];
        for (text, names) in cases {
            let found = open_names(text, false).into_iter().map(|open| open.text);
            assert_eq!(found.collect::<Vec<_>>(), names, "{text}");
        }
        let cases: [(&str, &[&str]); 5] = [
            ("${TYPE}", &["${TYPE}"]),
            ("${family}.$SIZE", &["${family}", "$SIZE"]),
            ("${TYPE:-m5.large}", &[]),
            ("$${TYPE}", &[]),
            ("${}", &[]),
        ];
        for (text, names) in cases {
            let found = open_names(text, true).into_iter().map(|open| open.text);
            assert_eq!(found.collect::<Vec<_>>(), names, "{text}");
        }
    }

    #[test]
    fn names_in_braces_count_where_no_user_data_has_them() {
        let group =
            "[{ name: a, instanceType: \"${TYPE}\", desiredCapacity: $COUNT, labels: { a: \"${A}\" } }]";
        let managed = "manifests with values that are not filled in: `${TYPE}` (line 1), `$COUNT` (line 1), `${A}` (line 1)";
        let others = managed.replace(", `${A}` (line 1)", "");
        for (text, problem) in [
            (format!("managedNodeGroups: {group}\n"), managed),
            (format!("nodeGroups: {group}\n"), others.as_str()),
            (
                "spec: { requirements: [{ key: node.kubernetes.io/instance-type, values: [\"${T}\"] }] }\n"
                    .to_owned(),
                "manifests with values that are not filled in: `${T}` (line 1)",
            ),
        ] {
            let document = yaml(&text).unwrap().remove(0);
            let error = check(&[&document]).unwrap_err();
            assert_eq!(error.problem(), problem, "{text}");
        }
        let commands = "managedNodeGroups: [{ preBootstrapCommands: [\"echo ${A}\"], tags: { a: \"${A}\" }, subnets: [\"${A}\"] }]\n";
        assert!(check(&[&yaml(commands).unwrap().remove(0)]).is_ok());
    }

    #[test]
    fn values_that_do_not_reach_the_node_are_not_needed() {
        for text in [
            "metadata: { name: a, tags: { owner: $OWNER } }\n",
            "spec: { limits: { cpu: $CPU }, disruption: { budgets: [{ nodes: $NODES% }] } }\n",
            "spec: { template: { spec: { expireAfter: $EXPIRE } } }\n",
            "spec: { requirements: [{ key: topology.kubernetes.io/zone, operator: In, values: [$AZ] }] }\n",
            "spec: { tags: { karpenter.sh/discovery: <<CLUSTER_NAME>> } }\n",
            "nodeGroups: [{ availabilityZones: [$AZ], volumeKmsKeyID: $KEY, iam: { instanceRoleARN: $ROLE } }]\n",
        ] {
            let document = yaml(text).unwrap().remove(0);
            assert!(check(&[&document]).is_ok(), "{text}");
        }
        for text in [
            "spec: { requirements: [{ key: example.com/tier, operator: In, values: [$TIER] }] }\n",
            "spec: { requirements: [{ key: node.kubernetes.io/instance-type, values: [$TYPE] }] }\n",
            "nodeGroups: [{ labels: { team: $TEAM } }]\n",
        ] {
            let document = yaml(text).unwrap().remove(0);
            assert!(check(&[&document]).is_err(), "{text}");
        }
        let document = yaml("spec: { tags: { a: $TAG } }\n").unwrap().remove(0);
        let set = BTreeMap::from([("TAG".to_owned(), "b".to_owned())]);
        let expected = yaml("spec: { tags: { a: b } }\n").unwrap().remove(0);
        assert_eq!(filled(&document, &set).to_json(), expected.to_json());
    }

    #[test]
    fn values_are_filled_in_where_they_say_what_a_machine_is() {
        let text = "metadata: { name: $NAME, annotations: { a: $NAME } }\nother: $NAME\nspec:\n  role: <<NAME>>-$OTHER\n  \
                    userData: $NAME\n  subnetSelectorTerms: [{ tags: { a: $NAME } }]\n  list: [$NAME, $NAMES]\n";
        let document = yaml(text).unwrap().remove(0);
        let set = BTreeMap::from([("NAME".to_owned(), "demo".to_owned())]);
        let filled = filled(&document, &set);
        let expected = text
            .replace("name: $NAME", "name: demo")
            .replace("<<NAME>>", "demo")
            .replace("[$NAME,", "[demo,");
        assert_eq!(filled.to_json(), yaml(&expected).unwrap().remove(0).to_json());
        let error = check(&[&filled]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 7: manifests with values that are not filled in: `$NAMES` (line 7)"
        );
        assert!(
            error.hint().starts_with("give the values: `--set NAMES=VALUE`;"),
            "{}",
            error.hint()
        );
    }
}
