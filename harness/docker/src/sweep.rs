//! Finds objects by their labels and removes those of runs whose process is dead.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};

use nodejoin_core::plan::ids::RunId;
use nodejoin_core::run::error_chain::chain;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::DanglingBuilds;
use crate::labels;
use crate::object::ObjectKind;
use crate::owner::{Liveness, Owner, started};
use crate::run::KEPT;

/// Number of further attempts to remove what could not be removed.
const MORE_ROUNDS: u32 = 10;
const ROUND_INTERVAL: Duration = Duration::from_secs(1);

/// The result of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects that were removed, or would be removed without `dry_run`.
    pub removed: Vec<String>,
    /// Objects that could not be removed, each with the reason.
    pub left: Vec<String>,
    /// Number of objects that belong to live runs.
    pub live: usize,
    /// Kept containers of dead runs, with their networks and volumes. They stay until they expire or `kept` is set.
    pub kept: Vec<String>,
}

/// Options of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SweepOptions {
    /// Lists objects without removing them.
    pub dry_run: bool,
    /// Removes kept containers as well.
    pub kept: bool,
    /// Sweeps the objects of this run only, and no leftovers of builds.
    pub only: Option<RunId>,
}

/// Removes the containers, networks and volumes of runs whose process is dead or which have expired, and leftovers of
/// builds that no process works on. Objects of live runs, of processes that are not visible from here, and without the
/// labels of a run stay.
///
/// # Errors
/// When the engine does not list its objects. An object that cannot be removed is listed in the result instead.
pub async fn sweep(engine: &Engine, dry_run: bool) -> Result<Swept, DockerError> {
    let options = SweepOptions {
        dry_run,
        ..SweepOptions::default()
    };
    options.run(engine).await
}

impl SweepOptions {
    /// Sweeps with these options, see [`sweep`].
    ///
    /// # Errors
    /// When the engine does not list its objects.
    pub async fn run(self, engine: &Engine) -> Result<Swept, DockerError> {
        let rules = FateRules {
            here: Owner::current(),
            local: engine.is_local(),
            now: SystemTime::now(),
        };
        let mut swept = self.round(engine, &rules).await?;
        // The engine may still be creating objects that a run requested before it died: they appear after the first
        // round, and until then block the removal of their network and volumes.
        for _ in 0..MORE_ROUNDS {
            if swept.left.is_empty() {
                break;
            }
            tokio::time::sleep(engine.time_factor().scale(ROUND_INTERVAL)).await;
            let removed = std::mem::take(&mut swept.removed);
            swept = self.round(engine, &rules).await?;
            swept.removed.splice(0..0, removed);
        }
        if self.only.is_none() {
            let mut dangling = DanglingBuilds::default();
            dangling.remove_all(engine, self.dry_run).await?;
            swept.removed.extend(dangling.removed);
        }
        Ok(swept)
    }

    /// Sweeps the objects that exist now.
    async fn round(&self, engine: &Engine, rules: &FateRules) -> Result<Swept, DockerError> {
        let mut swept = Swept::default();
        let mut objects = find(engine).await?;
        if let Some(only) = &self.only {
            objects.retain(|object| object.run() == only.as_str());
        }
        for (object, fate) in objects.iter().zip(rules.fates(&objects, self.kept)) {
            match fate {
                Fate::Live => swept.live += 1,
                Fate::Kept => swept.kept.push(object.describe()),
                Fate::Remove if self.dry_run => swept.removed.push(object.describe()),
                Fate::Remove => match object.remove(engine).await {
                    Ok(()) => swept.removed.push(object.describe()),
                    Err(error) => swept
                        .left
                        .push(format!("{}: {}", object.describe(), chain(&error))),
                },
            }
        }
        Ok(swept)
    }
}

/// An object with a run's label.
#[derive(Debug, Clone)]
struct LabelledObject {
    kind: ObjectKind,
    id: String,
    name: String,
    labels: HashMap<String, String>,
}

impl LabelledObject {
    fn describe(&self) -> String {
        format!("{} {} of run {}", self.kind, self.name, self.run())
    }

    fn run(&self) -> &str {
        self.labels.get(labels::RUN).map_or("", String::as_str)
    }

    async fn remove(&self, engine: &Engine) -> Result<(), DockerError> {
        // Before the container, because the next sweep finds the folder only by the container's labels, and again after
        // it: an engine that is about to start the container creates the mounted folders again.
        self.remove_folder(engine)?;
        engine.remove(self.kind, &self.id).await?;
        self.remove_folder(engine)
    }

    /// Removes the folder of the label, if it is on this machine and below the cache folder: a label may contain any
    /// path.
    fn remove_folder(&self, engine: &Engine) -> Result<(), DockerError> {
        let Some(folder) = self.labels.get(labels::FOLDER).map(PathBuf::from) else {
            return Ok(());
        };
        if !engine.is_local() || !is_below(&folder, engine.cache()) {
            return Ok(());
        }
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DockerError::io("remove folder", folder)(error))
            }
            _ => Ok(()),
        }
    }
}

fn is_below(folder: &Path, parent: &Path) -> bool {
    let plain = folder
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    plain && folder.starts_with(parent) && folder != parent
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Live,
    Kept,
    Remove,
}

/// Decides which objects are removed.
struct FateRules {
    here: Owner,
    /// Whether the engine is on this machine: then the process of an object from another boot is dead.
    local: bool,
    now: SystemTime,
}

impl FateRules {
    /// The fate of each object. A kept container needs its network and volumes, even if it has ended: those of its run
    /// stay with it.
    fn fates(&self, objects: &[LabelledObject], with_kept: bool) -> Vec<Fate> {
        let mut fates: Vec<_> = objects
            .iter()
            .map(|object| self.fate(object, with_kept))
            .collect();
        let kept: HashSet<_> = objects
            .iter()
            .zip(&fates)
            .filter(|(_, fate)| **fate == Fate::Kept)
            .map(|(object, _)| object.run())
            .collect();
        for (object, fate) in objects.iter().zip(&mut fates) {
            if object.kind != ObjectKind::Container && *fate == Fate::Remove && kept.contains(object.run()) {
                *fate = Fate::Kept;
            }
        }
        fates
    }

    fn fate(&self, object: &LabelledObject, with_kept: bool) -> Fate {
        let Some(owner) = labels::owner(&object.labels) else {
            return Fate::Live;
        };
        if labels::is_expired(&object.labels, self.now) {
            return Fate::Remove;
        }
        let rebooted = self.local && !owner.boot.is_empty() && owner.boot != self.here.boot;
        let is_dead = rebooted || owner.liveness(&self.here, started) == Liveness::Dead;
        match is_dead {
            true if object.name.ends_with(KEPT) && !with_kept => Fate::Kept,
            true => Fate::Remove,
            false => Fate::Live,
        }
    }
}

/// All objects with a run's label, in the order in which they can be removed.
async fn find(engine: &Engine) -> Result<Vec<LabelledObject>, DockerError> {
    let docker = engine.docker();
    let filter = HashMap::from([("label", vec![labels::RUN.to_owned()])]);
    let list = |what: &str| DockerError::engine("list", what.to_owned());

    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filter)
        .build();
    let containers = docker
        .list_containers(Some(options))
        .await
        .map_err(list("containers"))?;
    let containers = containers.into_iter().map(|it| {
        let id = it.id.unwrap_or_default();
        let name = it
            .names
            .unwrap_or_default()
            .first()
            .map_or_else(|| id.clone(), |name| name.trim_start_matches('/').to_owned());
        LabelledObject {
            kind: ObjectKind::Container,
            name,
            id,
            labels: it.labels.unwrap_or_default(),
        }
    });
    let options = ListNetworksOptionsBuilder::new().filters(&filter).build();
    let networks = docker
        .list_networks(Some(options))
        .await
        .map_err(list("networks"))?;
    let networks = networks.into_iter().map(|it| LabelledObject {
        kind: ObjectKind::Network,
        id: it.id.unwrap_or_default(),
        name: it.name.unwrap_or_default(),
        labels: it.labels.unwrap_or_default(),
    });
    let options = ListVolumesOptionsBuilder::new().filters(&filter).build();
    let volumes = docker
        .list_volumes(Some(options))
        .await
        .map_err(list("volumes"))?
        .volumes
        .unwrap_or_default();
    let volumes = volumes.into_iter().map(|it| LabelledObject {
        kind: ObjectKind::Volume,
        id: it.name.clone(),
        name: it.name,
        labels: it.labels,
    });
    Ok(containers.chain(networks).chain(volumes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> FateRules {
        FateRules {
            here: Owner::current(),
            local: true,
            now: SystemTime::now(),
        }
    }

    fn object(owner: &Owner, created: SystemTime) -> LabelledObject {
        let labels = labels::of("abcdefgh", "node", owner, created);
        LabelledObject {
            kind: ObjectKind::Container,
            id: "1".to_owned(),
            name: "nodejoin-abcdefgh-node-1".to_owned(),
            labels,
        }
    }

    #[test]
    fn objects_of_a_live_process_stay() {
        let now = SystemTime::now();
        assert_eq!(rules().fate(&object(&Owner::current(), now), true), Fate::Live);
        let reused = Owner {
            started: 1,
            ..Owner::current()
        };
        assert_eq!(rules().fate(&object(&reused, now), false), Fate::Remove);
    }

    #[test]
    fn an_expired_object_is_removed() {
        let old = SystemTime::now() - Duration::from_secs(100 * 3600);
        assert_eq!(rules().fate(&object(&Owner::current(), old), false), Fate::Remove);
    }

    #[test]
    fn a_process_of_another_boot_is_dead_only_on_this_machine() {
        let other = Owner {
            boot: "before".to_owned(),
            ..Owner::current()
        };
        let now = SystemTime::now();
        assert_eq!(rules().fate(&object(&other, now), false), Fate::Remove);
        assert_eq!(
            FateRules {
                local: false,
                ..rules()
            }
            .fate(&object(&other, now), false),
            Fate::Live
        );
    }

    #[test]
    fn a_kept_container_stays_until_it_is_requested() {
        let gone = Owner {
            started: 1,
            ..Owner::current()
        };
        let mut kept = object(&gone, SystemTime::now());
        kept.name.push_str(KEPT);
        assert_eq!(rules().fate(&kept, false), Fate::Kept);
        assert_eq!(rules().fate(&kept, true), Fate::Remove);
    }

    #[test]
    fn the_network_and_volumes_of_a_kept_container_stay() {
        let gone = Owner {
            started: 1,
            ..Owner::current()
        };
        let of = |kind, run: &str, name: &str| {
            let mut object = object(&gone, SystemTime::now());
            object.kind = kind;
            object.name = name.to_owned();
            object.labels.insert(labels::RUN.to_owned(), run.to_owned());
            object
        };
        let objects = [
            of(ObjectKind::Container, "first", "node-kept"),
            of(ObjectKind::Container, "first", "node"),
            of(ObjectKind::Network, "first", "isolated"),
            of(ObjectKind::Volume, "first", "data"),
            of(ObjectKind::Network, "second", "isolated"),
        ];
        assert_eq!(
            rules().fates(&objects, false),
            [Fate::Kept, Fate::Remove, Fate::Kept, Fate::Kept, Fate::Remove]
        );
        assert_eq!(rules().fates(&objects, true), [Fate::Remove; 5]);
    }

    #[test]
    fn only_folders_below_the_cache_folder_are_removed_with_an_object() {
        let cache = Path::new("/home/u/.cache/nodejoin");
        assert!(is_below(Path::new("/home/u/.cache/nodejoin/kind/x"), cache));
        for other in [
            "/home/u",
            "/home/u/.cache/nodejoin",
            "/home/u/.cache/nodejoin/../x",
            "kind/x",
        ] {
            assert!(!is_below(Path::new(other), cache), "{other}");
        }
    }

    #[test]
    fn an_object_with_incomplete_labels_stays() {
        let mut theirs = object(&Owner::current(), SystemTime::now());
        theirs.labels.retain(|key, _| key == labels::RUN);
        assert_eq!(rules().fate(&theirs, true), Fate::Live);
    }
}
