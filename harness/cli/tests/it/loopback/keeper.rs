//! Keepers without a container engine: what is refused, and what is reported when none runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{both, closed_command};

fn keeper(runtime: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = closed_command();
    command
        .args(arguments)
        .current_dir(runtime)
        .env("XDG_RUNTIME_DIR", runtime)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    let output = command.output().unwrap();
    (output.status.code(), both(&output))
}

#[test]
fn without_a_keeper_there_is_nothing_to_report_and_to_stop() {
    let runtime = TempDir::new().unwrap();
    for arguments in [["keeper", "status"], ["keeper", "stop"]] {
        let (code, text) = keeper(runtime.path(), &arguments);
        assert_eq!((code, text.as_str()), (Some(0), "no keeper runs\n"));
    }
}

#[test]
fn a_keeper_needs_the_container_engine() {
    let runtime = TempDir::new().unwrap();
    let (code, text) = keeper(runtime.path(), &["keeper"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("the container engine is not available"), "{text}");
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    let runtime = TempDir::new().unwrap();
    let folder = runtime.path().join("nodejoin");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
    let (code, text) = keeper(runtime.path(), &["keeper", "status"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("expected a folder with mode 0700"), "{text}");
    assert!(text.contains("do: set XDG_RUNTIME_DIR"), "{text}");
}
