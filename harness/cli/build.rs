//! Passes the commit of the checkout to `nodejoin --version`. A package without a checkout has none.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!(
        "cargo:rustc-env=NODEJOIN_VERSION={}{}",
        env!("CARGO_PKG_VERSION"),
        commit().unwrap_or_default()
    );
}

/// The commit and its date in parentheses; `None` outside a checkout.
fn commit() -> Option<String> {
    // A copy inside another repository has no commit of its own.
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == "harness/cli/")?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // HEAD names a branch, whose own file, or else the file of all packed branches, changes with a commit.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let date = git(&["show", "--no-patch", "--format=%cs", "HEAD"])?;
    Some(format!(" ({commit} {date})"))
}

/// The output of git; `None` if it fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
