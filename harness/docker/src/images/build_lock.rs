//! A lock for builds that every client of an engine can see: a volume with the labels of the building process.
//!
//! A file lock is visible only to processes with the same cache folder. The removal of leftovers must know about every
//! build in progress, because its stages look like leftovers.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::ListVolumesOptionsBuilder;
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::time::timeout;

use crate::blocking;
use crate::engine::{Engine, REQUEST_TIMEOUT};
use crate::error::DockerError;
use crate::labels;
use crate::object::ObjectKind;
use crate::owner::{Liveness, Owner, started};
use crate::probe::rand_bits;
use crate::removal::Remover;

/// The run label of build locks: a sweep removes locks whose process is dead, like other objects of a run.
const RUN: &str = "build";
/// Timeout for the removal of the lock.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Marks that this process builds from a recipe, until it is dropped.
#[derive(Debug)]
pub(crate) struct BuildLock {
    volume: String,
    time_factor: TimeFactor,
}

impl BuildLock {
    pub(crate) async fn acquire(engine: &Engine, recipe: &str) -> Result<Self, DockerError> {
        let volume = format!("nodejoin-build-{recipe}-{:x}", rand_bits());
        let mut labels = labels::of(RUN, "build-lock", &Owner::current(), SystemTime::now());
        labels.insert(labels::IMAGE.to_owned(), recipe.to_owned());
        let request = VolumeCreateRequest {
            name: Some(volume.clone()),
            labels: Some(labels),
            ..VolumeCreateRequest::default()
        };
        // Before the volume is created, so that dropping this future removes it.
        let lock = Self {
            volume,
            time_factor: engine.time_factor(),
        };
        let created = engine.docker().create_volume(request).await;
        created.map_err(DockerError::engine("create the build lock for image", recipe))?;
        Ok(lock)
    }

    /// Whether another process may be building from a recipe; `own` is the lock of the caller.
    pub(crate) async fn is_held(
        engine: &Engine,
        recipe: &str,
        own: Option<&Self>,
    ) -> Result<bool, DockerError> {
        let filter = vec![
            format!("{}={RUN}", labels::RUN),
            format!("{}={recipe}", labels::IMAGE),
        ];
        let options = ListVolumesOptionsBuilder::new()
            .filters(&HashMap::from([("label", filter)]))
            .build();
        let volumes = engine.docker().list_volumes(Some(options)).await;
        let volumes = volumes
            .map_err(DockerError::engine("list the build locks of", recipe))?
            .volumes
            .unwrap_or_default();
        let here = Owner::current();
        let is_live = |labels: &HashMap<String, String>| {
            let is_expired = labels::is_expired(labels, SystemTime::now());
            let dead =
                labels::owner(labels).is_none_or(|owner| owner.liveness(&here, started) == Liveness::Dead);
            !is_expired && !dead
        };
        let others = volumes
            .iter()
            .filter(|volume| own.is_none_or(|own| own.volume != volume.name));
        Ok(others.into_iter().any(|volume| is_live(&volume.labels)))
    }
}

impl Drop for BuildLock {
    fn drop(&mut self) {
        let (volume, factor) = (self.volume.clone(), self.time_factor);
        let removed = blocking::block_on(factor.scale(REQUEST_TIMEOUT), move |docker| async move {
            let removal = Remover::new(&docker, factor);
            let removal = removal.remove(ObjectKind::Volume, &volume);
            timeout(factor.scale(REMOVAL_TIMEOUT), removal)
                .await
                .is_ok_and(|removed| removed.is_ok())
        });
        if removed != Some(true) {
            tracing::warn!(
                volume = self.volume,
                "a build lock may be left; `nodejoin sweep` removes it"
            );
        }
    }
}
