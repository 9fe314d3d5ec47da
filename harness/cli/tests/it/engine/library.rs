//! nodejoin as a library: a run from Rust, and what remains after it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nodejoin::{Cause, Nodejoin, ScenarioReport};
use tempfile::TempDir;

use crate::support::engine_objects::objects;
use crate::support::{FAILS, build_images_once};

/// The tests of this file count what this process created.
static ALONE: Mutex<()> = Mutex::new(());

/// What this process created on the container engine.
fn own_objects() -> Vec<String> {
    objects(&format!("nodejoin.pid={}", std::process::id()))
}

/// An executor with one thread, as `#[tokio::test]` has it.
fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(work)
}

#[test]
fn user_data_and_scenarios_run_from_rust_and_nothing_remains() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    build_images_once();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("fails.yaml");
    fs::write(&file, FAILS).unwrap();
    let start = Nodejoin::builder()
        .artifacts(folder.path().join("evidence"))
        .start();
    let nodejoin = wait(start).unwrap();

    let join = nodejoin
        .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd\n")
        .key("expect", "{ phase: registered }")
        .run();
    let joined = wait(join).unwrap();
    joined.assert_joined();
    assert!(
        joined.evidence().is_none() && joined.cause().is_none(),
        "{joined}"
    );

    let failed = wait(nodejoin.scenario(&file).run()).unwrap();
    failed.assert_cause(Cause::KubeletNeverStarted);
    assert!(
        failed.evidence().unwrap().join("explain.txt").exists(),
        "{failed}"
    );
    let panic = catch_unwind(AssertUnwindSafe(|| drop(failed.assert_joined().clone())));
    let message = *panic.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains("a node that does nothing registers"),
        "{message}"
    );

    assert!(!own_objects().is_empty());
    drop(nodejoin);
    assert_eq!(own_objects(), Vec::<String>::new());
}

#[test]
fn a_dropped_future_removes_its_node_and_then_everything() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    build_images_once();
    let folder = TempDir::new().unwrap();
    let evidence = folder.path().join("evidence");
    let start = Nodejoin::builder().artifacts(evidence).start();
    let nodejoin = wait(start).unwrap();
    let has_node = || own_objects().iter().any(|object| object.contains("-i-"));

    let until_node = |run: &mut (dyn Future<Output = ()> + Unpin)| {
        let moment = Duration::from_millis(200);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        while !has_node() {
            let ended = runtime.block_on(async { tokio::time::timeout(moment, &mut *run).await });
            assert!(ended.is_err(), "the run waits for its user data");
        }
    };
    let never_ends = "#!/bin/bash\nsleep infinity\n";

    let mut run = Box::pin(async { drop(nodejoin.user_data(never_ends).run().await) });
    until_node(&mut run);
    drop(run);
    while has_node() {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(!own_objects().is_empty(), "the harness serves other runs");

    // A caller that gives up on all of it.
    let mut all = Box::pin(async move { drop(nodejoin.user_data(never_ends).run().await) });
    until_node(&mut all);
    drop(all);
    assert_eq!(own_objects(), Vec::<String>::new());
}

#[test]
fn a_panic_removes_what_was_started() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    build_images_once();
    let folder = TempDir::new().unwrap();
    let panicked = catch_unwind(|| {
        wait(async {
            let nodejoin = Nodejoin::builder()
                .artifacts(folder.path().join("evidence"))
                .start()
                .await
                .unwrap();
            let report: ScenarioReport = nodejoin.user_data("#!/bin/sh\n").run().await.unwrap();
            report.assert_joined();
        });
    });
    assert!(panicked.is_err());
    assert_eq!(own_objects(), Vec::<String>::new());
}
