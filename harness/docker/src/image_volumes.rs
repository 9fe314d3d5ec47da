//! Volumes with a copy of what an image has below some folders, for engines whose storage driver runs in user space.
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

use crate::engine::{Engine, ImageVolume};
use crate::error::{DockerError, status};
use crate::labels;
use crate::object::ObjectKind;
use crate::owner::{Liveness, Owner, started};

/// The storage driver that runs in user space.
const DRIVER: &str = "fuse-overlayfs";
/// The folders that are copied, with their names in those of the volumes: those whose files a node opens and writes
/// most.
const FOLDERS: [(&str, &str); 3] = [("/usr", "usr"), ("/etc", "etc"), ("/var/log", "log")];
/// Timeout of a copy by another process, which takes more than a minute on a busy engine.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Time between two looks at a copy by another process.
const POLL: Duration = Duration::from_millis(200);

/// The volumes of one image, by the image's id.
struct ImageVolumes<'a> {
    engine: &'a Engine,
    image: &'a str,
    /// The first digits of the id.
    id: String,
}

impl Engine {
    /// The volumes with folders of an image, which are created at first. They stay while their image exists:
    /// `nodejoin images prune`, and the first node of another image, remove them afterwards.
    ///
    /// Empty if containers are as fast without them, or they could not be made: everything works without them.
    pub async fn image_volumes(&self, image: &str) -> Vec<ImageVolume> {
        if self.facts().storage_driver != DRIVER {
            return Vec::new();
        }
        let mut known = self.known_image_volumes().lock().await;
        if let Some(volumes) = known.get(image) {
            return volumes.clone();
        }
        let (engine, name) = (self.clone(), image.to_owned());
        // Runs in its own task, so that dropping the caller does not leave the container.
        let task =
            tokio::spawn(async move { ImageVolumes::of(&engine, &name).await?.find_or_create().await });
        let made = task
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        let volumes = made
            .inspect_err(|error| tracing::debug!(image, %error, "nodes start without volumes of their image"))
            .unwrap_or_default();
        known.insert(image.to_owned(), volumes.clone());
        volumes
    }

    /// Removes the volumes whose image does not exist, except those in use.
    pub(crate) async fn remove_obsolete_volumes(&self) -> Result<(), DockerError> {
        let filters = HashMap::from([("label", vec![labels::FOLDER_OF.to_owned()])]);
        let volumes = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let volumes = self.docker().list_volumes(Some(volumes)).await;
        let volumes = volumes.map_err(DockerError::engine("list the volumes of", "images"))?;
        let images = self.docker().list_images(None::<ListImagesOptions>).await;
        let images = images.map_err(DockerError::engine("list images of", "nodejoin"))?;
        let images: HashSet<String> = images.into_iter().flat_map(|image| image.repo_tags).collect();
        for volume in volumes.volumes.unwrap_or_default() {
            let has_image = volume
                .labels
                .get(labels::FOLDER_OF)
                .is_some_and(|image| images.contains(image));
            if !has_image && let Err(error) = self.remove(ObjectKind::Volume, &volume.name).await {
                tracing::debug!(volume = volume.name, %error, "a volume of an image stays");
            }
        }
        Ok(())
    }
}

impl<'a> ImageVolumes<'a> {
    async fn of(engine: &'a Engine, image: &'a str) -> Result<Self, DockerError> {
        let inspected = engine.docker().inspect_image(image).await;
        let inspected = inspected.map_err(DockerError::engine("inspect image", image))?;
        let id = inspected.id.unwrap_or_default();
        let digest = id.rsplit(':').next().unwrap_or_default();
        let id = digest.get(..12).unwrap_or(digest).to_owned();
        Ok(Self { engine, image, id })
    }

    fn volumes(&self) -> Vec<ImageVolume> {
        let volume = |(folder, part)| ImageVolume {
            folder,
            name: self.named(part),
        };
        FOLDERS.map(volume).to_vec()
    }

    /// A further volume, which exists once the copies are complete: an engine changes no label of a volume.
    fn mark(&self) -> String {
        self.named("complete")
    }

    fn named(&self, part: &str) -> String {
        format!("nodejoin-image-{}-{part}", self.id)
    }

    /// The mark, then the volumes.
    fn names(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.mark()).chain(self.volumes().into_iter().map(|volume| volume.name))
    }

    async fn find_or_create(&self) -> Result<Vec<ImageVolume>, DockerError> {
        let deadline = Instant::now() + self.engine.time_factor().scale(TIMEOUT);
        loop {
            if self.is_complete().await? {
                return Ok(self.volumes());
            }
            // The name of a container is the lock: only one exists.
            let lock = self.named("lock");
            if self.create(&lock, Vec::new()).await? {
                let made = self.copy().await;
                self.engine.remove(ObjectKind::Container, &lock).await?;
                made?;
            } else if let Some(container) = self.lock_of_ended_process(&lock).await? {
                // By its id, because another process may remove it, too, and lock again.
                self.engine.remove(ObjectKind::Container, &container).await?;
            } else if Instant::now() > deadline {
                return Err(DockerError::TimedOut {
                    operation: "wait for the volumes of image",
                    object: self.image.to_owned(),
                    timeout: Some(self.engine.time_factor().scale(TIMEOUT)),
                });
            } else {
                sleep(POLL).await;
            }
        }
    }

    /// The id of the lock, if the process that created it has ended.
    async fn lock_of_ended_process(&self, lock: &str) -> Result<Option<String>, DockerError> {
        let inspected = self.engine.docker().inspect_container(lock, None).await;
        let container = match inspected {
            Ok(container) => container,
            Err(error) if status(&error) == Some(404) => return Ok(None),
            Err(error) => return Err(DockerError::engine("inspect container", lock)(error)),
        };
        let labels = container.config.and_then(|config| config.labels);
        let owner = labels.as_ref().and_then(labels::owner);
        let has_ended =
            owner.is_some_and(|owner| owner.liveness(&Owner::current(), started) == Liveness::Dead);
        Ok(container.id.filter(|_| has_ended))
    }

    async fn is_complete(&self) -> Result<bool, DockerError> {
        for name in self.names() {
            match self.engine.docker().inspect_volume(&name).await {
                Ok(_) => {}
                Err(error) if status(&error) == Some(404) => return Ok(false),
                Err(error) => return Err(DockerError::engine("inspect volume", name)(error)),
            }
        }
        Ok(true)
    }

    /// The engine copies what an image has at the places of empty volumes when it creates a container.
    async fn copy(&self) -> Result<(), DockerError> {
        if self.is_complete().await? {
            return Ok(());
        }
        // The copies do not depend on it.
        if let Err(error) = self.engine.remove_obsolete_volumes().await {
            tracing::debug!(%error, "volumes of images that are gone stay");
        }
        // What an ended process has copied may be incomplete. The mark is removed first.
        let container = self.named("copy");
        self.engine.remove(ObjectKind::Container, &container).await?;
        for name in self.names() {
            self.engine.remove(ObjectKind::Volume, &name).await?;
        }
        let mut mounts = Vec::new();
        for volume in self.volumes() {
            self.create_volume(&volume.name).await?;
            mounts.push(Mount {
                source: Some(volume.name),
                target: Some(volume.folder.to_owned()),
                typ: Some(MountType::VOLUME),
                ..Mount::default()
            });
        }
        let is_copied = self.create(&container, mounts).await?;
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
                labels::FOLDER_OF.to_owned(),
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
            labels: Some(labels::of(
                "image-volumes",
                "image-volumes",
                &Owner::current(),
                SystemTime::now(),
            )),
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
