//! The binary of the action: given, cached, downloaded from a release, or built.

use std::fs;

use super::release::{ServedRelease, shell};
use crate::support::github::{ActionResult, Runner};

const SCENARIO: &str = "name: a node joins\nuser_data: '#!/bin/sh'\n";
const RELEASE: &str = "own/er/releases/download/v9.9.9";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const CARGO: &str = r#"#!/bin/bash
while [[ $1 != --target-dir ]]; do shift; done
mkdir -p "$2/debug" && printf '#!/bin/sh\necho built nodejoin\n' >"$2/debug/nodejoin" && chmod +x "$2/debug/nodejoin"
echo compiled
"#;

fn run(runner: &Runner, server: &str, reference: &str) -> ActionResult {
    runner.run(&[
        ("cache-images", "false"),
        ("github.server_url", server),
        ("github.action_repository", "own/er"),
        ("github.action_ref", reference),
    ])
}

fn runner() -> Runner {
    let runner = Runner::new(&[("scenarios/a.yaml", SCENARIO)]);
    runner.program("cargo", CARGO);
    runner
}

#[test]
fn a_release_is_downloaded_and_verified() {
    let release = ServedRelease::below(RELEASE);
    let runner = runner();
    runner.program("gh", "#!/bin/bash\necho \"gh $1 $2 ${*:4}\"\n");
    let result = run(&runner, &release.url, "v9.9.9");
    assert_eq!(result.code, Some(0), "{}", result.output);
    for part in ["gh attestation verify --repo own/er", "installed nodejoin 9.9.9"] {
        assert!(result.output.contains(part), "{part}: {}", result.output);
    }
    assert!(!result.output.contains("compiled"), "{}", result.output);
    drop(release);
    let again = run(&runner, "http://127.0.0.1:9", "v9.9.9");
    assert_eq!(again.code, Some(0), "the cache has it: {}", again.output);
}

#[test]
fn a_binary_that_is_not_the_published_one_ends_the_job() {
    let release = ServedRelease::below(RELEASE);
    let refused = runner();
    refused.program("gh", "#!/bin/bash\nexit 1\n");
    let changed = runner();
    for (runner, why) in [
        (refused, "is not attested by a workflow of own/er"),
        (changed, "does not match its checksum"),
    ] {
        if why.contains("checksum") {
            shell(
                &release.folder.path().join(RELEASE),
                "for file in *.tar.gz; do echo x >>$file; done",
            );
        }
        let result = run(&runner, &release.url, "v9.9.9");
        assert_eq!(result.code, Some(3), "{}", result.output);
        assert!(result.output.contains(why), "{}", result.output);
        assert!(!result.output.contains("compiled"), "{}", result.output);
    }
}

#[test]
fn without_a_release_the_binary_is_built_once() {
    let release = ServedRelease::below("elsewhere");
    for reference in ["v9.9.9", "main", ""] {
        let runner = runner();
        let first = run(&runner, &release.url, reference);
        assert_eq!(first.code, Some(0), "{reference}: {}", first.output);
        assert!(
            first.output.contains("compiled") && first.output.contains("built nodejoin"),
            "{}",
            first.output
        );
        let second = run(&runner, &release.url, reference);
        assert!(!second.output.contains("compiled"), "{}", second.output);
        assert!(second.output.contains("built nodejoin"), "{}", second.output);
    }
}

#[test]
fn a_commit_is_a_release_if_the_tag_of_its_version_leads_to_it() {
    let manifest = crate::support::github::repository().join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = "))
        .unwrap();
    let tag = format!("v{}", version.trim_matches('"'));
    let release = ServedRelease::below(&format!("own/er/releases/download/{tag}"));
    let other = COMMIT.replace('0', "f");
    for (commit, is_release) in [(COMMIT, true), (other.as_str(), false)] {
        let runner = runner();
        let git = format!(
            "#!/bin/bash\n[[ \"$*\" == *refs/tags/{tag}* ]] && printf '{other}\\trefs/tags/{tag}\\n{COMMIT}\\trefs/tags/{tag}^{{}}\\n'\n"
        );
        runner.program("git", &git);
        let result = run(&runner, &release.url, commit);
        assert_eq!(result.code, Some(0), "{}", result.output);
        assert_eq!(
            result.output.contains("installed nodejoin 9.9.9"),
            is_release,
            "{}",
            result.output
        );
        assert_eq!(
            result.output.contains("compiled"),
            !is_release,
            "{}",
            result.output
        );
    }
}
