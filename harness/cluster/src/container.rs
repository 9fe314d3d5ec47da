//! The container that an API server runs in: commands inside, and its log.

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use bollard::query_parameters::LogsOptionsBuilder;
use futures::StreamExt as _;

use crate::ClusterError;

/// A container of somebody's; it is not removed from here.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    docker: Docker,
    id: String,
}

impl Container {
    pub(crate) fn new(docker: Docker, id: String) -> Self {
        Self { docker, id }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Runs `ip` inside.
    pub(crate) async fn ip(&self, arguments: &[&str]) -> Result<(), ClusterError> {
        let command: Vec<&str> = ["ip"].iter().chain(arguments).copied().collect();
        let (code, stderr) = self.exec(&command).await?;
        if code == 0 {
            return Ok(());
        }
        Err(ClusterError::Command {
            command: command.join(" "),
            code,
            stderr,
        })
    }

    /// Everything it printed, as far as the engine still has it.
    pub(crate) async fn logs(&self) -> String {
        let options = LogsOptionsBuilder::default().stdout(true).stderr(true).build();
        let lines = self.docker.logs(&self.id, Some(options));
        let lines = lines.filter_map(|line| async { line.ok().map(LogOutput::into_bytes) });
        lines
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
            .await
    }

    /// Whether it still runs.
    pub(crate) async fn is_running(&self) -> bool {
        let inspected = self.docker.inspect_container(&self.id, None).await;
        inspected
            .ok()
            .and_then(|container| container.state?.running)
            .unwrap_or(false)
    }

    async fn exec(&self, command: &[&str]) -> Result<(i64, String), ClusterError> {
        let failed = || ClusterError::container("run a command in the control plane's container");
        let config = ExecConfig {
            cmd: Some(command.iter().map(|word| (*word).to_owned()).collect()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..ExecConfig::default()
        };
        let id = self
            .docker
            .create_exec(&self.id, config)
            .await
            .map_err(failed())?
            .id;
        let mut text = String::new();
        if let StartExecResults::Attached { mut output, .. } =
            self.docker.start_exec(&id, None).await.map_err(failed())?
        {
            while let Some(Ok(part)) = output.next().await {
                text.push_str(&String::from_utf8_lossy(&part.into_bytes()));
            }
        }
        let code = self.docker.inspect_exec(&id).await.map_err(failed())?.exit_code;
        Ok((code.unwrap_or(-1), text.trim().to_owned()))
    }
}
