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
        last_words(&self.logs().await)
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

/// The last lines of a log. After a fatal error, Go's programs print all their goroutines: only the error counts.
fn last_words(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    let Some(fatal) = lines.iter().rposition(|line| is_fatal(line)) else {
        return last.join("\n");
    };
    let by_entry = lines[fatal..].iter().filter(|line| line.starts_with("entry: "));
    std::iter::once(&lines[fatal])
        .chain(by_entry)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether a line, after the name of its program, is a fatal error of klog or a panic.
fn is_fatal(line: &str) -> bool {
    let message = line.split_once(": ").map_or(line, |(_, message)| message);
    let is_date = |rest: &str| rest.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
    message.starts_with("panic: ") || message.strip_prefix('F').is_some_and(is_date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fatal_error_stands_for_the_goroutines_after_it() {
        let log = "etcd: ready\n\
                   kube-controller-manager: F1128 14:43:49.1 226 controllermanager.go:240] timed out\n\
                   kube-controller-manager: goroutine 1 [running]:\n\
                   kube-controller-manager: main.main()\n\
                   entry: kube-controller-manager ended with exit code 255\n\
                   kube-apiserver: I1128 14:43:49.5 88 shutting down\n";
        assert_eq!(
            last_words(log),
            "kube-controller-manager: F1128 14:43:49.1 226 controllermanager.go:240] timed out\n\
             entry: kube-controller-manager ended with exit code 255"
        );
        let panic = "kube-apiserver: panic: no\nkube-apiserver: goroutine 1 [running]:";
        assert_eq!(last_words(panic), "kube-apiserver: panic: no");
        let other = "kube-apiserver: Flag --x has been deprecated\nkube-apiserver: E1128 14:43:49.1 no";
        assert_eq!(last_words(other), other);
    }
}
