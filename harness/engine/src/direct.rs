//! User data for nodes without cloud-init: taken apart by `core`, run by the node's own unit.

use nodejoin_core::user_data;
use nodejoin_node::{DirectUserData, LaidFile, Script};

/// Files and scripts of user data, as cloud-init would lay and run them.
pub(crate) fn take_apart(bytes: &[u8]) -> DirectUserData {
    let parsed = user_data::parse(bytes);
    let files = parsed.cloud_config().files.into_iter();
    let scripts = parsed.scripts().into_iter();
    DirectUserData {
        files: files
            .map(|file| LaidFile {
                path: file.path,
                mode: file.mode,
                content: file.content,
            })
            .collect(),
        scripts: scripts
            .map(|script| Script {
                name: script.name,
                content: script.content,
            })
            .collect(),
    }
}
