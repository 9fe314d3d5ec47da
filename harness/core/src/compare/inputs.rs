//! What the files of a node accept and tell apart, for worlds that differ in it.

use std::collections::BTreeSet;

use super::arguments::ScriptArguments;
use crate::vocabulary::ec2_type::EC2_TYPES;

/// Minor versions that Kubernetes has had since EKS exists, and will have.
const MINORS: std::ops::RangeInclusive<u32> = 10..=60;
/// Entries, each a type and a number, from which on a text is a table.
const SMALLEST_TABLE: usize = 20;

/// What the files of a node accept and tell apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptInputs {
    /// Arguments of scripts, each in a world of its own.
    pub arguments: Vec<ScriptArguments>,
    /// Instance types that a table of the node treats unlike others.
    pub instance_types: BTreeSet<String>,
    /// Minor versions of Kubernetes with which scripts compare that of their kubelet: 27 for `1.27`.
    pub kubelet_minors: BTreeSet<u32>,
}

impl ScriptInputs {
    /// Adds what the other version of the same files accepts and tells apart.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for one in other.arguments {
            if !self.arguments.contains(&one) {
                self.arguments.push(one);
            }
        }
        self.instance_types.extend(other.instance_types);
        self.kubelet_minors.extend(other.kubelet_minors);
        self
    }
}

/// The versions of Kubernetes in the lines of a script that are about a version: 22 and 27 for
/// `vercmp "$KUBELET_VERSION" gteq "1.22.0" && vercmp "$KUBELET_VERSION" lt 1.27`.
#[must_use]
pub fn compared_minors(script: &str) -> BTreeSet<u32> {
    let is_about_versions = |line: &&str| {
        let line = line.to_ascii_lowercase();
        !line.trim_start().starts_with('#') && (line.contains("version") || line.contains("vercmp"))
    };
    let lines = script.lines().filter(is_about_versions);
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.'));
    let minor = |word: &str| {
        let mut numbers = word.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next()?, numbers.next()?.parse().ok()?);
        (major == "1" && MINORS.contains(&minor)).then_some(minor)
    };
    words.filter_map(minor).collect()
}

/// An instance type whose name stands in several lines of a table of types, comments included: a search for the name
/// finds them all. `None` if the text is no such table.
#[must_use]
pub fn type_named_twice(text: &str) -> Option<String> {
    let is_entry = |line: &&str| {
        let mut words = line.split_whitespace();
        let (name, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        name.contains('.') && number.parse::<u32>().is_ok() && words.next().is_none()
    };
    let entries: BTreeSet<&str> = text
        .lines()
        .filter(is_entry)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    if entries.len() < SMALLEST_TABLE {
        return None;
    }
    let is_ambiguous = |name: &str| text.lines().filter(|line| line.contains(name)).count() > 1;
    let known = EC2_TYPES.iter().map(|known| known.name.as_str());
    let mut ambiguous = known.filter(|name| entries.contains(name) && is_ambiguous(name));
    ambiguous.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_a_comment_of_the_table_names_too_is_found() {
        let mut table = "# If i3.16xlarge has more than 31 addresses, ...\n".to_owned();
        for name in EC2_TYPES.iter().map(|known| &known.name).take(30) {
            table += &format!("{name} 29\n");
        }
        assert_eq!(type_named_twice(&table), None);
        table += "i3.16xlarge 737\n";
        assert_eq!(type_named_twice(&table).as_deref(), Some("i3.16xlarge"));
        assert_eq!(type_named_twice("# i3.16xlarge\ni3.16xlarge 737\n"), None);
    }

    #[test]
    fn versions_are_those_of_lines_about_versions() {
        let script = "if vercmp \"$KUBELET_VERSION\" gteq \"1.22.0\" && vercmp $V lt v1.27; then\n\
            # since version 1.30\nsleep 1.25\necho version 1.7.2 11.24\n[[ $KUBELET_VERSION =~ 1.21* ]]\n";
        let found: Vec<u32> = compared_minors(script).into_iter().collect();
        assert_eq!(found, [21, 22, 27]);
    }

    #[test]
    fn both_versions_add_their_inputs() {
        let inputs = |arguments: &str, name: &str| ScriptInputs {
            arguments: vec![ScriptArguments {
                path: "/etc/eks/bootstrap.sh".to_owned(),
                arguments: arguments.to_owned(),
            }],
            instance_types: [name.to_owned()].into(),
            kubelet_minors: [22].into(),
        };
        let both = inputs("--a 1", "a1.large").with(inputs("--b 2", "a1.large"));
        assert_eq!((both.arguments.len(), both.instance_types.len()), (2, 1));
        assert_eq!(both.clone().with(inputs("--a 1", "a1.large")), both);
    }
}
