//! Finds links between pages that lead nowhere.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::markdown::anchor;

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadLink {
    /// The page, relative to the repository.
    pub page: PathBuf,
    /// The target as the page writes it.
    pub target: String,
    /// What is missing.
    pub missing: String,
}

/// The relative links of some pages of a repository whose file or heading is missing.
///
/// # Errors
/// A page that cannot be read.
pub fn dead_links(repository: &Path, pages: &[PathBuf]) -> std::io::Result<Vec<DeadLink>> {
    let mut dead = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(repository.join(page))?;
        for target in targets(&text) {
            if let Some(missing) = missing(repository, page, &text, &target) {
                let page = page.clone();
                dead.push(DeadLink {
                    page,
                    target,
                    missing,
                });
            }
        }
    }
    Ok(dead)
}

/// The targets of the links of a page, those inside code excluded.
#[must_use]
pub fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        let outside: String = line.split('`').step_by(2).collect::<Vec<_>>().join("");
        for rest in outside.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

fn missing(repository: &Path, page: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let (path, linked) = match file {
        "" => (page.to_owned(), text.to_owned()),
        file => {
            let path = normal(&page.with_file_name("").join(file));
            let there = repository.join(&path);
            if !there.exists() {
                return Some(format!("`{}` does not exist", path.display()));
            }
            (path, std::fs::read_to_string(there).unwrap_or_default())
        }
    };
    let is_there = heading.is_empty() || anchors(&linked).contains(heading);
    (!is_there).then(|| format!("`{}` has no heading `#{heading}`", path.display()))
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| anchor(&heading.trim_start_matches('#').replace('`', "")))
        .collect()
}

/// The lines outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
