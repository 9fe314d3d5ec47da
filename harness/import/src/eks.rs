//! The part that EKS appends to the user data of a managed node group whose launch template names no AMI.

use std::collections::BTreeMap;

use nodejoin_core::plan::aws::IpFamily;
use nodejoin_core::plan::instance_type::DEFAULT_INSTANCE_TYPE;
use nodejoin_core::user_data::parse;

use crate::error::ImportError;
use crate::instance_types::least_max_pods_of_group;
use crate::machine::{
    AmiFamily, CapacityType, ClusterTraits, LaunchTemplateVersion, Machine, ManagedNodeGroup, STAND_IN_AMI,
    System, Taint,
};
use crate::toml_table::{set_labels, set_taints, subtable};
use crate::tree::yaml;
use crate::words::{dns_ip, joined_labels, joined_taints};
use crate::{bottlerocket, mime, text};

/// The service network of an IPv6 cluster, which EKS chooses.
pub(crate) const STAND_IN_IPV6: &str = "fd30:1c53:5f8a::/108";
/// The name of a managed node group that the file does not name.
pub(crate) const STAND_IN_GROUP: &str = "workers";
/// The first minor release whose managed node groups use AL2023 unless they name another AMI type.
const AL2023_SINCE: u32 = 30;

/// What the node must be, besides what the file states.
struct EksPart {
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
    max_pods: Option<u32>,
    cluster: ClusterTraits,
}

/// The user data that an instance of the machine's group receives: the machine's own, and EKS' part after it if
/// [`Machine::managed`] is set. Values of the cluster that the file does not state are those of `cluster`, then those
/// of [`ClusterTraits::stand_in`].
///
/// # Errors
/// EKS rejects the user data: it is neither MIME nor settings of Bottlerocket.
pub fn complete_user_data(
    machine: &Machine,
    cluster: &ClusterTraits,
) -> Result<Option<Vec<u8>>, ImportError> {
    let Some(group) = group(machine)? else {
        return Ok(machine.user_data.clone());
    };
    check_language(machine)?;
    let own = EksPart::of(machine, &group, cluster);
    match managed_family(machine) {
        AmiFamily::Bottlerocket => settings(machine, &own).map(Some),
        AmiFamily::Windows => Ok(machine.user_data.clone()),
        AmiFamily::Al2 => with_part(machine, own.al2()).map(Some),
        AmiFamily::Al2023 | AmiFamily::Ubuntu | AmiFamily::Custom => {
            with_part(machine, own.al2023()).map(Some)
        }
    }
}

/// Checks that the user data is in the language of the group's AMI.
fn check_language(machine: &Machine) -> Result<(), ImportError> {
    let bytes = machine.user_data.as_deref().unwrap_or_default();
    let begins = text::beginning(&String::from_utf8_lossy(bytes));
    let family = machine.traits.ami_family;
    let (what, hint) = match (machine.system, family) {
        (System::Linux, Some(AmiFamily::Bottlerocket)) if !begins.is_empty() => (
            format!("which is not TOML: it begins with `{begins}`, and the AMI of its group is Bottlerocket"),
            "write settings of Bottlerocket, or give the group an AMI type of AL2023",
        ),
        (System::Bottlerocket, Some(AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Ubuntu)) => (
            "which are settings of Bottlerocket, and the AMI of its group is another one".to_owned(),
            "give the group an AMI type of Bottlerocket, or write a MIME multipart message",
        ),
        _ => return Ok(()),
    };
    Err(ImportError::Invalid {
        line: machine.line,
        column: None,
        problem: format!("EKS rejects the user data of `{}`, {what}", machine.name),
        hint: hint.to_owned(),
    })
}

/// Whether Bottlerocket reads the user data.
pub(crate) fn is_bottlerocket(machine: &Machine) -> bool {
    machine.system == System::Bottlerocket || machine.traits.ami_family == Some(AmiFamily::Bottlerocket)
}

/// The managed node group whose nodes EKS bootstraps. Settings of Bottlerocket that name no cluster are for one.
///
/// # Errors
/// Such settings belong to a machine with an AMI of its own, to which EKS adds nothing.
pub(crate) fn group(machine: &Machine) -> Result<Option<ManagedNodeGroup>, ImportError> {
    if machine.managed.is_some() || !is_bottlerocket(machine) {
        return Ok(machine.managed.clone());
    }
    let bytes = machine.user_data.clone().unwrap_or_default();
    if !bottlerocket::lacks_cluster(&text::settings(&String::from_utf8_lossy(&bytes))?) {
        return Ok(None);
    }
    if machine.traits.ami_id.is_none() {
        return Ok(Some(ManagedNodeGroup::default()));
    }
    Err(ImportError::Invalid {
        line: machine.line,
        column: None,
        problem: format!(
            "`settings.kubernetes` of `{}` has no api-server, cluster-certificate, cluster-name, and the machine names an AMI",
            machine.name
        ),
        hint: "set all three: EKS adds them only to the nodes of a managed node group without an AMI"
            .to_owned(),
    })
}

/// The AMI family of a managed node group: as stated, else by the user data, else by the version of the cluster.
fn managed_family(machine: &Machine) -> AmiFamily {
    if is_bottlerocket(machine) {
        return AmiFamily::Bottlerocket;
    }
    if let Some(family) = machine.traits.ami_family {
        return family;
    }
    let bytes = machine.user_data.clone().unwrap_or_default();
    let content = String::from_utf8_lossy(&bytes);
    match content.contains("/etc/eks/bootstrap.sh") || is_al2_by_version(machine) {
        true => AmiFamily::Al2,
        false => AmiFamily::Al2023,
    }
}

/// Whether a managed node group without a type uses Amazon Linux 2 because of the version of its cluster. A NodeConfig
/// means the other one.
pub(crate) fn is_al2_by_version(machine: &Machine) -> bool {
    let version = machine.traits.cluster.version.as_deref().unwrap_or_default();
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse::<u32>().ok());
    let bytes = machine.user_data.as_deref().unwrap_or_default();
    let has_config = String::from_utf8_lossy(bytes).contains("node.eks.aws");
    minor.is_some_and(|minor| minor < AL2023_SINCE) && !has_config
}

fn with_part(machine: &Machine, part: String) -> Result<Vec<u8>, ImportError> {
    let mut parts = own_parts(machine)?;
    parts.push(part);
    Ok(mime::message(&parts).into_bytes())
}

fn own_parts(machine: &Machine) -> Result<Vec<String>, ImportError> {
    let Some(bytes) = &machine.user_data else {
        return Ok(Vec::new());
    };
    let content = String::from_utf8_lossy(bytes);
    let parts = Some(content.as_ref())
        .filter(|content| mime::is_message(content))
        .and_then(mime::raw_parts);
    // A message begins with its headers, and an empty line ends them.
    let begins = content.trim_start().to_ascii_lowercase();
    let has_headers = ["mime-version:", "content-type:"]
        .iter()
        .any(|header| begins.starts_with(header));
    parts.ok_or_else(|| ImportError::Invalid {
        line: machine.line,
        column: None,
        problem: match has_headers {
            true => format!(
                "EKS rejects the user data of `{}`: no empty line ends the headers of its MIME message, or no line has their boundary",
                machine.name
            ),
            false => format!(
                "EKS rejects the user data of `{}`, which is not a MIME message: it begins with `{}`",
                machine.name,
                text::beginning(&content)
            ),
        },
        hint: match has_headers {
            true => "insert an empty line after the headers of the message, and one after those of each part".to_owned(),
            false => "write it as a MIME multipart message, to which EKS appends its own part; or name an AMI in the launch \
                      template and call the bootstrap script"
                .to_owned(),
        },
    })
}

impl EksPart {
    fn of(machine: &Machine, group: &ManagedNodeGroup, cluster: &ClusterTraits) -> Self {
        let traits = &machine.traits;
        let mut cluster = traits.cluster.clone().or(cluster);
        if cluster.ip_family == Some(IpFamily::Ipv6) && cluster.service_cidr.is_none() {
            cluster.dns_ip = dns_ip(STAND_IN_IPV6);
            cluster.service_cidr = Some(STAND_IN_IPV6.to_owned());
        }
        let region = traits.region.as_deref().and_then(|region| region.parse().ok());
        let cluster = cluster.or(&ClusterTraits::stand_in_at(region));
        Self {
            labels: labels(machine, group),
            taints: group.taints.clone(),
            max_pods: max_pods(machine, group).filter(|_| !states_max_pods(machine)),
            cluster,
        }
    }

    fn name(&self) -> &str {
        self.cluster.name.as_deref().unwrap_or_default()
    }

    fn endpoint(&self) -> &str {
        self.cluster.endpoint.as_deref().unwrap_or_default()
    }

    fn authority(&self) -> &str {
        self.cluster.certificate_authority.as_deref().unwrap_or_default()
    }

    fn dns_ip(&self) -> &str {
        self.cluster.dns_ip.as_deref().unwrap_or_default()
    }

    /// The part has no empty line after its header, as that of EKS.
    fn al2(&self) -> String {
        let mut flags = format!("--node-labels={}", joined_labels(&self.labels));
        if !self.taints.is_empty() {
            flags.push_str(&format!(
                " --register-with-taints={}",
                joined_taints(&self.taints)
            ));
        }
        let mut pods = "";
        // The flag is always there, and takes precedence over what the user data writes to a file.
        let of_default = || least_max_pods_of_group(&[DEFAULT_INSTANCE_TYPE.to_owned()]);
        if let Some(max_pods) = self.max_pods.or_else(of_default) {
            flags.push_str(&format!(" --max-pods={max_pods}"));
            pods = " --use-max-pods false";
        }
        let family = self.ip_family_flags();
        format!(
            "Content-Type: text/x-shellscript; charset=\"us-ascii\"\n#!/bin/bash\nset -ex\nB64_CLUSTER_CA={}\n\
             API_SERVER_URL={}\nK8S_CLUSTER_DNS_IP={}\n/etc/eks/bootstrap.sh {} --kubelet-extra-args '{flags}' \
             --b64-cluster-ca $B64_CLUSTER_CA --apiserver-endpoint $API_SERVER_URL --dns-cluster-ip \
             $K8S_CLUSTER_DNS_IP{pods}{family}\n",
            self.authority(),
            self.endpoint(),
            self.dns_ip(),
            self.name(),
        )
    }

    /// Without them, the script takes a cluster with a given endpoint for one of IPv4.
    fn ip_family_flags(&self) -> String {
        if self.cluster.ip_family != Some(IpFamily::Ipv6) {
            return String::new();
        }
        let cidr = self.cluster.service_cidr.as_deref();
        let cidr = cidr.filter(|cidr| cidr.contains(':'));
        let cidr = cidr.map(|cidr| format!(" --service-ipv6-cidr {cidr}"));
        format!(" --ip-family ipv6{}", cidr.unwrap_or_default())
    }

    fn al2023(&self) -> String {
        let mut text = format!(
            "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    apiServerEndpoint: {}\n    \
             certificateAuthority: {}\n    cidr: {}\n    name: {}\n  kubelet:\n    config:\n",
            self.endpoint(),
            self.authority(),
            self.cluster.service_cidr.as_deref().unwrap_or_default(),
            self.name(),
        );
        if let Some(max_pods) = self.max_pods {
            text.push_str(&format!("      maxPods: {max_pods}\n"));
        }
        text.push_str(&format!(
            "      clusterDNS:\n      - {}\n    flags:\n    - \"--node-labels={}\"\n",
            self.dns_ip(),
            joined_labels(&self.labels)
        ));
        if !self.taints.is_empty() {
            text.push_str(&format!(
                "    - \"--register-with-taints={}\"\n",
                joined_taints(&self.taints)
            ));
        }
        mime::part("application/node.eks.aws", &text)
    }
}

fn labels(machine: &Machine, group: &ManagedNodeGroup) -> BTreeMap<String, String> {
    let capacity_type = match group.capacity_type {
        None | Some(CapacityType::OnDemand) => "ON_DEMAND",
        Some(CapacityType::Spot) => "SPOT",
        Some(CapacityType::CapacityBlock) => "CAPACITY_BLOCK",
    };
    let ami = machine.traits.ami_id.as_deref().unwrap_or(STAND_IN_AMI);
    let name = group.name.as_deref().unwrap_or(STAND_IN_GROUP);
    let own = [
        ("eks.amazonaws.com/nodegroup-image", ami),
        ("eks.amazonaws.com/capacityType", capacity_type),
        ("eks.amazonaws.com/nodegroup", name),
    ];
    let own = own
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    // Only a launch template gives user data to a managed node group.
    let stand_in = || {
        machine
            .user_data
            .as_ref()
            .map(|_| LaunchTemplateVersion::stand_in())
    };
    let template = group.launch_template.clone().or_else(stand_in);
    let of_template = template.into_iter().flat_map(|template| {
        [
            ("eks.amazonaws.com/sourceLaunchTemplateId".to_owned(), template.id),
            (
                "eks.amazonaws.com/sourceLaunchTemplateVersion".to_owned(),
                template.number,
            ),
        ]
    });
    group
        .labels
        .clone()
        .into_iter()
        .chain(own)
        .chain(of_template)
        .collect()
}

fn max_pods(machine: &Machine, group: &ManagedNodeGroup) -> Option<u32> {
    match &machine.traits.instance_type {
        Some(instance_type) if group.instance_types.is_empty() => {
            least_max_pods_of_group(std::slice::from_ref(instance_type))
        }
        _ => least_max_pods_of_group(&group.instance_types),
    }
}

/// Whether a NodeConfig of the user data states the number of pods, which then counts: nodes of eksctl's own tests on
/// AWS have it.
fn states_max_pods(machine: &Machine) -> bool {
    let parts = parse(machine.user_data.as_deref().unwrap_or_default()).parts;
    let texts = parts.iter().map(|part| String::from_utf8_lossy(&part.content));
    let documents = texts
        .filter(|text| text::is_node_config(text))
        .flat_map(|text| yaml(&text).unwrap_or_default());
    let path = ["spec", "kubelet", "config", "maxPods"];
    documents.into_iter().any(|document| document.at(&path).is_some())
}

/// The settings of the file, with those that EKS adds: by its documentation, those of the file override them.
fn settings(machine: &Machine, own: &EksPart) -> Result<Vec<u8>, ImportError> {
    let bytes = machine.user_data.clone().unwrap_or_default();
    let mut table = match machine.system {
        System::Bottlerocket => text::settings(&String::from_utf8_lossy(&bytes))?,
        System::Linux | System::Windows => toml::Table::new(),
    };
    let kubernetes = subtable(subtable(&mut table, "settings"), "kubernetes");
    for (key, value) in [
        ("api-server", own.endpoint()),
        ("cluster-certificate", own.authority()),
        ("cluster-name", own.name()),
        ("cluster-dns-ip", own.dns_ip()),
    ] {
        kubernetes.entry(key).or_insert_with(|| value.into());
    }
    if let Some(max_pods) = own.max_pods {
        kubernetes
            .entry("max-pods")
            .or_insert_with(|| i64::from(max_pods).into());
    }
    set_labels(kubernetes, &own.labels);
    set_taints(kubernetes, &own.taints);
    Ok(table.to_string().into_bytes())
}
