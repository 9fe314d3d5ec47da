//! What is done to a node that runs: it is rebooted, its user data is run again, its kubelet is restarted.

use nodejoin_core::observation::UserDataResult;
use nodejoin_docker::StartedContainer;

use crate::boot::{Node, start_time};
use crate::error::NodeError;

const SCRIPT: &str = include_str!("../guest/again");
/// Stands before the name and the exit code of a script.
const MARK: &str = "nodejoin-again ";

impl Node {
    /// Reboots the system, and gives the node as it is from then on. When this returns, its entry program waits for the metadata
    /// service to know the node's address, as after the first boot.
    ///
    /// # Errors
    /// Where the system does not end, or does not start.
    pub async fn reboot(&self) -> Result<Self, NodeError> {
        // The command dies with the system: how it ended says nothing.
        let engine = self.run.engine();
        let told = engine
            .exec(&self.id, &["systemctl", "--no-block", "reboot"])
            .await;
        told.map_err(self.docker("reboot"))?;
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

    /// Runs the scripts of its user data once more, and waits for their end. They have a unit of their own, as cloud-init has one.
    ///
    /// # Errors
    /// Where the node cannot be asked. A script that ends with an error is an answer.
    pub async fn run_user_data_again(&self) -> Result<UserDataResult, NodeError> {
        let unit = "--unit=nodejoin-user-data-again";
        // Else the script is the description, line by line.
        let description = "--description=User data once more";
        let (once, keep) = ("--property=Type=oneshot", "--property=KillMode=process");
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
            "/bin/sh",
            "-c",
            SCRIPT,
        ];
        let ran = self.run.engine().exec(&self.id, &command).await;
        let output = ran.map_err(self.docker("run user data again on"))?;
        Ok(result(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Restarts the kubelet.
    ///
    /// # Errors
    /// Where systemd refuses.
    pub async fn restart_kubelet(&self) -> Result<(), NodeError> {
        let units = "systemctl restart \"$(systemctl list-units --plain --no-legend 'kubelet*.service' 'snap.kubelet*.service' \
                     | awk '{ print $1; exit }')\"";
        self.exec("restart the kubelet of", &["sh", "-c", units])
            .await
            .map(|_| ())
    }
}

fn result(output: &str) -> UserDataResult {
    let mut result = UserDataResult {
        ran: true,
        ..UserDataResult::default()
    };
    for line in output.lines() {
        let told = line.strip_prefix(MARK).and_then(|rest| rest.rsplit_once(' '));
        match told.and_then(|(part, code)| Some((part, code.parse().ok()?))) {
            Some((part, code)) => drop(result.exit_codes.insert(part.to_owned(), code)),
            None => result.output.push_str(&format!("{line}\n")),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_stand_behind_the_output() {
        let result = result("hello\nnodejoin-again part-001 0\nnodejoin-again runcmd 7\n");
        assert_eq!(result.output, "hello\n");
        assert_eq!(result.exit_codes["part-001"], 0);
        assert_eq!(result.exit_codes["runcmd"], 7);
    }
}
