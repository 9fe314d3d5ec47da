//! The action's comparison with a revision.

use std::process::Command;

use crate::support::github::{ActionResult, Runner};

const SCENARIO: &str = "name: a node joins\nuser_data: '#!/bin/sh'\n";
/// Prints its arguments; a comparison finds differences.
const NODEJOIN: &str =
    "#!/bin/bash\necho \"nodejoin:$(printf ' <%s>' \"$@\")\"\n[[ $1 != diff ]] || exit 1\n";

/// A checkout with one commit.
fn runner() -> Runner {
    let runner = Runner::new(&[("test/a.yaml", SCENARIO)]);
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.com",
            "commit",
            "-qm",
            "x",
        ],
    ] {
        let git = Command::new("git")
            .current_dir(runner.workspace.path())
            .args(arguments)
            .status();
        assert!(git.unwrap().success(), "{arguments:?}");
    }
    runner
}

fn run(runner: &Runner, inputs: &[(&str, &str)]) -> ActionResult {
    let binary = runner.program("their-nodejoin", NODEJOIN).display().to_string();
    let common = [
        ("cache-images", "false"),
        ("binary", binary.as_str()),
        ("paths", "test"),
        ("overlay", "test/overlay.yaml"),
    ];
    runner.run(&[&common, inputs].concat())
}

#[test]
fn a_revision_is_compared_with_the_scenarios_and_overlays_of_the_run() {
    let inputs = [
        ("diff", "HEAD"),
        ("approve", "approved differences"),
        ("kubernetes", "1.32"),
    ];
    let result = run(&runner(), &inputs);
    assert_eq!(result.code, Some(1), "{}", result.output);
    assert_eq!(result.outputs["diff-exit-code"], "1");
    let line = result.output.lines().find(|line| line.contains("<diff>"));
    let line = line.unwrap_or_else(|| panic!("{}", result.output));
    for part in [
        "nodejoin: <diff> <HEAD> <--artifacts-dir> <",
        "/nodejoin-evidence> <--html> <",
        "/nodejoin-evidence/diff.html>",
        "<--kubernetes=1.32>",
        "<--approve=approved differences>",
        "<--overlay=test/overlay.yaml>",
        "<--scenarios=test>",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn without_a_revision_nothing_is_compared() {
    let result = run(&runner(), &[]);
    assert_eq!(result.code, Some(0), "{}", result.output);
    assert!(!result.output.contains("<diff>"), "{}", result.output);
    assert_eq!(result.outputs["diff-exit-code"], "");
}

#[test]
fn a_revision_that_the_checkout_lacks_is_refused() {
    for revision in ["origin/main", "--help", "HEAD\nx=y"] {
        let result = run(&runner(), &[("diff", revision)]);
        assert_eq!(result.code, Some(2), "{revision}: {}", result.output);
        assert!(!result.output.contains("<diff>"), "{}", result.output);
    }
    let result = run(&runner(), &[("diff", "origin/main")]);
    for part in [
        "::error title=nodejoin::the input diff names origin/main",
        "fetch-depth: 0",
    ] {
        assert!(result.output.contains(part), "{part}: {}", result.output);
    }
}
