//! The core scenarios on control planes of other providers. `cargo test` runs every scenario on `local`; these tests
//! show that the scenarios mean the same elsewhere.
//!
//! The image of k3s may not be available, so an image of this repository implements its command line: the tests cover
//! the harness' use of k3s, and reports name the stand-in. `NODEJOIN_CONTROL_PLANE=k3s` tests k3s itself.

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
    let title = events.iter().find_map(|event| match event {
        RunEvent::ControlPlaneReady { provider, .. } => Some(provider.as_str()),
        _ => None,
    });
    let title = title.unwrap();
    assert!(
        title.starts_with("k3s (stand-in image nodejoin/k3s-stand-in:"),
        "the report must name the stand-in: {title}"
    );
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_image_k3s_is_skipped_with_the_engines_word_and_an_error_where_it_is_required() {
    let mut settings = settings(ProviderName::K3s);
    // Nothing listens there, so that no real registry is contacted.
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
