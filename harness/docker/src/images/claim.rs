//! A build that goes on, said where every process can see it: by a volume in the engine with the builder's labels.
//!
//! A lock in the cache folder is seen by those who share the folder. Whoever clears the stages of builds must know of all: a
//! stage of a build that goes on looks like a leftover.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::ListVolumesOptionsBuilder;
use tokio::time::timeout;

use crate::apart;
use crate::engine::Engine;
use crate::error::DockerError;
use crate::labels;
use crate::owner::{Liveness, Owner, started};
use crate::probe::rand_bits;
use crate::teardown::remove_volume;

/// The run that claims belong to; they are swept like everything of a run whose process is gone.
const RUN: &str = "build";
const LIMIT: Duration = Duration::from_secs(10);

/// This process builds from a recipe. Dropped, it takes its word back.
#[derive(Debug)]
pub(crate) struct Claim {
    volume: String,
}

impl Claim {
    pub(crate) async fn stake(engine: &Engine, recipe: &str) -> Result<Self, DockerError> {
        let volume = format!("nodejoin-build-{recipe}-{:x}", rand_bits());
        let mut marks = labels::of(RUN, "claim", &Owner::current(), SystemTime::now());
        marks.insert(labels::IMAGE.to_owned(), recipe.to_owned());
        let ask = VolumeCreateRequest {
            name: Some(volume.clone()),
            labels: Some(marks),
            ..VolumeCreateRequest::default()
        };
        // Before the volume is made: a caller that goes away meanwhile drops this.
        let claim = Self { volume };
        let made = engine.docker().create_volume(ask).await;
        made.map_err(DockerError::engine("say that it is being built:", recipe))?;
        Ok(claim)
    }

    /// Whether somebody else may be building from a recipe.
    pub(crate) async fn is_held(
        engine: &Engine,
        recipe: &str,
        own: Option<&Self>,
    ) -> Result<bool, DockerError> {
        let wanted = vec![
            format!("{}={RUN}", labels::RUN),
            format!("{}={recipe}", labels::IMAGE),
        ];
        let options = ListVolumesOptionsBuilder::new()
            .filters(&HashMap::from([("label", wanted)]))
            .build();
        let volumes = engine.docker().list_volumes(Some(options)).await;
        let volumes = volumes
            .map_err(DockerError::engine("list the builds of", recipe))?
            .volumes
            .unwrap_or_default();
        let here = Owner::current();
        let holds = |marks: &HashMap<String, String>| {
            let is_over = labels::is_expired(marks, SystemTime::now());
            let dead =
                labels::owner(marks).is_none_or(|owner| owner.liveness(&here, started) == Liveness::Dead);
            !is_over && !dead
        };
        let others = volumes
            .iter()
            .filter(|volume| own.is_none_or(|own| own.volume != volume.name));
        Ok(others.into_iter().any(|volume| holds(&volume.labels)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let volume = self.volume.clone();
        let removed = apart::block_on(move |docker| async move {
            timeout(LIMIT, remove_volume(&docker, &volume))
                .await
                .is_ok_and(|removed| removed.is_ok())
        });
        if removed != Some(true) {
            tracing::warn!(
                volume = self.volume,
                "a mark of a build may be left; `nodejoin sweep` removes it"
            );
        }
    }
}
