//! The scenarios' core on control planes that others make. `cargo test` runs every scenario on `local`; here is that they mean the
//! same elsewhere.
//!
//! k3s itself cannot be had everywhere, so an image of ours answers its command line: what is tested is the harness' way with k3s,
//! and reports say so. k3s itself is for `NODEJOIN_CONTROL_PLANE=k3s` where its image can be pulled.

use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::event::RunEvent;

use crate::support::{Ran, plan, run, run_without_control_plane, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_k3s_a_node_joins_a_pod_answers_and_a_stranger_is_refused() {
    let mut settings = settings(ProviderName::K3s);
    settings.images.k3s_image = Some("stand-in".to_owned());
    let plans = ["first-join", "al2/pod-answers", "refused/role-not-in-aws-auth"].map(plan);
    let Ran {
        verdicts,
        events,
        left,
    } = run(settings, &plans).await;
    for (plan, verdict) in plans.iter().zip(&verdicts) {
        assert_eq!(verdict.outcome, Outcome::Passed, "{}: {verdict:#?}", plan.id);
    }
    let told = events.iter().find_map(|event| match event {
        RunEvent::ControlPlaneReady { provider, .. } => Some(provider.as_str()),
        _ => None,
    });
    let told = told.unwrap();
    assert!(
        told.starts_with("k3s (stand-in image nodejoin/k3s-stand-in:"),
        "nobody may take this for k3s: {told}"
    );
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_image_k3s_is_skipped_with_the_engines_word_and_an_error_where_it_is_required() {
    let mut settings = settings(ProviderName::K3s);
    // Nothing listens there, so no registry anywhere is asked.
    settings.images.k3s_image = Some("localhost:1/rancher/k3s:v1.20.2-k3s1".to_owned());
    let mut required = settings.clone();
    required.require = "k3s".parse().unwrap();
    let outcome = |ran: Ran| ran.verdicts[0].outcome.clone();
    let Outcome::Skipped(reason) = outcome(run(settings, &[plan("first-join")]).await) else {
        panic!("not skipped");
    };
    for part in [
        "localhost:1/rancher/k3s:v1.20.2-k3s1",
        "could not be pulled",
        "NODEJOIN_K3S_IMAGE",
    ] {
        assert!(reason.contains(part), "{part} in {reason}");
    }
    let Outcome::Errored(reason) = outcome(run(required, &[plan("first-join")]).await) else {
        panic!("not an error");
    };
    assert!(reason.contains("NODEJOIN_REQUIRE"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_control_plane_that_dies_is_not_the_nodes_fault() {
    let Ran { verdicts, left, .. } =
        run_without_control_plane(settings(ProviderName::Local), &plan("first-join")).await;
    let Outcome::Errored(reason) = &verdicts[0].outcome else {
        panic!("{:?}", verdicts[0].outcome);
    };
    assert!(reason.contains("ended while nodes joined"), "{reason}");
    assert_eq!(left, Vec::<String>::new());
}
