//! The cluster, the account and the instance of the scenario, from what file and user data state.

use std::net::Ipv4Addr;

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::aws::IpFamily;
use nodejoin_core::plan::cidr::Cidr;
use nodejoin_core::plan::ids::AccountId;
use nodejoin_core::plan::instance_type::DEFAULT_INSTANCE_TYPE;
use nodejoin_core::plan::{EndpointUrl, VolumePlan};
use nodejoin_core::user_data::{http_proxies, tls_proxies};

use super::access::NodeAccess;
use super::adopted_name::cluster_name;
use super::endpoint::{endpoint, misspelt_domain};
use super::metadata::metadata;
use super::outpost::outpost;
use super::region::region;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::service_networks::{ipv6_network, other_network};
use super::stack::stack;
use super::stand_ins::has_stand_in_cidr;
use super::stated::Stated;
use super::tags::{check_cluster_tag, check_tags};
use super::versions::{WantedKubernetes, check_image_version};
use super::yaml_text::YamlText;
use crate::eks::STAND_IN_IPV6;
use crate::machine::{AmiFamily, Machine, Traits};
use crate::words::service_network;

/// Where NodeLocal DNSCache listens.
const NODE_LOCAL_DNS: &str = "169.254.20.10";
/// The network of services for a VPC with an address range in 10.0.0.0/8, from which bootstrap.sh derives the cluster's
/// DNS.
const IN_TEN: &str = "172.20.0.0/16";
const VPC_IN_TEN: [&str; 2] = ["192.168.0.0/16", "10.0.0.0/16"];
/// An address for nodes of IPv6 clusters.
const IPV6_ADDRESS: &str = "2a05:d018:ec8:7e01::10";
/// The first kubelet that joins an IPv6 cluster as nodeadm starts it.
const IPV6_KUBELET: Minor = Minor::new(26);

/// The keys of a scenario around its node.
pub(crate) struct Surroundings {
    pub(crate) keys: Vec<(String, YamlText)>,
    /// The adopted endpoint; `None` if there is none, or if a run cannot serve it.
    pub(crate) endpoint: Option<EndpointUrl>,
    pub(crate) is_ipv6: bool,
    pub(crate) kubernetes: WantedKubernetes,
}

pub(crate) fn surroundings(
    machine: &Machine,
    stated: &Stated,
    report: &mut Vec<AdoptionLine>,
) -> Surroundings {
    let traits = &machine.traits;
    let endpoint = endpoint(traits, stated, report);
    let dns_faults = misspelt_domain(endpoint.as_ref(), report);
    let region = region(traits, stated, endpoint.as_ref(), report);
    let account = account(traits, stated, report);
    let network = ServiceNetwork::of(traits, stated, report);
    check_authority(traits, stated, report);
    let access = NodeAccess::of(machine, stated, report);
    let outpost = outpost(stated, region.as_ref(), account.as_deref(), report);
    let cluster = YamlText::map([
        (
            "name",
            cluster_name(machine, stated, report).map(|name| YamlText::text(&name)),
        ),
        (
            "endpoint",
            endpoint
                .as_ref()
                .map(|endpoint| YamlText::text(&endpoint.to_string())),
        ),
        ("service_ipv4_cidr", network.service_ipv4_cidr()),
        (
            "authentication_mode",
            traits
                .cluster
                .authentication_mode
                .map(|mode| YamlText::text(mode.word())),
        ),
        ("access_entries", access.access_entries),
        ("aws_auth", access.aws_auth),
        (
            "bootstrap_tokens",
            stated
                .kubeadm
                .as_ref()
                .map(|_| YamlText::List(vec![YamlText::Map(Vec::new())])),
        ),
        ("eks", Some(eks(&network, outpost))),
    ]);
    let instance = instance(machine, stated, access.role, &network, report);
    let kubernetes = WantedKubernetes::of(traits, stated, network.is_ipv6().then_some(IPV6_KUBELET));
    check_image_version(traits, report);
    check_cluster_tag(machine, kubernetes.stated(), report);
    let keys = [
        (
            "kubelet",
            network
                .is_ipv6()
                .then(|| YamlText::text(&format!(">={IPV6_KUBELET}"))),
        ),
        ("newer_settings", Some(YamlText::plain("translate"))),
        ("account", account.map(|account| YamlText::text(&account))),
        ("region", region.map(|region| YamlText::text(region.as_str()))),
        ("instance", Some(instance)),
        ("cluster", Some(cluster)),
        ("aws", stack(machine, report)),
        ("http_proxy", http_proxy(stated, report)),
        ("dns_faults", dns_faults),
    ];
    let keys = keys
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Surroundings {
        keys: keys.collect(),
        endpoint,
        is_ipv6: network.is_ipv6(),
        kubernetes,
    }
}

/// The HTTP proxy that the user data names.
fn http_proxy(stated: &Stated, report: &mut Vec<AdoptionLine>) -> Option<YamlText> {
    for proxy in tls_proxies(&stated.text) {
        let text = format!(
            "the proxy {proxy}: programs speak TLS to it, and the HTTP proxy of nodejoin speaks plain HTTP (a limit of nodejoin, at which \
             they fail); write `{}` in the user data to try it",
            proxy.without_tls()
        );
        line(report, AdoptionKind::NotChecked, text);
    }
    let mut proxies = http_proxies(&stated.text).into_iter();
    let first = proxies.next()?.to_string();
    let text = format!(
        "the HTTP proxy {first}, which leads to AWS, to the API server and to the hosts of `outside`; the node reaches \
         AWS without it, too"
    );
    line(report, AdoptionKind::Adopted, text);
    for other in proxies {
        let text = format!("the HTTP proxy {other} does not exist: a scenario has one, here {first}");
        line(report, AdoptionKind::Note, text);
    }
    Some(YamlText::text(&first))
}

/// The run replaces the certificate authority, whichever it is.
fn check_authority(traits: &Traits, stated: &Stated, report: &mut Vec<AdoptionLine>) {
    let of_cluster = traits.cluster.certificate_authority.as_ref();
    let other = of_cluster
        .zip(stated.authority.as_ref())
        .filter(|(one, other)| one.trim() != other.trim());
    if other.is_some() {
        let text = "the certificate authority in the user data is not that of the cluster in the rest of the file: a kubelet with it \
                    does not trust the API server; the run replaces both";
        line(report, AdoptionKind::Problem, text);
    }
}

fn account(traits: &Traits, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Option<String> {
    let account = traits.account.clone().or_else(|| account_of_arn(&stated.text))?;
    account.parse::<AccountId>().ok()?;
    line(report, AdoptionKind::Adopted, format!("account {account}"));
    Some(account)
}

/// The account in the first ARN of a text. Accounts in names of images belong to AWS.
fn account_of_arn(text: &str) -> Option<String> {
    text.split("arn:aws").skip(1).find_map(|rest| {
        let account = rest.split(':').nth(3)?;
        (account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit())).then(|| account.to_owned())
    })
}

/// The network of service addresses.
enum ServiceNetwork {
    Unknown,
    Ipv4(Cidr),
    Ipv6(String),
}

impl ServiceNetwork {
    fn of(traits: &Traits, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Self {
        check_family(traits, stated, report);
        let is_ipv6 = stated.is_ipv6 || traits.cluster.ip_family == Some(IpFamily::Ipv6);
        let of_ipv6 = || is_ipv6.then(|| STAND_IN_IPV6.to_owned());
        let of_cluster = traits.cluster.service_cidr.clone();
        if let Some(problem) = other_network(traits, stated) {
            line(report, AdoptionKind::Problem, problem);
        }
        let given = of_cluster
            .clone()
            .or_else(|| stated.cidr.clone())
            .or_else(of_ipv6);
        let is_made = is_ipv6 && of_cluster.is_none() && stated.cidr.is_none();
        let network = match given.as_deref().map(str::parse) {
            Some(Ok(cidr)) => Self::Ipv4(cidr),
            Some(Err(_)) if given.as_deref().is_some_and(|cidr| cidr.contains(':')) => {
                Self::Ipv6(given.clone().unwrap_or_default())
            }
            _ => Self::of_dns(stated),
        };
        match &network {
            Self::Unknown => {}
            Self::Ipv4(cidr) => line(report, AdoptionKind::Adopted, format!("service CIDR {cidr}")),
            Self::Ipv6(cidr) if is_made => line(
                report,
                AdoptionKind::Chosen,
                format!("{}, a stand-in: the file states none", ipv6_network(cidr)),
            ),
            Self::Ipv6(cidr) => line(report, AdoptionKind::Adopted, ipv6_network(cidr)),
        }
        // The DNS service of a cluster can have an address outside of a network that is a stand-in.
        if !has_stand_in_cidr(traits, stated) {
            network.check_dns(&stated.dns, report);
        }
        network
    }

    /// EKS puts the DNS service at the tenth address of a network.
    fn of_dns(stated: &Stated) -> Self {
        let network = stated.known_dns.as_deref().and_then(service_network);
        let found = network.and_then(|network| network.parse::<Cidr>().ok());
        found.map_or(Self::Unknown, Self::Ipv4)
    }

    fn check_dns(&self, dns: &[String], report: &mut Vec<AdoptionLine>) {
        let Self::Ipv4(cidr) = self else { return };
        let is_outside = |text: &&String| {
            *text != NODE_LOCAL_DNS
                && text
                    .parse()
                    .is_ok_and(|address: Ipv4Addr| !cidr.contains(address))
        };
        for address in dns.iter().filter(is_outside) {
            let text = format!(
                "the cluster DNS {address} is neither in the service CIDR {cidr} nor {NODE_LOCAL_DNS}: pods resolve no name of the cluster with it"
            );
            line(report, AdoptionKind::Problem, text);
        }
    }

    fn is_ipv6(&self) -> bool {
        matches!(self, Self::Ipv6(_))
    }

    fn service_ipv4_cidr(&self) -> Option<YamlText> {
        match self {
            Self::Unknown => None,
            Self::Ipv4(cidr) => Some(YamlText::text(&cidr.to_string())),
            Self::Ipv6(_) => Some(YamlText::plain("null")),
        }
    }

    /// The ranges of the VPC, if the script derives the DNS address from them.
    fn vpc_cidrs(&self, stated: &Stated, report: &mut Vec<AdoptionLine>) -> Option<YamlText> {
        let Self::Ipv4(cidr) = self else { return None };
        let is_derived = !stated.calls.is_empty() && stated.dns.is_empty();
        if !is_derived || cidr.to_string() != IN_TEN {
            return None;
        }
        let [_, in_ten] = VPC_IN_TEN;
        let text = format!(
            "the VPC has the address range {in_ten}: in such a VPC, {IN_TEN} is the default of EKS for services"
        );
        line(report, AdoptionKind::Chosen, text);
        Some(YamlText::texts(VPC_IN_TEN.map(str::to_owned)))
    }

    fn service_ipv6_cidr(&self) -> Option<YamlText> {
        match self {
            Self::Ipv6(cidr) => Some(YamlText::text(cidr)),
            Self::Unknown | Self::Ipv4(_) => None,
        }
    }
}

/// Names a flag for another family of addresses than that of the cluster.
fn check_family(traits: &Traits, stated: &Stated, report: &mut Vec<AdoptionLine>) {
    let (family, other) = match traits.cluster.ip_family {
        Some(IpFamily::Ipv6) => ("ipv6", "ipv4"),
        Some(IpFamily::Ipv4) => ("ipv4", "ipv6"),
        None => return,
    };
    let mut families = stated
        .calls
        .iter()
        .filter_map(|call| call.values.get("--ip-family"));
    if families.any(|stated| stated.eq_ignore_ascii_case(other)) {
        let text = format!(
            "the user data has `--ip-family {other}`, and the address family of the cluster in the rest of the file is {family}: address \
             and DNS of the node are those of another cluster; write `--ip-family {family}`"
        );
        line(report, AdoptionKind::Problem, text);
    }
}

fn eks(network: &ServiceNetwork, outpost: Option<YamlText>) -> YamlText {
    YamlText::map([
        ("ip_family", network.is_ipv6().then(|| YamlText::text("ipv6"))),
        ("service_ipv6_cidr", network.service_ipv6_cidr()),
        ("outpost", outpost),
    ])
}

fn instance(
    machine: &Machine,
    stated: &Stated,
    role: Option<String>,
    network: &ServiceNetwork,
    report: &mut Vec<AdoptionLine>,
) -> YamlText {
    let traits = &machine.traits;
    let ami = traits.ami_id.as_ref().filter(|id| id.starts_with("ami-"));
    let adopted = [("instance type", traits.instance_type.as_ref()), ("AMI id", ami)];
    for (what, value) in adopted {
        if let Some(value) = value {
            line(report, AdoptionKind::Adopted, format!("{what} {value}"));
        }
    }
    if traits.is_spot {
        line(report, AdoptionKind::Adopted, "the life cycle of a spot instance");
    }
    if traits.instance_type.is_none() {
        let text = format!(
            "instance type {DEFAULT_INSTANCE_TYPE}, as the file states none; `--with 'instance: {{ type: ... }}'` for another"
        );
        line(report, AdoptionKind::Chosen, text);
    }
    if !traits.tags.is_empty() {
        let keys: Vec<&str> = traits.tags.keys().map(String::as_str).collect();
        line(report, AdoptionKind::Adopted, format!("tags {}", keys.join(", ")));
    }
    check_tags(traits, report);
    let volumes = volumes(traits, report);
    let tags = traits
        .tags
        .iter()
        .map(|(key, value)| (key.clone(), YamlText::text(value)));
    let addresses = YamlText::texts([IPV6_ADDRESS.to_owned()]);
    let ipv6 = network
        .is_ipv6()
        .then(|| YamlText::map([("ipv6", Some(addresses))]));
    YamlText::map([
        ("type", traits.instance_type.as_deref().map(YamlText::text)),
        ("ami", ami.map(|id| YamlText::text(id))),
        ("life_cycle", traits.is_spot.then(|| YamlText::text("spot"))),
        ("role", role.as_deref().map(YamlText::text)),
        ("volumes", Some(volumes)),
        ("tags", Some(YamlText::Map(tags.collect()))),
        ("vpc_cidrs", network.vpc_cidrs(stated, report)),
        ("metadata", Some(metadata(machine, stated, report))),
        ("network", ipv6),
    ])
}

/// Volumes besides the root volume. The second one of Bottlerocket belongs to its AMI.
fn volumes(traits: &Traits, report: &mut Vec<AdoptionLine>) -> YamlText {
    const BOTTLEROCKET_DATA: &str = "/dev/xvdb";
    let is_bottlerocket = traits.ami_family == Some(AmiFamily::Bottlerocket);
    let mut adopted = Vec::new();
    for (device, gib) in &traits.volumes {
        if is_bottlerocket && device == BOTTLEROCKET_DATA {
            continue;
        }
        if VolumePlan::letters(device).is_none() {
            let text = format!(
                "EC2 refuses a volume with the name {device}: no instance starts; write one such as /dev/sdb"
            );
            line(report, AdoptionKind::Note, text);
            continue;
        }
        let text = format!("volume {device} of {gib} GiB, empty at the start");
        line(report, AdoptionKind::Adopted, text);
        adopted.push(YamlText::map([
            ("device", Some(YamlText::text(device))),
            ("gib", Some(YamlText::plain(gib))),
        ]));
    }
    YamlText::List(adopted)
}
