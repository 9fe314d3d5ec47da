//! Fields of the cluster in a NodeConfig under the names of other tools.

use crate::tree::Tree;

const CLUSTER: &str = "spec.cluster";

/// A field that nodeadm requires.
struct RequiredField {
    name: &'static str,
    /// Other names, in small letters and without hyphens.
    others: &'static [&'static str],
    /// What nodeadm says without it (v20260304: `ValidateNodeConfig`).
    error: &'static str,
}

const REQUIRED: [RequiredField; 4] = [
    RequiredField {
        name: "name",
        others: &["clustername", "eksclustername"],
        error: "Name is missing in cluster configuration",
    },
    RequiredField {
        name: "apiServerEndpoint",
        others: &[
            "apiserverendpoint",
            "apiserver",
            "apiserverurl",
            "clusterendpoint",
            "endpoint",
        ],
        error: "Apiserver endpoint is missing in cluster configuration",
    },
    RequiredField {
        name: "certificateAuthority",
        others: &[
            "certificateauthority",
            "certificateauthoritydata",
            "b64clusterca",
            "clusterca",
            "ca",
        ],
        error: "Certificate authority is missing in cluster configuration",
    },
    RequiredField {
        name: "cidr",
        others: &[
            "servicecidr",
            "serviceipv4cidr",
            "serviceipv6cidr",
            "clusterservicecidr",
        ],
        error: "CIDR is missing in cluster configuration",
    },
];

/// The names of the fields, each with the error of nodeadm without it, in the order in which it checks them.
pub(super) fn required() -> impl Iterator<Item = (&'static str, &'static str)> {
    REQUIRED.iter().map(|field| (field.name, field.error))
}

/// The field that a key of `spec.cluster` means.
pub(super) fn meant(path: &str, key: &str) -> Option<String> {
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    let letters = letters.collect::<String>().to_ascii_lowercase();
    let field = REQUIRED
        .iter()
        .find(|field| field.others.contains(&letters.as_str()));
    field
        .filter(|_| path == CLUSTER)
        .map(|field| format!("{CLUSTER}.{}", field.name))
}

/// What follows if the field with this path is missing. Empty: the document has it, or nodeadm does not require it.
pub(super) fn end_without(document: &Tree, path: Option<&str>) -> String {
    let name = path.and_then(|path| path.strip_prefix(CLUSTER)?.strip_prefix('.'));
    let field = REQUIRED.iter().find(|field| Some(field.name) == name);
    let lacks = |field: &&RequiredField| document.at(&["spec", "cluster", field.name]).is_none();
    let error = field.filter(lacks).map(|field| field.error);
    error
        .map(|error| format!(" If no NodeConfig has that field, nodeadm ends with `{error}`"))
        .unwrap_or_default()
}
