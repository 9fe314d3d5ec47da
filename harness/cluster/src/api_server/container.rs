//! The container that an API server runs in: commands inside it, its log and its end.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures::StreamExt as _;
use nodejoin_docker::Run;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::query_parameters::WaitContainerOptions;

use crate::ClusterError;

const RETRY: Duration = Duration::from_millis(200);
const LAST_LINES: usize = 20;

/// A container of the run. The run removes it when it ends.
#[derive(Clone)]
pub(crate) struct ApiServerContainer {
    run: Run,
    id: String,
}

impl ApiServerContainer {
    pub(crate) fn new(run: Run, id: String) -> Self {
        Self { run, id }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Redirects packets for `address` to the container at `via`.
    ///
    /// DNAT rather than a route: hosts that filter bridged packets (`bridge-nf-call-iptables`, which Docker itself
    /// turns on) drop packets on an internal network whose destination is outside its subnet.
    ///
    /// The kernel looks up a route before it applies DNAT, and newer engines give a container on an internal network
    /// only the route to its subnet.
    pub(crate) async fn redirect(&self, address: Ipv4Addr, via: Ipv4Addr) -> Result<(), ClusterError> {
        let rule = nat("--append", address, via);
        self.run_all(&format!("ip route replace {address}/32 dev eth0 && {rule}"))
            .await
    }

    /// Removes a redirection.
    pub(crate) async fn end_redirect(&self, address: Ipv4Addr, via: Ipv4Addr) -> Result<(), ClusterError> {
        let rule = nat("--delete", address, via);
        self.run_all(&format!("{rule} && ip route del {address}/32 dev eth0"))
            .await
    }

    /// Runs commands of a shell as one process in the container: each start of one takes a tenth of a second.
    async fn run_all(&self, commands: &str) -> Result<(), ClusterError> {
        self.run(&["/bin/sh", "-c", commands]).await
    }

    /// Runs a command in the container. A nonzero exit code is an error.
    pub(crate) async fn run(&self, command: &[&str]) -> Result<(), ClusterError> {
        let output = self.run.engine().exec(&self.id, command).await;
        let output = output.map_err(ClusterError::container(
            "run a command in the control plane's container",
        ))?;
        if output.is_success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(ClusterError::Command {
            command: command.join(" "),
            code: output.code,
            stderr,
        })
    }

    /// The output of its programs, as far as the engine retains it.
    pub(crate) async fn logs(&self) -> String {
        self.run
            .logs(&self.id)
            .await
            .unwrap_or_else(|error| format!("log not available: {error}"))
    }

    /// Waits until the container ends and returns the last lines of its log.
    pub(crate) async fn ended(&self) -> String {
        loop {
            let docker = self.run.engine().docker();
            let _ = docker
                .wait_container(&self.id, None::<WaitContainerOptions>)
                .next()
                .await;
            if self.has_ended().await {
                break;
            }
            // The engine aborted the wait.
            tokio::time::sleep(RETRY).await;
        }
        let logs = self.logs().await;
        let lines: Vec<_> = logs.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// Whether the container has ended or was removed. An engine that does not answer counts as neither.
    async fn has_ended(&self) -> bool {
        match self.run.engine().docker().inspect_container(&self.id, None).await {
            Ok(found) => found.state.and_then(|state| state.running) == Some(false),
            Err(Error::DockerResponseServerError { status_code, .. }) => status_code == 404,
            Err(_) => false,
        }
    }
}

/// The command that adds or removes a redirection.
fn nat(action: &str, address: Ipv4Addr, via: Ipv4Addr) -> String {
    format!(
        "iptables --wait --table nat {action} OUTPUT --destination {address} --jump DNAT --to-destination {via}"
    )
}
