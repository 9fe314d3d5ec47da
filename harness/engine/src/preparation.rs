//! What a plan needs before its node boots: its control plane and its image, unless it does not run on them.

use std::sync::Arc;

use nodejoin_cluster::ProviderKind;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::kubernetes::{Minor, check_skew};
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::matrix::{not_for_kubelet, not_for_kubernetes, not_for_request};
use nodejoin_docker::ImageRef;

use crate::context::RunContext;
use crate::environment::Environment;
use crate::error::EngineError;

pub(crate) enum Preparation {
    Ready(Arc<Environment>, Box<ImageRef>),
    /// The plan does not run here: it is skipped, or errored when its control plane is required.
    Ended(Outcome),
}

impl Preparation {
    fn skipped(reason: String) -> Self {
        Self::Ended(Outcome::Skipped(reason))
    }
}

/// Starts the environment and builds the image of the node, unless the plan does not run on them.
pub(crate) async fn prepare(context: &RunContext, plan: &Plan) -> Result<Preparation, EngineError> {
    let provider = match ProviderName::choose(context.settings.control_plane, &plan.control_plane) {
        Ok(provider) => provider,
        Err(reason) => return Ok(Preparation::skipped(reason)),
    };
    if let Some(reason) = not_for_request(plan).or_else(|| not_restartable(plan, provider)) {
        return Ok(Preparation::skipped(reason));
    }
    let images = context.images_of(plan.requested.of_kubelet());
    let image = images.of_plan(&plan.image).await?;
    if let Some(reason) = not_for_kubelet(plan, &image.kubernetes) {
        return Ok(Preparation::skipped(reason));
    }
    context.boot_beside_start(plan, provider);
    let environment = match context.environment(plan, provider).await {
        Ok(environment) => environment,
        Err(error) if matches!(*error, EngineError::Unavailable { .. }) => {
            let outcome = context.settings.require.outcome(provider, &error.with_hint());
            return Ok(Preparation::Ended(outcome));
        }
        Err(error) => return Err(EngineError::Shared(error)),
    };
    let version = &environment.control_plane.version;
    if let Some(reason) = not_for_kubernetes(plan, version) {
        return Ok(Preparation::skipped(reason));
    }
    check_skew(Minor::of(version), Minor::of(&image.kubernetes))?;
    Ok(Preparation::Ready(environment, Box::new(image)))
}

/// Why a plan that restarts the API server does not run on a control plane.
fn not_restartable(plan: &Plan, provider: ProviderName) -> Option<String> {
    plan.cluster.restart_api_server_after?;
    let can_restart = ProviderKind::of(provider).capabilities.restarts_api_server;
    (!can_restart).then(|| {
        format!(
            "the control plane `{}` cannot restart its API server",
            provider.as_str()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn only_the_local_control_plane_restarts_its_api_server() {
        let mut plan = plan("name: x\n");
        assert_eq!(not_restartable(&plan, ProviderName::Kind), None);
        plan.cluster.restart_api_server_after = Some(2);
        assert_eq!(not_restartable(&plan, ProviderName::Local), None);
        assert_eq!(
            not_restartable(&plan, ProviderName::Kind).as_deref(),
            Some("the control plane `kind` cannot restart its API server")
        );
    }
}
