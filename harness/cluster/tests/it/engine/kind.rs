//! A real `kind` control plane: kind recognizes the nodes under test, and deleting the cluster removes them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use nodejoin_cluster::{
    ControlPlane, ExternalSettings, ProviderInputs, ProviderKind, SecurityTokens, StsIdentity, StsRejection,
};
use nodejoin_core::plan::ProviderName;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_docker::{Engine, ImageSettings, Images, Run, RunNetwork, debian_program, new_run_id, on_path};
use testcontainers::{GenericImage, ImageExt as _};
use url::Url;

/// An STS that gets no request.
struct Sts;

impl SecurityTokens for Sts {
    fn instance_of(&self, _: &str) -> Option<InstanceId> {
        None
    }

    fn caller_identity<'a>(
        &'a self,
        _: &'a Url,
        _: &'a str,
    ) -> BoxFuture<'a, Result<StsIdentity, StsRejection>> {
        unreachable!("no client presents a token in this test")
    }

    fn private_dns_name(&self, _: &InstanceId) -> Option<String> {
        None
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kind_lists_the_nodes_under_test_and_deletes_them() {
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let engine = Engine::connect().await.unwrap();
    let images = Images::new(
        engine.clone(),
        settings.clone(),
        Arc::new(|event| println!("{event:?}")),
    );
    let inputs = ProviderInputs {
        images: &images,
        settings: &settings,
        kubernetes: "",
        external: &ExternalSettings::default(),
        time_factor: engine.time_factor(),
    };
    let provider = ProviderKind::of(ProviderName::Kind).build(inputs).await.unwrap();
    let run = Run::begin(engine.clone(), new_run_id());
    let network = run.network("kind", false).await.unwrap();
    let plane = ControlPlane::start(&*provider, &run, &network, None, Sts)
        .await
        .unwrap();
    println!("{} {:#?}", plane.version, plane.start_times());

    let kind = kind(&settings).await;
    let node = node(&run, &network, &plane, &images).await;
    let cluster = plane.node_labels["io.x-k8s.kind.cluster"].clone();
    let own = format!("{cluster}-control-plane");
    assert_eq!(
        nodes(&kind, &cluster),
        BTreeSet::from([own.clone(), node.clone()])
    );
    kind_exports_logs_of(&kind, &cluster, &[own.as_str(), node.as_str()]);
    no_deployment_exists(&plane).await;

    let deleted = output(Command::new(&kind).args(["delete", "cluster", "--name", &cluster]));
    assert!(deleted.status.success(), "{deleted:?}");
    assert_eq!(nodes(&kind, &cluster), BTreeSet::new());
    let label = format!("label=nodejoin.run={}", run.id());
    let volumes = output(Command::new("docker").args(["volume", "ls", "-q", "--filter", &label]));
    assert_eq!(String::from_utf8_lossy(&volumes.stdout), "");

    plane.shut_down().await;
    drop(plane);
    assert!(!settings.cache.join("kind").join(&cluster).exists());
    assert_eq!(run.tear_down().await.left, Vec::<String>::new());
}

async fn kind(settings: &ImageSettings) -> std::path::PathBuf {
    match on_path("kind") {
        Some(kind) => kind,
        None => debian_program(settings, "trixie", "kind", "kind").await.unwrap(),
    }
}

/// A container with the labels of a node under test, and its name.
async fn node(run: &Run, network: &RunNetwork, plane: &ControlPlane, images: &Images) -> String {
    let base = images.base().await.unwrap();
    let (name, tag) = base.rsplit_once(':').unwrap();
    let request = GenericImage::new(name, tag)
        .with_cmd(["sleep", "600"])
        .with_labels(plane.node_labels.clone());
    run.start("node", "node", network, request).await.unwrap().name
}

fn nodes(kind: &Path, cluster: &str) -> BTreeSet<String> {
    let listed = output(Command::new(kind).args(["get", "nodes", "--name", cluster]));
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().map(str::to_owned).collect()
}

/// kind also reads the nodes' journals with `docker exec --privileged`. If the engine rejects that, it reports it and
/// continues.
fn kind_exports_logs_of(kind: &Path, cluster: &str, nodes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    output(
        Command::new(kind)
            .args(["export", "logs", "--name", cluster])
            .arg(folder.path()),
    );
    for node in nodes {
        assert!(folder.path().join(node).join("inspect.json").is_file(), "{node}");
    }
}

/// A Deployment would be scheduled onto the first node under test that is ready.
async fn no_deployment_exists(plane: &ControlPlane) {
    let all = Api::<Deployment>::all(plane.client());
    let all = all.list(&ListParams::default()).await.unwrap();
    assert!(all.items.is_empty(), "{all:?}");
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}
