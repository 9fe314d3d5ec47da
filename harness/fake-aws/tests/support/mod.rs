//! Shared by the loopback tests: fakes with a world on 127.0.0.1, their events, and clients.

pub mod clients;
pub mod proxy;
pub mod venv;

use std::net::Ipv4Addr;
use std::time::Duration;

use nodejoin_core::observation::{AwsCall, DnsQuery};
use nodejoin_core::plan::aws::{AuthenticationMode, AwsPlan, EksPlan, NetworkPlan};
use nodejoin_core::plan::{CaChoice, ClusterPlan, InstancePlan, MetadataPlan, Network, RolePlan, StatusStep};
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
        instance: instance(),
        role: Some(RolePlan {
            name: "demo-role".into(),
            path: "/eks/".into(),
            allow: None,
            deny: Vec::new(),
        }),
        cluster: ClusterPlan {
            name: "demo".into(),
            endpoint_id: "0123456789ABCDEF0123456789ABCDEF".into(),
            status: vec![StatusStep {
                status: "ACTIVE".into(),
                until_seconds: None,
            }],
            service_ipv4_cidr: Some("10.100.0.0/16".into()),
            certificate_authority: CaChoice::Own,
            aws_auth: Vec::new(),
            aws_auth_text: None,
            authentication_mode: AuthenticationMode::default(),
            access_entries: Vec::new(),
            approve_serving: true,
            cloud_node_controller: true,
            approve_clients: true,
            authenticator_until: None,
            bootstrap_tokens: Vec::new(),
            restart_api_server_after: None,
            eks: EksPlan::default(),
        },
        kubernetes_version: "v1.20.2".into(),
        certificate_authority: "-----BEGIN CERTIFICATE-----\ndemo\n-----END CERTIFICATE-----\n".into(),
        control_plane_ip: "172.30.0.9".parse().unwrap(),
        control_plane_name: None,
        user_data: None,
        aws: AwsPlan::default(),
        faults: Vec::new(),
        rates: nodejoin_fake_aws::Rates::default(),
        images: Vec::new(),
        events,
    };
    (world, received)
}

fn instance() -> InstancePlan {
    InstancePlan {
        id: "i-0b22a22eec53b9321".parse().unwrap(),
        instance_type: "m5.large".into(),
        ami: "ami-0bb07d9c8d6ca41e8".into(),
        private_ip: "192.168.40.16".parse().unwrap(),
        private_dns_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
        host_name: "ip-192-168-40-16.eu-west-1.compute.internal".into(),
        mac: "0a:00:00:00:00:01".into(),
        availability_zone: "eu-west-1a".into(),
        subnet_cidr: "192.168.32.0/19".into(),
        vpc_cidrs: vec!["192.168.0.0/16".into(), "100.64.0.0/16".into()],
        vpc_id: "vpc-0a1b2c3d4e5f60718".into(),
        subnet_id: "subnet-0a1b2c3d4e5f60718".into(),
        network_interface_id: "eni-0a1b2c3d4e5f60718".into(),
        security_group_id: "sg-0a1b2c3d4e5f60718".into(),
        tags: [
            ("Name".to_owned(), "demo".to_owned()),
            ("eks:cluster-name".to_owned(), "demo".to_owned()),
        ]
        .into(),
        life_cycle: "on-demand".into(),
        metadata: MetadataPlan::default(),
        network: NetworkPlan::default(),
        clock_ahead_seconds: 0,
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
