//! Values of the cluster that a later NodeConfig replaces by others.

use crate::machine::ClusterTraits;
use crate::tree::Tree;

/// A sentence for each value of an earlier NodeConfig that has no effect. `earlier`: the fields of `spec.cluster`.
pub(super) fn notes(earlier: &[(&'static str, Option<&str>)], document: &Tree) -> Vec<String> {
    let replaced = earlier.iter().filter_map(|(field, earlier)| {
        let (earlier, later) = (earlier.as_ref()?, document.text_at(&["spec", "cluster", *field])?);
        let later = later.trim();
        let is_made = is_stand_in(earlier) || is_stand_in(later);
        let is_other = !later.is_empty() && plain(earlier) != plain(later) && !is_made;
        is_other.then(|| match *field {
            // Too long for a message.
            "certificateAuthority" => {
                format!("`spec.cluster.{field}` of a NodeConfig has no effect: a later NodeConfig sets another one")
            }
            _ => format!("`spec.cluster.{field}: {earlier}` has no effect: a later NodeConfig sets {later}"),
        })
    });
    replaced.collect()
}

/// Whether a reader of the file made up a value, which the tool of the file takes from the cluster.
fn is_stand_in(value: &str) -> bool {
    let made = ClusterTraits::stand_in();
    let host = made
        .endpoint
        .as_deref()
        .and_then(|endpoint| endpoint.split('.').next());
    let values = [&made.name, &made.certificate_authority, &made.service_cidr];
    let is_value = values.into_iter().any(|made| made.as_deref() == Some(value));
    is_value || host.is_some_and(|host| value.starts_with(host))
}

/// A value without what does not tell values apart.
fn plain(value: &str) -> String {
    let value: String = value.split_whitespace().collect();
    value.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    #[test]
    fn another_value_of_a_later_document_is_named() {
        let earlier = [
            ("name", Some("demo")),
            ("certificateAuthority", Some("QUE=")),
            ("cidr", None),
        ];
        let notes = |cluster: &str| {
            let document = yaml(&format!("spec: {{ cluster: {{ {cluster} }} }}\n"))
                .unwrap()
                .remove(0);
            notes(&earlier, &document)
        };
        assert_eq!(
            notes("name: dmeo, certificateAuthority: QUI="),
            [
                "`spec.cluster.name: demo` has no effect: a later NodeConfig sets dmeo",
                "`spec.cluster.certificateAuthority` of a NodeConfig has no effect: a later NodeConfig sets another one",
            ]
        );
        assert_eq!(
            notes("name: demo, certificateAuthority: \"QUE= \", cidr: 10.0.0.0/16"),
            [""; 0]
        );
        assert_eq!(notes("name: nodejoin"), [""; 0]);
        assert_eq!(notes(""), [""; 0]);
    }
}
