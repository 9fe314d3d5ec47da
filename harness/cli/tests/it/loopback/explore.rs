//! Paths and times that `nodejoin explore` rejects. Nothing is started.

use crate::support::{both, closed_command};
use tempfile::TempDir;

#[test]
fn each_mistake_is_named_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "refused.yaml",
        "name: x\nuser_data: '#!/bin/sh'\nexpect: { phase: metadata, diagnosis: kubelet-never-started }\n",
    );
    std::fs::create_dir(folder.path().join("refused")).unwrap();
    std::fs::rename(
        folder.path().join("refused.yaml"),
        folder.path().join("refused/a.yaml"),
    )
    .unwrap();
    let rows: [(&[&str], &[&str]); 3] = [
        (&["no-such.yaml"], &["no-such.yaml"]),
        (&["refused"], &["no scenario that joins was found"]),
        (
            &["refused", "--budget", "10"],
            &["`10` is not a time", "such as `90s`, `10m` or `1h`"],
        ),
    ];
    for (arguments, expected) in rows {
        let output = closed_command()
            .current_dir(folder.path())
            .arg("explore")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", both(&output));
        for text in expected {
            assert!(both(&output).contains(text), "{text}: {}", both(&output));
        }
    }
}
