//! Parts of a MIME message with a NodeConfig and another type than that of NodeConfigs: nodeadm does not read them.

use nodejoin_core::user_data::{Part, parse};

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

/// Whether nodeadm reads a NodeConfig of the user data, and nothing in it gives it another one. `text` is that of all
/// parts.
pub(super) fn is_read_alone(user_data: &[u8], text: &str) -> bool {
    const WHOLE: &str = "text/x-not-multipart";
    let is_read = |part: &Part| {
        let is_of_type = [NODE_CONFIG, WHOLE].contains(&part.mime.as_str()) && !part.is_nested;
        is_of_type && is_node_config(&String::from_utf8_lossy(&part.content))
    };
    let is_code = |line: &str| !line.trim_start().starts_with('#');
    let is_given = text.lines().any(|line| is_code(line) && line.contains("nodeadm"));
    parse(user_data).parts.iter().any(is_read) && !is_given
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
