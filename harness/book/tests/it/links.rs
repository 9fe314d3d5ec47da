//! Pages link to pages that exist, and the table of contents lists all of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nodejoin_book::links::{DeadLink, dead_links, targets};
use nodejoin_book::repository;

const ROOT: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "ci/action/README.md",
];

/// The Markdown files of the book, relative to the repository.
fn book() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![PathBuf::from("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(repository().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_link_resolves() {
    let pages: Vec<_> = ROOT.iter().map(PathBuf::from).chain(book()).collect();
    let dead = dead_links(&repository(), &pages).unwrap();
    assert_eq!(dead, [], "links lead nowhere");
}

/// The website has the pages of `docs/src` only.
#[test]
fn links_of_the_book_stay_in_the_book() {
    for page in book() {
        let text = std::fs::read_to_string(repository().join(&page)).unwrap();
        let folder = page.parent().unwrap().strip_prefix("docs/src").unwrap();
        let depth = folder.components().count();
        for target in targets(&text)
            .into_iter()
            .filter(|target| !target.contains("://"))
        {
            let climbs = target.matches("../").count();
            assert!(
                climbs <= depth,
                "`{}` leaves the book at `{target}`",
                page.display()
            );
        }
    }
}

#[test]
fn the_summary_lists_every_page_once() {
    let text = std::fs::read_to_string(repository().join("docs/src/SUMMARY.md")).unwrap();
    let listed = targets(&text);
    let unique: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice");
    let pages = book().into_iter().filter(|page| !page.ends_with("SUMMARY.md"));
    let pages: BTreeSet<_> = pages
        .map(|page| page.strip_prefix("docs/src").unwrap().display().to_string())
        .collect();
    assert_eq!(unique, pages);
}

#[test]
fn a_dead_link_is_found_and_a_link_in_code_is_not_followed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dead-links");
    std::fs::create_dir_all(&folder).unwrap();
    let page =
        "# One heading\n[a](#one-heading) [b](#two) [c](gone.md) `[d](code.md)`\n```\n[e](block.md)\n```\n";
    std::fs::write(folder.join("page.md"), page).unwrap();
    let dead = |target: &str, missing: &str| DeadLink {
        page: "page.md".into(),
        target: target.to_owned(),
        missing: missing.to_owned(),
    };
    assert_eq!(
        dead_links(&folder, &["page.md".into()]).unwrap(),
        [
            dead("#two", "`page.md` has no heading `#two`"),
            dead("gone.md", "`gone.md` does not exist"),
        ]
    );
}
