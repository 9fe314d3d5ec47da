//! What a client and a keeper exchange: lines of JSON, one request, then replies.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_cluster::ExternalSettings;
use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::observation::ScriptTrace;
use nodejoin_core::plan::ids::{RunId, ScenarioId};
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen};
use nodejoin_core::run::shard::Shard;
use nodejoin_docker::ImageSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::probe::ProbeEnd;
use crate::settings::{Caller, Settings};

/// The one request of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeeperRequest {
    /// Runs scenarios. The client cancels the run by closing its sending side.
    Run(Box<LeaseRequest>),
    /// Begins a session: more lines follow, each a [`NumberedCall`].
    Session(Box<SessionRequest>),
    Status,
    Stop,
    /// Stops it unless it has a run.
    StopIfUnused,
}

/// Scenarios to run.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseRequest {
    /// The id of the run, for its folder and its labels.
    pub run: RunId,
    pub settings: LeaseSettings,
    pub plans: Vec<Plan>,
}

/// A run whose plans follow one by one.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The id of the run, for its folder and its labels.
    pub run: RunId,
    pub settings: LeaseSettings,
}

/// A call of a session. Its answer has the same number.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NumberedCall {
    pub(super) number: u64,
    pub(super) call: SessionCall,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionCall {
    Probe(Box<Plan>),
    Run(Box<Plan>),
    /// Ends the session: what still runs is cancelled, and everything of it is removed.
    End,
}

/// The answer to a call, with what traced plans have run since the last answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NumberedAnswer {
    pub(super) number: u64,
    pub(super) answer: SessionAnswer,
    pub(super) traces: Vec<(ScenarioId, ScriptTrace)>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionAnswer {
    Probed(ProbeEnd),
    Ran(Box<Verdict>),
    /// The session has ended; what could not be removed.
    Ended(Vec<String>),
}

/// The settings of a run in a keeper. Those of images are the keeper's, which has the same environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseSettings {
    control_plane: Option<ProviderName>,
    require: Require,
    artifacts: PathBuf,
    evidence: EvidenceWhen,
    version: String,
    /// The command that runs a scenario again, for each.
    rerun: BTreeMap<ScenarioId, String>,
    jobs: usize,
    bless: bool,
    fail_fast: bool,
    shard: Option<Shard>,
}

impl LeaseSettings {
    /// The settings of a run that a keeper can run, or why it cannot.
    ///
    /// # Errors
    /// When objects of the run outlive it, or the control plane is a user's.
    pub fn of(settings: &Settings, plans: &[Plan]) -> Result<Self, &'static str> {
        let Settings {
            images: _,
            control_plane,
            require,
            external: _,
            artifacts,
            jobs,
            evidence,
            caller,
            keep,
            hold,
            bless,
            fail_fast,
            shard,
            // Environments of a keeper are ready before their nodes.
            boot_ahead: _,
        } = settings.clone();
        if keep != KeepWhen::Never {
            return Err("kept nodes need the fakes of their run");
        }
        if hold {
            return Err("a held run stays until a person ends it");
        }
        let is_external = |plan: &Plan| {
            ProviderName::choose(control_plane, &plan.control_plane) == Ok(ProviderName::External)
        };
        if plans.iter().any(is_external) {
            return Err("a keeper leaves no objects on an external cluster");
        }
        let rerun = |plan: &Plan| (plan.id.clone(), (caller.rerun)(&plan.id, &plan.file));
        Ok(Self {
            control_plane,
            require,
            artifacts,
            evidence,
            version: caller.version,
            rerun: plans.iter().map(rerun).collect(),
            jobs,
            bless,
            fail_fast,
            shard,
        })
    }

    pub(super) fn into_settings(self, images: ImageSettings) -> Settings {
        let rerun = self.rerun;
        Settings {
            images,
            caller: Caller {
                version: self.version,
                rerun: Arc::new(move |id, file| match rerun.get(id) {
                    Some(command) => command.clone(),
                    None => (Caller::default().rerun)(id, file),
                }),
            },
            evidence: self.evidence,
            control_plane: self.control_plane,
            require: self.require,
            external: ExternalSettings::default(),
            artifacts: self.artifacts,
            jobs: self.jobs,
            keep: KeepWhen::Never,
            hold: false,
            boot_ahead: false,
            bless: self.bless,
            fail_fast: self.fail_fast,
            shard: self.shard,
        }
    }
}

/// A reply of a keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeeperReply {
    /// The run starts. Without this line the keeper was ending.
    Accepted,
    Event(Box<RunEvent>),
    /// What traced plans of a run ran, before the event that follows.
    Traces(Vec<(ScenarioId, ScriptTrace)>),
    Answer(Box<NumberedAnswer>),
    Status(KeeperStatus),
    Stopping,
}

/// The state of a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperStatus {
    pub pid: u32,
    /// The folder in which it was started.
    pub folder: PathBuf,
    /// Seconds since its start.
    pub seconds: u64,
    /// Seconds without a run after which it stops.
    pub idle_seconds: u64,
    /// Number of runs.
    pub runs: usize,
    /// A line for each environment that waits for a run.
    pub environments: Vec<String>,
    /// Why the last environment that could not be used again was removed.
    pub last_removal: Option<String>,
}

/// Writes a value as one line.
pub(super) async fn write_line(
    to: &mut (impl AsyncWrite + Unpin),
    value: &(impl Serialize + Sync),
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line).await
}

/// Reads one line; `None` at the end of the stream.
pub(super) async fn read_line<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = String::new();
    match from.read_line(&mut line).await? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&line)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn settings() -> Settings {
        Settings {
            images: ImageSettings::from_lookup(|_| None),
            control_plane: None,
            require: "kind".parse().unwrap(),
            external: ExternalSettings::default(),
            artifacts: "/artifacts".into(),
            evidence: EvidenceWhen::Always,
            caller: Caller::default(),
            jobs: 3,
            keep: KeepWhen::Never,
            hold: false,
            boot_ahead: false,
            bless: true,
            fail_fast: true,
            shard: Some("1/4".parse().unwrap()),
        }
    }

    #[tokio::test]
    async fn a_request_arrives_as_it_was_sent() {
        let plans = vec![plan(
            "name: x\nexpect: { phase: ready, node: { labels: { team: web } } }\n",
        )];
        let request = LeaseRequest {
            run: "abcdefghij".parse().unwrap(),
            settings: LeaseSettings::of(&settings(), &plans).unwrap(),
            plans,
        };
        let mut bytes = Vec::new();
        write_line(&mut bytes, &request).await.unwrap();
        let read: LeaseRequest = read_line(&mut bytes.as_slice()).await.unwrap().unwrap();
        assert_eq!(read, request);
        let read = read.settings.into_settings(ImageSettings::from_lookup(|_| None));
        assert_eq!(format!("{read:?}"), format!("{:?}", settings()));
        let plan = &request.plans[0];
        let again = |settings: &Settings| (settings.caller.rerun)(&plan.id, &plan.file);
        assert_eq!(again(&read), again(&settings()));
    }

    #[test]
    fn kept_nodes_and_a_users_cluster_need_a_run_of_their_own() {
        let plans = [plan("name: x\n")];
        let kept = Settings {
            keep: KeepWhen::OnFailure,
            ..settings()
        };
        assert!(LeaseSettings::of(&kept, &plans).is_err());
        let held = Settings {
            hold: true,
            boot_ahead: false,
            ..settings()
        };
        assert!(LeaseSettings::of(&held, &plans).is_err());
        let external = Settings {
            control_plane: Some(ProviderName::External),
            ..settings()
        };
        assert!(LeaseSettings::of(&external, &plans).is_err());
    }
}
