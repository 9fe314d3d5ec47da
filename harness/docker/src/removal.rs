//! Removal of single objects from the engine. An object that is already gone is not an error.

use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{
    InspectContainerOptions, RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder,
};
use nodejoin_core::run::time_factor::TimeFactor;
use tokio::time::timeout;

use crate::error::{DockerError, status};
use crate::object::ObjectKind;

/// Timeout for a removal that another client of the engine has started.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// The engine sends no event to a client that waits for another client's removal.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Removes objects by kind and by name or id.
#[derive(Clone, Copy)]
pub(crate) struct Remover<'a> {
    docker: &'a Docker,
    time_factor: TimeFactor,
}

impl<'a> Remover<'a> {
    pub(crate) fn new(docker: &'a Docker, time_factor: TimeFactor) -> Self {
        Self { docker, time_factor }
    }

    /// Removes an object: a container at once and with its anonymous volumes.
    pub(crate) async fn remove(self, kind: ObjectKind, name: &str) -> Result<(), DockerError> {
        let (operation, removed) = match kind {
            ObjectKind::Container => return self.container(name).await,
            ObjectKind::Network => ("remove network", self.docker.remove_network(name).await),
            ObjectKind::Volume => {
                let force = RemoveVolumeOptionsBuilder::new().force(true).build();
                (
                    "remove volume",
                    self.docker.remove_volume(name, Some(force)).await,
                )
            }
        };
        match removed {
            Err(error) if status(&error) == Some(404) => Ok(()),
            other => other.map_err(DockerError::engine(operation, name)),
        }
    }

    async fn container(self, name: &str) -> Result<(), DockerError> {
        let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        match self.docker.remove_container(name, Some(force)).await {
            Err(error) if status(&error) == Some(404) => Ok(()),
            // Another client has started the removal; the engine returns 409 until it is complete.
            Err(error) if status(&error) == Some(409) => self.wait_until_removed(name, error).await,
            other => other.map_err(DockerError::engine("remove container", name)),
        }
    }

    async fn wait_until_removed(
        self,
        name: &str,
        conflict: bollard::errors::Error,
    ) -> Result<(), DockerError> {
        let removed = async {
            while self
                .docker
                .inspect_container(name, None::<InspectContainerOptions>)
                .await
                .is_ok()
            {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        timeout(self.time_factor.scale(REMOVAL_TIMEOUT), removed)
            .await
            .map_err(|_| DockerError::engine("remove container", name)(conflict))
    }
}
