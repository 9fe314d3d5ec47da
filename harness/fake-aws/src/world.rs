//! The AWS account of one scenario. Pure data, no sockets.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::SystemTime;

use nodejoin_core::observation::{AwsCall, DnsQuery};
use nodejoin_core::plan::aws::{AwsPlan, OtherRole};
use nodejoin_core::plan::dns_fault::DnsFault;
use nodejoin_core::plan::fault::{Fault, Service};
use nodejoin_core::plan::ids::AccountId;
use nodejoin_core::plan::link_local;
use nodejoin_core::plan::outside::{OutsideFiles, https_addresses, is_host_of, recorded_addresses};
use nodejoin_core::plan::region::Region;
use nodejoin_core::plan::{ClusterPlan, HttpProxyUrl, InstancePlan, Network, Plan, RolePlan};
use tokio::sync::mpsc;

use crate::arn;
use crate::credentials::unique_id;
use crate::images::RegistryImage;
use crate::shared_account::SharedAccount;

/// One instance and its AWS account: its role, its cluster and its repositories.
#[derive(Debug, Clone)]
pub struct World {
    pub account: AccountId,
    /// The region of every resource, unless a resource names its own.
    pub region: Region,
    /// In an open network, another resolver answers the names that are not in this world.
    pub network: Network,
    /// Recorded answers of hosts outside: files by URL.
    pub outside: OutsideFiles,
    /// The HTTP proxy that the node reaches.
    pub http_proxy: Option<HttpProxyUrl>,
    pub instance: InstancePlan,
    /// The role of the instance profile; `None` for an instance without a profile.
    pub role: Option<RolePlan>,
    pub cluster: ClusterPlan,
    /// The control plane's version, such as `v1.20.2`. DescribeCluster returns its first two numbers.
    pub kubernetes_version: String,
    /// The certificate authority in DescribeCluster's response, in PEM.
    pub certificate_authority: String,
    /// Address of the cluster's endpoint.
    pub control_plane: SocketAddrV4,
    /// A second host name of the endpoint, used by kubeadm's ConfigMaps.
    pub control_plane_name: Option<String>,
    /// User data, decoded.
    pub user_data: Option<Vec<u8>>,
    /// Further resources of the account.
    pub aws: AwsPlan,
    pub faults: Vec<Fault>,
    pub dns_faults: Vec<DnsFault>,
    /// What the instances of the account share.
    pub shared: SharedAccount,
    /// Images of the registry.
    pub images: Vec<RegistryImage>,
    /// The engine receives the events of this world. The world drops events once the channel is closed.
    pub events: mpsc::UnboundedSender<AwsEvent>,
}

/// An event in the fake AWS.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsEvent {
    /// Time of the request.
    pub at: SystemTime,
    pub what: AwsEventKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AwsEventKind {
    Aws(AwsCall),
    Dns(DnsQuery),
    /// The node requested the run's id from the metadata address and received this run's.
    Isolated,
}

impl World {
    /// The world of a plan, without user data, images and a control plane: the caller sets these.
    #[must_use]
    pub fn of(plan: &Plan, events: mpsc::UnboundedSender<AwsEvent>) -> Self {
        Self {
            account: plan.account.clone(),
            region: plan.region.clone(),
            network: plan.network,
            outside: plan.outside.clone(),
            http_proxy: plan.http_proxy.clone(),
            instance: plan.instance.clone(),
            role: plan.role.clone(),
            cluster: plan.cluster.clone(),
            kubernetes_version: String::new(),
            certificate_authority: String::new(),
            control_plane: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 443),
            control_plane_name: None,
            user_data: None,
            aws: plan.aws.clone(),
            faults: plan.faults.clone(),
            dns_faults: plan.dns_faults.clone(),
            shared: SharedAccount::default(),
            images: Vec::new(),
            events,
        }
    }

    /// Whether the scenario answers requests to this host, in lower case.
    pub(crate) fn answers_host(&self, host: &str) -> bool {
        self.aws.answers.iter().any(|answer| answer.is_of_host(host)) || is_host_of(&self.outside, host)
    }

    /// Addresses of hosts outside that the node may request over TLS.
    pub(crate) fn https_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let text = String::from_utf8_lossy(self.user_data.as_deref().unwrap_or_default());
        let mut addresses = https_addresses(&text);
        addresses.extend(recorded_addresses(&self.outside));
        addresses.into_iter().map(IpAddr::from)
    }

    /// Whether a name in lower case is one of the cluster's API server.
    pub(crate) fn is_endpoint(&self, name: &str) -> bool {
        name == self.cluster.endpoint_host(&self.region).to_ascii_lowercase()
            || self.control_plane_name.as_deref() == Some(name)
    }

    /// Address of a service in the node.
    pub(crate) fn address_of(&self, service: Service) -> Ipv4Addr {
        let mut refused = self.faults.iter().filter(|fault| fault.refusal().is_some());
        match refused.any(|fault| fault.service == service) {
            true => link_local::of_refused(service),
            false => link_local::AWS_SERVICES,
        }
    }

    /// ARN of the instance's role, with its path; `None` without an instance profile.
    pub(crate) fn role_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        let name = format!("{}{}", role.path, role.name);
        Some(arn::role(&self.region, &self.account, &name))
    }

    /// ARN of the role's session, in STS' form: without the role's path.
    pub(crate) fn session_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        let session = self.instance.id.as_str();
        Some(arn::session(&self.region, &self.account, &role.name, session))
    }

    /// User id of the role's session.
    pub(crate) fn session_user_id(&self) -> Option<String> {
        let role_id = unique_id("AROA", &self.role_arn()?);
        Some(format!("{role_id}:{}", self.instance.id))
    }

    /// ARN of the instance profile. The fake gives it the role's name.
    pub(crate) fn instance_profile_arn(&self) -> Option<String> {
        let role = self.role.as_ref()?;
        Some(arn::instance_profile(
            &self.region,
            &self.account,
            &role.path,
            &role.name,
        ))
    }

    /// ARN of a cluster of this account.
    pub(crate) fn cluster_arn_in(&self, region: &str, name: &str) -> String {
        let (partition, account) = (self.region.partition(), &self.account);
        format!("arn:{partition}:eks:{region}:{account}:cluster/{name}")
    }

    /// Finds one of the account's further roles by its name without the path.
    pub(crate) fn role_named(&self, name: &str) -> Option<&OtherRole> {
        let mut roles = self.aws.roles.iter();
        roles.find(|role| arn::without_path(&role.name) == name)
    }

    /// ARN of one of the account's further roles.
    pub(crate) fn other_role_arn(&self, role: &OtherRole) -> String {
        arn::role(&self.region, &self.account, &role.name)
    }

    /// Issuer of the cluster's service account tokens.
    pub(crate) fn oidc_issuer(&self) -> String {
        format!(
            "https://oidc.eks.{}.{}/id/{}",
            self.region,
            self.region.dns_suffix(),
            self.cluster.endpoint_id
        )
    }
}
