//! What the files of a node accept and tell apart, for worlds that differ in it.

use std::collections::{BTreeMap, BTreeSet};

use super::arguments::ScriptArguments;
use super::changed_places::ChangedPlace;
use crate::vocabulary::ec2_type::{EC2_TYPES, ec2_type};
use crate::vocabulary::region::Region;

/// Minor versions that Kubernetes has had since EKS exists, and will have.
const MINORS: std::ops::RangeInclusive<u32> = 10..=60;
/// Entries, each a type and a number, from which on a text is a table.
const SMALLEST_TABLE: usize = 20;
/// The most regions that changed lines add, and the most types.
const MOST_NAMED: usize = 3;
/// Partitions that the AWS CLI of the node images does not know: it asks a host that does not exist.
const UNKNOWN_PARTITIONS: [&str; 3] = ["aws-eusc", "aws-iso-e", "aws-iso-f"];

/// What the files of a node accept and tell apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptInputs {
    /// Arguments of scripts, each in a world of its own.
    pub arguments: Vec<ScriptArguments>,
    /// Instance types that a table of the node treats unlike others.
    pub instance_types: BTreeSet<String>,
    /// Regions that the change of a script names.
    pub regions: BTreeSet<String>,
    /// Minor versions of Kubernetes with which scripts compare that of their kubelet: 27 for `1.27`.
    pub kubelet_minors: BTreeSet<u32>,
}

impl ScriptInputs {
    /// The regions and the instance types that changed lines name: a row of a table shows nowhere else. A family, such
    /// as `inf2`, stands for its first type.
    #[must_use]
    pub fn named_in(places: &[ChangedPlace]) -> Self {
        let lines = places.iter().flat_map(|place| &place.lines);
        let mut words: Vec<&str> = lines
            .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c)))
            .map(|word| word.trim_matches(|c| "-.".contains(c)))
            .collect();
        // The lines are those of both versions: what both have stands there twice.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        words
            .iter()
            .for_each(|word| *counts.entry(word).or_default() += 1);
        words.sort_by_key(|word| counts[word] > 1);
        let region = |word: &&str| {
            let region = word.parse::<Region>().ok()?;
            (!UNKNOWN_PARTITIONS.contains(&region.partition())).then(|| (*word).to_owned())
        };
        Self {
            regions: first_ones(words.iter().filter_map(region)),
            instance_types: first_ones(words.iter().filter_map(|word| type_of(word))),
            ..Self::default()
        }
    }

    /// Adds what the other version of the same files accepts and tells apart.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for one in other.arguments {
            if !self.arguments.contains(&one) {
                self.arguments.push(one);
            }
        }
        self.instance_types.extend(other.instance_types);
        self.regions.extend(other.regions);
        self.kubelet_minors.extend(other.kubelet_minors);
        self
    }
}

fn first_ones(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in names {
        if found.len() < MOST_NAMED {
            found.insert(name);
        }
    }
    found
}

/// The type of this name, or the first one of this family.
fn type_of(word: &str) -> Option<String> {
    if let Some(known) = ec2_type(word) {
        return Some(known.name.clone());
    }
    let is_family =
        word.contains(|c: char| c.is_ascii_digit()) && word.starts_with(|c: char| c.is_ascii_lowercase());
    let of_family = |name: &str| name.strip_prefix(word).is_some_and(|size| size.starts_with('.'));
    let mut known = EC2_TYPES
        .iter()
        .filter(|known| is_family && of_family(&known.name));
    known.next().map(|known| known.name.clone())
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
    fn regions_and_types_of_changed_lines_are_found() {
        let lines = [
            "  af-south-1 | ap-east-1 | ca-west-1) acct=1 ;;",
            "  af-south-1 | ap-east-1 | ap-southeast-4 | ca-west-1 | il-central-1) acct=1 ;;",
            "us-isof-south-1) nitro-types=inf2|trn1n*",
            "mac2.metal m5.large echo $x 1.27 eks-2",
        ];
        let found = ScriptInputs::named_in(&[ChangedPlace::with_lines(&lines, &["eu-west-3"])]);
        assert_eq!(
            found.regions.into_iter().collect::<Vec<_>>(),
            ["af-south-1", "ap-southeast-4", "il-central-1"]
        );
        let types: Vec<String> = found.instance_types.into_iter().collect();
        assert!(types.iter().any(|name| name.starts_with("inf2.")), "{types:?}");
        assert!(types.iter().any(|name| name.starts_with("trn1n.")), "{types:?}");
        assert_eq!(types.len(), MOST_NAMED, "{types:?}");
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
            ..ScriptInputs::default()
        };
        let both = inputs("--a 1", "a1.large").with(inputs("--b 2", "a1.large"));
        assert_eq!((both.arguments.len(), both.instance_types.len()), (2, 1));
        assert_eq!(both.clone().with(inputs("--a 1", "a1.large")), both);
    }
}
