//! Starts a node, and is the handle of a running one.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::SystemTime;

use futures::{Stream, StreamExt as _};
use nodejoin_core::observation::{Collected, Deviation, JournalLine};
use nodejoin_docker::{DockerError, ExecOutput, Run, RunNetwork};
use testcontainers::ImageExt as _;
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, LogsOptionsBuilder, WaitContainerOptions,
};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::ask::{CollectAsk, NodeAsk};
use crate::error::NodeError;
use crate::host::Host;
use crate::journal::{Lines, journal_line};
use crate::{collect, container, deviations, evidence, layer, served};

/// The label `nodejoin.role` of a node's container.
pub const ROLE: &str = "node";
/// Where a kubelet listens.
const KUBELET_PORT: u16 = 10250;
/// Lines of the container's own output that tell why it ended.
const LAST_LINES: usize = 20;

/// A node's container that was started. It stays until [`Node::remove`] or the end of its run.
#[derive(Clone)]
pub struct Node {
    pub(crate) run: Run,
    instance: String,
    pub(crate) network: RunNetwork,
    /// Lines of the journal from before this are not this boot's.
    pub(crate) since: Option<SystemTime>,
    /// Id of the container.
    pub id: String,
    /// Name of the container.
    pub name: String,
    /// Its address on the run's network: what the fakes see, and where :10250 is reached.
    pub ip: Ipv4Addr,
    /// When the container's first program was started: the zero of every time.
    pub started: SystemTime,
    /// Every change made to what the AMI would have.
    pub deviations: Vec<Deviation>,
}

/// How a node's container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code: 97 where the metadata address was not this run's, 98 where the container could not be made a machine.
    pub code: i64,
    /// The last lines of its own, without the journal.
    pub lines: Vec<String>,
}

/// Starts a node. When this returns, its entry program waits for the metadata service to know the node's address:
/// the caller attaches it, and systemd starts.
///
/// # Errors
/// Where the container cannot be started, or a file of the overlay cannot be read. What was made is in the run's ledger.
pub async fn boot(run: &Run, ask: &NodeAsk<'_>) -> Result<Node, NodeError> {
    let instance = ask.plan.instance.id.to_string();
    let failed = |operation| {
        let node = instance.clone();
        move |source| NodeError::Docker {
            operation,
            node,
            source,
        }
    };
    let image = ask.image.name.clone();
    let privileges = run
        .engine()
        .privileges(&image)
        .await
        .map_err(failed("look up the privileges of"))?;
    let host = Host::of(
        run.engine().facts().cgroup_version,
        &privileges,
        &ask.image.kubernetes,
    );
    let archive = layer::archive(run.id(), ask, host, run.engine().time_factor())?;
    let request = container::request(run, &image, &privileges, archive).with_labels(ask.labels.clone());
    let asked = SystemTime::now();
    let started = run
        .start(ROLE, &instance, &ask.network, request)
        .await
        .map_err(failed("start"))?;
    let at = start_time(run, &started.id).await.unwrap_or(asked);
    Ok(Node {
        run: run.clone(),
        instance,
        network: ask.network.clone(),
        since: None,
        id: started.id,
        name: started.name,
        ip: started.ip,
        started: at,
        deviations: deviations::of(ask, host),
    })
}

/// When the engine started the container, which is later than the request by its creation and the upload.
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
    /// The instance's id.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The journal from the first line of this boot on, until the container ends.
    pub fn journal(&self) -> impl Stream<Item = (SystemTime, JournalLine)> + Send + use<> {
        let options = LogsOptionsBuilder::new()
            .follow(true)
            .stdout(true)
            .stderr(false)
            .build();
        let docker = self.run.engine().docker().clone();
        let pieces = docker.logs(&self.id, Some(options));
        let mut lines = Lines::default();
        let since = self.since;
        pieces.flat_map(move |piece| {
            // A connection that breaks ends the stream; the container's end is told by `exited`.
            let complete = piece
                .map(|piece| lines.push(&piece.into_bytes()))
                .unwrap_or_default();
            let read = complete.into_iter().filter_map(|line| journal_line(&line));
            let now = read.filter(move |(at, _)| since.is_none_or(|since| *at >= since));
            futures::stream::iter(now)
        })
    }

    /// Waits for the end of the container.
    ///
    /// # Errors
    /// Where the engine cannot be asked.
    pub async fn exited(&self) -> Result<Exit, NodeError> {
        let docker = self.run.engine().docker();
        let mut waiting = docker.wait_container(&self.id, None::<WaitContainerOptions>);
        let code = match waiting.next().await {
            Some(Ok(answer)) => answer.status_code,
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

    /// What the container itself wrote: its entry program's words, never the journal.
    async fn last_lines(&self) -> Vec<String> {
        let options = LogsOptionsBuilder::new()
            .stdout(false)
            .stderr(true)
            .tail("50")
            .build();
        let docker = self.run.engine().docker();
        let pieces: Vec<_> = docker.logs(&self.id, Some(options)).collect().await;
        let bytes: Vec<u8> = pieces
            .into_iter()
            .filter_map(Result::ok)
            .flat_map(|piece| piece.into_bytes().to_vec())
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(str::to_owned)
            .collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
    }

    /// What only the node knows: argv, files, units, how user data went, and the certificate on :10250.
    ///
    /// Not before the first line of the journal: see [`Node::journal`].
    ///
    /// # Errors
    /// Where the node cannot be asked. That nothing listens on :10250 is not an error, but an answer.
    pub async fn collect(&self, ask: &CollectAsk) -> Result<Collected, NodeError> {
        let command = collect::command(ask);
        let served = served::look(
            (self.ip, KUBELET_PORT).into(),
            &ask.cluster_ca_pem,
            ask.private_ip,
            self.run.engine().time_factor(),
        );
        let (output, served) = tokio::join!(self.exec("ask", &command), served);
        let mut collected = collect::read(&output?.stdout).map_err(|source| NodeError::Answer {
            node: self.instance.clone(),
            source,
        })?;
        for path in &ask.files {
            collected.files.entry(path.clone()).or_default();
        }
        collected.served = Some(served);
        Ok(collected)
    }

    /// Writes what a person wants to see into a folder: journals, logs of cloud-init, the kubelet's argv, processes, mounts, the
    /// network, units and configuration, and the containers' logs. `redact` sees every text before it is written.
    ///
    /// # Errors
    /// Where a file cannot be written. A node that has ended leaves its journal and its last words alone.
    pub async fn evidence(
        &self,
        folder: &Path,
        redact: &(dyn Fn(&str) -> String + Sync),
    ) -> Result<(), NodeError> {
        evidence::write_journals(folder, &self.output().await, redact)?;
        let command = evidence::command();
        // A node that is gone cannot be asked; what it wrote until then is there already.
        let Ok(output) = self.exec("ask", &command).await else {
            return Ok(());
        };
        evidence::write_archive(folder, &output.stdout, redact)
    }

    /// All that the container wrote: the journal's lines, and its own.
    async fn output(&self) -> Vec<u8> {
        let options = LogsOptionsBuilder::new().stdout(true).stderr(true).build();
        let mut pieces = self.run.engine().docker().logs(&self.id, Some(options));
        let mut all = Vec::new();
        while let Some(Ok(piece)) = pieces.next().await {
            all.extend_from_slice(&piece.into_bytes());
        }
        all
    }

    /// Removes the container with its volumes.
    ///
    /// # Errors
    /// Where the engine refuses; the run's end tries again.
    pub async fn remove(&self) -> Result<(), NodeError> {
        self.run.remove(&self.id).await.map_err(self.docker("remove"))
    }

    pub(crate) async fn exec(
        &self,
        operation: &'static str,
        command: &[&str],
    ) -> Result<ExecOutput, NodeError> {
        let output = self
            .run
            .engine()
            .exec(&self.id, command)
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

    pub(crate) fn docker(&self, operation: &'static str) -> impl FnOnce(DockerError) -> NodeError + use<> {
        let node = self.instance.clone();
        move |source| NodeError::Docker {
            operation,
            node,
            source,
        }
    }
}
