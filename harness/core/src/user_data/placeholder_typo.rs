//! Names between `{{` and `}}` that are almost one of nodejoin's: they reach the node as text.

use super::fill::{Values, next_template};
use super::parse::parse;

/// A name between `{{` and `}}` that nodejoin does not fill in, and that is similar to one that it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceholderTypo {
    /// The part of the user data.
    pub part: String,
    /// The line in the part, from 1.
    pub line: u64,
    pub name: String,
    /// The name that is probably meant.
    pub nearest: &'static str,
}

/// Finds such names. Templates of other tools stay: those of Go begin with a dot, have a blank or name a function, and
/// cloud-init fills in a part that begins with `## template: jinja`.
#[must_use]
pub fn placeholder_typos(user_data: &[u8], values: &Values) -> Vec<PlaceholderTypo> {
    let parts = parse(user_data).parts.into_iter();
    parts
        .filter(|part| !part.content.starts_with(b"## template:"))
        .flat_map(|part| in_part(&part.name, &part.content, values))
        .collect()
}

fn in_part(part: &str, content: &[u8], values: &Values) -> Vec<PlaceholderTypo> {
    let mut found: Vec<PlaceholderTypo> = Vec::new();
    let mut rest = content;
    while let Some((before, inner, after)) = next_template(rest) {
        let name = inner.trim();
        if let Some(nearest) = probably_meant(name, values) {
            let offset = content.len() - rest.len() + before.len();
            found.push(PlaceholderTypo {
                part: part.to_owned(),
                line: 1 + content[..offset].iter().filter(|byte| **byte == b'\n').count() as u64,
                name: name.to_owned(),
                nearest,
            });
        }
        rest = after;
    }
    found
}

/// The name that a name was probably meant to be; `None` for names of other templates.
fn probably_meant(name: &str, values: &Values) -> Option<&'static str> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    // `v1.` and `ds.` are the instance data of cloud-init.
    let is_foreign = ["v1.", "ds."].iter().any(|prefix| name.starts_with(prefix));
    if !is_name || is_foreign || values.names().any(|known| known == name) {
        return None;
    }
    let given = letters(name);
    let complete = values.names().find(|known| {
        let known = letters(known);
        given.ends_with(&known) || (known.len() >= 8 && is_within(&given, &known, 2))
    });
    complete.or_else(|| {
        let mut tails = values.names().filter(|known| {
            let tail = known
                .split_once('.')
                .map(|(_, tail)| letters(tail))
                .unwrap_or_default();
            tail.len() >= 6 && (is_after_a_word(name, &tail) || is_within(&given, &tail, 1))
        });
        tails.next().filter(|_| tails.next().is_none())
    })
}

/// Whether a name ends with these letters, as `aws_region` does with `region`.
fn is_after_a_word(name: &str, tail: &str) -> bool {
    (1..name.len()).any(|at| b"_.-".contains(&name.as_bytes()[at - 1]) && letters(&name[at..]) == tail)
}

fn is_within(left: &str, right: &str, edits: usize) -> bool {
    strsim::osa_distance(left, right) <= edits
}

/// Letters and digits in lower case: `cluster_name`, `clusterName` and `cluster.name` are equal.
fn letters(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn typos(text: &str) -> Vec<(u64, String, &'static str)> {
        let found = placeholder_typos(text.as_bytes(), &Values::of(&plan(), ""));
        found
            .into_iter()
            .map(|typo| (typo.line, typo.name, typo.nearest))
            .collect()
    }

    #[test]
    fn a_name_that_is_almost_one_of_ours_is_found_with_its_line() {
        for (name, nearest) in [
            ("region", "instance.region"),
            ("aws_region", "instance.region"),
            ("regoin", "instance.region"),
            ("cluster_name", "cluster.name"),
            ("clusterName", "cluster.name"),
            ("eks_cluster_name", "cluster.name"),
            ("clsuter.name", "cluster.name"),
            ("Cluster.Name", "cluster.name"),
            ("endpoint", "cluster.endpoint"),
            ("certificate_authority", "cluster.certificate_authority"),
            ("instances.id", "instance.id"),
            ("account_id", "account.id"),
        ] {
            let text =
                format!("#!/bin/bash\necho {{{{ x }}}}\necho {{{{ cluster.name }}}} {{{{ {name} }}}}\n");
            assert_eq!(typos(&text), [(3, name.to_owned(), nearest)]);
        }
    }

    #[test]
    fn templates_of_other_tools_are_not_ours() {
        for inner in [
            ".Id",
            ".State.Status",
            "json .",
            "range .Items",
            "end",
            "if .x",
            "$x",
            "name",
            "id",
            "type",
            "v1.region",
            "ds.meta_data.local_hostname",
            "image",
            "x.region | upper",
            "",
            "EC2PrivateDNSName",
            "SessionName",
            "AccountID x",
            "cluster.name",
        ] {
            let text = format!("#!/bin/bash\ndocker inspect -f '{{{{ {inner} }}}}' x\n");
            assert_eq!(typos(&text), [], "{inner}");
        }
        assert_eq!(
            typos("## template: jinja\n#cloud-config\nhostname: {{ region }}\n"),
            []
        );
    }
}
