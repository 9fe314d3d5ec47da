//! Real clients in virtual environments and directories that the tests create once: the AWS CLI, boto3 and others.
#![allow(dead_code, reason = "each test target uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue ends here")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The stamp of an environment: other packages create another environment. botocore has new services every week, and
/// boto3 accepts any of its patch versions.
const PACKAGES: [&str; 3] = ["awscli==1.46.3", "boto3==1.44.8", "botocore==1.44.8"];

/// Python of a virtual environment with the AWS CLI and boto3.
pub fn python() -> PathBuf {
    environment("aws-clients", &PACKAGES)
}

/// Python of a virtual environment with these packages. The first test creates it in the target directory; concurrent
/// tests wait for it.
pub fn environment(name: &str, packages: &[&str]) -> PathBuf {
    made_once(name, &packages.join("\n"), |folder| {
        run(
            "python3",
            &["-m", "venv", "--clear", folder.join("venv").to_str().unwrap()],
        );
        let python = folder.join("venv/bin/python");
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(python.to_str().unwrap(), &[&install[..], packages].concat());
    })
    .join("venv/bin/python")
}

/// A directory below the target directory that is filled once, and again when its content gets another name.
pub fn made_once(name: &str, what: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let stamp = folder.join("packages");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == what) {
        return folder;
    }
    fill(&folder);
    fs::write(stamp, what).unwrap();
    folder
}

/// Runs a program that must succeed.
pub fn run(program: &str, arguments: &[&str]) {
    let output = std::process::Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("these tests use real clients and need `{program}`: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`{program} {}` failed (it needs PyPI and Debian): {errors}",
        arguments.join(" ")
    );
}
