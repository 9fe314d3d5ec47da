//! Parts of a MIME message whose type neither cloud-init nor nodeadm handles: what they contain never runs.

use nodejoin_core::user_data::{FaultKind, Parsed, Part};

use super::mistyped_parts::NODE_CONFIG;
use crate::known_fields::meant;
use crate::source_lines::SourceLines;
use crate::text::is_node_config;

pub(super) const SHELL: &str = "text/x-shellscript";
pub(super) const CLOUD_CONFIG: &str = "text/cloud-config";
/// How the content of a part begins, and its type.
const BEGINS: [(&str, &str); 3] = [
    ("#!", SHELL),
    ("#cloud-config", CLOUD_CONFIG),
    ("#cloud-boothook", "text/cloud-boothook"),
];

/// The type that the author of such a part means. `None`: something handles the part, or may do so.
pub(super) fn meant_type(parsed: &Parsed, part: &Part) -> Option<&'static str> {
    let is_unhandled = parsed
        .faults
        .iter()
        .any(|fault| fault.kind == FaultKind::UnknownType && fault.part.as_ref() == Some(&part.name));
    // Such a part is a program that handles types of its own.
    let has_handler = parsed.parts.iter().any(|part| part.mime == "text/part-handler");
    let text = String::from_utf8_lossy(&part.content);
    if !is_unhandled || has_handler || is_node_config(&text) && !text.starts_with("#!") {
        return None;
    }
    let begin = BEGINS
        .iter()
        .find(|(begin, _)| text.trim_start().starts_with(begin));
    let of_content = begin.map(|(_, mime)| *mime);
    let types = BEGINS.iter().map(|(_, mime)| *mime);
    let of_name = || meant(&part.mime, types.chain([NODE_CONFIG])).filter(|_| !text.trim().is_empty());
    of_content.or_else(of_name)
}

/// A sentence for each such part.
pub(super) fn unhandled(user_data: &str, parsed: &Parsed, lines: &SourceLines<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut headers = (1..).zip(user_data.lines());
    for part in &parsed.parts {
        let Some(meant) = meant_type(parsed, part) else {
            continue;
        };
        let is_header = |(_, line): &(usize, &str)| {
            let line = line.to_ascii_lowercase();
            line.starts_with("content-type:") && line.contains(&part.mime)
        };
        let place = headers.find(is_header);
        let place = place.map(|(number, _)| lines.place(user_data, number, "the user data"));
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        notes.push(format!(
            "{} has the type `{}`{place}, which cloud-init does not handle: nothing in it runs; write `Content-Type: {meant}`",
            part.name, part.mime
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use nodejoin_core::user_data::parse;

    use super::*;

    fn notes(mime: &str, content: &str) -> Vec<String> {
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: {mime}\n\n{content}\n--B--\n"
        );
        unhandled(&text, &parse(text.as_bytes()), &SourceLines::default())
    }

    #[test]
    fn a_part_whose_type_nothing_handles_is_named_with_its_line() {
        for (mime, content, meant) in [
            ("text/x-shellscipt", "#!/bin/bash\necho", SHELL),
            ("text/shellscript", "#!/bin/bash\necho", SHELL),
            ("application/x-sh", "#!/bin/bash\necho", SHELL),
            ("text/x-shellscipt", "echo", SHELL),
            ("text/cloud-confg", "#cloud-config\nruncmd: []", CLOUD_CONFIG),
            ("application/octet-stream", "#!/bin/bash\necho", SHELL),
        ] {
            let expected = format!(
                "part-001 has the type `{mime}` (line 5 of the user data), which cloud-init does not handle: nothing in it runs; \
                 write `Content-Type: {meant}`"
            );
            assert_eq!(notes(mime, content), [expected]);
        }
    }

    #[test]
    fn types_that_cloud_init_handles_or_detects_are_not_named() {
        for (mime, content) in [
            ("text/x-shellscript; charset=us-ascii", "#!/bin/bash\necho"),
            ("text/x-shellscript-per-boot", "#!/bin/bash\necho"),
            ("text/plain", "#!/bin/bash\necho"),
            ("text/x-not-multipart", "#cloud-config\nruncmd: []"),
            ("shellscript", "#!/bin/bash\necho"),
            (NODE_CONFIG, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig"),
            ("text/html", "<p>"),
            (
                "text/x-shellscipt",
                "#!/bin/bash\n--B\nContent-Type: text/part-handler\n\ndef list_types(): pass",
            ),
        ] {
            assert_eq!(notes(mime, content), [""; 0], "{mime}");
        }
    }
}
