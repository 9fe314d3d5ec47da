//! Chooses the Kubernetes version of a trial if the command line does not.

use std::sync::Arc;

use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::settings::SettingsFile;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::Images;
use nodejoin_import::OfflineKubernetes;

use super::read::Tried;
use crate::process;
use crate::run_args::RunOptions;

/// Requests the version that the first machine with a wish is for, as far as one is available offline, and adds lines
/// to the report of each machine. Ignores an engine that does not respond: the run reports it.
pub(crate) async fn choose(
    tried: &mut Tried,
    options: &mut RunOptions,
    file: &SettingsFile,
    factor: TimeFactor,
) {
    let is_requested = !options.images.kubernetes.is_empty() || !options.images.kubelet.is_empty();
    let provider = options.control_plane.or(file.control_plane).unwrap_or_default();
    if is_requested || provider != ProviderName::Local {
        return;
    }
    let Some(mut offline) = offline(factor).await else {
        return;
    };
    for trial in &mut tried.trials {
        let chosen = trial.kubernetes.choose(&tried.name, &offline, &mut trial.report);
        if let Some(version) = chosen {
            options.images.kubernetes = version.to_string();
            // One version for all machines of the file: they belong to one cluster.
            offline = OfflineKubernetes {
                all: vec![version.clone()],
                default: version,
            };
        }
    }
}

async fn offline(factor: TimeFactor) -> Option<OfflineKubernetes> {
    let engine = process::try_engine(factor).await.ok()?;
    let images = Images::new(engine, process::image_settings(), Arc::new(|_| {}));
    let all = images.offline_versions().await.ok()?;
    let default = all.first()?.clone();
    Some(OfflineKubernetes { default, all })
}
