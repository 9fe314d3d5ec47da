//! What an import returns: machines with their user data and everything else that the file states about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nodejoin_core::plan::Tokens;
use nodejoin_core::plan::aws::{AuthenticationMode, IpFamily};
use nodejoin_core::plan::region::Region;

use crate::cluster_access::StatedAccess;
use crate::error::ImportError;
use crate::role_rights::RoleRights;
use crate::template_stack::TemplateStack;

/// In place of the id of an AMI that only AWS knows.
pub(crate) const STAND_IN_AMI: &str = "ami-0123456789abcdef0";
/// In place of the id of a launch template that only AWS knows.
const STAND_IN_TEMPLATE: &str = "lt-0123456789abcdef0";
const STAND_IN_REGION: &str = "us-west-2";
/// In place of a cluster's certificate authority.
const STAND_IN_AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\nbm9kZWpvaW4gcmVwbGFjZXMgdGhpcyBjZXJ0aWZpY2F0ZQ==\n-----END CERTIFICATE-----\n";

/// The content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub format: FileFormat,
    /// At least one, in the order of the file.
    pub machines: Vec<Machine>,
    /// Machines that the file defines without their user data. A verdict about `machines` says nothing about them.
    pub unread: Vec<UnreadMachine>,
    pub notes: Vec<String>,
}

/// A machine whose user data cannot be read from the file.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadMachine {
    pub name: String,
    pub error: ImportError,
}

/// The format of a file; `Display` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    ShellScript,
    Mime,
    CloudConfig,
    CloudInit,
    NodeConfig,
    WindowsScript,
    BottlerocketSettings,
    LaunchTemplateVersions,
    InstanceAttribute,
    LaunchConfigurations,
    CreateLaunchConfiguration,
    LaunchTemplateData,
    RunInstances,
    TerraformPlan,
    TerraformState,
    CloudFormation,
    CdkOutput,
    Karpenter,
    Eksctl,
    ClusterApi,
    BootstrapSecret,
    Pulumi,
    Rancher,
    Crossplane,
    Ack,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShellScript => "a script",
            Self::Mime => "a MIME message",
            Self::CloudConfig => "a cloud-config",
            Self::CloudInit => "a part for cloud-init",
            Self::NodeConfig => "a NodeConfig",
            Self::WindowsScript => "a script for Windows",
            Self::BottlerocketSettings => "settings of Bottlerocket",
            Self::LaunchTemplateVersions => "the output of `aws ec2 describe-launch-template-versions`",
            Self::InstanceAttribute => "the output of `aws ec2 describe-instance-attribute`",
            Self::LaunchConfigurations => "the output of `aws autoscaling describe-launch-configurations`",
            Self::CreateLaunchConfiguration => "the input of `aws autoscaling create-launch-configuration`",
            Self::LaunchTemplateData => "the data of a launch template",
            Self::RunInstances => "the input of `aws ec2 run-instances`",
            Self::TerraformPlan => "a Terraform plan in JSON",
            Self::TerraformState => "a Terraform state",
            Self::CloudFormation => "a CloudFormation template",
            Self::CdkOutput => "a folder of `cdk synth`",
            Self::Karpenter => "manifests of Karpenter",
            Self::Eksctl => "a ClusterConfig of eksctl",
            Self::ClusterApi => "manifests of Cluster API",
            Self::BootstrapSecret => "a bootstrap Secret of Cluster API",
            Self::Pulumi => "a Pulumi stack",
            Self::Rancher => "an EKSClusterConfig of Rancher",
            Self::Crossplane => "manifests of Crossplane",
            Self::Ack => "manifests with the fields of AWS' APIs",
        })
    }
}

/// A machine, or a group of equal ones, and the user data it boots with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Machine {
    /// Unique in the file, such as `aws_launch_template.workers` or `nodeGroups/ng-1`.
    pub name: String,
    /// Line of the file, from 1, where the user data or the machine's definition starts.
    pub line: Option<usize>,
    /// The text of the file, whose lines messages name. `None`: a folder, or a file that is not text.
    pub file: Option<Arc<str>>,
    pub system: System,
    /// What the instance receives from EC2, without the base64 of the API. `None`: the machine has no user data.
    pub user_data: Option<Vec<u8>>,
    /// EKS appends a part of its own to the user data, because the group's launch template names no AMI.
    pub managed: Option<ManagedNodeGroup>,
    pub traits: Traits,
    /// The stack whose metadata the user data reads.
    pub stack: Option<TemplateStack>,
    /// Texts such as `${name}` that the file leaves to a shell of the instance by an escape.
    pub literals: BTreeSet<String>,
    pub notes: Vec<String>,
    /// What the node may have, and the verdict does not check.
    pub not_checked: Vec<String>,
    /// Mistakes of the file that do not prevent a trial. They are repeated below a verdict.
    pub problems: Vec<String>,
    pub started_by: StartedBy,
    /// Why the machine is tried only if it is selected: it is not a node of the cluster, and others of the file are.
    pub left_out: Option<String>,
}

/// What starts instances of a machine, as far as the file tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartedBy {
    /// Nothing in the file.
    #[default]
    Unknown,
    /// A managed node group of EKS.
    NodeGroup,
    /// Auto Scaling groups that the file defines.
    ScalingGroups,
}

impl Machine {
    /// Whether EKS may add a part of its own to the user data: it does for a managed node group without an AMI id, and
    /// a MIME message without more of a file can be for one.
    #[must_use]
    pub fn may_be_managed(&self) -> bool {
        let is_bare_message = || {
            // Those that the command line can give say nothing about the AMI.
            let traits = Traits {
                ami_family: None,
                instance_type: None,
                volumes: BTreeMap::new(),
                http_tokens: None,
                region: None,
                cluster: ClusterTraits::default(),
                ..self.traits.clone()
            };
            let text = self.user_data.as_deref().map(String::from_utf8_lossy);
            traits == Traits::default() && text.is_some_and(|text| crate::mime::is_message(&text))
        };
        self.managed.is_some() || is_bare_message()
    }
}

/// What reads the user data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum System {
    /// cloud-init, and nodeadm on AL2023.
    #[default]
    Linux,
    Bottlerocket,
    Windows,
}

/// A managed node group whose nodes EKS bootstraps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ManagedNodeGroup {
    pub name: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    pub capacity_type: Option<CapacityType>,
    pub instance_types: Vec<String>,
    /// The user's launch template. EKS copies it, and names it in labels.
    pub launch_template: Option<LaunchTemplateVersion>,
}

/// A version of a launch template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchTemplateVersion {
    /// `lt-` and hexadecimal digits.
    pub id: String,
    pub number: String,
}

impl LaunchTemplateVersion {
    /// The first version of a template that only AWS knows.
    pub(crate) fn stand_in() -> Self {
        Self {
            id: STAND_IN_TEMPLATE.to_owned(),
            number: "1".to_owned(),
        }
    }
}

/// How EC2 sells the instances of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityType {
    OnDemand,
    Spot,
    CapacityBlock,
}

/// What the file states about a machine besides its user data. Missing values are not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traits {
    pub ami_family: Option<AmiFamily>,
    pub ami_id: Option<String>,
    /// The name of the AMI or of its parameter of SSM, if the file has it.
    pub image_name: Option<String>,
    /// The Kubernetes version in the name of the AMI, such as `1.33`.
    pub image_version: Option<String>,
    pub instance_type: Option<String>,
    /// Whether EC2 sells the instance as spot.
    pub is_spot: bool,
    pub region: Option<String>,
    pub account: Option<String>,
    /// Name or ARN of the node's IAM role.
    pub role: Option<String>,
    /// Trust and policies of that role, if an instance profile of the file names it.
    pub role_rights: RoleRights,
    /// Name or ARN of the instance profile, if the file does not tell its role.
    pub instance_profile: Option<String>,
    /// Whether instances start without an instance profile: the file has none, and nothing else can give them one.
    pub is_without_profile: bool,
    /// Tags of the instance.
    pub tags: BTreeMap<String, String>,
    /// Tags that its Auto Scaling groups have and do not give to it.
    pub lost_tags: BTreeMap<String, String>,
    /// Whether it has tags whose keys only AWS knows.
    pub has_unknown_tags: bool,
    /// EBS volumes besides the root volume, with their sizes in GiB.
    pub volumes: BTreeMap<String, u32>,
    pub http_tokens: Option<Tokens>,
    pub hop_limit: Option<u8>,
    /// Whether the metadata service answers.
    pub http_endpoint: Option<bool>,
    /// Whether the metadata service returns tags.
    pub metadata_tags: Option<bool>,
    /// Labels that the Node must have.
    pub labels: BTreeMap<String, String>,
    /// Taints that the Node must have when it registers.
    pub taints: Vec<Taint>,
    /// Labels that a controller gives to the Node after the join.
    pub later_labels: BTreeMap<String, String>,
    /// Such taints.
    pub later_taints: Vec<Taint>,
    /// The controller that gives them.
    pub later_by: LaterBy,
    /// Pod capacity that the Node must have.
    pub max_pods: Option<u32>,
    pub cluster: ClusterTraits,
    /// Values above that the reader of the file made up, as a report names them, such as `region us-west-2`.
    pub stand_ins: BTreeMap<String, StandIn>,
}

/// Why a value is a stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    NotStated,
    /// The file names it by another name, which only AWS resolves.
    OnlyInAws,
}

impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotStated => "the file states none",
            Self::OnlyInAws => "only AWS knows the one that the file means",
        })
    }
}

impl Traits {
    /// The launch template of the group names an AMI: EKS puts neither labels nor taints of the group into user data.
    pub(crate) fn leave_group_to_eks(&mut self) {
        self.later_labels = std::mem::take(&mut self.labels);
        self.later_taints = std::mem::take(&mut self.taints);
        self.later_by = LaterBy::Eks;
    }

    /// The user data starts the kubelet before Karpenter's part does: Karpenter gives labels and taints to the Node,
    /// but for the taint by which it knows a new one.
    pub(crate) fn leave_to_karpenter(&mut self, taint_of_new: &str) {
        self.later_labels = std::mem::take(&mut self.labels);
        let taints = std::mem::take(&mut self.taints);
        (self.taints, self.later_taints) = taints.into_iter().partition(|taint| taint.key == taint_of_new);
        self.later_by = LaterBy::Karpenter;
    }
}

/// Who gives a Node labels and taints after its join.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LaterBy {
    /// EKS, about half a minute later (containers-roadmap#1962).
    #[default]
    Eks,
    /// Karpenter's controller, when it finds the Node of its NodeClaim.
    Karpenter,
}

/// What the file states about the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterTraits {
    pub name: Option<String>,
    /// With `https://`.
    pub endpoint: Option<String>,
    /// PEM certificate in base64.
    pub certificate_authority: Option<String>,
    pub service_cidr: Option<String>,
    /// Address of the cluster's DNS service.
    pub dns_ip: Option<String>,
    /// Such as `1.33`.
    pub version: Option<String>,
    pub ip_family: Option<IpFamily>,
    pub authentication_mode: Option<AuthenticationMode>,
    pub access: StatedAccess,
}

/// The family of an AMI. It decides what reads the user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmiFamily {
    Al2,
    Al2023,
    Ubuntu,
    Bottlerocket,
    Windows,
    Custom,
}

impl AmiFamily {
    /// Its name, as its users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Al2 => "AL2",
            Self::Al2023 => "AL2023",
            Self::Ubuntu => "Ubuntu",
            Self::Bottlerocket => "Bottlerocket",
            Self::Windows => "Windows",
            Self::Custom => "another system",
        }
    }
}

/// A taint of a Node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Taint {
    pub key: String,
    /// May be empty.
    pub value: String,
    pub effect: TaintEffect,
}

/// The effect of a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

impl fmt::Display for TaintEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        })
    }
}

/// As in `--register-with-taints`.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.key, self.value, self.effect)
    }
}

impl ClusterTraits {
    /// Values of a cluster that exists nowhere, in the form that EKS gives real ones. The certificate authority is the
    /// base64 of a PEM block without a certificate: a run replaces it.
    #[must_use]
    pub fn stand_in() -> Self {
        Self {
            name: Some("nodejoin".to_owned()),
            endpoint: Some(format!(
                "https://0123456789ABCDEF0123456789ABCDEF.gr7.{STAND_IN_REGION}.eks.amazonaws.com"
            )),
            certificate_authority: Some(STANDARD.encode(STAND_IN_AUTHORITY)),
            service_cidr: Some("10.100.0.0/16".to_owned()),
            dns_ip: Some("10.100.0.10".to_owned()),
            version: None,
            ip_family: Some(IpFamily::Ipv4),
            authentication_mode: None,
            access: StatedAccess::default(),
        }
    }

    /// The values of [`ClusterTraits::stand_in`] in a region.
    #[must_use]
    pub fn stand_in_at(region: Option<Region>) -> Self {
        let mut values = Self::stand_in();
        if let (Some(region), Some(endpoint)) = (region, &mut values.endpoint) {
            let of_region = format!("{region}.eks.{}", region.dns_suffix());
            *endpoint = endpoint.replace(&format!("{STAND_IN_REGION}.eks.amazonaws.com"), &of_region);
        }
        values
    }

    /// These values, and those of `other` where one is missing.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let other = other.clone();
        Self {
            name: self.name.or(other.name),
            endpoint: self.endpoint.or(other.endpoint),
            certificate_authority: self.certificate_authority.or(other.certificate_authority),
            service_cidr: self.service_cidr.or(other.service_cidr),
            dns_ip: self.dns_ip.or(other.dns_ip),
            version: self.version.or(other.version),
            ip_family: self.ip_family.or(other.ip_family),
            authentication_mode: self.authentication_mode.or(other.authentication_mode),
            access: match self.access == StatedAccess::default() {
                true => other.access,
                false => self.access,
            },
        }
    }
}
