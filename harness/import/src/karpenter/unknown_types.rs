//! Instance types of a pool that EC2 does not have.

use nodejoin_core::vocabulary::ec2_type::{EC2_TYPES, ec2_type};

use crate::tree::Tree;

/// Letters that are added, removed, replaced or swapped in a typing error.
const MOST_EDITS: usize = 2;
/// Begins of texts in which a name stands for the type.
const OPEN: [&str; 3] = ["${", "{{", "<"];

/// Whether nodejoin knows the figures of a type.
pub(super) fn is_known(name: &str) -> bool {
    ec2_type(name).is_some()
}

/// Names a type that nodejoin does not know. It is a mistake if its family is known; else it can be a new one.
pub(super) fn unknown_type(tree: &Tree, notes: &mut Vec<String>, problems: &mut Vec<String>) {
    let name = tree.text().unwrap_or_default();
    if is_known(name) || OPEN.iter().any(|begin| name.contains(begin)) {
        return;
    }
    let line = tree
        .line()
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    let nearest = nearest(name)
        .map(|nearest| format!("; the nearest one is `{nearest}`"))
        .unwrap_or_default();
    if has_family(name) {
        problems.push(format!(
            "{line}nodejoin knows no instance type `{name}` of this family: if EC2 has none either, Karpenter starts no node of it{nearest}"
        ));
    } else {
        notes.push(format!(
            "{line}nodejoin does not know the instance type `{name}`, nor its number of pods{nearest}; if it is a new one, state \
             `maxPods` in `spec.kubelet`"
        ));
    }
}

/// Whether a known type has the family of this one, such as `m5` of `m5.xlarg`.
fn has_family(name: &str) -> bool {
    let family = |name: &str| name.split_once('.').map(|(family, _)| family.to_owned());
    family(name).is_some_and(|own| {
        EC2_TYPES
            .iter()
            .any(|known| family(&known.name).as_ref() == Some(&own))
    })
}

fn nearest(name: &str) -> Option<&'static str> {
    let edits = |known: &str| strsim::damerau_levenshtein(name, known);
    let nearest = EC2_TYPES
        .iter()
        .map(|known| known.name.as_str())
        .min_by_key(|known| edits(known))?;
    (edits(nearest) <= MOST_EDITS).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_type_is_named() {
        for (name, expected) in [
            ("m5.xlarg", Some("m5.xlarge")),
            ("m5large", Some("m5.large")),
            ("quantum.huge", None),
        ] {
            assert_eq!(nearest(name), expected, "{name}");
        }
        assert!(has_family("m5.xlarg") && !has_family("m5large") && !has_family("zz9.large"));
    }
}
