//! Debian packages where downloads are closed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use nodejoin_docker::{DockerError, ImageSettings, debian_program};

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_does_not_answer_is_said_with_the_package() {
    let cache = tempfile::tempdir().unwrap();
    // Port 9 is discard's, which nobody offers: the connection is refused at once.
    let settings = ImageSettings {
        debian_mirror: "http://127.0.0.1:9/debian".to_owned(),
        ..ImageSettings::with_cache(cache.path())
    };
    let error = debian_program(&settings, "trixie", "kind", "kind")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, DockerError::Package { package, release, .. } if package == "kind" && release == "trixie"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("install the program yourself"));
    assert!(!cache.path().join("debian-trixie/tree/usr/bin/kind").exists());
}
