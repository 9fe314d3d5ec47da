//! The node image's `aws-iam-authenticator` is the released one where downloads are open: held against a server of the
//! same layout.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::str::FromStr as _;

use nodejoin_core::plan::architecture::Architecture;

/// Serves `released\n` for the program and the given sum in its list, to as many requests as come.
fn serve(sum: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            let path = line.split(' ').nth(1).unwrap().to_owned();
            while line.trim() != "" {
                line.clear();
                reader.read_line(&mut line).unwrap();
            }
            let body = match path.rsplit('/').next().unwrap() {
                name if name.starts_with("authenticator_") => format!(
                    "{sum}  aws-iam-authenticator_0.6.30_linux_amd64\n{sum}  aws-iam-authenticator_0.6.30_linux_arm64\n"
                ),
                _ => "released\n".to_owned(),
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

fn run(url: &str, to: &Path) -> Output {
    run_with(url, to, None)
}

/// The same with a folder first on PATH.
fn run_with(url: &str, to: &Path, first: Option<&Path>) -> Output {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/images/nodes/al2/released-authenticator");
    std::fs::write(to, "ours\n").unwrap();
    Command::new("bash")
        .arg(script)
        .arg(to)
        .env("PATH", path(first))
        .env("AUTHENTICATOR_URL", url)
        .env("no_proxy", "127.0.0.1")
        .output()
        .unwrap()
}

fn path(first: Option<&Path>) -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = first
        .map(Path::to_owned)
        .into_iter()
        .chain(std::env::split_paths(&own));
    std::env::join_paths(folders).unwrap()
}

fn sum_of(text: &str) -> String {
    let mut sum = Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    sum.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(sum.wait_with_output().unwrap().stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_release_whose_sum_is_right_takes_the_place_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("aws-iam-authenticator");
    let output = run(&serve(sum_of("released\n")), &to);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(std::fs::read_to_string(to).unwrap(), "released\n");
}

#[test]
fn each_processor_has_its_release_and_another_keeps_ours() {
    use std::os::unix::fs::PermissionsExt as _;
    for (machine, content) in [
        ("x86_64", "released\n"),
        ("aarch64", "released\n"),
        ("riscv64", "ours\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let uname = folder.path().join("uname");
        std::fs::write(&uname, format!("#!/bin/sh\necho {machine}\n")).unwrap();
        std::fs::set_permissions(&uname, std::fs::Permissions::from_mode(0o755)).unwrap();
        let to = folder.path().join("aws-iam-authenticator");
        let output = run_with(&serve(sum_of("released\n")), &to, Some(folder.path()));
        assert!(output.status.success(), "{machine}");
        assert_eq!(std::fs::read_to_string(to).unwrap(), content, "{machine}");
        let named = Architecture::from_str(machine).map(Architecture::go);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(
            named.is_ok(),
            said.contains("is the released one"),
            "{machine}: {said}"
        );
    }
}

#[test]
fn a_release_whose_sum_is_wrong_ends_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("aws-iam-authenticator");
    let output = run(&serve(sum_of("something else\n")), &to);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(to).unwrap(), "ours\n");
}

#[test]
fn ours_stays_where_nothing_can_be_downloaded() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("aws-iam-authenticator");
    // A port that was free a moment ago, so that connections to it fail.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = run(&format!("http://{address}"), &to);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(std::fs::read_to_string(to).unwrap(), "ours\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("ours stays"));
}
