//! Looks at everything a run needs, says what is wrong and what to set, and changes nothing.

mod host;
mod reach;
#[cfg(test)]
mod snapshots;

use nodejoin_core::kubernetes::CGROUP_V1_REFUSED_SINCE;
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::time_factor::TimeFactor;
use serde::Serialize;

use crate::engine::{Engine, Facts, ImageStore};
use crate::error::DockerError;
use crate::images::Images;
use crate::privileges::Privileges;
use crate::settings::ImageSettings;
use crate::sweep::sweep;
use host::Host;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// What it is.
    pub name: &'static str,
    /// Whether it will do.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Whether something will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It will.
    Ok,
    /// Most runs will work; some will not, or it could not be looked at.
    Warn,
    /// No run will work.
    Bad,
}

impl CheckResult {
    pub(crate) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Ok,
            seen: seen.into(),
            remedy: None,
        }
    }

    pub(crate) fn warn(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Warn,
            seen: seen.into(),
            remedy: Some(remedy.into()),
        }
    }

    pub(crate) fn bad(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            name,
            state: State::Bad,
            seen: seen.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// A check that failed with an error of the engine.
    pub(crate) fn failed(name: &'static str, error: &DockerError) -> Self {
        Self {
            name,
            state: State::Bad,
            seen: chain(error),
            remedy: error.hint(),
        }
    }
}

/// Checks the engine and its machine. Without an engine that is the one result.
pub async fn check(settings: &ImageSettings, factor: TimeFactor) -> Vec<CheckResult> {
    let engine = match Engine::connect_with(&settings.cache, factor).await {
        Ok(engine) => engine,
        Err(error) => return vec![CheckResult::failed("engine", &error)],
    };
    let images = Images::new(engine.clone(), settings.clone(), std::sync::Arc::new(|_| ()));
    let image = images.shell_image().await;
    let mut results = facts(engine.facts());
    results.push(privileges(&engine, image.as_deref()).await);
    results.extend(Host::look(&engine, image.as_deref()).await.check());
    results.push(built(&images).await);
    results.push(reach::check(&engine, image.as_deref()).await);
    results.push(leftovers(&engine).await);
    results
}

/// `fs.inotify.max_user_instances` of the machine that containers run on; nothing where it cannot be looked at.
pub async fn inotify_instances(engine: &Engine, images: &Images) -> Option<u64> {
    if engine.is_local() {
        // The kernel is this process' own, and a container to look from would take a second of every run.
        let text = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").ok()?;
        return text.trim().parse().ok();
    }
    let image = images.shell_image().await?;
    Host::look(engine, Some(&image)).await.instances()
}

fn facts(facts: &Facts) -> Vec<CheckResult> {
    vec![
        version(facts),
        rootless(&facts.security_options),
        cgroups(facts),
        storage(&facts.storage_driver),
        image_store(facts.image_store),
    ]
}

/// An engine that is too old never comes so far: connecting to it fails, and says so.
fn version(facts: &Facts) -> CheckResult {
    let seen = format!(
        "{} with API {} (the oldest that will do is 20.10 with API 1.41), on {}, {}, kernel {}",
        facts.server_version, facts.api_version, facts.operating_system, facts.architecture, facts.kernel
    );
    match facts.architecture.parse::<Architecture>() {
        Ok(_) => CheckResult::ok("engine", seen),
        Err(unknown) => CheckResult::warn(
            "engine",
            format!("{seen}; {unknown}: nothing can be downloaded or made for it"),
            "set NODEJOIN_BASE to an image of Debian for it, and NODEJOIN_ASSETS to a folder with the programs of Kubernetes",
        ),
    }
}

fn rootless(options: &[String]) -> CheckResult {
    match options.iter().any(|option| option.contains("rootless")) {
        true => CheckResult::bad(
            "engine's user",
            "the engine runs without root: a kubelet in its containers cannot set up pods",
            "use an engine that runs as root (`docker context use default`, or unset DOCKER_HOST)",
        ),
        false => CheckResult::ok("engine's user", "root"),
    }
}

fn cgroups(facts: &Facts) -> CheckResult {
    let seen = format!("version {}, driver {}", facts.cgroup_version, facts.cgroup_driver);
    match facts.cgroup_version {
        1 => CheckResult::warn(
            "control groups",
            format!(
                "{seen}: kubelets from {CGROUP_V1_REFUSED_SINCE} on refuse version 1, and are told not to"
            ),
            "nothing must be set, and reports name the deviation; without it boot the host with `systemd.unified_cgroup_hierarchy=1`",
        ),
        _ => CheckResult::ok("control groups", seen),
    }
}

fn storage(driver: &str) -> CheckResult {
    match driver {
        "overlay2" | "fuse-overlayfs" | "overlayfs" => CheckResult::ok("storage driver", driver),
        other => CheckResult::warn(
            "storage driver",
            format!("{other}: containers start slowly on it and nobody has tried it here"),
            "set `\"storage-driver\": \"overlay2\"` in /etc/docker/daemon.json",
        ),
    }
}

fn image_store(store: ImageStore) -> CheckResult {
    let seen = match store {
        ImageStore::Docker => "Docker's own",
        ImageStore::Containerd => "containerd's: images are named by their manifests, and take more disk",
    };
    CheckResult::ok("image store", seen)
}

async fn privileges(engine: &Engine, image: Option<&str>) -> CheckResult {
    const NAME: &str = "privileges";
    let Some(image) = image else {
        return not_checked(NAME);
    };
    match engine.privileges(image).await {
        Ok(allowed) => allowance(NAME, &allowed),
        Err(error) => CheckResult::failed(NAME, &error),
    }
}

fn allowance(name: &'static str, allowed: &Privileges) -> CheckResult {
    let works = if allowed.privileged {
        "--privileged works"
    } else {
        "--privileged is refused"
    };
    match &allowed.lacking[..] {
        [] if allowed.privileged => CheckResult::ok(
            name,
            format!(
                "{works}; nodes get its capabilities but for the clock and the modules, and none of the host's devices"
            ),
        ),
        [] => CheckResult::ok(name, format!("{works}; nodes get every capability all the same")),
        [only] if only == "SYS_RESOURCE" => CheckResult::warn(
            name,
            format!(
                "{works}, and the host lacks CAP_SYS_RESOURCE; nodes get everything else, and a `runc` that clamps the limits of pods"
            ),
            "nothing must be set; reports name the deviation",
        ),
        lacking => CheckResult::warn(
            name,
            format!("{works}, and the host lacks {}", lacking.join(", ")),
            "a node may not work without them: use a host that has them",
        ),
    }
}

async fn built(images: &Images) -> CheckResult {
    const NAME: &str = "images";
    match images.absent().await {
        Ok(absent) if absent.is_empty() => CheckResult::ok(NAME, "all are there"),
        Ok(absent) => CheckResult::warn(
            NAME,
            format!("not made yet: {}", absent.join(", ")),
            "the first run makes them, or `nodejoin images build` now; a build of Kubernetes from source takes some ten minutes",
        ),
        Err(error) => CheckResult::failed(NAME, &error),
    }
}

async fn leftovers(engine: &Engine) -> CheckResult {
    const NAME: &str = "leftovers";
    match sweep(engine, true).await {
        Ok(swept) if swept.removed.is_empty() => CheckResult::ok(NAME, "none of dead runs"),
        Ok(swept) => CheckResult::warn(
            NAME,
            format!("{} objects of dead runs", swept.removed.len()),
            "nodejoin sweep",
        ),
        Err(error) => CheckResult::failed(NAME, &error),
    }
}

pub(crate) fn not_checked(name: &'static str) -> CheckResult {
    CheckResult::warn(
        name,
        "not checked: there is no image with a shell yet",
        "nodejoin images build, then nodejoin doctor again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen_of(change: impl FnOnce(&mut Facts)) -> Vec<CheckResult> {
        let mut engine = Facts {
            server_version: "26.1.5".to_owned(),
            api_version: "1.45".to_owned(),
            architecture: "aarch64".to_owned(),
            cgroup_version: 2,
            cgroup_driver: "systemd".to_owned(),
            storage_driver: "overlay2".to_owned(),
            ..Facts::default()
        };
        change(&mut engine);
        facts(&engine)
    }

    #[test]
    fn each_fact_of_an_engine_is_told_and_judged() {
        type Change = fn(&mut Facts);
        let table: [(&str, Change, State, &str); 10] = [
            (
                "engine",
                |_| (),
                State::Ok,
                "26.1.5 with API 1.45 (the oldest that will do is 20.10",
            ),
            (
                "engine",
                |facts| facts.architecture = "riscv64".to_owned(),
                State::Warn,
                "`riscv64`",
            ),
            ("control groups", |_| (), State::Ok, "version 2, driver systemd"),
            (
                "control groups",
                |facts| facts.cgroup_version = 1,
                State::Warn,
                "version 1",
            ),
            ("storage driver", |_| (), State::Ok, "overlay2"),
            (
                "storage driver",
                |facts| facts.storage_driver = "fuse-overlayfs".to_owned(),
                State::Ok,
                "fuse-overlayfs",
            ),
            (
                "storage driver",
                |facts| facts.storage_driver = "overlayfs".to_owned(),
                State::Ok,
                "overlayfs",
            ),
            (
                "storage driver",
                |facts| facts.storage_driver = "vfs".to_owned(),
                State::Warn,
                "vfs",
            ),
            ("image store", |_| (), State::Ok, "Docker's own"),
            (
                "image store",
                |facts| facts.image_store = ImageStore::Containerd,
                State::Ok,
                "containerd's",
            ),
        ];
        for (name, change, state, seen) in table {
            let results = seen_of(change);
            let result = results.iter().find(|result| result.name == name).unwrap();
            assert_eq!(result.state, state, "{result:?}");
            assert!(result.seen.contains(seen), "{result:?}");
            assert_eq!(result.remedy.is_some(), state != State::Ok, "{result:?}");
        }
    }

    #[test]
    fn what_an_engine_allows_is_told_and_judged() {
        let table: [(bool, &[&str], State, &str); 5] = [
            (true, &[], State::Ok, "--privileged works"),
            (false, &[], State::Ok, "every capability all the same"),
            (false, &["SYS_RESOURCE"], State::Warn, "clamps the limits of pods"),
            (
                true,
                &["SYS_RESOURCE"],
                State::Warn,
                "works, and the host lacks CAP_SYS_RESOURCE",
            ),
            (
                false,
                &["NET_ADMIN", "SYS_ADMIN"],
                State::Warn,
                "lacks NET_ADMIN, SYS_ADMIN",
            ),
        ];
        for (privileged, lacking, state, seen) in table {
            let allowed = Privileges {
                privileged,
                lacking: lacking.iter().map(|&name| name.to_owned()).collect(),
                dropped: Vec::new(),
            };
            let result = allowance("privileges", &allowed);
            assert_eq!(
                (result.state, result.remedy.is_some()),
                (state, state != State::Ok)
            );
            assert!(result.seen.contains(seen), "{result:?}");
        }
    }

    #[test]
    fn an_engine_without_root_will_not_do() {
        assert_eq!(rootless(&["name=rootless".to_owned()]).state, State::Bad);
        assert_eq!(
            rootless(&["name=seccomp,profile=default".to_owned()]).state,
            State::Ok
        );
    }
}
