//! What dead runs left: found by label, told apart from what live runs have, and removed.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};
use nodejoin_core::run::error_chain::chain;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::Stages;
use crate::labels;
use crate::owner::{Liveness, Owner, started};
use crate::run::KEPT;
use crate::teardown::{remove_container, remove_network, remove_volume};

/// What a sweep found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// What was removed, or would be in a dry run.
    pub removed: Vec<String>,
    /// What could not be removed, each with the reason.
    pub left: Vec<String>,
    /// How many objects of live runs stay.
    pub live: usize,
    /// Containers of dead runs that were kept on purpose, and what they stand on; they stay until they expire or a sweep asks for
    /// them.
    pub kept: Vec<String>,
}

/// What a sweep is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sweep {
    /// Nothing is removed.
    pub dry_run: bool,
    /// Containers that were kept on purpose go, too.
    pub kept: bool,
}

/// Removes the containers, networks and volumes of runs that are dead: whose process is gone, or whose time is over; and what
/// builds left that nobody works on. Objects of
/// live runs, of processes that cannot be seen from here, and without our labels stay.
///
/// # Errors
/// When the engine does not list its objects; an object that cannot be removed is no error but is said.
pub async fn sweep(engine: &Engine, dry_run: bool) -> Result<Swept, DockerError> {
    Sweep { dry_run, kept: false }.run(engine).await
}

impl Sweep {
    /// Sweeps, see [`sweep`].
    ///
    /// # Errors
    /// As for [`sweep`].
    pub async fn run(self, engine: &Engine) -> Result<Swept, DockerError> {
        let judge = Judge {
            here: Owner::current(),
            local: engine.is_local(),
            now: SystemTime::now(),
        };
        let mut swept = self.round(engine, &judge).await?;
        // An engine may still be making what a run asked for before it died: that comes to light after a first round, and until
        // then holds what it stands on.
        for _ in 0..MORE_ROUNDS {
            if swept.left.is_empty() {
                break;
            }
            tokio::time::sleep(BETWEEN_ROUNDS).await;
            let removed = std::mem::take(&mut swept.removed);
            swept = self.round(engine, &judge).await?;
            swept.removed.splice(0..0, removed);
        }
        let mut stages = Stages::default();
        stages.remove_all(engine, self.dry_run).await?;
        swept.removed.extend(stages.removed);
        Ok(swept)
    }

    /// Everything that is there now, once.
    async fn round(self, engine: &Engine, judge: &Judge) -> Result<Swept, DockerError> {
        let mut swept = Swept::default();
        let objects = find(engine).await?;
        for (object, fate) in objects.iter().zip(judge.fates(&objects, self.kept)) {
            match fate {
                Fate::Stays => swept.live += 1,
                Fate::Kept => swept.kept.push(object.title()),
                Fate::Goes if self.dry_run => swept.removed.push(object.title()),
                Fate::Goes => match object.remove(engine).await {
                    Ok(()) => swept.removed.push(object.title()),
                    Err(error) => swept.left.push(format!("{}: {}", object.title(), chain(&error))),
                },
            }
        }
        Ok(swept)
    }
}

/// How often what could not be removed is tried again, and after how long.
const MORE_ROUNDS: u32 = 10;
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Container,
    Network,
    Volume,
}

/// Something with a run's label.
#[derive(Debug, Clone)]
struct Object {
    kind: Kind,
    id: String,
    name: String,
    labels: HashMap<String, String>,
}

impl Object {
    fn title(&self) -> String {
        let kind = match self.kind {
            Kind::Container => "container",
            Kind::Network => "network",
            Kind::Volume => "volume",
        };
        format!("{kind} {} of run {}", self.name, self.run())
    }

    fn run(&self) -> &str {
        self.labels.get(labels::RUN).map_or("", String::as_str)
    }

    async fn remove(&self, engine: &Engine) -> Result<(), DockerError> {
        match self.kind {
            // The folder first: as long as the container is there, the next sweep knows of it. And once more after it: an engine that
            // was about to start the container makes the folders anew that are mounted into it.
            Kind::Container => {
                self.remove_folder(engine)?;
                remove_container(engine.docker(), &self.id).await?;
                self.remove_folder(engine)
            }
            Kind::Network => remove_network(engine.docker(), &self.id).await,
            Kind::Volume => remove_volume(engine.docker(), &self.id).await,
        }
    }
}

impl Object {
    /// Removes the folder with its files, where that is of this machine and below the cache folder: a label may say anything.
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
    Stays,
    Kept,
    Goes,
}

/// Says what is to become of an object.
struct Judge {
    here: Owner,
    /// Whether the engine is on this machine: then an object of another boot is of a process that is gone.
    local: bool,
    now: SystemTime,
}

impl Judge {
    /// The fate of each. A kept container is worth nothing without the network and the volumes that it stands on, whether or not
    /// it runs: those of its run stay with it.
    fn fates(&self, objects: &[Object], with_kept: bool) -> Vec<Fate> {
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
            if object.kind != Kind::Container && *fate == Fate::Goes && kept.contains(object.run()) {
                *fate = Fate::Kept;
            }
        }
        fates
    }

    fn fate(&self, object: &Object, with_kept: bool) -> Fate {
        let Some(owner) = labels::owner(&object.labels) else {
            return Fate::Stays;
        };
        if labels::is_expired(&object.labels, self.now) {
            return Fate::Goes;
        }
        let rebooted = self.local && !owner.boot.is_empty() && owner.boot != self.here.boot;
        let is_dead = rebooted || owner.liveness(&self.here, started) == Liveness::Dead;
        match is_dead {
            true if object.name.ends_with(KEPT) && !with_kept => Fate::Kept,
            true => Fate::Goes,
            false => Fate::Stays,
        }
    }
}

/// Everything with a run's label, in the order in which it can be removed.
async fn find(engine: &Engine) -> Result<Vec<Object>, DockerError> {
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
        Object {
            kind: Kind::Container,
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
    let networks = networks.into_iter().map(|it| Object {
        kind: Kind::Network,
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
    let volumes = volumes.into_iter().map(|it| Object {
        kind: Kind::Volume,
        id: it.name.clone(),
        name: it.name,
        labels: it.labels,
    });
    Ok(containers.chain(networks).chain(volumes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> Judge {
        Judge {
            here: Owner::current(),
            local: true,
            now: SystemTime::now(),
        }
    }

    fn object(owner: &Owner, made: SystemTime) -> Object {
        let labels = labels::of("abcdefgh", "node", owner, made);
        Object {
            kind: Kind::Container,
            id: "1".to_owned(),
            name: "nodejoin-abcdefgh-node-1".to_owned(),
            labels,
        }
    }

    #[test]
    fn the_living_keep_what_they_have() {
        let now = SystemTime::now();
        assert_eq!(judge().fate(&object(&Owner::current(), now), true), Fate::Stays);
        let reused = Owner {
            started: 1,
            ..Owner::current()
        };
        assert_eq!(judge().fate(&object(&reused, now), false), Fate::Goes);
    }

    #[test]
    fn an_object_whose_time_is_over_goes() {
        let old = SystemTime::now() - Duration::from_secs(100 * 3600);
        assert_eq!(judge().fate(&object(&Owner::current(), old), false), Fate::Goes);
    }

    #[test]
    fn a_process_of_another_boot_is_gone_only_from_this_machine() {
        let other = Owner {
            boot: "before".to_owned(),
            ..Owner::current()
        };
        let now = SystemTime::now();
        assert_eq!(judge().fate(&object(&other, now), false), Fate::Goes);
        assert_eq!(
            Judge {
                local: false,
                ..judge()
            }
            .fate(&object(&other, now), false),
            Fate::Stays
        );
    }

    #[test]
    fn what_was_kept_stays_until_it_is_asked_for() {
        let gone = Owner {
            started: 1,
            ..Owner::current()
        };
        let mut kept = object(&gone, SystemTime::now());
        kept.name.push_str(KEPT);
        assert_eq!(judge().fate(&kept, false), Fate::Kept);
        assert_eq!(judge().fate(&kept, true), Fate::Goes);
    }

    #[test]
    fn what_a_kept_container_stands_on_stays_with_it() {
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
            of(Kind::Container, "first", "node-kept"),
            of(Kind::Container, "first", "node"),
            of(Kind::Network, "first", "isolated"),
            of(Kind::Volume, "first", "data"),
            of(Kind::Network, "second", "isolated"),
        ];
        assert_eq!(
            judge().fates(&objects, false),
            [Fate::Kept, Fate::Goes, Fate::Kept, Fate::Kept, Fate::Goes]
        );
        assert_eq!(judge().fates(&objects, true), [Fate::Goes; 5]);
    }

    #[test]
    fn only_folders_of_the_cache_go_with_an_object() {
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
    fn what_is_not_wholly_ours_stays() {
        let mut theirs = object(&Owner::current(), SystemTime::now());
        theirs.labels.retain(|key, _| key == labels::RUN);
        assert_eq!(judge().fate(&theirs, true), Fate::Stays);
    }
}
