//! Parts of a MIME message that begin as one of another type does than theirs. cloud-init goes by the type, except for
//! scripts.

use nodejoin_core::user_data::{CloudConfig, Part};

use super::unhandled_parts::{CLOUD_CONFIG, SHELL};
use crate::source_lines::SourceLines;
use crate::words::shortened;

/// How parts begin that cloud-init since 20.2 does not take for scripts, and their types (`_process_msg` in its
/// user_data.py, d00126c1 and ef041fd8).
const BEGINS: [(&str, &str); 8] = [
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#cloud-config", CLOUD_CONFIG),
    ("#cloud-boothook", "text/cloud-boothook"),
    ("#include-once", "text/x-include-once-url"),
    ("#include", "text/x-include-url"),
    ("#part-handler", "text/part-handler"),
    ("## template: jinja", "text/jinja2"),
];

/// The type that such a part has by its beginning. A cloud-config can begin with a comment that looks like the first
/// line of a script.
pub(super) fn type_by_beginning(part: &Part) -> Option<&'static str> {
    let text = String::from_utf8_lossy(&part.content);
    let text = text.trim_start();
    match part.mime.as_str() {
        SHELL => {
            let begin: String = text.chars().take(32).collect::<String>().to_ascii_lowercase();
            let found = BEGINS.iter().find(|(known, _)| begin.starts_with(known));
            found.map(|(_, mime)| *mime)
        }
        CLOUD_CONFIG => (text.starts_with("#!") && CloudConfig::read(text).is_err()).then_some(SHELL),
        _ => None,
    }
}

/// A sentence for each of these parts.
pub(super) fn note(part: &Part, lines: &SourceLines<'_>) -> Option<String> {
    let mime = type_by_beginning(part)?;
    let content = String::from_utf8_lossy(&part.content);
    let number = content.lines().position(|line| !line.trim().is_empty())? + 1;
    let first = content.lines().nth(number - 1).unwrap_or_default();
    let place = lines.place(&content, number, &part.name);
    let what = format!(
        "{} has the type `{}` and begins with `{}` ({place})",
        part.name,
        part.mime,
        shortened(first.trim())
    );
    Some(match mime {
        SHELL => format!(
            "{what}: cloud-init reads it as a cloud-config, which it is not, and runs nothing of it; write `Content-Type: {SHELL}`"
        ),
        CLOUD_CONFIG => format!(
            "{what}: cloud-init before 20.2 (Amazon Linux 2 has 19.3) runs it as a script, whose lines are not commands; newer ones, as \
             that of nodejoin's image, take it for a cloud-config; write `Content-Type: {CLOUD_CONFIG}`"
        ),
        mime => format!(
            "{what}: cloud-init before 20.2 (Amazon Linux 2 has 19.3) runs it as a script; newer ones, as that of nodejoin's image, take \
             it for `{mime}`; write `Content-Type: {mime}`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(mime: &str, content: &str) -> Part {
        Part {
            name: "part-001".to_owned(),
            mime: mime.to_owned(),
            content: content.as_bytes().to_vec(),
            is_nested: false,
        }
    }

    #[test]
    fn a_script_as_a_cloud_config_runs_nowhere() {
        let script = part(
            CLOUD_CONFIG,
            "\n#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh demo\n",
        );
        assert_eq!(type_by_beginning(&script), Some(SHELL));
        assert_eq!(
            note(&script, &SourceLines::default()).as_deref(),
            Some(
                "part-001 has the type `text/cloud-config` and begins with `#!/bin/bash` (line 2 of part-001): cloud-init reads it as a \
                 cloud-config, which it is not, and runs nothing of it; write `Content-Type: text/x-shellscript`"
            )
        );
    }

    #[test]
    fn other_texts_as_scripts_run_by_the_release_of_cloud_init() {
        for (begin, mime) in [
            ("#cloud-config\nruncmd: [x]\n", CLOUD_CONFIG),
            ("#Cloud-Config\nruncmd: [x]\n", CLOUD_CONFIG),
            ("#cloud-boothook\n#!/bin/sh\n", "text/cloud-boothook"),
            ("#include\nhttps://a.b\n", "text/x-include-url"),
            ("#include-once\nhttps://a.b\n", "text/x-include-once-url"),
            ("## template: jinja\n#!/bin/sh\n", "text/jinja2"),
        ] {
            let found = part(SHELL, begin);
            assert_eq!(type_by_beginning(&found), Some(mime), "{begin}");
            let note = note(&found, &SourceLines::default()).unwrap();
            assert!(
                note.contains("cloud-init before 20.2 (Amazon Linux 2 has 19.3) runs it as a script")
                    && note.ends_with(&format!("write `Content-Type: {mime}`")),
                "{note}"
            );
        }
    }

    #[test]
    fn parts_of_their_type_are_right() {
        for (mime, content) in [
            (SHELL, "#!/bin/bash\necho\n"),
            (SHELL, "echo\n"),
            (SHELL, ""),
            (CLOUD_CONFIG, "#cloud-config\nruncmd: [x]\n"),
            (CLOUD_CONFIG, "#!cloud-config\nruncmd: [x]\n"),
            (CLOUD_CONFIG, "runcmd: [x]\n"),
            ("text/cloud-boothook", "#!/bin/bash\necho\n"),
            ("text/x-shellscript-per-boot", "#cloud-config\n"),
        ] {
            let part = part(mime, content);
            assert_eq!(type_by_beginning(&part), None, "{mime} {content}");
            assert_eq!(note(&part, &SourceLines::default()), None, "{mime} {content}");
        }
    }
}
