//! Checks of files, folders, links and sockets.

use super::check;
use crate::input::mode::octal;
use crate::judge::verdict::Check;
use crate::observation::CollectedFile;
use crate::plan::expect::FileExpect;
use crate::vocabulary::file_type::FileType;

/// Checks of one path.
pub(super) fn file(path: &str, required: &FileExpect, seen: Option<&CollectedFile>) -> Vec<Check> {
    let key = |field: &str| format!("files.{path}.{field}");
    let Some(seen) = seen else {
        return vec![check(key("exists"), false, "collected", "not collected")];
    };
    let exists = required.exists.unwrap_or(true);
    let word = |exists: bool| if exists { "exists" } else { "does not exist" };
    let found = match seen.exists {
        true => format!("exists as a {}", words(seen)),
        false => word(false).to_owned(),
    };
    let mut checks = vec![check(key("exists"), seen.exists == exists, word(exists), found)];
    if !seen.exists {
        return checks;
    }
    checks.extend(attributes(required, seen, key));
    for text in &required.contains {
        let held = seen.text.contains(text);
        checks.push(check(key("contains"), held, text, content(seen)));
    }
    for text in &required.lacks {
        let held = has_content(seen) && !seen.text.contains(text);
        let found = line_with(seen, text);
        checks.push(check(key("lacks"), held, format!("no {text}"), found));
    }
    checks
}

/// Checks of everything but the content.
fn attributes(required: &FileExpect, seen: &CollectedFile, key: impl Fn(&str) -> String) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(required) = required.file_type {
        let held = seen.file_type == required;
        checks.push(check(key("type"), held, required.word(), words(seen)));
    }
    if let Some(required) = &required.target {
        let held = seen.target.as_ref() == Some(required);
        checks.push(check(key("target"), held, required, words(seen)));
    }
    if let Some(required) = &required.owner {
        checks.push(check(
            key("owner"),
            seen.owner == *required,
            required,
            &seen.owner,
        ));
    }
    if let Some(required) = &required.mode {
        let held = octal(required) == Some(seen.mode);
        checks.push(check(key("mode"), held, required, format!("{:04o}", seen.mode)));
    }
    checks
}

/// The type, with the target of a link.
fn words(seen: &CollectedFile) -> String {
    match &seen.target {
        Some(target) => format!("{} to {target}", seen.file_type),
        None => seen.file_type.to_string(),
    }
}

/// Only a file, or a link to one, has content that a check can read.
fn has_content(seen: &CollectedFile) -> bool {
    matches!(seen.file_type, FileType::File | FileType::Link)
}

/// The beginning of the content, for a report.
fn content(seen: &CollectedFile) -> String {
    const LENGTH: usize = 200;
    if !has_content(seen) {
        format!("a {} has no content", seen.file_type)
    } else if seen.text.chars().count() <= LENGTH {
        seen.text.clone()
    } else {
        seen.text.chars().take(LENGTH).chain("...".chars()).collect()
    }
}

fn line_with(seen: &CollectedFile, part: &str) -> String {
    let mut lines = seen.text.lines();
    let line = lines.find(|line| line.contains(part));
    line.map_or_else(|| content(seen), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(required: FileExpect, seen: &CollectedFile) -> Vec<(String, String)> {
        let checks = file("/x", &required, Some(seen)).into_iter();
        let failed = checks.filter(|check| !check.held);
        failed.map(|check| (check.key, check.seen)).collect()
    }

    fn of_type(file_type: FileType) -> CollectedFile {
        CollectedFile {
            exists: true,
            file_type,
            ..CollectedFile::default()
        }
    }

    #[test]
    fn a_path_of_any_type_exists() {
        let absent = || FileExpect {
            exists: Some(false),
            ..FileExpect::default()
        };
        let link = CollectedFile {
            target: Some("/gone".into()),
            ..of_type(FileType::Link)
        };
        for (seen, words) in [
            (of_type(FileType::Socket), "exists as a socket"),
            (of_type(FileType::Folder), "exists as a folder"),
            (link, "exists as a link to /gone"),
        ] {
            assert_eq!(failed(FileExpect::default(), &seen), []);
            let expected = ("files./x.exists".to_owned(), words.to_owned());
            assert_eq!(failed(absent(), &seen), [expected]);
        }
        assert_eq!(failed(absent(), &CollectedFile::default()), []);
    }

    #[test]
    fn a_folder_has_no_content() {
        let texts = FileExpect {
            contains: vec!["a".into()],
            lacks: vec!["b".into()],
            ..FileExpect::default()
        };
        let failed = failed(texts, &of_type(FileType::Folder));
        assert!(
            failed.iter().all(|(_, seen)| seen == "a folder has no content"),
            "{failed:?}"
        );
        assert_eq!(failed.len(), 2);
    }
}
