//! Shared by the loopback tests: fakes with a world on 127.0.0.1, their events, and clients.

pub mod clients;
pub mod moto;
pub mod proxy;
pub mod venv;

use std::net::Ipv4Addr;
use std::time::Duration;

use nodejoin_core::observation::{AwsCall, DnsQuery};
use nodejoin_core::plan::aws::AwsPlan;
use nodejoin_core::plan::{ClusterPlan, InstancePlan, Network, RolePlan};
use nodejoin_core::testing::{cluster, role};
use nodejoin_fake_aws::{AwsEvent, AwsEventKind, FakeAws, FakeAwsServer, World};
use tokio::sync::mpsc;

/// Address of each test's first node.
pub const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Running fakes, and the events of the first world.
pub struct Fakes {
    pub server: FakeAwsServer,
    pub events: mpsc::UnboundedReceiver<AwsEvent>,
}

impl Fakes {
    /// Fakes with one world, attached to 127.0.0.1.
    pub fn start(change: impl FnOnce(&mut World)) -> Self {
        let (mut world, events) = world();
        change(&mut world);
        let server = FakeAws::bind(&"testrun01".parse().unwrap(), HERE)
            .unwrap()
            .listen()
            .unwrap();
        let id = world.instance.id.clone();
        server.admit(world);
        server.attach(HERE, &id);
        Self { server, events }
    }

    /// Adds a world of another instance at another loopback address and returns its events.
    pub fn add(
        &self,
        source: Ipv4Addr,
        change: impl FnOnce(&mut World),
    ) -> mpsc::UnboundedReceiver<AwsEvent> {
        let (mut world, events) = world();
        change(&mut world);
        let id = world.instance.id.clone();
        self.server.admit(world);
        self.server.attach(source, &id);
        events
    }

    /// The URL of a metadata path.
    pub fn metadata(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.metadata)
    }

    /// The AWS calls so far.
    pub fn calls(&mut self) -> Vec<AwsCall> {
        calls(&mut self.events)
    }

    /// The DNS queries so far.
    pub fn names(&mut self) -> Vec<DnsQuery> {
        let mut names = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            if let AwsEventKind::Dns(query) = event.what {
                names.push(query);
            }
        }
        names
    }

    /// Shuts down the fakes; a panic in them fails the test.
    pub async fn end(self) {
        tokio::time::timeout(Duration::from_secs(2), self.server.shut_down())
            .await
            .expect("shutting down is prompt");
    }
}

/// The AWS calls among the events so far.
pub fn calls(events: &mut mpsc::UnboundedReceiver<AwsEvent>) -> Vec<AwsCall> {
    let mut calls = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let AwsEventKind::Aws(call) = event.what {
            calls.push(call);
        }
    }
    calls
}

/// A world with defaults, and its events.
pub fn world() -> (World, mpsc::UnboundedReceiver<AwsEvent>) {
    let (events, received) = mpsc::unbounded_channel();
    let world = World {
        account: "111122223333".parse().unwrap(),
        region: "eu-west-1".parse().unwrap(),
        network: Network::Isolated,
        outside: Default::default(),
        http_proxy: None,
        instance: instance(),
        role: Some(RolePlan {
            path: "/eks/".into(),
            ..role()
        }),
        cluster: ClusterPlan {
            aws_auth: Vec::new(),
            ..cluster()
        },
        kubernetes_version: "v1.20.2".into(),
        certificate_authority: "-----BEGIN CERTIFICATE-----\ndemo\n-----END CERTIFICATE-----\n".into(),
        control_plane: "172.30.0.9:443".parse().unwrap(),
        control_plane_name: None,
        user_data: None,
        aws: AwsPlan::default(),
        faults: Vec::new(),
        dns_faults: Vec::new(),
        shared: nodejoin_fake_aws::SharedAccount::default(),
        images: Vec::new(),
        events,
    };
    (world, received)
}

fn instance() -> InstancePlan {
    InstancePlan {
        vpc_cidrs: vec!["192.168.0.0/16".into(), "100.64.0.0/16".into()],
        volumes: Vec::new(),
        tags: [
            ("Name".to_owned(), "demo".to_owned()),
            ("eks:cluster-name".to_owned(), "demo".to_owned()),
        ]
        .into(),
        ..nodejoin_core::testing::instance()
    }
}

/// Runs a test in its own process, because it measures that process; other tests run in parallel in this one. Returns
/// whether this is the test's own process. `name` is the test's name with its modules.
pub fn in_own_process(name: &str) -> bool {
    const MARK: &str = "NODEJOIN_TEST_IN_OWN_PROCESS";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}
