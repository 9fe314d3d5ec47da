//! Names of the cluster in user data that differ by a typing error.

use std::collections::BTreeSet;

use super::cluster_names::is_cluster_name;
use super::stated::Stated;
use crate::words::CLUSTER_TAG;

/// A word of at least this many letters can be another one with a typing error, of more with two.
const SHORTEST: usize = 4;
const LONG: usize = 12;

/// A sentence about a name that a command has, and that is almost the one that the node joins.
pub(super) fn mistyped_name(stated: &Stated) -> Option<String> {
    let of_calls = stated.calls.iter().filter_map(|call| call.cluster.as_deref());
    let of_configs = stated.configs.name.as_deref();
    let joined: BTreeSet<&str> = of_calls
        .chain(of_configs)
        .filter(|name| is_cluster_name(name))
        .collect();
    let [joined] = joined.into_iter().collect::<Vec<_>>()[..] else {
        return None;
    };
    let of_commands = stated.commands.iter().filter_map(|command| {
        let name = command.cluster()?;
        let word = match command.word {
            "cluster-active" => "wait",
            word => word,
        };
        Some((format!("`aws eks {word}` of the user data"), name))
    });
    let of_tags =
        tags(&stated.text).map(|name| (format!("the tag `{CLUSTER_TAG}{name}` of the user data"), name));
    let mut others = of_commands.chain(of_tags);
    let (place, other) = others.find(|(_, name)| is_cluster_name(name) && is_mistyped(name, joined))?;
    Some(format!(
        "the node joins the cluster {joined}, and {place} names {other}: one of the two names is mistyped"
    ))
}

/// The clusters that tags of a text name, such as those of `aws ec2 create-tags`.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let names = code.flat_map(|line| line.split(CLUSTER_TAG).skip(1));
    names.filter_map(|rest| {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        let is_whole = !rest[end..].starts_with(|c: char| !c.is_ascii() || "$.{<*".contains(c));
        (is_whole && is_cluster_name(&rest[..end])).then(|| &rest[..end])
    })
}

/// Whether letters of one name are swapped in the other, or one is missing. Names such as `prod-a` and `prod-b`, or
/// `prod` and `prod2`, are those of two clusters.
fn is_mistyped(one: &str, other: &str) -> bool {
    let (short, long) = match one.len() <= other.len() {
        true => (one, other),
        false => (other, one),
    };
    let allowed = if short.len() < LONG { 1 } else { 2 };
    let is_swapped = || sorted(short) == sorted(long);
    let is_missing = || {
        let mut missing: Vec<char> = long.chars().collect();
        for letter in short.chars() {
            if let Some(at) = missing.iter().position(|c| *c == letter) {
                missing.remove(at);
            }
        }
        // One at the end, or behind a separator, tells clusters apart.
        let is_inside = long[1..].starts_with(&short[1..2]) && long.ends_with(&short[short.len() - 1..]);
        missing.len() == 1 && missing[0].is_ascii_alphabetic() && is_inside
    };
    short.len() >= SHORTEST
        && one != other
        && strsim::damerau_levenshtein(one, other) <= allowed
        && (is_swapped() || is_missing())
}

fn sorted(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_told_from_names_of_other_clusters() {
        for (one, other) in [
            ("demo", "dmeo"),
            ("prod-cluster", "prod-clsuter"),
            ("prod-cluster", "prod-cluter"),
            ("production", "prodution"),
        ] {
            assert!(
                is_mistyped(one, other) && is_mistyped(other, one),
                "{one} {other}"
            );
        }
        for (one, other) in [
            ("demo", "demo"),
            ("prod-a", "prod-b"),
            ("prod-1", "prod-2"),
            ("prod", "prod2"),
            ("prod", "prods"),
            ("prod-12", "prod-1"),
            ("us-prod", "eu-prod"),
            ("dev", "edv"),
            ("staging", "production"),
        ] {
            assert!(!is_mistyped(one, other), "{one} {other}");
        }
    }

    #[test]
    fn names_of_commands_and_tags_are_compared_with_the_one_that_the_node_joins() {
        let note = |text: &str| mistyped_name(&Stated::of(format!("#!/bin/bash\n{text}\n").as_bytes()));
        let of_command =
            note("aws eks wait cluster-active --name prod-cluster\n/etc/eks/bootstrap.sh prod-clsuter");
        assert_eq!(
            of_command.as_deref(),
            Some(
                "the node joins the cluster prod-clsuter, and `aws eks wait` of the user data names prod-cluster: one of the two names \
                 is mistyped"
            )
        );
        let of_tag = note(
            "/etc/eks/bootstrap.sh demo\naws ec2 create-tags --tags Key=kubernetes.io/cluster/dmeo,Value=owned",
        );
        assert!(of_tag.is_some_and(|text| text.contains("the tag `kubernetes.io/cluster/dmeo`")));
        for right in [
            "aws eks describe-cluster --name demo\n/etc/eks/bootstrap.sh demo",
            "aws eks describe-cluster --name hub\n/etc/eks/bootstrap.sh demo",
            "# aws eks describe-cluster --name dmeo\n/etc/eks/bootstrap.sh demo",
            "echo kubernetes.io/cluster/dmeo$X\n/etc/eks/bootstrap.sh demo",
            "if a; then /etc/eks/bootstrap.sh demo; else /etc/eks/bootstrap.sh dmeo; fi\naws eks describe-cluster --name dmeo",
        ] {
            assert_eq!(note(right), None, "{right}");
        }
    }
}
