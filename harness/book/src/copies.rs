//! Files of the repository that are pages of the book too, with links that work there.

use std::path::Path;

use crate::files::read;

/// A file and its page.
#[derive(Debug)]
pub(crate) struct Copy {
    from: &'static str,
    pub(crate) to: &'static str,
    /// Targets of links in the file, and in the page.
    links: &'static [(&'static str, &'static str)],
}

/// Every copied page.
pub(crate) const ALL: &[Copy] = &[
    Copy {
        from: "ARCHITECTURE.md",
        to: "docs/src/internals/architecture.md",
        links: &[("docs/src/", "../"), ("SECURITY.md", "security.md")],
    },
    Copy {
        from: "CONTRIBUTING.md",
        to: "docs/src/internals/contributing.md",
        links: &[
            ("docs/src/internals/", ""),
            ("docs/src/", "../"),
            ("ARCHITECTURE.md", "architecture.md"),
            ("SECURITY.md", "security.md"),
        ],
    },
    Copy {
        from: "SECURITY.md",
        to: "docs/src/internals/security.md",
        links: &[("docs/src/", "../")],
    },
    Copy {
        from: "ci/action/README.md",
        to: "docs/src/guide/github-action.md",
        links: &[],
    },
];

pub(crate) fn page(repository: &Path, copy: &Copy) -> Result<String, String> {
    let text = read(repository, copy.from)?;
    let rewrite =
        |text: String, (from, to): &(&str, &str)| text.replace(&format!("]({from}"), &format!("]({to}"));
    shown(repository, copy.links.iter().fold(text, rewrite))
}

/// The page with each file that a line `<!-- shows FILE -->` names, of which a reader of the book has no checkout.
fn shown(repository: &Path, text: String) -> Result<String, String> {
    let file_of = |line: &str| {
        let file = line.strip_prefix("<!-- shows ")?.strip_suffix(" -->")?;
        Some(file.to_owned())
    };
    let mut page = String::new();
    for line in text.split_inclusive('\n') {
        match file_of(line.trim_end()) {
            Some(file) => page.push_str(&format!("```yaml\n{}```\n", read(repository, &file)?)),
            None => page.push_str(line),
        }
    }
    Ok(page)
}
