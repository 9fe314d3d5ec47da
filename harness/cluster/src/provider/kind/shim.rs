//! A `docker` in front of the real one, on the PATH of kind only.
//!
//! kind has no option for labels, and it requires `--privileged`, which fails on a host that lacks a capability itself.
//! The shim adds the run's labels to the node's container and volume, so that the run and `nodejoin sweep` find them.
//! If the engine rejects `--privileged`, the shim requests every available privilege instead.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// The folder in which each `docker run` leaves a file with its process id as its name.
    pub(crate) runs: PathBuf,
    pub(crate) labels: HashMap<String, String>,
    pub(crate) volume_labels: HashMap<String, String>,
    pub(crate) privileges: Privileges,
}

impl Shim {
    /// The shell script for the real docker at this path.
    pub(crate) fn script(&self, docker: &Path) -> String {
        let docker = quoted(&docker.display().to_string());
        let (runs, ended) = (&self.runs, self.runs.join(ENDED));
        let (runs, ended) = (
            quoted(&runs.display().to_string()),
            quoted(&ended.display().to_string()),
        );
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
  run)
    # First the file, then the question: the harness writes its file first and then reads these.
    : >{runs}/$$ || exit
    [ ! -e {ended} ] || exit
    exec {docker} run{labels} "$@"
    ;;
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

/// The file in the folder of `docker run`s after which no further one starts.
const ENDED: &str = "ended";
const RETRY: Duration = Duration::from_millis(100);

/// Starts no further `docker run` from now on, and waits for the end of those in progress: the engine creates the
/// container of a request also when its client has been killed.
pub(crate) async fn end_runs(runs: &Path) -> std::io::Result<()> {
    std::fs::write(runs.join(ENDED), "")?;
    for entry in std::fs::read_dir(runs)? {
        let process = Path::new("/proc").join(entry?.file_name());
        while process.exists() && !is_zombie(&process) {
            tokio::time::sleep(RETRY).await;
        }
    }
    Ok(())
}

/// Whether the process has ended, but its parent has not noticed.
fn is_zombie(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.contains(") Z "))
}

fn sorted(labels: &HashMap<String, String>) -> Vec<String> {
    let labels: BTreeMap<_, _> = labels.iter().collect();
    let pairs = labels.into_iter();
    pairs.map(|(key, value)| format!("{key}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Output};

    use tempfile::TempDir;

    use super::*;

    /// A folder with a docker that prints its arguments, the shim for it, and the folder of its runs.
    struct Installed {
        folder: TempDir,
    }

    impl Installed {
        fn new(privileges: Privileges) -> Self {
            let installed = Self {
                folder: tempfile::tempdir().unwrap(),
            };
            let shim = Shim {
                runs: installed.runs(),
                labels: HashMap::from([("nodejoin.run".to_owned(), "it's".to_owned())]),
                volume_labels: HashMap::from([("nodejoin.role".to_owned(), "volume".to_owned())]),
                privileges,
            };
            // `sh` reads the script: executing it fails while another thread's child process still has it open for
            // writing.
            let docker = installed.folder.path().join("real docker");
            std::fs::create_dir(installed.runs()).unwrap();
            std::fs::write(&docker, "#!/bin/sh\nprintf '%s\\n' \"$@\"\necho $$ >&2\n").unwrap();
            std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755)).unwrap();
            let text = shim.script(&docker).replace("exec '", "exec sh '");
            std::fs::write(installed.folder.path().join("docker"), text).unwrap();
            installed
        }

        fn runs(&self) -> PathBuf {
            self.folder.path().join("the runs")
        }

        fn call(&self, arguments: &[&str]) -> Output {
            let script = self.folder.path().join("docker");
            Command::new("sh").arg(&script).args(arguments).output().unwrap()
        }
    }

    /// The arguments with which the shim calls docker.
    fn called(privileges: Privileges, arguments: &[&str]) -> Vec<String> {
        let output = Installed::new(privileges).call(arguments);
        let output = String::from_utf8(output.stdout).unwrap();
        output.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_run_in_progress_is_waited_for_and_no_further_one_starts() {
        let installed = Installed::new(allowed());
        let runs = installed.runs();
        let first = installed.call(&["run", "image"]);
        let pid = String::from_utf8(first.stderr).unwrap();
        assert!(
            runs.join(pid.trim()).exists(),
            "the file has the process id of docker"
        );

        let mut docker = Command::new("sleep").arg("600").spawn().unwrap();
        std::fs::write(runs.join(docker.id().to_string()), "").unwrap();
        let mut ended = Box::pin(end_runs(&runs));
        let early = tokio::time::timeout(RETRY * 3, &mut ended).await;
        docker.kill().unwrap();
        assert!(early.is_err(), "docker still works");
        let ended = tokio::time::timeout(RETRY * 300, ended).await;
        docker.wait().unwrap();
        ended.unwrap().unwrap();

        let late = installed.call(&["run", "image"]);
        assert!(!late.status.success() && late.stdout.is_empty(), "{late:?}");
        assert!(installed.call(&["inspect", "node"]).status.success());
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
