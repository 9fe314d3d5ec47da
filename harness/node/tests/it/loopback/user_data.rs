//! The program that runs user data without cloud-init.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const PROGRAM: &str = include_str!("../../../guest/user-data");

/// In an image that the harness did not build, the program itself finds the toolbox first.
#[test]
fn scripts_find_the_programs_of_the_image_only() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let scripts = folder.path().join("user-data/scripts");
    fs::create_dir_all(&scripts).unwrap();
    let script = scripts.join("001.part-001");
    fs::write(
        &script,
        "#!/bin/sh\necho \"$PATH ${IMAGE_PATH-unset} ${XTABLES_LIBDIR-unset}\"\nexit 3\n",
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let program = PROGRAM.replace("/opt/nodejoin", here).replace("/var/log", here);
    let status = Command::new("/bin/sh")
        .args(["-c", &program])
        .env("PATH", "/nonexistent/toolbox:/usr/bin:/bin")
        .env("IMAGE_PATH", "/usr/bin:/bin")
        .env("XTABLES_LIBDIR", "/nonexistent")
        .status()
        .unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("cloud-init-output.log"), "/usr/bin:/bin unset unset\n");
    assert_eq!(read("user-data/codes"), "part-001 3\n");
    assert_eq!(status.code(), Some(1));
}
