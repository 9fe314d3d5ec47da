//! Changes to a running node: a reboot, another run of its user data, a restart of its kubelet.

use nodejoin_core::observation::UserDataResult;
use nodejoin_core::run::shell::quoted;
use nodejoin_docker::StartedContainer;

use crate::boot::{Node, start_time};
use crate::error::NodeError;

const SCRIPT: &str = include_str!("../guest/again");
/// Prefix of a line with the name and the exit code of a script.
const MARK: &str = "nodejoin-again ";

impl Node {
    /// Reboots the system and returns the node after it, as [`Node::boot_again`] does.
    ///
    /// # Errors
    /// When the system does not stop, or does not start.
    pub async fn reboot(&self) -> Result<Self, NodeError> {
        // The command ends with the system, so its exit code means nothing.
        let engine = self.run.engine();
        let rebooted = engine
            .exec(&self.id, &["systemctl", "--no-block", "reboot"])
            .await;
        rebooted.map_err(self.docker("reboot"))?;
        self.boot_again().await
    }

    /// Waits for the end of the system, and boots it again: the same files, a new boot id. As after the first boot, its
    /// entry program then waits until the metadata service knows the node's address.
    ///
    /// # Errors
    /// When the system does not stop, or does not start.
    pub async fn boot_again(&self) -> Result<Self, NodeError> {
        let before = StartedContainer {
            id: self.id.clone(),
            name: self.name.clone(),
            ip: self.ip,
        };
        let started = self.run.restart(&before, &self.network).await;
        let started = started.map_err(self.docker("reboot"))?;
        let at = start_time(&self.run, &self.id).await.unwrap_or(self.started);
        let mut node = self.clone();
        node.ip = started.ip;
        node.started = at;
        node.since = Some(at);
        Ok(node)
    }

    /// Runs the scripts of its user data again and waits for their end. They run in their own unit, as cloud-init does.
    /// With `without`, each script loses the first occurrence of these words.
    ///
    /// # Errors
    /// When no command runs in the node. A script that fails is part of the result.
    pub async fn run_user_data_again(&self, without: Option<&str>) -> Result<UserDataResult, NodeError> {
        let unit = "--unit=nodejoin-user-data-again";
        // The default description would be the whole script.
        let description = "--description=User data again";
        let (once, keep) = ("--property=Type=oneshot", "--property=KillMode=process");
        let without = format!("--setenv=NODEJOIN_WITHOUT={}", without.unwrap_or_default());
        let command = [
            "systemd-run",
            "--wait",
            "--pipe",
            "--quiet",
            "--collect",
            unit,
            description,
            once,
            keep,
            &without,
            "/bin/sh",
            "-c",
            &escaped(SCRIPT),
        ];
        let output = self.run.engine().exec(&self.id, &command).await;
        let output = output.map_err(self.docker("run user data again on"))?;
        Ok(result(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Restarts or stops a systemd unit and waits for the end of the job; `verb` is that of systemctl. A unit that does
    /// not start again is for the verdict.
    ///
    /// # Errors
    /// When the node has no such unit.
    pub async fn change_unit(&self, verb: &'static str, unit: &str) -> Result<(), NodeError> {
        let unit = quoted(unit);
        let command = format!("systemctl cat {unit} > /dev/null && {{ systemctl {verb} {unit} || true; }}");
        self.exec("change a unit of", &["sh", "-c", &command])
            .await
            .map(|_| ())
    }

    /// Restarts the kubelet.
    ///
    /// # Errors
    /// When systemd fails.
    pub async fn restart_kubelet(&self) -> Result<(), NodeError> {
        let units = "systemctl restart \"$(systemctl list-units --plain --no-legend 'kubelet*.service' 'snap.kubelet*.service' \
                     | awk '{ print $1; exit }')\"";
        self.exec("restart the kubelet of", &["sh", "-c", units])
            .await
            .map(|_| ())
    }
}

/// A command line of a unit as it is: systemd would replace `${NAME}` in it, and leave nothing of a name that it does
/// not know.
fn escaped(script: &str) -> String {
    script.replace('$', "$$")
}

/// What ran, and how it ended. Without an exit code nothing ran.
fn result(output: &str) -> UserDataResult {
    let mut result = UserDataResult::default();
    for line in output.lines() {
        let exit = line.strip_prefix(MARK).and_then(|rest| rest.rsplit_once(' '));
        match exit.and_then(|(part, code)| Some((part, code.parse().ok()?))) {
            Some((part, code)) => drop(result.exit_codes.insert(part.to_owned(), code)),
            None => result.output.push_str(&format!("{line}\n")),
        }
    }
    // The script separates its last lines from output that may not end with one.
    result.output = result.output.trim_end_matches('\n').to_owned();
    if !result.output.is_empty() {
        result.output.push('\n');
    }
    result.ran = !result.exit_codes.is_empty();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_output() {
        let found = result("hello\n\nnodejoin-again part-001 0\nnodejoin-again runcmd 7\n");
        assert_eq!(found.output, "hello\n");
        assert_eq!(found.exit_codes["part-001"], 0);
        assert_eq!(found.exit_codes["runcmd"], 7);
        assert!(found.ran);
        assert!(!result("hello\nnodejoin-again  \n").ran);
    }

    #[test]
    fn systemd_replaces_no_variable_of_the_script() {
        assert_eq!(escaped("echo ${a%=*} $b"), "echo $${a%=*} $$b");
        assert!(SCRIPT.contains("${"), "the script has no variables");
    }
}
