//! A `docker` in front of the real one, on the PATH of kind only.
//!
//! kind has no option for labels, and it requires `--privileged`, which fails on a host that lacks a capability itself.
//! The shim adds the run's labels to the node's container and volume, so that the run and `nodejoin sweep` find them.
//! If the engine rejects `--privileged`, the shim requests every available privilege instead.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use nodejoin_core::run::shell::quoted;
use nodejoin_docker::Privileges;

/// The effects of `--privileged` other than capabilities. kind itself disables seccomp and AppArmor.
const UNCONFINED: [&str; 3] = [
    "--security-opt=systempaths=unconfined",
    "--device=/dev/kmsg",
    "--device-cgroup-rule=a *:* rwm",
];

/// The labels and privileges of a node's container.
#[derive(Debug, Clone)]
pub(crate) struct Shim {
    pub(crate) labels: HashMap<String, String>,
    pub(crate) volume_labels: HashMap<String, String>,
    pub(crate) privileges: Privileges,
}

impl Shim {
    /// The shell script for the real docker at this path.
    pub(crate) fn script(&self, docker: &Path) -> String {
        let docker = quoted(&docker.display().to_string());
        let labels: String = sorted(&self.labels)
            .iter()
            .map(|label| format!(" --label {}", quoted(label)))
            .collect();
        let volume: String = sorted(&self.volume_labels)
            .iter()
            .map(|label| format!(",volume-label={label}"))
            .collect();
        let volume = quoted(&format!("type=volume,destination=/var{volume}"));
        let run: Vec<_> = self.run().iter().map(|argument| quoted(argument)).collect();
        let run = run.join(" ");
        let exec = if self.privileges.privileged {
            "--privileged"
        } else {
            ""
        };
        format!(
            r#"#!/bin/sh
# Runs docker for kind with the labels of the run, and with the available privileges if the engine rejects `--privileged`.
verb=$1
case $verb in run | exec) ;; *) exec {docker} "$@" ;; esac
shift
left=$# seen=
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  # Only the first is an option of docker: later ones may be arguments of the program in the container.
  case $verb$seen:$argument:$1 in
    run:--privileged:*) seen=yes; set -- "$@" {run} ;;
    exec:--privileged:*) seen=yes; set -- "$@" {exec} ;;
    run*:--volume:/var) shift; left=$((left - 1)); set -- "$@" --mount {volume} ;;
    *) set -- "$@" "$argument" ;;
  esac
done
case $verb in
  run) exec {docker} run{labels} "$@" ;;
  exec) exec {docker} exec "$@" ;;
esac
"#
        )
    }

    /// The replacement of `--privileged` in `docker run`.
    fn run(&self) -> Vec<String> {
        if self.privileges.privileged {
            return vec!["--privileged".to_owned()];
        }
        let dropped = self.privileges.capabilities_to_drop();
        let dropped = dropped.iter().map(|name| format!("--cap-drop={name}"));
        ["--cap-add=ALL".to_owned()]
            .into_iter()
            .chain(dropped)
            .chain(UNCONFINED.map(str::to_owned))
            .collect()
    }
}

fn sorted(labels: &HashMap<String, String>) -> Vec<String> {
    let labels: BTreeMap<_, _> = labels.iter().collect();
    let pairs = labels.into_iter();
    pairs.map(|(key, value)| format!("{key}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    /// The arguments with which the shim calls docker.
    fn called(privileges: Privileges, arguments: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim {
            labels: HashMap::from([("nodejoin.run".to_owned(), "it's".to_owned())]),
            volume_labels: HashMap::from([("nodejoin.role".to_owned(), "volume".to_owned())]),
            privileges,
        };
        // `sh` reads the script: executing it fails while another thread's child process still has it open for writing.
        let docker = folder.path().join("real docker");
        std::fs::write(&docker, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
        std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755)).unwrap();
        let script = folder.path().join("docker");
        let text = shim.script(&docker).replace("exec '", "exec sh '");
        std::fs::File::create(&script)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = Command::new("sh").arg(&script).args(arguments).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        output.lines().map(str::to_owned).collect()
    }

    fn refused() -> Privileges {
        Privileges {
            privileged: false,
            lacking: vec!["SYS_RESOURCE".to_owned()],
            dropped: vec!["SYS_RESOURCE".to_owned()],
        }
    }

    fn allowed() -> Privileges {
        Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        }
    }

    const RUN: [&str; 8] = [
        "run",
        "--privileged",
        "--volume",
        "/var",
        "--volume",
        "/lib/modules:/x",
        "image",
        "--privileged",
    ];

    #[test]
    fn the_container_and_its_volume_get_labels() {
        assert_eq!(
            called(allowed(), &RUN),
            [
                "run",
                "--label",
                "nodejoin.run=it's",
                "--privileged",
                "--mount",
                "type=volume,destination=/var,volume-label=nodejoin.role=volume",
                "--volume",
                "/lib/modules:/x",
                "image",
                "--privileged"
            ]
        );
    }

    #[test]
    fn rejected_privileges_are_replaced_by_all_available_ones() {
        let run = called(refused(), &RUN);
        assert_eq!(
            run[3..10],
            [
                "--cap-add=ALL",
                "--cap-drop=SYS_RESOURCE",
                "--cap-drop=SYS_MODULE",
                "--cap-drop=SYS_TIME",
                "--security-opt=systempaths=unconfined",
                "--device=/dev/kmsg",
                "--device-cgroup-rule=a *:* rwm"
            ]
        );
        let exec = [
            "exec",
            "--privileged",
            "-i",
            "node",
            "program",
            "--privileged",
            "two words",
            "",
        ];
        assert_eq!(
            called(refused(), &exec),
            ["exec", "-i", "node", "program", "--privileged", "two words", ""]
        );
        assert_eq!(called(allowed(), &exec), exec);
    }

    #[test]
    fn other_commands_are_passed_on() {
        let others = ["inspect", "--privileged", "--volume", "/var"];
        assert_eq!(called(refused(), &others), others);
    }
}
