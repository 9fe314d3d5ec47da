//! The container that an API server runs in: commands inside, and its log.

use nodejoin_docker::Run;

use crate::ClusterError;

/// A container of the run, which removes it at its end.
#[derive(Clone)]
pub(crate) struct Container {
    run: Run,
    id: String,
}

impl Container {
    pub(crate) fn new(run: Run, id: String) -> Self {
        Self { run, id }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Runs `ip` inside.
    pub(crate) async fn ip(&self, arguments: &[&str]) -> Result<(), ClusterError> {
        let command: Vec<&str> = ["ip"].iter().chain(arguments).copied().collect();
        let output = self.run.engine().exec(&self.id, &command).await;
        let output = output.map_err(ClusterError::container(
            "set a route in the control plane's container",
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
        self.run
            .logs(&self.id)
            .await
            .unwrap_or_else(|error| format!("no log: {error}"))
    }

    /// Whether it still runs.
    pub(crate) async fn is_running(&self) -> bool {
        let inspected = self.run.engine().docker().inspect_container(&self.id, None).await;
        inspected
            .ok()
            .and_then(|container| container.state?.running)
            .unwrap_or(false)
    }
}
