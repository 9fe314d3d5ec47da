//! Volumes with a copy of what an image has below /usr, for engines whose storage driver runs in user space.
//!
//! Such a driver answers each opened file with several switches between processes, and caches no page for two
//! containers. A volume is a plain folder of the host, which containers share and mount as the lower layer of an
//! overlay of the kernel.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType, VolumeCreateRequest};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListImagesOptions, ListVolumesOptionsBuilder,
};
use tokio::time::{Instant, sleep};

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::labels;
use crate::object::ObjectKind;
use crate::owner::Owner;

/// The storage driver that runs in user space.
const DRIVER: &str = "fuse-overlayfs";
/// The folder that is copied.
const FOLDER: &str = "/usr";
/// Timeout of a copy by another process.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks at a copy by another process.
const POLL: Duration = Duration::from_millis(200);

/// The volume of one image, by the image's id.
struct UsrVolume<'a> {
    engine: &'a Engine,
    image: &'a str,
    name: String,
}

impl Engine {
    /// The name of the volume with the files of an image below /usr, which is created at first. It stays while its
    /// image exists: `nodejoin images prune`, and the first node of another image, remove it afterwards.
    ///
    /// `None` if containers are as fast without it, or the volume could not be made: everything works without it.
    pub async fn usr_volume(&self, image: &str) -> Option<String> {
        if self.facts().storage_driver != DRIVER {
            return None;
        }
        let mut known = self.known_usr_volumes().lock().await;
        if let Some(volume) = known.get(image) {
            return volume.clone();
        }
        let (engine, name) = (self.clone(), image.to_owned());
        // Runs in its own task, so that dropping the caller does not leave the container.
        let task = tokio::spawn(async move { UsrVolume::of(&engine, &name).await?.find_or_create().await });
        let made = task
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let volume = made
            .inspect_err(|error| tracing::debug!(image, %error, "nodes start without a volume for /usr"))
            .ok();
        known.insert(image.to_owned(), volume.clone());
        volume
    }

    /// Removes the volumes whose image does not exist, except those in use.
    pub(crate) async fn remove_obsolete_usr_volumes(&self) -> Result<(), DockerError> {
        let filters = HashMap::from([("label", vec![labels::USR_OF.to_owned()])]);
        let volumes = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let volumes = self.docker().list_volumes(Some(volumes)).await;
        let volumes = volumes.map_err(DockerError::engine("list the volumes of", "images"))?;
        let images = self.docker().list_images(None::<ListImagesOptions>).await;
        let images = images.map_err(DockerError::engine("list images of", "nodejoin"))?;
        let images: HashSet<String> = images.into_iter().flat_map(|image| image.repo_tags).collect();
        for volume in volumes.volumes.unwrap_or_default() {
            let has_image = volume
                .labels
                .get(labels::USR_OF)
                .is_some_and(|image| images.contains(image));
            if !has_image && let Err(error) = self.remove(ObjectKind::Volume, &volume.name).await {
                tracing::debug!(volume = volume.name, %error, "a volume for /usr stays");
            }
        }
        Ok(())
    }
}

impl<'a> UsrVolume<'a> {
    async fn of(engine: &'a Engine, image: &'a str) -> Result<Self, DockerError> {
        let inspected = engine.docker().inspect_image(image).await;
        let inspected = inspected.map_err(DockerError::engine("inspect image", image))?;
        let id = inspected.id.unwrap_or_default();
        let digest = id.rsplit(':').next().unwrap_or_default();
        let name = format!("nodejoin-usr-{}", digest.get(..12).unwrap_or(digest));
        Ok(Self { engine, image, name })
    }

    /// A second volume, which exists once the copy is complete: an engine changes no label of a volume.
    fn mark(&self) -> String {
        format!("{}-complete", self.name)
    }

    async fn find_or_create(&self) -> Result<String, DockerError> {
        let deadline = Instant::now() + self.engine.time_factor().scale(TIMEOUT);
        loop {
            if self.is_complete().await? {
                return Ok(self.name.clone());
            }
            // The name of a container is the lock: only one exists, and a sweep removes that of a dead process.
            let lock = format!("{}-lock", self.name);
            if self.create(&lock, Vec::new()).await? {
                let made = self.copy().await;
                self.engine.remove(ObjectKind::Container, &lock).await?;
                made?;
            } else if Instant::now() > deadline {
                return Err(DockerError::TimedOut {
                    operation: "wait for the volume of image",
                    object: self.image.to_owned(),
                    timeout: Some(self.engine.time_factor().scale(TIMEOUT)),
                });
            } else {
                sleep(POLL).await;
            }
        }
    }

    async fn is_complete(&self) -> Result<bool, DockerError> {
        for name in [self.mark(), self.name.clone()] {
            match self.engine.docker().inspect_volume(&name).await {
                Ok(_) => {}
                Err(error) if status(&error) == Some(404) => return Ok(false),
                Err(error) => return Err(DockerError::engine("inspect volume", name)(error)),
            }
        }
        Ok(true)
    }

    /// The engine copies what an image has at the place of an empty volume when it creates a container.
    async fn copy(&self) -> Result<(), DockerError> {
        if self.is_complete().await? {
            return Ok(());
        }
        self.engine.remove_obsolete_usr_volumes().await?;
        // What an ended process has copied may be incomplete. The mark is removed first.
        let container = format!("{}-copy", self.name);
        self.engine.remove(ObjectKind::Container, &container).await?;
        for name in [self.mark(), self.name.clone()] {
            self.engine.remove(ObjectKind::Volume, &name).await?;
        }
        self.create_volume(&self.name).await?;
        let mount = Mount {
            source: Some(self.name.clone()),
            target: Some(FOLDER.to_owned()),
            typ: Some(MountType::VOLUME),
            ..Mount::default()
        };
        let is_copied = self.create(&container, vec![mount]).await?;
        self.engine.remove(ObjectKind::Container, &container).await?;
        if !is_copied {
            return Err(DockerError::Unexpected {
                object: format!("container `{container}`"),
                problem: "was created by another process".to_owned(),
            });
        }
        self.create_volume(&self.mark()).await
    }

    async fn create_volume(&self, name: &str) -> Result<(), DockerError> {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            labels: Some(HashMap::from([(
                labels::USR_OF.to_owned(),
                self.image.to_owned(),
            )])),
            ..VolumeCreateRequest::default()
        };
        let created = self.engine.docker().create_volume(request).await;
        created
            .map(drop)
            .map_err(DockerError::engine("create volume", name))
    }

    /// Creates a container that never starts; `false` if another one has its name.
    async fn create(&self, name: &str, mounts: Vec<Mount>) -> Result<bool, DockerError> {
        let host = HostConfig {
            network_mode: Some("none".to_owned()),
            mounts: Some(mounts),
            ..HostConfig::default()
        };
        let body = ContainerCreateBody {
            image: Some(self.image.to_owned()),
            entrypoint: Some(vec!["true".to_owned()]),
            labels: Some(labels::of("usr", "usr", &Owner::current(), SystemTime::now())),
            host_config: Some(host),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        match self.engine.docker().create_container(Some(options), body).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(409) => Ok(false),
            Err(error) => Err(DockerError::engine("create container", name)(error)),
        }
    }
}
