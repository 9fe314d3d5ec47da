//! Checks everything that a run needs, reports problems with their remedies, and changes nothing.

mod check_result;
mod gateway;
mod host;
#[cfg(test)]
mod snapshots;

use nodejoin_core::kubernetes::CGROUP_V1_REFUSED_SINCE;
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::run::time_factor::TimeFactor;

use crate::engine::{Engine, EngineFacts, ImageStore};
use crate::images::Images;
use crate::privileges::Privileges;
use crate::settings::ImageSettings;
use crate::sweep::sweep;
use check_result::not_checked;
use host::HostFacts;

pub use check_result::{CheckResult, State};

/// Checks the engine and its machine. Without an engine, the result is the connection error.
pub async fn check(settings: &ImageSettings, factor: TimeFactor) -> Vec<CheckResult> {
    let engine = match Engine::connect_with(&settings.cache, factor).await {
        Ok(engine) => engine,
        Err(error) => return vec![CheckResult::failed("engine", &error)],
    };
    let images = Images::new(engine.clone(), settings.clone(), std::sync::Arc::new(|_| ()));
    let image = images.shell_image().await;
    let mut results = facts(engine.facts());
    results.push(privileges(&engine, image.as_deref()).await);
    results.extend(HostFacts::look(&engine, image.as_deref()).await.check());
    results.push(built(&images).await);
    results.push(gateway::check(&engine, image.as_deref()).await);
    results.push(leftovers(&engine).await);
    results
}

/// `fs.inotify.max_user_instances` of the machine that containers run on; `None` if it cannot be read.
pub async fn inotify_instances(engine: &Engine, images: &Images) -> Option<u64> {
    if engine.is_local() {
        // The engine uses the kernel of this process, and a probe container would cost each run a second.
        let text = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").ok()?;
        return text.trim().parse().ok();
    }
    let image = images.shell_image().await?;
    HostFacts::look(engine, Some(&image)).await.instances()
}

fn facts(facts: &EngineFacts) -> Vec<CheckResult> {
    vec![
        version(facts),
        rootless(&facts.security_options),
        cgroups(facts),
        storage(&facts.storage_driver),
        image_store(facts.image_store),
    ]
}

/// Reports the version of the engine. Connecting to an engine that is too old fails before this check.
fn version(facts: &EngineFacts) -> CheckResult {
    let seen = format!(
        "{} with API {} (minimum: 20.10 with API 1.41), on {}, {}, kernel {}",
        facts.server_version, facts.api_version, facts.operating_system, facts.architecture, facts.kernel
    );
    match facts.architecture.parse::<Architecture>() {
        Ok(_) => CheckResult::ok("engine", seen),
        Err(unknown) => CheckResult::warn(
            "engine",
            format!("{seen}; {unknown}: no downloads or builds are available for it"),
            "set NODEJOIN_BASE to a Debian image for it, and NODEJOIN_ASSETS to a folder with the programs of Kubernetes",
        ),
    }
}

fn rootless(options: &[String]) -> CheckResult {
    match options.iter().any(|option| option.contains("rootless")) {
        true => CheckResult::bad(
            "engine user",
            "the engine is rootless: a kubelet in its containers cannot set up pods",
            "use an engine that runs as root (`docker context use default`, or unset DOCKER_HOST)",
        ),
        false => CheckResult::ok("engine user", "root"),
    }
}

fn cgroups(facts: &EngineFacts) -> CheckResult {
    let seen = format!("version {}, driver {}", facts.cgroup_version, facts.cgroup_driver);
    match facts.cgroup_version {
        1 => CheckResult::warn(
            "cgroups",
            format!(
                "{seen}: kubelets since {CGROUP_V1_REFUSED_SINCE} refuse version 1 by default; the harness overrides that with a flag"
            ),
            "none needed, reports name the deviation; to avoid it boot the host with `systemd.unified_cgroup_hierarchy=1`",
        ),
        _ => CheckResult::ok("cgroups", seen),
    }
}

fn storage(driver: &str) -> CheckResult {
    match driver {
        "overlay2" | "fuse-overlayfs" | "overlayfs" => CheckResult::ok("storage driver", driver),
        other => CheckResult::warn(
            "storage driver",
            format!("{other}: containers start slowly, and this driver is untested"),
            "set `\"storage-driver\": \"overlay2\"` in /etc/docker/daemon.json",
        ),
    }
}

fn image_store(store: ImageStore) -> CheckResult {
    let seen = match store {
        ImageStore::Docker => "Docker's store",
        ImageStore::Containerd => {
            "containerd's store: images are identified by their manifests, and use more disk space"
        }
    };
    CheckResult::ok("image store", seen)
}

async fn privileges(engine: &Engine, image: Option<&str>) -> CheckResult {
    const NAME: &str = "privileges";
    let Some(image) = image else {
        return not_checked(NAME);
    };
    match engine.privileges(image, "cat").await {
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
                "{works}; nodes get its capabilities except for clock and modules, and no devices of the host"
            ),
        ),
        [] => CheckResult::ok(
            name,
            format!("{works}; nodes get all capabilities except for clock and modules"),
        ),
        [only] if only == "SYS_RESOURCE" => CheckResult::warn(
            name,
            format!(
                "{works}, and the host lacks CAP_SYS_RESOURCE; nodes get all other capabilities, and a `runc` that clamps the limits of pods"
            ),
            "none needed, reports name the deviation",
        ),
        lacking => CheckResult::warn(
            name,
            format!("{works}, and the host lacks {}", lacking.join(", ")),
            "use a host that has them: a node may not work without them",
        ),
    }
}

async fn built(images: &Images) -> CheckResult {
    const NAME: &str = "images";
    match images.missing_images().await {
        Ok(missing) if missing.is_empty() => CheckResult::ok(NAME, "all exist"),
        Ok(missing) => CheckResult::warn(
            NAME,
            format!("missing: {}", missing.join(", ")),
            "the first run builds them, or run `nodejoin images build`; a build of Kubernetes from source takes about 8 minutes on two processors",
        ),
        Err(error) => CheckResult::failed(NAME, &error),
    }
}

async fn leftovers(engine: &Engine) -> CheckResult {
    const NAME: &str = "leftovers";
    match sweep(engine, true).await {
        Ok(swept) if swept.removed.is_empty() => CheckResult::ok(NAME, "no objects of dead runs"),
        Ok(swept) => CheckResult::warn(
            NAME,
            format!("{} objects of dead runs", swept.removed.len()),
            "nodejoin sweep",
        ),
        Err(error) => CheckResult::failed(NAME, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_facts(change: impl FnOnce(&mut EngineFacts)) -> Vec<CheckResult> {
        let mut engine = EngineFacts {
            server_version: "26.1.5".to_owned(),
            api_version: "1.45".to_owned(),
            architecture: "aarch64".to_owned(),
            cgroup_version: 2,
            cgroup_driver: "systemd".to_owned(),
            storage_driver: "overlay2".to_owned(),
            ..EngineFacts::default()
        };
        change(&mut engine);
        facts(&engine)
    }

    #[test]
    fn each_fact_about_the_engine_is_checked() {
        type Modify = fn(&mut EngineFacts);
        let table: [(&str, Modify, State, &str); 10] = [
            (
                "engine",
                |_| (),
                State::Ok,
                "26.1.5 with API 1.45 (minimum: 20.10",
            ),
            (
                "engine",
                |facts| facts.architecture = "riscv64".to_owned(),
                State::Warn,
                "`riscv64`",
            ),
            ("cgroups", |_| (), State::Ok, "version 2, driver systemd"),
            (
                "cgroups",
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
            ("image store", |_| (), State::Ok, "Docker's store"),
            (
                "image store",
                |facts| facts.image_store = ImageStore::Containerd,
                State::Ok,
                "containerd's",
            ),
        ];
        for (name, change, state, seen) in table {
            let results = check_facts(change);
            let result = results.iter().find(|result| result.name == name).unwrap();
            assert_eq!(result.state, state, "{result:?}");
            assert!(result.seen.contains(seen), "{result:?}");
            assert_eq!(result.remedy.is_some(), state != State::Ok, "{result:?}");
        }
    }

    #[test]
    fn each_set_of_privileges_is_checked() {
        let table: [(bool, &[&str], State, &str); 5] = [
            (true, &[], State::Ok, "--privileged works"),
            (false, &[], State::Ok, "all capabilities except for"),
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
    fn a_rootless_engine_is_rejected() {
        assert_eq!(rootless(&["name=rootless".to_owned()]).state, State::Bad);
        assert_eq!(
            rootless(&["name=seccomp,profile=default".to_owned()]).state,
            State::Ok
        );
    }
}
