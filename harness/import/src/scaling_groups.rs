//! Auto Scaling groups that start instances from one launch template or launch configuration.

use std::collections::BTreeMap;

use crate::machine::Traits;
use crate::text;
use crate::words::CLUSTER_TAG;

/// How user data reads the tags of its instance, in small letters: by the API, by an SDK, or from the metadata service.
const READERS: [&str; 6] = [
    "describe-tags",
    "describe_tags",
    "describetags",
    "describe-instances",
    "describe_instances",
    "tags/instance",
];

/// The groups in parts whose instances differ for a scenario: in the cluster that tags name, or in tags that the user
/// data reads. Without groups, one part is empty. `traits_of`: what a group gives its instances.
pub(crate) fn parts<'g, G>(
    groups: &[&'g G],
    user_data: Option<&[u8]>,
    traits_of: impl Fn(&G) -> Traits,
) -> Vec<Vec<&'g G>> {
    let described: Vec<(&'g G, Traits)> = groups
        .iter()
        .copied()
        .map(|group| (group, traits_of(group)))
        .collect();
    let keys = described.iter().flat_map(|(_, traits)| traits.tags.keys());
    let read = ReadTags::of(user_data, keys);
    let (open, known): (Vec<_>, Vec<_>) = described
        .into_iter()
        .partition(|(_, traits)| traits.has_unknown_tags);
    let mut parts: Vec<(BTreeMap<String, String>, Vec<&'g G>)> = Vec::new();
    for (group, traits) in known {
        let tags = read.relevant(traits.tags);
        match parts.iter().position(|(own, _)| *own == tags) {
            Some(at) => parts[at].1.push(group),
            None => parts.push((tags, vec![group])),
        }
    }
    // Unknown tags can be those of any other group.
    let open = open.into_iter().map(|(group, _)| group);
    match parts.first_mut() {
        Some((_, first)) => first.extend(open),
        None => parts.push((BTreeMap::new(), open.collect())),
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Which tags of its instance user data reads.
enum ReadTags {
    Unread,
    /// Those whose keys this text has.
    Named(String),
    /// All of them, as its text has none of their keys.
    All,
}

impl ReadTags {
    /// The ones among these keys.
    fn of<'t>(user_data: Option<&[u8]>, mut keys: impl Iterator<Item = &'t String>) -> Self {
        let bytes = user_data.unwrap_or_default();
        let unpacked = text::is_gzip(bytes).then(|| text::unpacked(bytes).ok()).flatten();
        let content = String::from_utf8_lossy(unpacked.as_deref().unwrap_or(bytes)).into_owned();
        let lower = content.to_ascii_lowercase();
        if !READERS.iter().any(|reader| lower.contains(reader)) {
            return Self::Unread;
        }
        match keys.any(|key| content.contains(key)) {
            true => Self::Named(content),
            false => Self::All,
        }
    }

    /// The tags on which a scenario depends. That of a cluster counts by its key.
    fn relevant(&self, tags: BTreeMap<String, String>) -> BTreeMap<String, String> {
        let relevant = tags.into_iter().filter_map(|(key, value)| {
            let is_read = match self {
                Self::Unread => false,
                Self::Named(content) => content.contains(&key),
                Self::All => true,
            };
            match key.starts_with(CLUSTER_TAG) {
                true => Some((key, String::new())),
                false => is_read.then_some((key, value)),
            }
        });
        relevant.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of groups by their numbers, each with these tags; `?` is a group whose tags are not known.
    fn numbers(groups: &[&[(&str, &str)]], user_data: &str) -> Vec<Vec<usize>> {
        let numbered: Vec<usize> = (0..groups.len()).collect();
        let references: Vec<&usize> = numbered.iter().collect();
        let traits_of = |number: &usize| {
            let tags = groups[*number].iter().filter(|(key, _)| *key != "?");
            Traits {
                has_unknown_tags: groups[*number].iter().any(|(key, _)| *key == "?"),
                tags: tags
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
                ..Traits::default()
            }
        };
        let parts = parts(&references, Some(user_data.as_bytes()), traits_of);
        parts
            .into_iter()
            .map(|part| part.into_iter().copied().collect())
            .collect()
    }

    #[test]
    fn groups_differ_in_the_cluster_and_in_tags_that_the_user_data_reads() {
        let demo = ("kubernetes.io/cluster/demo", "owned");
        let shared = ("kubernetes.io/cluster/demo", "shared");
        let other = ("kubernetes.io/cluster/other", "owned");
        let groups: [&[(&str, &str)]; 5] = [
            &[demo, ("Name", "a"), ("Role", "web")],
            &[demo, ("Name", "b"), ("Role", "web")],
            &[other, ("Name", "c"), ("Role", "web")],
            &[("?", "")],
            &[shared, ("Name", "d"), ("Role", "db")],
        ];
        let script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
        assert_eq!(numbers(&groups, script), [vec![0, 1, 4, 3], vec![2]]);
        let reading = "#!/bin/bash\naws ec2 describe-tags --filters Key=Role\n";
        assert_eq!(numbers(&groups, reading), [vec![0, 1, 3], vec![2], vec![4]]);
        let all = "#!/bin/bash\ncurl 169.254.169.254/latest/meta-data/tags/instance\n";
        assert_eq!(numbers(&groups, all).len(), 4);
        assert_eq!(numbers(&[], script), [Vec::<usize>::new()]);
    }
}
