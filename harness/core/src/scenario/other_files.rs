//! Recognises user data that is passed instead of a scenario: problems of its YAML would hide that.

use std::path::Path;

use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};

/// First bytes of the formats of user data, with their names.
const USER_DATA: &[(&[u8], &str)] = &[
    (b"#!", "a script"),
    (b"#cloud-config", "a cloud-config"),
    (b"#cloud-boothook", "a cloud-boothook"),
    (b"#include", "a list of URLs for cloud-init"),
    (b"## template: jinja", "a template for cloud-init"),
    (b"MIME-Version:", "MIME user data"),
    (b"Content-Type:", "MIME user data"),
    (b"apiVersion: node.eks.aws/", "a NodeConfig"),
    (b"\x1f\x8b", "compressed user data"),
];

/// # Errors
/// The file is user data.
pub(super) fn refuse_user_data(path: &Path, files: &dyn Files) -> Result<(), ScenarioError> {
    let Ok(bytes) = files.read(path) else {
        return Ok(());
    };
    let text = bytes.trim_ascii_start();
    let text = text.strip_prefix(b"---").map_or(text, <[u8]>::trim_ascii_start);
    let Some((_, format)) = USER_DATA.iter().find(|(start, _)| text.starts_with(start)) else {
        return Ok(());
    };
    let (shown, name) = (
        path.display(),
        path.file_name().unwrap_or_default().to_string_lossy(),
    );
    Err(ScenarioError {
        problems: vec![Problem {
            file: path.display().to_string(),
            position: Position::default(),
            key: String::new(),
            what: format!("expected a scenario, found {format}"),
            why: String::new(),
            hint: Some(format!(
                "run `nodejoin try {shown}`, or write a scenario with `name: my node joins` and `user_data: {{ file: {name} }}` beside it"
            )),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;

    fn refusal(text: &[u8]) -> Option<String> {
        let files = Memory::default().with("/s/ud", text);
        let refused = refuse_user_data(Path::new("/s/ud"), &files);
        refused.err().map(|error| error.with_hints())
    }

    #[test]
    fn user_data_is_named_by_its_format_with_the_scenario_to_write() {
        for (text, format) in [
            (&b"#!/bin/bash\necho a: b: c\n"[..], "a script"),
            (b"#cloud-config\nruncmd: []\n", "a cloud-config"),
            (b"\nMIME-Version: 1.0\n", "MIME user data"),
            (
                b"---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n",
                "a NodeConfig",
            ),
            (b"\x1f\x8b\x08\x00", "compressed user data"),
        ] {
            assert_eq!(
                refusal(text).unwrap(),
                format!(
                    "/s/ud: expected a scenario, found {format}\n  hint: run `nodejoin try /s/ud`, or write a scenario \
                     with `name: my node joins` and `user_data: {{ file: ud }}` beside it\n"
                )
            );
        }
    }

    #[test]
    fn a_scenario_is_not_refused() {
        assert_eq!(
            refusal(b"# yaml-language-server: $schema=x\nname: x\nuser_data: '#!/bin/sh'\n"),
            None
        );
        assert_eq!(refusal(b"---\nname: x\n"), None);
    }
}
