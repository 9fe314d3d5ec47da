//! A watch without a container engine: what is refused, and files that become invalid while it waits.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::{END, both, closed_command, exit, folder, signal};

const SCENARIO: &str = "name: x\nuser_data: { file: x.sh }\n";
/// Much longer than a save needs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn watch(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = closed_command();
    command
        .arg("watch")
        .args(arguments)
        .current_dir(folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock");
    command
}

#[test]
fn what_a_watch_cannot_do_is_refused() {
    let folder = folder(&[("x.yaml", SCENARIO), ("x.sh", "#!/bin/sh\n")]);
    let rows: [(&[&str], i32, &str); 5] = [
        (&["nowhere"], 2, "nowhere: cannot read the path"),
        (&["."], 3, "the container engine is not available"),
        (&[".", "--hold"], 2, "use `nodejoin run` with `--hold`"),
        (&[".", "--keep"], 2, "a watch removes the nodes of each run"),
        (&[".", "--kubernetes", "new"], 2, "invalid versions"),
    ];
    for (arguments, code, text) in rows {
        let output = watch(folder.path(), arguments).output().unwrap();
        let printed = both(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.contains(text), "{arguments:?}: {printed}");
    }
}

/// A watch that runs nothing before the first save.
struct Waiting {
    child: Child,
    lines: Receiver<String>,
}

impl Waiting {
    fn start(folder: &Path) -> Self {
        let mut child = watch(folder, &[".", "--postpone"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr
                .lines()
                .map_while(Result::ok)
                .for_each(|line| drop(sender.send(line)));
        });
        Self { child, lines }
    }

    /// The lines until one contains this text.
    fn until(&self, text: &str) -> String {
        let mut all = String::new();
        while let Ok(line) = self.lines.recv_timeout(TIMEOUT) {
            all = format!("{all}{line}\n");
            if line.contains(text) {
                return all;
            }
        }
        panic!("`{text}` is missing in:\n{all}");
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_file_that_becomes_invalid_is_reported_and_the_watch_goes_on() {
    let folder = folder(&[("x.yaml", "name: x\nuser_data: [\n"), ("x.sh", "#!/bin/sh\n")]);
    let mut watch = Waiting::start(folder.path());
    let save = |text: &str| std::fs::write(folder.path().join("x.yaml"), text).unwrap();
    let waits = "watching 0 scenarios";
    let printed = watch.until(waits);
    assert!(printed.contains("x.yaml:"), "{printed}");
    assert!(printed.contains("1 invalid file"), "{printed}");

    save("name: x\nuser_date: x\n");
    let printed = watch.until(waits);
    assert!(printed.contains("saved x.yaml: affects 1 scenario"), "{printed}");
    assert!(printed.contains("did you mean `user_data`?"), "{printed}");

    // The same problem is not printed again.
    save("name: x\nuser_date: x\n");
    let printed = watch.until(waits);
    assert!(!printed.contains("user_date"), "{printed}");

    save("name: x\nuser_data: { file: missing.sh }\n");
    let printed = watch.until(waits);
    assert!(printed.contains("missing.sh"), "{printed}");

    signal(watch.child.id(), "INT");
    assert_eq!(exit(&mut watch.child, END).code(), Some(130));
}

#[test]
fn a_mended_scenario_runs() {
    let folder = folder(&[("x.yaml", SCENARIO)]);
    let mut watch = Waiting::start(folder.path());
    let printed = watch.until("Ctrl-C ends the watch");
    assert!(printed.contains("x.sh"), "{printed}");
    std::fs::write(folder.path().join("x.sh"), "#!/bin/sh\n").unwrap();
    watch.until("saved x.sh: affects 1 scenario");
    // It reaches the container engine, which this test does not have.
    watch.until("the container engine is not available");
    assert_eq!(exit(&mut watch.child, END).code(), Some(3));
}

#[test]
fn user_data_for_another_ami_family_is_warned_of() {
    let folder = folder(&[("x.yaml", SCENARIO)]);
    let mut watch = Waiting::start(folder.path());
    watch.until("Ctrl-C ends the watch");
    let script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
    std::fs::write(folder.path().join("x.yaml"), format!("image: al2023\n{SCENARIO}")).unwrap();
    std::fs::write(folder.path().join("x.sh"), script).unwrap();
    let printed = watch.until("the container engine is not available");
    assert!(
        printed.contains("the user data calls /etc/eks/bootstrap.sh"),
        "{printed}"
    );
    assert_eq!(exit(&mut watch.child, END).code(), Some(3));
}
