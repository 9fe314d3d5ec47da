//! Starts a node; the handle of a running node.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use nodejoin_core::observation::{Collected, Deviation, ServingCertificate};
use nodejoin_docker::{DockerError, ExecOutput, Run, RunNetwork};
use testcontainers::ImageExt as _;
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, LogsOptionsBuilder, WaitContainerOptions,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::container::ContainerLimits;
use crate::error::NodeError;
use crate::host_workarounds::HostWorkarounds;
use crate::journal::StreamLines;
use crate::log::NodeLog;
use crate::output::NodeOutput;
use crate::refusals::{self, RefusedTotal};
use crate::request::{CollectRequest, NodeRequest};
use crate::tools::Tools;
use crate::{collect, container, deviations, evidence, layer, serving_certificate, state};

/// Value of the label `nodejoin.role` on a node's container.
pub const ROLE: &str = "node";
/// Port of every kubelet.
const KUBELET_PORT: u16 = 10250;
/// Timeout of containerd's list of containers, which hangs when containerd hangs.
const CONTAINERD_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of lines of the container's output in an [`Exit`].
const LAST_LINES: usize = 20;

/// A started container of a node. It remains until [`Node::remove`] or the end of its run.
#[derive(Clone)]
pub struct Node {
    pub(crate) run: Run,
    instance: String,
    pub(crate) network: RunNetwork,
    tools: Tools,
    /// Start of this boot; earlier lines of the journal belong to another boot.
    pub(crate) since: Option<SystemTime>,
    pub id: String,
    pub name: String,
    /// Its address on the run's network: the source of its requests to the fakes, and the address of port 10250.
    pub ip: Ipv4Addr,
    /// Start of the container's first program: zero of all times of the join.
    pub started: SystemTime,
    /// Every difference from the AMI that the harness causes.
    pub deviations: Vec<Deviation>,
}

/// The end of a node's container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit code: 97 when the metadata address was not this run's, 98 when the container could not be set up as a
    /// machine.
    pub code: i64,
    /// Its last lines on standard error, without the journal.
    pub lines: Vec<String>,
}

/// Starts a node. When this returns, its entry program waits until the metadata service knows the node's address:
/// systemd starts once the caller has registered it.
///
/// # Errors
/// When the container does not start, or a file of the overlay is unreadable. Created objects are in the run's ledger.
pub async fn boot(run: &Run, request: &NodeRequest<'_>) -> Result<Node, NodeError> {
    let instance = request.plan.instance.id.to_string();
    let failed = |operation| {
        let node = instance.clone();
        move |source| NodeError::Docker {
            operation,
            node,
            source,
        }
    };
    let image = &request.image;
    let tools = Tools::of(image);
    let privileges = run
        .engine()
        .privileges(&image.name, &tools.cat())
        .await
        .map_err(failed("look up the privileges of"))?;
    let machine = request.plan.instance.machine();
    let facts = run.engine().facts();
    let volumes = run.engine().image_volumes(&image.name).await;
    let host = HostWorkarounds {
        mounts_image_folders: !volumes.is_empty(),
        ..HostWorkarounds::of(facts.cgroup_version, &privileges, image).for_machine(facts, machine)
    };
    let archive = layer::archive(request, host, run.engine().time_factor())?;
    let limits = ContainerLimits::of(machine, request.plan.limits.processes, facts);
    let has_store = layer::has_disk_tools(request.plan);
    let container = container::request(run, image, &privileges, limits, has_store, &volumes, archive)
        .with_labels(request.labels.clone());
    let requested = SystemTime::now();
    let started = run
        .start(ROLE, &instance, &request.network, container)
        .await
        .map_err(failed("start"))?;
    let at = start_time(run, &started.id).await.unwrap_or(requested);
    Ok(Node {
        run: run.clone(),
        instance,
        network: request.network.clone(),
        since: None,
        id: started.id,
        name: started.name,
        ip: started.ip,
        started: at,
        deviations: deviations::of(request, host),
        tools,
    })
}

/// When the engine started the container: later than the request, by the creation of the container and the upload of
/// its files.
pub(crate) async fn start_time(run: &Run, id: &str) -> Option<SystemTime> {
    let found = run
        .engine()
        .docker()
        .inspect_container(id, None::<InspectContainerOptions>)
        .await
        .ok()?;
    let text = found.state?.started_at?;
    OffsetDateTime::parse(&text, &Rfc3339).ok().map(SystemTime::from)
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("instance", &self.instance)
            .field("name", &self.name)
            .field("ip", &self.ip)
            .finish()
    }
}

impl Node {
    /// Id of the instance.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The output of the container since this boot.
    #[must_use]
    pub fn log(&self) -> NodeLog {
        NodeLog::new(&self.run, &self.id, &self.instance, self.since)
    }

    /// Waits for the end of the container.
    ///
    /// # Errors
    /// When the engine does not respond.
    pub async fn exited(&self) -> Result<Exit, NodeError> {
        let docker = self.run.engine().docker();
        let mut waiting = docker.wait_container(&self.id, None::<WaitContainerOptions>);
        let code = match waiting.next().await {
            Some(Ok(ended)) => ended.status_code,
            Some(Err(testcontainers::bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
            Some(Err(source)) => {
                return Err(NodeError::Wait {
                    node: self.instance.clone(),
                    source,
                });
            }
            None => -1,
        };
        Ok(Exit {
            code,
            lines: self.last_lines().await,
        })
    }

    /// Standard error of the container: messages of its entry program, without what its watchers report.
    async fn last_lines(&self) -> Vec<String> {
        let options = LogsOptionsBuilder::new()
            .stdout(false)
            .stderr(true)
            .tail("50")
            .build();
        let docker = self.run.engine().docker();
        let pieces: Vec<_> = docker.logs(&self.id, Some(options)).collect().await;
        let lines: Vec<_> = StreamLines::of(pieces.into_iter().filter_map(Result::ok))
            .into_iter()
            .filter(|line| !line.trim().is_empty() && NodeOutput::parse(line).is_none())
            .collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
    }

    /// Reads facts that only the node has: argv, files, units, the result of user data, and the certificate on port
    /// 10250.
    ///
    /// Call it after the first line of [`Node::log`]: before, nothing in the container can run.
    ///
    /// # Errors
    /// When no command runs in the node. A closed port 10250 is a fact, not an error.
    pub async fn collect(&self, request: &CollectRequest) -> Result<Collected, NodeError> {
        let command = collect::command(request);
        let (output, served) = tokio::join!(self.exec("read", &command), self.served(request));
        let output = match output {
            // It shut down meanwhile: there is nothing to read.
            Err(_) if !self.log().is_running().await => return Ok(Collected::default()),
            output => output?,
        };
        let mut collected = collect::read(&output.stdout).map_err(|source| NodeError::Answer {
            node: self.instance.clone(),
            source,
        })?;
        for path in &request.files {
            collected.files.entry(path.clone()).or_default();
        }
        collected.served = Some(served);
        Ok(collected)
    }

    /// Reads the certificate on port 10250, from outside the node.
    pub async fn served(&self, request: &CollectRequest) -> ServingCertificate {
        serving_certificate::read(
            (self.ip, KUBELET_PORT).into(),
            &request.cluster_ca_pem,
            request.private_ip,
            self.run.engine().time_factor(),
        )
        .await
    }

    /// Reads how many connections the node's rules have refused, for a plan with such faults.
    ///
    /// # Errors
    /// When no command runs in the node.
    pub async fn refused(&self) -> Result<Vec<RefusedTotal>, NodeError> {
        let output = self.exec("read", &["/bin/sh", "-c", refusals::SCRIPT]).await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(RefusedTotal::parse).collect())
    }

    /// Reads what changed on the machine of a probe since its boot: a text for each part, by its name.
    ///
    /// # Errors
    /// When no command runs in the node.
    pub async fn state(&self) -> Result<BTreeMap<String, String>, NodeError> {
        let output = self.exec("read", &state::command()).await?;
        state::read(&output.stdout).map_err(|source| NodeError::Answer {
            node: self.instance.clone(),
            source,
        })
    }

    /// Writes evidence into a folder: journals, logs of cloud-init, the kubelet's argv, processes, mounts, the network,
    /// units, configuration, and the containers' logs. Each text passes through `redact` first. An ended node leaves
    /// its journal and the container's output alone.
    ///
    /// Returns an error for each file that could not be written; the other files are written nevertheless.
    pub async fn evidence(&self, folder: &Path, redact: &(dyn Fn(&str) -> String + Sync)) -> Vec<NodeError> {
        let mut errors = evidence::write_journals(folder, &self.whole_output().await, redact);
        let timeout = self.run.engine().time_factor().scale(CONTAINERD_TIMEOUT);
        let timeout = timeout.as_secs().to_string();
        // No command runs in a node that has ended. What it wrote until then is its evidence.
        if let Ok(output) = self.exec("read", &evidence::command(&timeout)).await {
            errors.extend(evidence::write_archive(folder, &output.stdout, redact));
        }
        errors
    }

    /// The container's whole output: lines of the journal, and of its entry program.
    async fn whole_output(&self) -> Vec<String> {
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true).build();
        let pieces = self.run.engine().docker().logs(&self.id, Some(options));
        let pieces: Vec<_> = pieces.collect().await;
        StreamLines::of(pieces.into_iter().filter_map(Result::ok))
    }

    /// Removes the container with its volumes.
    ///
    /// # Errors
    /// When the engine fails. The end of the run tries again.
    pub async fn remove(&self) -> Result<(), NodeError> {
        self.run.remove(&self.id).await.map_err(self.docker("remove"))
    }

    pub(crate) async fn exec(
        &self,
        operation: &'static str,
        command: &[&str],
    ) -> Result<ExecOutput, NodeError> {
        let command = self.with_tools(command);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = self
            .run
            .engine()
            .exec(&self.id, &command)
            .await
            .map_err(self.docker(operation))?;
        if output.code == 0 {
            return Ok(output);
        }
        Err(NodeError::Guest {
            program: "sh",
            node: self.instance.clone(),
            code: output.code,
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }

    /// A script runs with the programs of the harness if the image may lack them.
    fn with_tools(&self, command: &[&str]) -> Vec<String> {
        match command {
            ["sh" | "/bin/sh", "-c", script, arguments @ ..] => {
                let words = [
                    self.tools.shell().to_owned(),
                    "-c".to_owned(),
                    self.tools.script(script),
                ];
                let arguments = arguments.iter().map(|word| (*word).to_owned());
                words.into_iter().chain(arguments).collect()
            }
            command => command.iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    pub(crate) fn docker(&self, operation: &'static str) -> impl FnOnce(DockerError) -> NodeError + use<> {
        let node = self.instance.clone();
        move |source| NodeError::Docker {
            operation,
            node,
            source,
        }
    }
}
