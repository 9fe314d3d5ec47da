//! The user data in the evidence, so that `part-001: line 3` can be looked up.

use std::collections::BTreeSet;

use nodejoin_core::user_data::{parse, unpacked};

/// The user data as the instance received it, and its parts. Compressed content is written decompressed.
pub(crate) fn of_user_data(bytes: &[u8]) -> Vec<(String, String)> {
    let whole = unpacked(bytes).map_or_else(|| binary(bytes), |plain| text(&plain));
    let mut taken = BTreeSet::new();
    let parts = parse(bytes).parts.into_iter().map(|part| {
        let name = free_name(&part.name, &mut taken);
        (format!("user-data/parts/{name}"), text(&part.content))
    });
    let mut files = vec![("user-data/user-data.txt".to_owned(), whole)];
    files.extend(parts);
    files
}

fn text(content: &[u8]) -> String {
    std::str::from_utf8(content).map_or_else(|_| binary(content), str::to_owned)
}

fn binary(content: &[u8]) -> String {
    format!("({} bytes that are not text)\n", content.len())
}

/// A file name for a part. The names of parts come from the user data: they can repeat, or lead out of the folder.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = name
        .chars()
        .take(100)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let plain = match plain.trim_start_matches('.') {
        "" => "part".to_owned(),
        plain => plain.to_owned(),
    };
    let numbered = (2..).map(|number| format!("{plain}.{number}"));
    let mut candidates = std::iter::once(plain.clone()).chain(numbered);
    let free = candidates.find(|name| !taken.contains(name)).unwrap_or(plain);
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_its_only_part_with_the_same_lines() {
        let script = "#!/bin/bash\nset -e\nfalse\n";
        let files = of_user_data(script.as_bytes());
        let expected = ["user-data/user-data.txt", "user-data/parts/part-001"];
        assert_eq!(files, expected.map(|name| (name.to_owned(), script.to_owned())));
    }

    #[test]
    fn parts_of_a_message_cannot_leave_the_folder_or_replace_each_other() {
        let message = "Content-Type: multipart/mixed; boundary=\"B\"\nMIME-Version: 1.0\n\n\
            --B\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"../../etc/passwd\"\n\n#!/bin/sh\necho 1\n\
            --B\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"a\"\n\n#!/bin/sh\necho 2\n\
            --B\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"a\"\n\n#!/bin/sh\necho 3\n--B--\n";
        let names: Vec<String> = of_user_data(message.as_bytes())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            names[1..],
            [
                "user-data/parts/_.._etc_passwd",
                "user-data/parts/a",
                "user-data/parts/a.2"
            ]
        );
    }

    #[test]
    fn content_that_is_not_text_is_counted() {
        let files = of_user_data(&[0x1f, 0x8b, 0xff, 0x00]);
        assert_eq!(files[0].1, "(4 bytes that are not text)\n");
    }
}
