//! What one scenario's AWS holds, and the state of its instance: pure data, no sockets.

use std::net::Ipv4Addr;
use std::time::SystemTime;

use nodejoin_core::observation::{AwsCall, DnsQuery};
use nodejoin_core::plan::aws::{AwsPlan, OtherRole};
use nodejoin_core::plan::fault::{Fault, Service};
use nodejoin_core::plan::ids::AccountId;
use nodejoin_core::plan::region::Region;
use nodejoin_core::plan::{ClusterPlan, InstancePlan, Network, Plan, RolePlan};
use tokio::sync::mpsc;

use crate::credentials::{InstanceKey, Issued, unique_id};
use crate::faults::{Faults, Rates};
use crate::iam;
use crate::images::RegistryImage;
use crate::services::cloudformation::Stacks;
use crate::services::imds::tree::Tree;

/// The AWS of one scenario: one account with one instance, its role, its cluster and its repositories.
#[derive(Debug, Clone)]
pub struct World {
    /// The account's id.
    pub account: AccountId,
    /// The region everything stands in.
    pub region: Region,
    /// What the node reaches: in an open network names that nobody knows here are another resolver's.
    pub network: Network,
    /// The instance.
    pub instance: InstancePlan,
    /// The role of the instance's profile; `None` is an instance without a profile.
    pub role: Option<RolePlan>,
    /// The EKS cluster.
    pub cluster: ClusterPlan,
    /// The control plane's version, such as `v1.20.2`; DescribeCluster gives its first two numbers.
    pub kubernetes_version: String,
    /// The certificate authority that DescribeCluster gives, in PEM.
    pub certificate_authority: String,
    /// The address that the cluster's endpoint resolves to.
    pub control_plane_ip: Ipv4Addr,
    /// Another name of it, by which kubeadm's ConfigMaps call it.
    pub control_plane_name: Option<String>,
    /// User data, as EC2 hands it out.
    pub user_data: Option<Vec<u8>>,
    /// What the account holds beside these.
    pub aws: AwsPlan,
    /// Faults.
    pub faults: Vec<Fault>,
    /// How many requests faults have let pass, for all instances of a scenario.
    pub rates: Rates,
    /// What the image registry holds, under every account's host name.
    pub images: Vec<RegistryImage>,
    /// Where this world's events go. The engine receives; a closed channel is no error, the events are dropped.
    pub events: mpsc::UnboundedSender<AwsEvent>,
}

/// Something that the fake AWS saw.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsEvent {
    /// When it was asked.
    pub at: SystemTime,
    /// What it was.
    pub what: AwsEventKind,
}

/// The kinds of things that the fake AWS sees.
#[derive(Debug, Clone, PartialEq)]
pub enum AwsEventKind {
    /// A request to a service.
    Aws(AwsCall),
    /// A name was asked of the resolver.
    Dns(DnsQuery),
    /// The node asked the metadata address for the run's id and got this run's.
    Isolated,
}

impl World {
    /// The world of a plan without anything behind it: no user data, no images, no cluster. Whoever has them sets them.
    #[must_use]
    pub fn of(plan: &Plan, events: mpsc::UnboundedSender<AwsEvent>) -> Self {
        Self {
            account: plan.account.clone(),
            region: plan.region.clone(),
            network: plan.network,
            instance: plan.instance.clone(),
            role: plan.role.clone(),
            cluster: plan.cluster.clone(),
            kubernetes_version: String::new(),
            certificate_authority: String::new(),
            control_plane_ip: Ipv4Addr::LOCALHOST,
            control_plane_name: None,
            user_data: None,
            aws: plan.aws.clone(),
            faults: plan.faults.clone(),
            rates: Rates::default(),
            images: Vec::new(),
            events,
        }
    }

    /// ARN of the instance's role, with its path; `None` without a profile.
    #[must_use]
    pub fn role_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        Some(format!(
            "arn:{}:iam::{}:role{}{}",
            self.region.partition(),
            self.account,
            role.path,
            role.name
        ))
    }

    /// ARN of the role's session, as STS tells it: without the role's path.
    #[must_use]
    pub fn session_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        let (partition, account) = (self.region.partition(), &self.account);
        Some(format!(
            "arn:{partition}:sts::{account}:assumed-role/{}/{}",
            role.name, self.instance.id
        ))
    }

    /// User id of the role's session.
    #[must_use]
    pub fn session_user_id(&self) -> Option<String> {
        Some(format!(
            "{}:{}",
            unique_id("AROA", &self.role_arn()?),
            self.instance.id
        ))
    }

    /// ARN of the instance profile, which bears the role's name here.
    #[must_use]
    pub fn instance_profile_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        Some(format!(
            "arn:{}:iam::{}:instance-profile{}{}",
            self.region.partition(),
            self.account,
            role.path,
            role.name
        ))
    }

    /// ARN of a cluster of this account.
    #[must_use]
    pub fn cluster_arn_in(&self, region: &str, name: &str) -> String {
        let (partition, account) = (self.region.partition(), &self.account);
        format!("arn:{partition}:eks:{region}:{account}:cluster/{name}")
    }

    /// Further roles of this name, which has no path.
    pub fn roles_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a OtherRole> {
        self.aws
            .roles
            .iter()
            .filter(move |role| iam::bare_name(&role.name) == name)
    }

    /// The issuer of the cluster's service account tokens.
    #[must_use]
    pub fn oidc_issuer(&self) -> String {
        format!(
            "https://oidc.eks.{}.{}/id/{}",
            self.region,
            self.region.dns_suffix(),
            self.cluster.endpoint_id
        )
    }
}

/// An instance and everything that changes about it while it runs.
#[derive(Debug)]
pub struct Instance {
    /// What its scenario says.
    pub world: World,
    /// Its own key.
    pub key: InstanceKey,
    /// Credentials that its role got, and the roles that it assumed.
    pub issued: Issued,
    /// Credentials that EC2 knows the instance by.
    pub identity: Issued,
    /// Faults and how far they got.
    pub faults: Faults,
    /// Stacks and the signals that they got.
    pub stacks: Stacks,
    /// Metadata, built once.
    pub tree: Tree,
    /// When its node's source address was attached.
    pub started: Option<SystemTime>,
    /// When its world was admitted: what stands in the identity document as `pendingTime`.
    pub launched: SystemTime,
}

impl Instance {
    /// A fresh instance of a world.
    #[must_use]
    pub fn launch(world: World, now: SystemTime) -> Self {
        let tree = Tree::of(&world);
        let faults = Faults::new(&world.faults, world.rates.clone());
        let lifetime = time::Duration::seconds(world.instance.metadata.credentials.lifetime_seconds.into());
        Self {
            key: InstanceKey::generate(),
            issued: Issued::living(lifetime),
            identity: Issued::living(time::Duration::hours(6)),
            stacks: Stacks::of(&world.aws.stacks),
            faults,
            tree,
            started: None,
            launched: now,
            world,
        }
    }

    /// Takes in what has changed of its world. What was issued stays valid, and faults that are still there keep their count.
    pub fn renew(&mut self) {
        self.tree = Tree::of(&self.world);
        self.faults.renew(&self.world.faults);
    }

    /// Sends an event to whoever listens.
    pub fn tell(&self, at: SystemTime, what: AwsEventKind) {
        // Nobody listens any more once the scenario has its verdict; what comes after it is of no interest.
        let _closed = self.world.events.send(AwsEvent { at, what });
    }
}

/// What a request asks for, known before it is answered: faults are matched on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Service.
    pub service: Service,
    /// Operation, in AWS' own words; for metadata the path without its version.
    pub operation: String,
    /// What the caller asked about.
    pub subject: Option<String>,
    /// Whether the fake knows the operation.
    pub known: bool,
}

impl Target {
    /// An operation that the fake knows.
    #[must_use]
    pub fn known(service: Service, operation: impl Into<String>, subject: Option<String>) -> Self {
        Self {
            service,
            operation: operation.into(),
            subject,
            known: true,
        }
    }

    /// An operation that the fake does not know.
    #[must_use]
    pub fn unknown(service: Service, operation: impl Into<String>) -> Self {
        Self {
            service,
            operation: operation.into(),
            subject: None,
            known: false,
        }
    }
}
