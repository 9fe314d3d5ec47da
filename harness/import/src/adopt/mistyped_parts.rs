//! Parts of a MIME message with a NodeConfig and another type than that of NodeConfigs: nodeadm does not read them.

use nodejoin_core::user_data::Part;

use super::yaml_documents::documents;
use crate::mime;
use crate::text::is_node_config;
use crate::tree::yaml;

/// The type of parts that nodeadm reads.
pub(super) const NODE_CONFIG: &str = "application/node.eks.aws";

/// Whether nodeadm reads parts of the user data by their types. It takes user data that is not a message of several
/// parts for one NodeConfig.
pub(super) fn has_parts(user_data: &[u8]) -> bool {
    mime::raw_parts(&String::from_utf8_lossy(user_data)).is_some()
}

/// Whether a part of a message is a NodeConfig by its content and not by its type. A script or a cloud-config that
/// writes one into a file is not.
pub(super) fn is_mistyped(part: &Part) -> bool {
    let text = String::from_utf8_lossy(&part.content);
    if part.mime == NODE_CONFIG || !is_node_config(&text) {
        return false;
    }
    let documents = documents(&text);
    let first = documents.first().and_then(|first| yaml(first.text).ok());
    let api = first.and_then(|first| first.first()?.text_at(&["apiVersion"]));
    api.is_some_and(|api| api.starts_with("node.eks.aws/"))
}
