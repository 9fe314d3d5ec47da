//! The lines of a file that differ from a git revision.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use nodejoin_core::run::exit_code::ExitCode;

use crate::process;

/// Lines of the file as it is that the revision does not have.
///
/// # Errors
/// The exit code of a failure of git; the reason is printed.
pub(super) fn since(revision: &str, file: &Path) -> Result<BTreeSet<u64>, ExitCode> {
    let refuse = |why: &str| {
        note!(
            "error: could not compare `{}` with `{revision}`: {why}\n  do: name a revision of the git repository of the script",
            file.display()
        );
        ExitCode::Usage
    };
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let name = file.file_name().unwrap_or(file.as_os_str());
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "diff",
            "--unified=0",
            "--no-ext-diff",
            "--no-color",
            "--end-of-options",
            revision,
            "--",
        ])
        .arg(name)
        .output()
        .map_err(|error| {
            process::report_error("could not run git", &error, None);
            ExitCode::Environment
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refuse(said.lines().next().unwrap_or("git failed")));
    }
    Ok(lines_of(&String::from_utf8_lossy(&output.stdout)))
}

/// The new lines of the hunks `@@ -1,2 +3,4 @@`.
fn lines_of(diff: &str) -> BTreeSet<u64> {
    let hunks = diff.lines().filter_map(|line| line.strip_prefix("@@ -"));
    let new = hunks.filter_map(|hunk| hunk.split_whitespace().find_map(|word| word.strip_prefix('+')));
    let range = |new: &str| {
        let (first, count) = new.split_once(',').unwrap_or((new, "1"));
        let (first, count) = (
            first.parse::<u64>().unwrap_or_default(),
            count.parse::<u64>().unwrap_or_default(),
        );
        first..first + count
    };
    new.flat_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_name_the_new_lines() {
        let diff = "--- a/join.sh\n+++ b/join.sh\n@@ -1 +1,2 @@ f() {\n-a\n+b\n+c\n@@ -9,3 +10,0 @@\n-d\n@@ -20 +19 @@\n";
        assert_eq!(lines_of(diff), [1, 2, 19].into());
        assert!(lines_of("").is_empty());
    }

    #[test]
    fn a_revision_that_git_does_not_know_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let status = Command::new("git")
                .arg("-C")
                .arg(folder.path())
                .args(arguments)
                .output()
                .unwrap()
                .status;
            assert!(status.success());
        };
        let file = folder.path().join("join.sh");
        std::fs::write(&file, "a\nb\n").unwrap();
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.com",
            "commit",
            "--quiet",
            "--message=x",
        ]);
        std::fs::write(&file, "a\nb\nc\n").unwrap();
        assert_eq!(since("HEAD", &file), Ok([3].into()));
        assert_eq!(since("missing", &file), Err(ExitCode::Usage));
    }
}
