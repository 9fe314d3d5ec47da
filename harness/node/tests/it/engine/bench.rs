//! What the tests of nodes share: a run with its network, the fakes and an image, and the log of a node.

use std::net::SocketAddrV4;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use nodejoin_core::observation::JournalLine;
use nodejoin_core::plan::Plan;
use nodejoin_core::user_data::{Values, render};
use nodejoin_docker::{Engine, ImageRef, ImageSettings, Images, Run, RunNetwork, new_run_id};
use nodejoin_fake_aws::{AwsEvent, FakeAws, FakeAwsServer, World, busybox_images};
use nodejoin_node::{CollectRequest, DirectUserData, Node, NodeOutput, NodeRequest, boot};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// An image of your own instead of the recipe's, while you work on it.
const IMAGE: &str = "NODEJOIN_TEST_NODE_IMAGE";

pub(super) struct Bench {
    pub(super) run: Run,
    pub(super) network: RunNetwork,
    pub(super) aws: FakeAwsServer,
    pub(super) image: ImageRef,
    busybox: Vec<u8>,
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::of("al2").await
    }

    /// With another built-in image.
    pub(super) async fn of(image: &str) -> Self {
        let engine = Engine::connect().await.expect("these tests need Docker");
        let run = Run::begin(engine.clone(), new_run_id());
        let image = match std::env::var(IMAGE) {
            Ok(name) => ImageRef::own(name, "v1.20.2"),
            Err(_) => {
                let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
                let images = Images::new(engine, settings, std::sync::Arc::new(|_| ()));
                images.node(image).await.unwrap()
            }
        };
        let busybox = run
            .engine()
            .read_image_file(&image.name, "base64", "/bin/busybox")
            .await
            .unwrap();
        let network = run.network("nodes", true).await.unwrap();
        let aws = FakeAws::bind(run.id(), network.gateway)
            .unwrap()
            .listen()
            .unwrap();
        Self {
            run,
            network,
            aws,
            image,
            busybox,
        }
    }

    pub(super) async fn boot(
        &self,
        plan: &Plan,
        direct: Option<DirectUserData>,
    ) -> (Node, UnboundedReceiver<AwsEvent>) {
        let (node, received) = self.start(plan, direct, false).await;
        self.aws.attach(node.ip, &plan.instance.id);
        (node, received)
    }

    /// Starts a node without registering its address.
    pub(super) async fn start(
        &self,
        plan: &Plan,
        direct: Option<DirectUserData>,
        is_ahead: bool,
    ) -> (Node, UnboundedReceiver<AwsEvent>) {
        let (events, received) = unbounded_channel();
        let ca = self.aws.ca_pem.clone();
        let user_data = plan
            .user_data
            .as_ref()
            .map(|data| render(data, &Values::of(plan, &ca)).unwrap());
        self.aws.admit(World {
            shared: nodejoin_fake_aws::SharedAccount::default(),
            account: plan.account.clone(),
            region: plan.region.clone(),
            network: plan.network,
            http_proxy: plan.http_proxy.clone(),
            outside: plan.outside.clone(),
            instance: plan.instance.clone(),
            role: plan.role.clone(),
            cluster: plan.cluster.clone(),
            kubernetes_version: "1.20".to_owned(),
            certificate_authority: ca.clone(),
            control_plane: SocketAddrV4::new(self.network.gateway, 443),
            control_plane_name: None,
            user_data,
            aws: plan.aws.clone(),
            faults: plan.faults.clone(),
            dns_faults: plan.dns_faults.clone(),
            images: busybox_images(&self.busybox).unwrap(),
            events,
        });
        let ask = NodeRequest {
            image: self.image.clone(),
            plan,
            network: self.network.clone(),
            metadata: self.aws.metadata,
            metadata_id: self.run.id().clone(),
            tls: self.aws.tls,
            api_server: Some("192.0.2.1:443".parse().unwrap()),
            labels: Default::default(),
            dns: self.aws.dns,
            aws_ca_pem: ca,
            direct,
            is_ahead,
        };
        let node = boot(&self.run, &ask).await.unwrap();
        (node, received)
    }

    pub(super) async fn end(self) {
        let teardown = self.run.tear_down().await;
        assert!(teardown.is_clean(), "{teardown:?}");
        self.aws.shut_down().await;
    }
}

pub(super) fn plan(scenario: &str) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scenario.yaml");
    std::fs::write(&path, scenario).unwrap();
    let files = nodejoin_core::input::files::Disk::default();
    nodejoin_core::scenario::load(&path, folder.path(), &files).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn ask(files: &[&str], units: &[&str], plan: &Plan, ca: &str) -> CollectRequest {
    CollectRequest {
        files: files.iter().map(|f| (*f).to_owned()).collect(),
        units: units.iter().map(|u| (*u).to_owned()).collect(),
        cluster_ca_pem: ca.to_owned(),
        private_ip: plan.instance.private_ip,
    }
}

/// Follows the journal to a line, and tells what it was and when.
pub(super) async fn until(
    node: &Node,
    matches: impl Fn(&JournalLine) -> bool,
) -> (SystemTime, Vec<JournalLine>) {
    let mut seen = Vec::new();
    let mut journal = std::pin::pin!(node.log().follow());
    let search = async {
        while let Some(output) = journal.next().await {
            let NodeOutput::Journal(at, line) = output else {
                continue;
            };
            let found = matches(&line);
            seen.push(line);
            if found {
                return Some(at);
            }
        }
        None
    };
    match tokio::time::timeout(Duration::from_secs(60), search).await {
        Ok(Some(at)) => (at, seen),
        Ok(None) => panic!("the journal ended: {:?}", node.exited().await),
        Err(_) => panic!(
            "not within a minute; the last lines: {:#?}",
            seen.iter().rev().take(20).collect::<Vec<_>>()
        ),
    }
}

pub(super) fn user_data_is_over(line: &JournalLine) -> bool {
    line.by_systemd && line.message.contains("cloud-init.target") && line.message.starts_with("Reached")
}
