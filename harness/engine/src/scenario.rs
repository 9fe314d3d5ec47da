//! Runs one plan: worlds, tenants, nodes, one verdict; and gives back everything it took.

use std::sync::{Arc, OnceLock};

use futures::future::try_join_all;
use futures::stream::{self, BoxStream, StreamExt as _};
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict};
use nodejoin_core::judge::{self, Joined};
use nodejoin_core::kubernetes::{Minor, check_skew, not_for, not_for_asked};
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::ImageRef;
use nodejoin_fake_aws::Rates;
use nodejoin_fake_aws::RegistryImage;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::ground::Ground;
use crate::harness::{self, Harness};
use crate::nodes::{self, Judged, Reach, Stage};
use crate::observer::Incoming;
use crate::registry;
use crate::tenancy::Tenancy;

/// How a scenario ended.
pub(crate) struct Ended {
    pub(crate) verdict: Verdict,
    pub(crate) evidence: Option<Evidence>,
    /// How to get into what was kept.
    pub(crate) kept: Vec<String>,
}

impl Ended {
    fn bare(outcome: Outcome) -> Self {
        Self {
            verdict: harness::bare(outcome),
            evidence: None,
            kept: Vec::new(),
        }
    }
}

/// Runs one plan to its verdict.
pub(crate) async fn run(
    harness: &Harness,
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<Ended, EngineError> {
    let started = tokio::select! {
        started = prepare(harness, plan) => started?,
        () = cancel.cancelled() => return Ok(Ended::bare(Outcome::Cancelled)),
    };
    let (ground, image) = match started {
        Prepared::Ready(ground, image) => (ground, image),
        Prepared::Skipped(reason) => return Ok(Ended::bare(Outcome::Skipped(reason))),
        Prepared::Unavailable(outcome) => return Ok(Ended::bare(outcome)),
    };
    if let Some(reason) = not_restartable(plan, provider_of(harness, plan)) {
        return Ok(Ended::bare(Outcome::Skipped(reason)));
    }
    if let Some(reason) = ground.control_plane.not_for(plan).await {
        return Ok(Ended::bare(Outcome::Skipped(reason)));
    }
    let images = registry::listed(plan, Some(harness.run.engine())).await?;
    harness.events.send(RunEvent::ScenarioStarted {
        scenario: plan.id.clone(),
        name: plan.name.clone(),
    });
    let place = Place {
        harness,
        ground: &ground,
        image: &image,
        images,
        plan,
    };
    let mut tenancies = Vec::new();
    let ended = place.run(&mut tenancies, cancel).await;
    let is_kept = ended.as_ref().is_ok_and(|ended| !ended.kept.is_empty());
    let mut given_back = Ok(());
    for (tenancy, _) in tenancies {
        given_back = given_back.and(tenancy.end(is_kept).await);
    }
    let ended = ended?;
    // What stays on a shared control plane could spoil a later scenario: better an error now.
    given_back.map(|()| ended)
}

/// A scenario on its ground.
struct Place<'a> {
    harness: &'a Harness,
    ground: &'a Ground,
    image: &'a ImageRef,
    /// What its own registry holds.
    images: Vec<RegistryImage>,
    plan: &'a Plan,
}

/// A node's place, and what is told of it; taken when it boots.
type Begun<'a> = (Tenancy<'a>, Option<BoxStream<'static, Incoming>>);

impl<'a> Place<'a> {
    /// Lets all nodes join. The tenancies are the caller's to end, however it ends.
    async fn run(
        &self,
        tenancies: &mut Vec<Begun<'a>>,
        cancel: &CancellationToken,
    ) -> Result<Ended, EngineError> {
        let (rates, factor) = (Rates::default(), self.harness.run.engine().time_factor());
        let plans = self.plan.nodes();
        for plan in &plans {
            let (tenancy, told) = Tenancy::begin(self.ground, plan, &self.images, &rates, factor).await?;
            tenancies.push((tenancy, Some(told)));
        }
        tokio::select! {
            ended = self.join(plans, tenancies) => ended,
            // Without it no node joins, whatever its script does.
            error = self.ground.control_plane.ended() => Err(error.into()),
            // The nodes that may be running are in the run's ledger.
            () = cancel.cancelled() => Ok(Ended::bare(Outcome::Cancelled)),
        }
    }

    async fn join(&self, plans: Vec<Plan>, tenancies: &mut [Begun<'a>]) -> Result<Ended, EngineError> {
        let evidence = Evidence::begin(&self.harness.folder, self.plan)?;
        let count = plans.len();
        let stage = Stage {
            harness: self.harness,
            image: self.image,
            version: &self.ground.control_plane.version,
            reach: Reach::of(self.harness, count),
        };
        let joins = plans.into_iter().zip(tenancies).map(|(plan, (tenancy, told))| {
            let (stage, evidence) = (&stage, &evidence);
            async move {
                let told = told.take().unwrap_or_else(|| stream::empty().boxed());
                let own = match count {
                    1 => Evidence::begin(&stage.harness.folder, &plan)?,
                    _ => evidence.of_node(&plan.instance.private_dns_name)?,
                };
                nodes::run(stage, plan, tenancy, told, own).await
            }
        });
        let restarted = OnceLock::new();
        let restart = self.restart_api_server(stage.reach.registered.subscribe(), &restarted);
        let judged = tokio::select! {
            judged = try_join_all(joins) => judged?,
            Err(error) = restart => return Err(error),
        };
        let mut verdict = whole(&judged);
        self.judge_restart(restarted.get().copied(), &mut verdict);
        self.conclude(judged, evidence, verdict).await
    }

    /// Restarts the API server once so many nodes are registered, and notes that it was done.
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
        self.ground.control_plane.restart_api_server().await?;
        let _ = restarted.set(count);
        Ok(())
    }

    fn judge_restart(&self, restarted: Option<usize>, verdict: &mut Verdict) {
        let Some(after) = self.plan.cluster.restart_api_server_after else {
            return;
        };
        let seen = restarted.map_or("never".to_owned(), |count| format!("once {count} were"));
        verdict.checks.push(Check {
            key: "cluster.restart_api_server_after".to_owned(),
            held: restarted.is_some(),
            expected: format!("restarted once {after} nodes were registered"),
            seen,
        });
        if restarted.is_none() && verdict.outcome == Outcome::Passed {
            verdict.outcome = Outcome::Failed;
        }
    }

    /// Writes or drops the evidence, and removes or keeps the nodes.
    async fn conclude(
        &self,
        judged: Vec<Judged>,
        evidence: Evidence,
        verdict: Verdict,
    ) -> Result<Ended, EngineError> {
        let passed = verdict.outcome == Outcome::Passed;
        let keeps = self.harness.settings.keep.keeps(passed);
        let mut kept = Vec::new();
        for one in &judged {
            if keeps || !passed {
                let of_one = if judged.len() == 1 { &verdict } else { &one.verdict };
                one.evidence
                    .write(self.ground, &one.plan, &one.node, of_one, &one.observation)
                    .await?;
            }
            if keeps {
                kept.extend(self.harness.keep(self.ground, &one.node).await?);
            } else {
                one.node.remove().await?;
            }
        }
        if passed && !keeps {
            evidence.drop_folder();
        }
        Ok(Ended {
            verdict,
            evidence: (keeps || !passed).then_some(evidence),
            kept,
        })
    }
}

fn whole(judged: &[Judged]) -> Verdict {
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

enum Prepared {
    Ready(Arc<Ground>, ImageRef),
    Skipped(String),
    /// There is no such control plane here: skipped, or errored where it is required.
    Unavailable(Outcome),
}

/// Brings the ground and the node's image, and says when the plan is not for them.
async fn prepare(harness: &Harness, plan: &Plan) -> Result<Prepared, EngineError> {
    let provider = match ProviderName::choose(harness.settings.control_plane, &plan.control_plane) {
        Ok(provider) => provider,
        Err(reason) => return Ok(Prepared::Skipped(reason)),
    };
    if let Some(reason) = not_for_asked(plan) {
        return Ok(Prepared::Skipped(reason));
    }
    let images = harness.images_of(plan.asked.of_kubelet());
    let image = images.node(&plan.image.name).await?;
    if let Some(reason) = not_for("kubelet", plan.kubelet.as_ref(), &image.kubernetes) {
        return Ok(Prepared::Skipped(reason));
    }
    let ground = match harness.ground(plan, provider).await {
        Ok(ground) => ground,
        Err(error) if matches!(*error, EngineError::Unavailable { .. }) => {
            let outcome = harness
                .settings
                .require
                .outcome(provider, &harness::with_hint(&error));
            return Ok(Prepared::Unavailable(outcome));
        }
        Err(error) => return Err(EngineError::Shared(error)),
    };
    let version = &ground.control_plane.version;
    if let Some(reason) = not_for("Kubernetes", plan.kubernetes.as_ref(), version) {
        return Ok(Prepared::Skipped(reason));
    }
    check_skew(Minor::of(version), Minor::of(&image.kubernetes))?;
    Ok(Prepared::Ready(ground, image))
}

/// Of the control planes only the harness's own restarts its API server when it is told to.
fn not_restartable(plan: &Plan, provider: Option<ProviderName>) -> Option<String> {
    plan.cluster.restart_api_server_after?;
    let provider = provider.filter(|provider| *provider != ProviderName::Local)?;
    Some(format!(
        "the control plane `{}` cannot restart its API server",
        provider.as_str()
    ))
}

fn provider_of(harness: &Harness, plan: &Plan) -> Option<ProviderName> {
    ProviderName::choose(harness.settings.control_plane, &plan.control_plane).ok()
}
