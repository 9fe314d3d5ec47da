//! The container that an API server runs in: commands inside, and its log.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures::StreamExt as _;
use nodejoin_docker::Run;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::query_parameters::WaitContainerOptions;

use crate::ClusterError;

/// A container of the run, which removes it at its end.
#[derive(Clone)]
pub(crate) struct Container {
    inside: Option<(Run, String)>,
}

impl Container {
    pub(crate) fn new(run: Run, id: String) -> Self {
        Self {
            inside: Some((run, id)),
        }
    }

    /// Of an API server that runs in no container of the harness.
    pub(crate) fn none() -> Self {
        Self { inside: None }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.inside.as_ref().map(|(_, id)| id.as_str())
    }

    /// Sends what its programs send to `address` to the container at `via`.
    ///
    /// By a change of the destination and not by a route: where the engine's host filters bridged packets
    /// (`bridge-nf-call-iptables`, which Docker itself turns on), an internal network drops every packet whose
    /// destination is not of its own subnet.
    ///
    /// The kernel looks for a route before the destination is changed, and newer engines give a container of an internal network
    /// none but that of its subnet.
    pub(crate) async fn redirect(&self, address: Ipv4Addr, via: Ipv4Addr) -> Result<(), ClusterError> {
        self.run(&["ip", "route", "replace", &format!("{address}/32"), "dev", "eth0"])
            .await?;
        self.nat("--append", address, via).await
    }

    /// Takes a redirection back.
    pub(crate) async fn end_redirect(&self, address: Ipv4Addr, via: Ipv4Addr) -> Result<(), ClusterError> {
        self.nat("--delete", address, via).await?;
        self.run(&["ip", "route", "del", &format!("{address}/32"), "dev", "eth0"])
            .await
    }

    async fn nat(&self, action: &str, address: Ipv4Addr, via: Ipv4Addr) -> Result<(), ClusterError> {
        let (address, via) = (address.to_string(), via.to_string());
        let rule = [
            "--destination",
            &address,
            "--jump",
            "DNAT",
            "--to-destination",
            &via,
        ];
        let command = [
            ["iptables", "--wait", "--table", "nat", action, "OUTPUT"].as_slice(),
            &rule,
        ]
        .concat();
        self.run(&command).await
    }

    /// Runs a command in it, which must end well.
    pub(crate) async fn run(&self, command: &[&str]) -> Result<(), ClusterError> {
        let Some((run, id)) = &self.inside else {
            return Ok(());
        };
        let output = run.engine().exec(id, command).await;
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

    /// Everything it printed, as far as the engine still has it.
    pub(crate) async fn logs(&self) -> String {
        let Some((run, id)) = &self.inside else {
            return "the log of this API server is with whoever runs it\n".to_owned();
        };
        run.logs(id)
            .await
            .unwrap_or_else(|error| format!("no log: {error}"))
    }

    /// Waits for its end, and gives the last lines that it printed. Where there is none that never comes.
    pub(crate) async fn ended(&self) -> String {
        let Some((run, id)) = &self.inside else {
            return std::future::pending().await;
        };
        loop {
            let docker = run.engine().docker();
            let _ = docker
                .wait_container(id, None::<WaitContainerOptions>)
                .next()
                .await;
            if self.has_ended().await {
                break;
            }
            // The engine broke off the wait: it is asked again, and not at once.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let logs = self.logs().await;
        let lines: Vec<_> = logs.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// Whether it has ended or is gone. An engine that does not answer says nothing about that.
    async fn has_ended(&self) -> bool {
        let Some((run, id)) = &self.inside else {
            return false;
        };
        match run.engine().docker().inspect_container(id, None).await {
            Ok(found) => found.state.and_then(|state| state.running) == Some(false),
            Err(Error::DockerResponseServerError { status_code, .. }) => status_code == 404,
            Err(_) => false,
        }
    }
}

const LOOK_AGAIN: Duration = Duration::from_millis(200);
const LAST_LINES: usize = 20;
