//! What a run cannot get from elsewhere is refused before anything starts: exit code 2, and no evidence.

use crate::support::{folder, nodejoin};

const NO_SERVER: &str = "http://127.0.0.1:9";

#[test]
fn unknown_versions_and_images_are_refused_before_a_run() {
    let joins = "name: x\nuser_data: '#!/bin/sh'\n";
    let of_image = format!("{joins}image: nodejoin-test/nowhere:1\n");
    let here = folder(&[("joins.yaml", joins), ("image.yaml", &of_image)]);
    let rows: [(&[&str], &str); 4] = [
        (
            &["run", "joins.yaml", "--kubernetes", "1.20,1.99"],
            "error: cannot run the scenarios: Kubernetes 1.99 is not available",
        ),
        (
            &["run", "joins.yaml", "--kubernetes", "1.99.1"],
            "Kubernetes v1.99.1 is not available: Debian's source package is v1.20.2",
        ),
        (
            &["run", "joins.yaml", "--image", "nodejoin-test/nowhere:1"],
            "error: no scenario can run: cannot use `nodejoin-test/nowhere:1` as a node image: the container engine has no such image",
        ),
        (&["run", "image.yaml"], "the container engine has no such image"),
    ];
    for (arguments, text) in rows {
        let mut command = nodejoin(here.path(), arguments);
        let output = command.env("NODEJOIN_RELEASE_URL", NO_SERVER).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
        assert!(stderr.contains("\n  do: "), "{arguments:?}: {stderr}");
    }
    let evidence = here.path().join("evidence");
    let kept = std::fs::read_dir(evidence).map_or(0, |entries| {
        entries
            .filter(|entry| entry.as_ref().unwrap().path().is_dir())
            .count()
    });
    assert_eq!(kept, 0, "no run started");
}
