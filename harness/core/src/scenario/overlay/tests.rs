//! Manifests of overlays, and their mistakes.

use super::*;
use crate::input::files::Memory;

const PATCH: &str = "--- a\n+++ b\n@@ -1 +1,2 @@\n #!/bin/bash\n+set -e\n";

fn checkout() -> Memory {
    Memory::default()
        .with("/src/files/bootstrap.sh", "#!/bin/bash\n")
        .with_mode("/src/files/bootstrap.sh", 0o755)
        .with("/src/files/bin/imds", "x")
        .with("/src/files/bin/lib/helper", "x")
        .with("/overlays/good.patch", PATCH)
        .with("/overlays/stale.patch", PATCH.replace("/bin/bash", "/bin/sh"))
        .with("/overlays/empty.patch", "nothing\n")
        .with_variable("CHECKOUT", "/src")
}

fn load_text(text: &str) -> Result<Vec<(String, String, u32)>, String> {
    let files = checkout().with("/overlays/a.yaml", text);
    match load(Path::new("/overlays/a.yaml"), &files) {
        Ok(found) => Ok(found.files.into_iter().map(|f| (f.from, f.to, f.mode)).collect()),
        Err(error) => Err(error.with_hints()),
    }
}

#[test]
fn files_and_folders_land_where_the_manifest_says() {
    let found = load_text(
        "root: ${CHECKOUT}/files\nfiles:\n  - { from: bootstrap.sh, to: /etc/eks/ }\n  - { from: bin, to: /usr/bin, mode: \"0700\" }\n",
    )
    .unwrap();
    let file = |from: &str, to: &str, mode| (from.to_owned(), to.to_owned(), mode);
    assert_eq!(
        found,
        [
            file("/src/files/bootstrap.sh", "/etc/eks/bootstrap.sh", 0o755),
            file("/src/files/bin/imds", "/usr/bin/imds", 0o700),
            file("/src/files/bin/lib/helper", "/usr/bin/lib/helper", 0o700),
        ]
    );
}

#[test]
fn a_patched_file_lands_with_the_change_and_keeps_its_source() {
    let text = "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: good.patch, to: /etc/eks/ }]\n";
    let files = checkout().with("/overlays/a.yaml", text);
    let placed = load(Path::new("/overlays/a.yaml"), &files)
        .unwrap()
        .files
        .remove(0);
    assert_eq!(
        (placed.from.as_str(), placed.to.as_str(), placed.mode),
        ("/src/files/bootstrap.sh", "/etc/eks/bootstrap.sh", 0o755)
    );
    let patched = placed.patched.unwrap();
    assert_eq!(patched.content, "#!/bin/bash\nset -e\n");
    assert_eq!(patched.patch, "/overlays/good.patch");
    let inserted = patched.lines.source(2).unwrap();
    assert_eq!(
        (inserted.file.as_str(), inserted.line),
        ("/overlays/good.patch", Some(5))
    );
}

#[test]
fn removed_paths_come_before_the_files() {
    let text = "root: /src\nremove: [/etc/docker/]\nfiles: [{ from: files/bin/imds, to: /etc/docker/x }]\n";
    let files = checkout().with("/overlays/a.yaml", text);
    let found = load(Path::new("/overlays/a.yaml"), &files).unwrap().files;
    let shown: Vec<_> = found
        .iter()
        .map(|file| (file.to.as_str(), file.removed))
        .collect();
    assert_eq!(shown, [("/etc/docker", true), ("/etc/docker/x", false)]);
    assert_eq!(found[0].from, "/overlays/a.yaml");
}

#[test]
fn an_optional_file_that_is_missing_is_not_on_the_node() {
    let text = |optional: &str, from: &str| {
        format!(
            "root: /src/files\nfiles:\n  - {{ from: {from}, to: /usr/{from}{optional} }}\n  - {{ from: bootstrap.sh, to: /etc/eks/ }}\n"
        )
    };
    let places =
        |text: &str| load_text(text).map(|found| found.into_iter().map(|(_, to, _)| to).collect::<Vec<_>>());
    let optional = ", optional: true";
    assert_eq!(
        places(&text(optional, "bin/gone")).unwrap(),
        ["/usr/bin/gone", "/etc/eks/bootstrap.sh"]
    );
    // That of the image is removed.
    let gone = load_text(&text(optional, "bin/gone")).unwrap().remove(0);
    assert_eq!(
        gone,
        ("/overlays/a.yaml".to_owned(), "/usr/bin/gone".to_owned(), 0)
    );
    // Another entry brings the file.
    let both = text(optional, "bin/gone") + "  - { from: bin/imds, to: /usr/bin/gone }\n";
    assert_eq!(places(&both).unwrap(), ["/etc/eks/bootstrap.sh", "/usr/bin/gone"]);
    assert_eq!(
        places(&text(optional, "gone/")).unwrap(),
        ["/etc/eks/bootstrap.sh"]
    );
    assert_eq!(
        places(&text(optional, "bin/imds")).unwrap(),
        ["/usr/bin/imds", "/etc/eks/bootstrap.sh"]
    );
    assert!(
        places(&text("", "bin/gone"))
            .unwrap_err()
            .contains("`/src/files/bin/gone` cannot be read")
    );
    // The image's own file stays.
    assert_eq!(
        places(&text(", optional: true, keep: true", "bin/gone")).unwrap(),
        ["/etc/eks/bootstrap.sh"]
    );
    assert!(
        places(&text(", keep: true", "bin/imds"))
            .unwrap_err()
            .contains("`keep` requires `optional: true`")
    );
}

#[test]
fn a_folder_without_any_optional_file_is_a_problem() {
    let error = load_text("root: /src\nfiles: [{ from: gone, to: /x, optional: true }]\n").unwrap_err();
    assert!(error.contains("`/src` has none of the optional files"), "{error}");
}

#[test]
fn the_range_of_kubelets_names_its_manifest() {
    let path = Path::new("/scenarios/../overlays/a.yaml");
    let ranges = |text: &str| {
        load(path, &checkout().with("/overlays/a.yaml", text))
            .unwrap()
            .ranges
    };
    let [range] = &ranges("kubelet: \">=1.28\"\nremove: [/x]\n")[..] else {
        panic!("one manifest has one range");
    };
    assert_eq!(
        (range.manifest.as_str(), range.kubelet.to_string().as_str()),
        ("/overlays/a.yaml", ">=1.28")
    );
    assert_eq!(ranges("remove: [/x]\n"), []);
}

#[test]
fn the_root_is_relative_to_the_manifest() {
    let found = load_text("root: ../src/files\nfiles: [{ from: bin/imds, to: /x }]\n").unwrap();
    assert_eq!(found[0].0, "/src/files/bin/imds");
}

#[test]
fn each_fault_says_where_and_what_to_do() {
    for (text, message) in [
        (
            "root: ${NOPE}\nfiles: []\n",
            "a.yaml:1:7: `root`: the environment variable `NOPE` is not set",
        ),
        (
            "root: ${NOPE}\nfiles: []\n",
            "hint: set it to your checkout: export NOPE=/path/to/it",
        ),
        ("root: ${CHECKOUT\nfiles: []\n", "unclosed `${`"),
        ("root: /none\nfiles: []\n", "`root`: there is no folder `/none`"),
        (
            "files: [{ form: a, to: /b }]\n",
            "a.yaml:1:11: `files[0].form`: unknown key",
        ),
        (
            "root: /src\nfiles: [{ from: nope, to: /b }]\n",
            "a.yaml:2:17: `files[0].from`: `/src/nope` cannot be read",
        ),
        (
            "root: /src\nfiles: [{ from: files, to: b }]\n",
            "expected an absolute path in the node",
        ),
        (
            "root: /src\nfiles: [{ from: files, to: /b, mode: \"9\" }]\n",
            "`files[0].mode`",
        ),
        (
            "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: nope.patch, to: /b }]\n",
            "a.yaml:2:44: `files[0].patch`: cannot apply `/overlays/nope.patch` to `/src/files/bootstrap.sh`: cannot read the patch: ",
        ),
        (
            "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: stale.patch, to: /b }]\n",
            "hunk 1 (line 3 of the patch) does not apply: expected `#!/bin/sh` at line 1 of the file, found `#!/bin/bash`\n  hint: the file has changed since",
        ),
        (
            "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: empty.patch, to: /b }]\n",
            "the patch contains no hunk",
        ),
        (
            "root: /src\nfiles: [{ from: files/bin, patch: good.patch, to: /b }]\n",
            "a.yaml:2:35: `files[0].patch`: a patch applies to one file: `/src/files/bin` is a folder",
        ),
        ("files: [\n", "invalid YAML in overlay manifest"),
        (
            "root: /src\n",
            "the overlay changes nothing\n  hint: add `files:` or `remove:`",
        ),
        (
            "remove: [etc/docker]\n",
            "a.yaml:1:10: `remove[0]`: expected an absolute path below `/`: found `etc/docker`",
        ),
        ("kubelet: new\nremove: [/x]\n", "a.yaml:1:10: `kubelet`"),
        ("remove: [/, /etc/../usr]\n", "`remove[1]`"),
    ] {
        let error = load_text(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let error = load(Path::new("/nope.yaml"), &checkout()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nope.yaml: cannot read overlay manifest"),
        "{error}"
    );
}
