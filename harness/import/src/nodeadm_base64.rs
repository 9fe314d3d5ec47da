//! User data that only nodeadm can read: base64 within the base64 of the API. nodeadm decodes it (v20260304:
//! `decodeIfBase64`), and cloud-init does not.

use nodejoin_core::user_data::{parse, unpacked};

use crate::{mime, text};

/// The type of the parts that nodeadm reads.
const NODE_CONFIG: &str = "application/node.eks.aws";
/// A note about such user data.
pub(crate) const NOTE: &str = "the user data is base64 of base64: nodeadm decodes it again and reads its NodeConfigs, \
                               and cloud-init runs no script in it; encode it once";

/// What nodeadm reads in base64: a NodeConfig, or those of a message, whose scripts do not run. `None`: nothing.
pub(crate) fn node_configs(user_data: &str) -> Option<String> {
    let inner = unpacked(&text::decoded(user_data.as_bytes())?)?;
    let inner = String::from_utf8(inner).ok()?;
    if text::format(&inner).is_none() && text::is_node_config(&inner) {
        return Some(inner);
    }
    if !mime::is_mime(&inner) || !mime::begins_with_header(&inner) {
        return None;
    }
    let parts = parse(inner.as_bytes()).parts.into_iter();
    let configs: Vec<String> = parts
        .filter(|part| part.mime == NODE_CONFIG && !part.is_nested)
        .map(|part| mime::part(NODE_CONFIG, &String::from_utf8_lossy(&part.content)))
        .collect();
    (!configs.is_empty()).then(|| mime::message(&configs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{SCRIPT, base64};

    #[test]
    fn nodeadm_reads_node_configs_in_base64_and_no_script() {
        let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n";
        assert_eq!(node_configs(&base64(config)).as_deref(), Some(config));
        let message = |part: String| mime::message(&[mime::part("text/x-shellscript", SCRIPT), part]);
        let with_script = message(mime::part(NODE_CONFIG, config));
        let read = node_configs(&base64(&with_script)).unwrap();
        assert!(read.contains(config) && !read.contains("bootstrap.sh"), "{read}");
        for other in [
            SCRIPT.to_owned(),
            message(mime::part("text/plain", "a")),
            format!("#!/bin/bash\ncat >/a <<E\n{config}E\n"),
            base64(config),
        ] {
            assert_eq!(node_configs(&base64(&other)), None, "{other}");
        }
        assert_eq!(node_configs(config), None);
    }
}
