//! Looks at everything a run needs, says what is wrong and what to set, and changes nothing.

mod host;
mod reach;

use nodejoin_core::time_factor::TimeFactor;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::DockerError;
use crate::images::Images;
use crate::settings::ImageSettings;
use crate::sweep::sweep;
use crate::teardown::chain;
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
    let mut results = facts(&engine);
    results.push(privileges(&engine, image.as_deref()).await);
    results.extend(Host::look(&engine, image.as_deref()).await.check());
    results.push(built(&images).await);
    results.push(reach::check(&engine, image.as_deref()).await);
    results.push(leftovers(&engine).await);
    results
}

fn facts(engine: &Engine) -> Vec<CheckResult> {
    let facts = engine.facts();
    let engine = format!(
        "{} with API {}, on {}, kernel {}",
        facts.server_version, facts.api_version, facts.operating_system, facts.kernel
    );
    vec![
        CheckResult::ok("engine", engine),
        rootless(&facts.security_options),
        cgroups(facts),
        storage(&facts.storage_driver),
    ]
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

fn cgroups(facts: &crate::engine::Facts) -> CheckResult {
    let seen = format!("version {}, driver {}", facts.cgroup_version, facts.cgroup_driver);
    match facts.cgroup_version {
        1 => CheckResult::warn(
            "control groups",
            format!("{seen}: kubelets up to 1.34 start, newer ones refuse version 1"),
            "for newer ones boot the host with `systemd.unified_cgroup_hierarchy=1`",
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

async fn privileges(engine: &Engine, image: Option<&str>) -> CheckResult {
    const NAME: &str = "privileges";
    let Some(image) = image else {
        return not_checked(NAME);
    };
    match engine.privileges(image).await {
        Ok(allowed) if allowed.privileged => CheckResult::ok(NAME, "--privileged works"),
        Ok(allowed) if allowed.dropped.iter().all(|it| it == "SYS_RESOURCE") => CheckResult::warn(
            NAME,
            "--privileged is refused: the host lacks CAP_SYS_RESOURCE; nodes get everything else, and a `runc` that clamps the limits of pods",
            "nothing must be set; reports name the deviation",
        ),
        Ok(allowed) => CheckResult::warn(
            NAME,
            format!(
                "--privileged is refused: the host lacks {}",
                allowed.dropped.join(", ")
            ),
            "a node may not work without them: use a host that has them",
        ),
        Err(error) => CheckResult::failed(NAME, &error),
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

    #[test]
    fn the_first_control_groups_are_for_older_kubelets() {
        let facts = crate::engine::Facts {
            cgroup_version: 1,
            ..Default::default()
        };
        assert_eq!(cgroups(&facts).state, State::Warn);
        let facts = crate::engine::Facts {
            cgroup_version: 2,
            ..Default::default()
        };
        assert_eq!(cgroups(&facts).state, State::Ok);
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
