//! NodeConfigs in a message inside of a MIME message: nodeadm reads only the parts of the outer message (v20260304:
//! `ParseMultipart` in mime.go).

use nodejoin_core::user_data::{Part, parse};

use super::mistyped_parts::NODE_CONFIG;
use crate::mime;

/// Such NodeConfigs of a part: the part itself, if its message is a part of another one, or those of a message that is
/// its content. cloud-init finds the first kind only.
pub(super) fn node_configs(part: &Part) -> Vec<Part> {
    if part.mime == NODE_CONFIG {
        let itself = part.is_nested.then(|| part.clone());
        return itself.into_iter().collect();
    }
    let text = String::from_utf8_lossy(&part.content);
    if !mime::is_message(&text) || mime::raw_parts(&text).is_none() {
        return Vec::new();
    }
    let inner = parse(&part.content).parts.into_iter();
    inner.filter(|inner| inner.mime == NODE_CONFIG).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "Content-Type: application/node.eks.aws\n\nkind: NodeConfig\n";
    const SCRIPT: &str = "Content-Type: text/x-shellscript\n\n#!/bin/sh\n";

    fn message(header: &str, boundary: &str, parts: &[&str]) -> String {
        let parts = parts.iter().map(|part| format!("--{boundary}\n{part}\n"));
        let parts: String = parts.collect();
        format!("{header}Content-Type: multipart/mixed; boundary={boundary}\n\n{parts}--{boundary}--\n")
    }

    fn found(text: &str) -> usize {
        let parsed = parse(text.as_bytes());
        parsed.parts.iter().map(|part| node_configs(part).len()).sum()
    }

    #[test]
    fn node_configs_of_inner_messages_are_found() {
        let version = "MIME-Version: 1.0\n";
        let nested = message("", "IN", &[CONFIG, SCRIPT]);
        assert_eq!(found(&message(version, "OUT", &[&nested, SCRIPT])), 1);
        let whole = message(version, "IN", &[CONFIG, SCRIPT]);
        for mime in ["text/x-shellscript", "text/plain", "text/cloud-config"] {
            let wrapped = format!("Content-Type: {mime}\n\n{whole}");
            assert_eq!(found(&message(version, "OUT", &[&wrapped, CONFIG])), 1, "{mime}");
        }
    }

    #[test]
    fn node_configs_of_the_outer_message_are_not_among_them() {
        let version = "MIME-Version: 1.0\n";
        let nested = message("", "IN", &[SCRIPT]);
        let writes = format!("{SCRIPT}cat > /x <<'E'\n{}E\n", message(version, "IN", &[CONFIG]));
        for parts in [
            vec![CONFIG],
            vec![CONFIG, SCRIPT],
            vec![CONFIG, nested.as_str()],
            vec![CONFIG, writes.as_str()],
        ] {
            assert_eq!(found(&message(version, "OUT", &parts)), 0, "{parts:?}");
        }
        assert_eq!(found("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"), 0);
    }
}
