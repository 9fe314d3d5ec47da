//! Debian packages from an unreachable mirror.

use nodejoin_docker::{DockerError, ImageSettings, debian_program};

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_mirror_is_reported_with_the_package() {
    let cache = tempfile::tempdir().unwrap();
    // Port 9 is reserved for the discard service, which nothing offers: the connection is refused immediately.
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
    assert!(error.hint().unwrap().contains("install the program"));
    assert!(!cache.path().join("debian-trixie/tree/usr/bin/kind").exists());
}
