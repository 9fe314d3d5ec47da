//! The nodes of one plan in its environment: admits them, lets them join, judges them, and returns everything that it
//! acquired.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use futures::future::try_join_all;
use futures::stream::{self, BoxStream, StreamExt as _};
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict};
use nodejoin_core::judge::{self, Joined};
use nodejoin_core::plan::Plan;
use nodejoin_docker::ImageRef;
use nodejoin_fake_aws::RegistryImage;
use nodejoin_fake_aws::SharedAccount;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::result::ScenarioResult;
use crate::conclude::{ContainerHandle, FinishedNode, Leave, conclude};
use crate::context::RunContext;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::evidence::{self, EvidenceFolder};
use crate::hold::hold;
use crate::join::{JoinContext, JudgedJoin, join};
use crate::machine_snapshot::ComparedSnapshot;
use crate::node_driver::{ContainerNode, CurrentNode, NodeEvents};
use crate::observer::Incoming;
use crate::session::ScenarioSession;
use crate::verdict::verdict_without_observation;
use crate::watch::PhaseProgress;

/// Time for the container of a control plane to end after its API server stopped responding.
const CONTROL_PLANE_END: Duration = Duration::from_secs(5);

/// A plan in its environment.
pub(super) struct ScenarioRun<'a> {
    pub(super) context: &'a RunContext,
    pub(super) environment: &'a Environment,
    pub(super) image: &'a ImageRef,
    /// Images of the scenario's own registry.
    pub(super) images: Vec<RegistryImage>,
    pub(super) plan: &'a Plan,
    /// The check of `expect.same_as`.
    pub(super) compared: Option<Check>,
    /// What `golden.machine` is compared with.
    pub(super) snapshot: ComparedSnapshot,
    pub(super) folder: EvidenceFolder,
}

/// A node whose world and tenant are admitted.
struct AdmittedNode<'a> {
    plan: Plan,
    session: ScenarioSession<'a>,
    /// Taken when the node boots.
    events: Option<BoxStream<'static, Incoming>>,
    folder: EvidenceFolder,
    /// The container, once the node has booted.
    current: CurrentNode,
}

impl<'a> ScenarioRun<'a> {
    pub(super) async fn run(&self, cancel: &CancellationToken) -> ScenarioResult {
        let mut nodes = Vec::new();
        // Never cancelled half-way: a session that is not in `nodes` would not be ended.
        let judged = match self.admit(&mut nodes).await {
            Err(error) => Err(error),
            Ok(()) => tokio::select! {
                judged = self.join(&mut nodes) => judged,
                // No node joins without its control plane, whatever its script does.
                error = self.environment.control_plane.ended() => Err(error.into()),
                // Nodes that may be running are in the run's ledger.
                () = cancel.cancelled() => {
                    let mut result = ScenarioResult::without_observation(Outcome::Cancelled);
                    let files = evidence::of_verdict(self.plan, &result.verdict, self.folder.age());
                    result.problems = self.folder.write(files);
                    result.evidence = Some(self.folder.clone());
                    self.end_sessions(nodes, &mut result).await;
                    return result;
                }
            },
        };
        let judged = match judged {
            Err(error) => Err(self.root_error(error).await),
            judged => judged,
        };
        let mut result = self.conclude(judged, &nodes, cancel).await;
        self.end_sessions(nodes, &mut result).await;
        result
    }

    /// The end of the control plane takes precedence over an error: a request to an API server that stops fails before
    /// its container has ended.
    async fn root_error(&self, error: EngineError) -> EngineError {
        let timeout = self.context.run.engine().time_factor().scale(CONTROL_PLANE_END);
        let ended = tokio::time::timeout(timeout, self.environment.control_plane.ended()).await;
        ended.map_or(error, EngineError::from)
    }

    /// Admits all nodes. The caller ends the sessions in `nodes`, whatever the result.
    async fn admit(&self, nodes: &mut Vec<AdmittedNode<'a>>) -> Result<(), EngineError> {
        let (account, factor) = (SharedAccount::default(), self.context.run.engine().time_factor());
        let plans = self.plan.nodes();
        let count = plans.len();
        for plan in plans {
            let (session, events) =
                ScenarioSession::begin(self.environment, &plan, &self.images, &account, factor).await?;
            let folder = match count {
                1 => self.folder.clone(),
                _ => self.folder.create_for_node(&plan.instance.private_dns_name)?,
            };
            nodes.push(AdmittedNode {
                plan,
                session,
                events: Some(events),
                folder,
                current: CurrentNode::default(),
            });
        }
        Ok(())
    }

    /// Lets all nodes join, and judges them.
    async fn join(&self, nodes: &mut [AdmittedNode<'a>]) -> Result<(Verdict, Vec<JudgedJoin>), EngineError> {
        let join_context = JoinContext {
            events: &self.context.events,
            kubernetes: &self.environment.control_plane.version,
            kubelet: &self.image.kubernetes,
            progress: PhaseProgress::new(self.context.events.clone(), nodes.len()),
            bless: self.context.settings.bless,
        };
        let joins = nodes
            .iter_mut()
            .map(|node| Box::pin(self.join_one(&join_context, node)));
        let restarted = OnceLock::new();
        let restart = self.restart_api_server(join_context.progress.registered.subscribe(), &restarted);
        let judged = tokio::select! {
            judged = try_join_all(joins) => judged?,
            Err(error) = restart => return Err(error),
        };
        let mut verdict = aggregate(&judged);
        self.judge_restart(restarted.get().copied(), &mut verdict);
        if let Some(check) = self.compared.clone() {
            judge::add_check(&mut verdict, check);
        }
        self.snapshot.conclude(&self.context.events, &mut verdict)?;
        Ok((verdict, judged))
    }

    async fn join_one(
        &self,
        context: &JoinContext<'_>,
        node: &mut AdmittedNode<'a>,
    ) -> Result<JudgedJoin, EngineError> {
        let session_events = node.events.take().unwrap_or_else(|| stream::empty().boxed());
        let (run, current) = (&self.context.run, Arc::clone(&node.current));
        let ahead = self.context.ahead.take(&node.plan);
        let mut driver = ContainerNode::boot(run, self.image, &mut node.session, current, ahead).await?;
        self.context.boot_next();
        let events = NodeEvents {
            node: driver.node_events(),
            session: session_events,
        };
        let plan = node.plan.clone();
        let judged = Box::pin(join(
            context,
            plan,
            &mut driver,
            events,
            &node.folder,
            SystemTime::now,
        ))
        .await?;
        self.context.traces.note(&self.plan.id, &judged.observation);
        Ok(judged)
    }

    /// Restarts the API server when enough nodes are registered, and stores their number.
    async fn restart_api_server(
        &self,
        mut registered: watch::Receiver<usize>,
        restarted: &OnceLock<usize>,
    ) -> Result<(), EngineError> {
        let Some(after) = self.plan.cluster.restart_api_server_after else {
            return Ok(());
        };
        let Ok(count) = registered
            .wait_for(|count| *count >= after as usize)
            .await
            .map(|count| *count)
        else {
            return Ok(());
        };
        self.environment.control_plane.restart_api_server().await?;
        let _ = restarted.set(count);
        Ok(())
    }

    fn judge_restart(&self, restarted: Option<usize>, verdict: &mut Verdict) {
        if let Some(after) = self.plan.cluster.restart_api_server_after {
            judge_restart(after, restarted, verdict);
        }
    }

    /// Writes or removes the evidence, and keeps or removes the nodes.
    async fn conclude(
        &self,
        judged: Result<(Verdict, Vec<JudgedJoin>), EngineError>,
        nodes: &[AdmittedNode<'a>],
        cancel: &CancellationToken,
    ) -> ScenarioResult {
        let (verdict, judged) = match judged {
            Ok((verdict, judged)) => (verdict, judged),
            Err(error) => {
                let outcome = Outcome::Errored(error.with_hint());
                (verdict_without_observation(outcome), Vec::new())
            }
        };
        let mut judged = judged.into_iter();
        let finished: Vec<_> = nodes
            .iter()
            .filter_map(|node| self.finished(node, judged.next()))
            .collect();
        let leave = Leave {
            nodes: self.context.settings.keep,
            evidence: self.context.settings.evidence,
        };
        let log = async || self.environment.control_plane.logs().await;
        let names: Vec<&str> = finished
            .iter()
            .map(|node| node.handle.node.name.as_str())
            .collect();
        let held = Cell::new(Duration::ZERO);
        let hold = async || {
            held.set(
                hold(
                    self.context,
                    self.environment,
                    self.plan,
                    &verdict,
                    &names,
                    cancel,
                )
                .await,
            );
        };
        let conclusion = conclude(leave, self.plan, &verdict, &self.folder, &finished, log, hold).await;
        ScenarioResult {
            verdict,
            evidence: conclusion.has_evidence.then(|| self.folder.clone()),
            kept: conclusion.kept,
            problems: conclusion.problems,
            started: None,
            held: held.get(),
        }
    }

    /// A node whose container started, with what is known of it.
    fn finished(
        &self,
        node: &AdmittedNode<'a>,
        judged: Option<JudgedJoin>,
    ) -> Option<FinishedNode<ContainerHandle<'a>>> {
        let handle = ContainerHandle {
            context: self.context,
            environment: self.environment,
            node: node.current.lock().clone()?,
        };
        let (plan, observed) = match judged {
            Some(judged) => (judged.plan, Some((judged.verdict, judged.observation))),
            None => (node.plan.clone(), None),
        };
        Some(FinishedNode {
            plan,
            folder: node.folder.clone(),
            user_data: node.session.user_data().map(<[u8]>::to_vec),
            observed,
            handle,
        })
    }

    /// Ends all sessions. What remains on a shared control plane could break a later scenario, so a failure is an error
    /// now.
    async fn end_sessions(&self, nodes: Vec<AdmittedNode<'a>>, result: &mut ScenarioResult) {
        let is_kept = !result.kept.is_empty();
        let mut ended = Ok(());
        for node in nodes {
            ended = ended.and(node.session.end(is_kept).await);
        }
        if let Err(error) = ended {
            // The first error is the cause: a control plane that ended cannot remove a tenant either.
            if matches!(result.verdict.outcome, Outcome::Errored(_)) {
                result.problems.push(error.with_hint());
                return;
            }
            result.verdict = verdict_without_observation(Outcome::Errored(error.with_hint()));
            let log = ("control-plane.log", self.environment.control_plane.logs().await);
            let files = evidence::of_verdict(self.plan, &result.verdict, self.folder.age());
            result
                .problems
                .extend(self.folder.write(files.into_iter().chain([log])));
            result.evidence = Some(self.folder.clone());
        }
    }
}

/// Adds the check of `cluster.restart_api_server_after` to a verdict.
fn judge_restart(after: u32, restarted: Option<usize>, verdict: &mut Verdict) {
    let seen = restarted.map_or("never restarted".to_owned(), |count| {
        format!("restarted once {count} nodes were registered")
    });
    let check = Check {
        key: "cluster.restart_api_server_after".to_owned(),
        held: restarted.is_some(),
        expected: format!("restarted once {after} nodes were registered"),
        seen,
    };
    judge::add_check(verdict, check);
}

fn aggregate(judged: &[JudgedJoin]) -> Verdict {
    let joined: Vec<Joined<'_>> = judged
        .iter()
        .map(|one| Joined {
            plan: &one.plan,
            observation: &one.observation,
            verdict: &one.verdict,
        })
        .collect();
    judge::of_nodes(&joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn a_restart_that_did_not_happen_fails_a_passed_scenario() {
        let mut verdict = verdict_without_observation(Outcome::Passed);
        judge_restart(3, None, &mut verdict);
        assert_eq!(verdict.outcome, Outcome::Failed);
        assert!(!verdict.checks[0].held);
        assert_eq!(verdict.checks[0].seen, "never restarted");
    }

    #[test]
    fn a_restart_that_happened_is_a_check_that_held() {
        let mut verdict = verdict_without_observation(Outcome::Passed);
        judge_restart(3, Some(4), &mut verdict);
        assert_eq!(verdict.outcome, Outcome::Passed);
        assert!(verdict.checks[0].held);
        assert_eq!(verdict.checks[0].seen, "restarted once 4 nodes were registered");
    }

    #[test]
    fn the_verdict_of_one_node_is_that_of_the_scenario() {
        let judged = JudgedJoin {
            plan: plan("name: x\n"),
            observation: Default::default(),
            verdict: verdict_without_observation(Outcome::Failed),
        };
        assert_eq!(aggregate(&[judged]).outcome, Outcome::Failed);
    }
}
