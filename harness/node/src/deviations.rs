//! Every difference between a node of the harness and an instance that runs the AMI. Each one is named in the report.

use nodejoin_core::observation::{Deviation, ImagePart};
use nodejoin_core::plan::{Cni, Network, Stubs, UserDataEngine};
use nodejoin_core::user_data::{ReplacedValue, replaced_values};
use strum::EnumCount;

use crate::host_workarounds::HostWorkarounds;
use crate::layer::has_disk_tools;
use crate::request::NodeRequest;

/// A difference from the AMI, as [`Deviation`] describes it to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumCount)]
pub enum DeviationKind {
    /// Addresses of AWS lead to the harness.
    RedirectedAddresses,
    /// The trust store contains the certificate authority of the harness.
    TrustedAuthority,
    /// Kernel settings are copies.
    PrivateKernelSettings,
    /// Processors and memory are static views of those of the instance type.
    MachineViews,
    /// The host has fewer processors or less memory than the instance type.
    SmallerHost,
    /// /usr is a mount of its own.
    MountedUsr,
    /// The disks of the instance are views.
    DiskViews,
    /// Programs of the harness stand in for those that format and mount disks.
    DiskTools,
    /// The journal is streamed to the harness.
    JournalStream,
    /// cloud-init uses a data source of the harness.
    CloudInitDataSource,
    /// User data runs without cloud-init.
    DirectUserData,
    /// The certificate authority in user data is that of the run's cluster.
    ReplacedAuthority,
    /// Bootstrap token and CA hash in user data are those of the run's cluster.
    ReplacedBootstrapToken,
    /// The clocks of AWS and of the authenticator are shifted.
    ClockOfAws,
    /// `runc` is wrapped.
    RuncClamp,
    /// The kubelet accepts cgroup v1.
    CgroupV1Allowed,
    /// The image has programs of the harness.
    HarnessTools,
    /// Units that configure the network do not run.
    MaskedNetworkManagers,
    /// The image has no cloud-init.
    MissingCloudInit,
    /// The kubelet is that of the harness.
    AddedKubelet,
    /// The image has no container runtime.
    MissingContainerRuntime,
    /// The image has no AWS CLI.
    MissingAwsCli,
    /// systemd accepts cgroup v1.
    ForcedCgroupV1,
    /// Settings of Bottlerocket run on a node of AL2023.
    BottlerocketSettings,
    /// The kubelet starts without settings that it is too old for.
    TranslatedSettings,
    /// The kubelet starts without thresholds for disk space.
    HostDisk,
    /// bash reports the commands of scripts.
    TracedScripts,
    /// Package tools of Amazon Linux record what they should install.
    PackageStubs,
    /// The unit of the SSM agent does nothing.
    AgentStub,
    /// `update-ca-trust` writes the trust store of the node image.
    TrustStoreTool,
    /// `ec2-metadata` is a program of the harness.
    MetadataTool,
    /// `udevadm`, `chronyc` and others are programs of the harness.
    SystemTools,
    /// `modprobe` records the modules of Amazon Linux.
    ModuleTool,
    /// `cfn-init`, `cfn-signal` and `cfn-get-metadata` are programs of the harness.
    CloudFormationTools,
    /// Pods use a bridge of the node.
    CniBridge,
    /// The control plane assigns a pod CIDR.
    PodCidr,
    /// A role of Windows nodes is tested on Linux.
    NoWindowsKubelet,
    /// IPv6 addresses are on the loopback interface.
    Ipv6OnLoopback,
    /// The IPv6 address of the metadata service is on the loopback interface.
    Ipv6MetadataOnLoopback,
    /// Further network interfaces are not connected.
    InterfacesLeadNowhere,
    /// The node reaches nothing but the harness and the cluster.
    IsolatedNetwork,
    /// The node reaches the networks of the container engine.
    OpenNetwork,
}

impl DeviationKind {
    /// All kinds, in the order of a report.
    pub const ALL: [Self; Self::COUNT] = [
        Self::RedirectedAddresses,
        Self::TrustedAuthority,
        Self::PrivateKernelSettings,
        Self::MachineViews,
        Self::SmallerHost,
        Self::MountedUsr,
        Self::DiskViews,
        Self::DiskTools,
        Self::JournalStream,
        Self::CloudInitDataSource,
        Self::DirectUserData,
        Self::ReplacedAuthority,
        Self::ReplacedBootstrapToken,
        Self::ClockOfAws,
        Self::RuncClamp,
        Self::CgroupV1Allowed,
        Self::HarnessTools,
        Self::MaskedNetworkManagers,
        Self::MissingCloudInit,
        Self::AddedKubelet,
        Self::MissingContainerRuntime,
        Self::MissingAwsCli,
        Self::ForcedCgroupV1,
        Self::BottlerocketSettings,
        Self::TranslatedSettings,
        Self::HostDisk,
        Self::TracedScripts,
        Self::PackageStubs,
        Self::AgentStub,
        Self::TrustStoreTool,
        Self::MetadataTool,
        Self::SystemTools,
        Self::ModuleTool,
        Self::CloudFormationTools,
        Self::CniBridge,
        Self::PodCidr,
        Self::NoWindowsKubelet,
        Self::Ipv6OnLoopback,
        Self::Ipv6MetadataOnLoopback,
        Self::InterfacesLeadNowhere,
        Self::IsolatedNetwork,
        Self::OpenNetwork,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RedirectedAddresses => "redirected-addresses",
            Self::TrustedAuthority => "trusted-authority",
            Self::PrivateKernelSettings => "private-kernel-settings",
            Self::MachineViews => "machine-views",
            Self::SmallerHost => "smaller-host",
            Self::MountedUsr => "mounted-usr",
            Self::DiskViews => "disk-views",
            Self::DiskTools => "disk-tools",
            Self::JournalStream => "journal-stream",
            Self::CloudInitDataSource => "cloud-init-data-source",
            Self::DirectUserData => "direct-user-data",
            Self::ReplacedAuthority => "replaced-authority",
            Self::ReplacedBootstrapToken => "replaced-bootstrap-token",
            Self::ClockOfAws => "clock-of-aws",
            Self::RuncClamp => "runc-clamp",
            Self::CgroupV1Allowed => "cgroup-v1-allowed",
            Self::HarnessTools => "harness-tools",
            Self::MaskedNetworkManagers => "masked-network-managers",
            Self::MissingCloudInit => "missing-cloud-init",
            Self::AddedKubelet => "added-kubelet",
            Self::MissingContainerRuntime => "missing-container-runtime",
            Self::MissingAwsCli => "missing-aws-cli",
            Self::ForcedCgroupV1 => "forced-cgroup-v1",
            Self::BottlerocketSettings => "bottlerocket-settings",
            Self::TranslatedSettings => "translated-settings",
            Self::HostDisk => "host-disk",
            Self::TracedScripts => "traced-scripts",
            Self::PackageStubs => "package-stubs",
            Self::AgentStub => "agent-stub",
            Self::TrustStoreTool => "update-ca-trust-stub",
            Self::MetadataTool => "ec2-metadata-stub",
            Self::SystemTools => "system-tool-stubs",
            Self::ModuleTool => "modprobe-stub",
            Self::CloudFormationTools => "cfn-bootstrap-stub",
            Self::CniBridge => "cni-bridge",
            Self::PodCidr => "pod-cidr",
            Self::NoWindowsKubelet => "no-windows-kubelet",
            Self::Ipv6OnLoopback => "ipv6-on-loopback",
            Self::Ipv6MetadataOnLoopback => "ipv6-metadata-on-loopback",
            Self::InterfacesLeadNowhere => "interfaces-lead-nowhere",
            Self::IsolatedNetwork => "isolated-network",
            Self::OpenNetwork => "open-network",
        }
    }

    /// When a node has it.
    #[must_use]
    pub fn when(self) -> &'static str {
        match self {
            Self::RedirectedAddresses
            | Self::TrustedAuthority
            | Self::PrivateKernelSettings
            | Self::MachineViews
            | Self::DiskViews
            | Self::JournalStream => "always",
            Self::DiskTools => "an instance type with an instance store, and `stubs: packages`",
            Self::SmallerHost => "a host with fewer processors or less memory than the instance type",
            Self::MountedUsr => "a container engine with the storage driver fuse-overlayfs",
            Self::CloudInitDataSource => "`user_data.engine: cloud-init`, the default",
            Self::DirectUserData => "`user_data.engine: direct`",
            Self::ReplacedAuthority => {
                "`user_data.replace: cluster`, and a certificate authority in the user data"
            }
            Self::ReplacedBootstrapToken => {
                "`user_data.replace: cluster`, and a bootstrap token or CA hash in the user data"
            }
            Self::ClockOfAws => "`instance.clock_ahead_seconds`",
            Self::RuncClamp => "the host lacks CAP_SYS_RESOURCE",
            Self::CgroupV1Allowed => "the host uses cgroup v1 and the kubelet is 1.35 or newer",
            Self::HarnessTools | Self::MaskedNetworkManagers => "an image that is not built in",
            Self::MissingCloudInit => "an image without cloud-init",
            Self::AddedKubelet => "an image without a kubelet",
            Self::MissingContainerRuntime => "an image without containerd and docker",
            Self::MissingAwsCli => "an image without the AWS CLI",
            Self::ForcedCgroupV1 => "the host uses cgroup v1, and the systemd of the image is 256 or newer",
            Self::BottlerocketSettings => "`user_data.from` with settings of Bottlerocket",
            Self::TranslatedSettings => {
                "`newer_settings: translate`, as in `nodejoin try`, and a kubelet that is too old for a setting of the script"
            }
            Self::HostDisk => "less than 30 % of the container engine's disk is free",
            Self::TracedScripts => "`nodejoin coverage`, `nodejoin mutate` and `nodejoin explore`",
            Self::PackageStubs
            | Self::AgentStub
            | Self::TrustStoreTool
            | Self::MetadataTool
            | Self::SystemTools => "`stubs: packages`, the default, and an image without them",
            Self::ModuleTool => "`stubs: packages`, the default",
            Self::CloudFormationTools => {
                "`stubs: packages`, the default, and an image with Python 3 and without them"
            }
            Self::CniBridge => "`cni: bridge`, the default",
            Self::PodCidr => "`cni: bridge` and a kubelet before 1.22",
            Self::NoWindowsKubelet => "a mapped role with the groups of Windows nodes",
            Self::Ipv6OnLoopback => "`instance.network.ipv6`",
            Self::Ipv6MetadataOnLoopback => "`instance.metadata.ipv6`",
            Self::InterfacesLeadNowhere => "`instance.network.interfaces`",
            Self::IsolatedNetwork => "`network: isolated`, the default",
            Self::OpenNetwork => "`network: open`",
        }
    }

    /// What differs.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::RedirectedAddresses => {
                "iptables in the node's network namespace redirects 169.254.169.254, the DNS resolver and the addresses of AWS host names"
            }
            Self::TrustedAuthority => {
                "the system's certificate bundle contains one more certificate authority, and `/etc/resolv.conf` names the resolver of the harness"
            }
            Self::PrivateKernelSettings => {
                "/proc/sys/{kernel,vm,fs} and the settings of transparent huge pages are copies with the kernel settings of EKS, each boot has its own boot id, /sys is read-only with an empty PCI bus (except for a GPU of the instance type), /dev/kmsg is empty, so that `dmesg` prints nothing, devices of the host cannot be opened, and clock, kernel modules and swap cannot be changed"
            }
            Self::MachineViews => {
                "/proc/{cpuinfo,meminfo,stat} and /sys/devices/system/{cpu,node} are static: processors and memory of the instance type in one NUMA node, processor features and caches of the host, counters of the boot; pods see those of the host. The node runs on as many processors of the host, and its memory is limited"
            }
            Self::SmallerHost => {
                "the node runs on the host's processors and memory, and a program in place of `nproc` reports the processors of the type; the list of processors that a newer kubelet gives to its pods has no effect with control groups of version 1, and version 2 refuses it; other programs that count the processors that they may use, as Go programs do, get those of the host"
            }
            Self::MountedUsr => {
                "/usr is an overlay of its own, so `mount` lists it, and hard links between it and other folders fail"
            }
            Self::DiskViews => {
                "/sys/block, /proc/partitions, /proc/diskstats and /dev have the root volume, with a size of `limits.disk`, and the disks of the instance store, none of which can be opened; what the node writes is measured, and its programs end when it is more than the root volume holds"
            }
            Self::DiskTools => {
                "`mkfs`, `mdadm`, `blkid`, `wipefs` and `mount` of a disk of the instance store record their use in /var/log/nodejoin-disks: a file system is a folder of the host, of any size, and an array holds no data itself; `lsblk` and `blkid` show it, `findmnt` shows the folder"
            }
            Self::JournalStream => {
                "a unit copies the journal to the container's output, and the journal omits kernel messages"
            }
            Self::CloudInitDataSource => {
                "a small cloud-init module selects EC2 as the data source, leaves the network unconfigured, and loads cloud-init once for its four stages, as release 24.3 does itself"
            }
            Self::DirectUserData => "a unit of the harness runs user data, and cloud-init is disabled",
            Self::ReplacedAuthority => {
                "the user data has the certificate authority of this run's cluster instead of its own, also within gzip and base64"
            }
            Self::ReplacedBootstrapToken => {
                "the user data has a bootstrap token and the CA hash of this run's cluster instead of its own"
            }
            Self::ClockOfAws => {
                "the clocks of AWS and of the authenticator are shifted against the node's clock; certificates keep the time of this machine"
            }
            Self::RuncClamp => {
                "a `runc` first on PATH, which also replaces the real one, removes raised limits and negative OOM scores from container specifications"
            }
            Self::CgroupV1Allowed => {
                "the kubelet starts with `--fail-cgroupv1=false` after all other arguments"
            }
            Self::HarnessTools => {
                "the image contains the programs of the harness in /opt/nodejoin/toolbox, which is not on PATH"
            }
            Self::MaskedNetworkManagers => {
                "the units of systemd-networkd, systemd-resolved, NetworkManager and ifupdown are masked"
            }
            Self::MissingCloudInit => "the image has no cloud-init: a unit of the harness runs the user data",
            Self::AddedKubelet => {
                "the image has no kubelet: the harness adds that of the requested Kubernetes version as /usr/bin/kubelet"
            }
            Self::MissingContainerRuntime => {
                "the image has neither containerd nor docker, and nothing replaces them"
            }
            Self::MissingAwsCli => "the image has no AWS CLI, and nothing replaces it",
            Self::ForcedCgroupV1 => "systemd starts with the argument `SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1`",
            Self::BottlerocketSettings => {
                "a NodeConfig with the settings starts the kubelet of this node image: labels, taints, pod capacity, cluster DNS and the other settings of the kubelet are checked, and nothing of Bottlerocket's own boot, containers or updates"
            }
            Self::TranslatedSettings => {
                "the kubelet starts with its configuration without fields, flags and feature gates that it does not have; `registerWithTaints` becomes `--register-with-taints`"
            }
            Self::HostDisk => {
                "the kubelet starts with `--eviction-hard` and `--image-gc-high-threshold` after all other arguments, which repeat the thresholds of the script without those for disk space"
            }
            Self::TracedScripts => {
                "units have the environment variable `BASH_ENV`, and each bash that they start has a DEBUG trap, `functrace` (`T` in `$-`) and the variables `NODEJOIN_LAST` and `NODEJOIN_COMMAND`"
            }
            Self::PackageStubs => {
                "`yum`, `dnf`, `rpm` and `amazon-linux-extras` install nothing: they record the packages in /var/log/nodejoin-packages, lay down their commands (that of the CloudWatch agent checks its configuration) and units without a function, and fail for names that Amazon Linux does not have"
            }
            Self::AgentStub => {
                "the units `amazon-ssm-agent`, `auditd`, `chronyd`, `irqbalance`, `sshd`, and on Amazon Linux 2 `crond` and `rsyslog`, run a program that does nothing, and only `sshd` starts with the node. /etc/ssh/sshd_config and /etc/chrony.conf have a few lines"
            }
            Self::TrustStoreTool => {
                "`update-ca-trust` is a script that writes the certificates in the folders of anchors behind those of the system into the one bundle of the image"
            }
            Self::MetadataTool => {
                "`ec2-metadata` is a script with the options and the format of that of ec2-utils, which reads the metadata service"
            }
            Self::SystemTools => {
                "`udevadm` knows `settle`, `trigger` and `control`, which have nothing to do; `getenforce`, `setenforce` and `sestatus` know the mode of Amazon Linux, and `restorecon` does nothing; `chronyc` says that the clock is right; `chkconfig` calls systemctl, and `crontab` keeps jobs that do not run"
            }
            Self::ModuleTool => {
                "/usr/local/sbin/modprobe records modules that Amazon Linux has and loads nothing: their functions are those of the host's kernel. Other modules fail"
            }
            Self::CloudFormationTools => {
                "`cfn-init`, `cfn-signal` and `cfn-get-metadata` in /opt/aws/bin are programs of the harness with their options, messages and logs. `cfn-init` applies packages (yum, rpm), groups, users, sources, files, commands and services, and rejects what it does not know"
            }
            Self::CniBridge => {
                "/etc/cni/net.d contains a CNI configuration whose pod addresses belong to this node alone"
            }
            Self::PodCidr => "the Node gets a `spec.podCIDR` once its CSINode exists",
            Self::NoWindowsKubelet => "a role that is mapped for Windows nodes is used by a Linux node",
            Self::Ipv6OnLoopback => {
                "the node's IPv6 addresses are on its loopback interface and not reachable from outside"
            }
            Self::Ipv6MetadataOnLoopback => {
                "fd00:ec2::254 is on the node's loopback interface, and a socket unit forwards its port 80 to 169.254.169.254"
            }
            Self::InterfacesLeadNowhere => {
                "network interfaces after the first have their MAC and private addresses, but are not connected"
            }
            Self::IsolatedNetwork => {
                "the default route points to an address without a host; rules refuse connections to public addresses at once, let names outside lead to the fakes, which answer only the URLs of `outside`, and let the node reach nothing else of this host"
            }
            Self::OpenNetwork => {
                "the node reaches what the container engine's networks reach, and the engine's resolver answers names that are not faked"
            }
        }
    }

    /// Why the harness does it.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::RedirectedAddresses => {
                "programs reach the fake AWS at the real addresses and need no changes for the test"
            }
            Self::TrustedAuthority => "the fake AWS serves TLS under AWS host names",
            Self::PrivateKernelSettings => "these settings belong to the host, and a kubelet overwrites them",
            Self::MachineViews => {
                "scripts and kubelets reserve resources by them, and a container has those of its host"
            }
            Self::SmallerHost => "this host has fewer processors or less memory than the instance type",
            Self::MountedUsr => "the storage driver of the container engine is slow",
            Self::DiskViews => "the disks of the host must not be touched, whatever user data does",
            Self::DiskTools => {
                "user data formats and mounts the instance store before it calls the bootstrap script"
            }
            Self::JournalStream => {
                "the harness reads every line from the first on, keeps all lines after the node is gone, and kernel messages belong to the host"
            }
            Self::CloudInitDataSource => {
                "in a container cloud-init does not read the firmware tables that identify EC2; loading it four times takes longer than a join"
            }
            Self::DirectUserData => "the scenario requests the engine `direct`",
            Self::ReplacedAuthority => {
                "the private key of another cluster's certificate authority is not in the file"
            }
            Self::ReplacedBootstrapToken => "the other cluster alone knows whether its token is valid",
            Self::ClockOfAws => "a container shares its host's clock, and so does its kubelet",
            Self::RuncClamp => "this host lacks CAP_SYS_RESOURCE, without which pods do not start",
            Self::CgroupV1Allowed => "this host uses cgroup v1, and this kubelet would exit at once",
            Self::HarnessTools => "the harness relies on no program of an image that it did not build",
            Self::MaskedNetworkManagers => {
                "the harness configures interface and resolver of the container, and these units would do it again"
            }
            Self::MissingCloudInit => "a join without its user data would show nothing",
            Self::AddedKubelet => {
                "no node joins without a kubelet, and a root file system may be the base of an AMI only"
            }
            Self::MissingContainerRuntime => "an overlay or the user data can bring one",
            Self::MissingAwsCli => "a bootstrap script may not need it, and an overlay can bring one",
            Self::ForcedCgroupV1 => "this host uses cgroup v1, and this systemd would not start",
            Self::BottlerocketSettings => {
                "Bottlerocket has neither cloud-init nor a shell, and boots from a disk image of its own"
            }
            Self::TranslatedSettings => {
                "the script is for newer kubelets than the one that is available here: this kubelet would exit, or ignore the setting"
            }
            Self::HostDisk => {
                "a node shares the disk of its host: its kubelet would taint the Node and evict pods, whatever the script did"
            }
            Self::TracedScripts => "bash reports each command outside the output of its script",
            Self::PackageStubs => {
                "user data installs packages before it calls the bootstrap script, and the node image is Debian without a network"
            }
            Self::AgentStub => "the AMI contains these services, and user data restarts them",
            Self::TrustStoreTool => {
                "user data adds the authority of a proxy or registry with it, and Debian's program has another name and other folders"
            }
            Self::MetadataTool => {
                "user data reads the instance's id and zone with it, and Debian does not have it"
            }
            Self::SystemTools => {
                "a node has no udevd, no SELinux of its own, the clock of the host, and no daemon for jobs"
            }
            Self::ModuleTool => "the kernel and its modules belong to the host",
            Self::CloudFormationTools => {
                "templates keep files and commands of a node in the metadata of a resource, and Debian does not have these programs"
            }
            Self::CniBridge => "on EKS the VPC CNI writes it, and needs the real EC2",
            Self::PodCidr => {
                "a kubelet before 1.22 reports readiness only at its next status update, up to 10 s later"
            }
            Self::NoWindowsKubelet => {
                "a container uses its host's kernel: the scenario shows what the API server allows the role, and nothing about Windows"
            }
            Self::Ipv6OnLoopback => "the run's network is IPv4, and so are the rules that confine a node",
            Self::Ipv6MetadataOnLoopback => {
                "the run's network is IPv4; the same service answers at both addresses"
            }
            Self::InterfacesLeadNowhere => {
                "a container has one interface in its run's network; traffic through others would not be confined"
            }
            Self::IsolatedNetwork => {
                "a node cannot change what it cannot reach, and a join that depends on anything else is not repeatable"
            }
            Self::OpenNetwork => "the scenario requests `network: open`",
        }
    }
}

impl DeviationKind {
    /// The programs and units that the harness lays down in place of those of an AMI. `stubs: none` switches them off.
    #[must_use]
    pub fn stand_ins(self) -> &'static [&'static str] {
        match self {
            Self::DiskTools => &[
                "/usr/sbin/mkfs",
                "/usr/sbin/mkfs.ext4",
                "/usr/sbin/mkfs.xfs",
                "/usr/sbin/mdadm",
                "/usr/sbin/blkid",
                "/usr/sbin/wipefs",
                "/usr/bin/lsblk",
                "/usr/bin/mount",
            ],
            Self::PackageStubs => &[
                "/usr/bin/yum",
                "/usr/bin/dnf",
                "/usr/bin/rpm",
                "/usr/bin/amazon-linux-extras",
            ],
            Self::AgentStub => &[
                "/usr/lib/systemd/system/amazon-ssm-agent.service",
                "/usr/lib/systemd/system/auditd.service",
                "/usr/lib/systemd/system/chronyd.service",
                "/usr/lib/systemd/system/crond.service",
                "/usr/lib/systemd/system/irqbalance.service",
                "/usr/lib/systemd/system/rsyslog.service",
                "/usr/lib/systemd/system/sshd.service",
            ],
            Self::TrustStoreTool => &["/usr/bin/update-ca-trust"],
            Self::MetadataTool => &["/usr/bin/ec2-metadata"],
            Self::SystemTools => &[
                "/usr/bin/udevadm",
                "/usr/bin/getenforce",
                "/usr/bin/setenforce",
                "/usr/bin/sestatus",
                "/usr/bin/restorecon",
                "/usr/bin/chronyc",
                "/usr/bin/chkconfig",
                "/usr/bin/crontab",
            ],
            Self::ModuleTool => &["/usr/local/sbin/modprobe"],
            Self::CloudFormationTools => &[
                "/opt/aws/bin/cfn-init",
                "/opt/aws/bin/cfn-signal",
                "/opt/aws/bin/cfn-get-metadata",
            ],
            _ => &[],
        }
    }

    /// A sentence that reports show whatever the outcome: the verdict is about less than the file.
    fn detail(self) -> Option<&'static str> {
        match self {
            Self::BottlerocketSettings => Some(
                "the settings of Bottlerocket run on the kubelet of an AL2023 node; nothing of Bottlerocket's own boot is tested",
            ),
            Self::MissingCloudInit
            | Self::AddedKubelet
            | Self::MissingContainerRuntime
            | Self::MissingAwsCli => Some(self.what()),
            _ => None,
        }
    }
}

impl From<DeviationKind> for Deviation {
    fn from(kind: DeviationKind) -> Self {
        Self {
            name: kind.name().to_owned(),
            what: kind.what().to_owned(),
            why: kind.why().to_owned(),
            details: kind.detail().map(str::to_owned).into_iter().collect(),
        }
    }
}

/// The deviations of this node. The caller adds [`DeviationKind::PodCidr`], which depends on the version of the
/// kubelet, and [`DeviationKind::TranslatedSettings`], which the node's journal shows.
pub(crate) fn of(request: &NodeRequest<'_>, host: HostWorkarounds) -> Vec<Deviation> {
    let has = |kind: DeviationKind| has(kind, request, host);
    DeviationKind::ALL
        .into_iter()
        .filter(|kind| has(*kind))
        .map(Deviation::from)
        .collect()
}

fn has(kind: DeviationKind, request: &NodeRequest<'_>, host: HostWorkarounds) -> bool {
    let engine = request.plan.user_data.as_ref().map(|data| data.engine);
    let engine = engine.unwrap_or(UserDataEngine::CloudInit);
    let facts = request.image.facts.as_ref();
    let lacks = |part| facts.is_some_and(|facts| facts.lacks(part));
    let instance = &request.plan.instance;
    let replaced = request
        .plan
        .user_data
        .as_ref()
        .map(replaced_values)
        .unwrap_or_default();
    match kind {
        DeviationKind::RedirectedAddresses
        | DeviationKind::TrustedAuthority
        | DeviationKind::PrivateKernelSettings
        | DeviationKind::DiskViews
        | DeviationKind::JournalStream => true,
        DeviationKind::MachineViews => instance.machine().is_some(),
        DeviationKind::DiskTools => has_disk_tools(request.plan),
        DeviationKind::SmallerHost => host.is_smaller,
        DeviationKind::MountedUsr => host.mounts_usr,
        DeviationKind::CloudInitDataSource => engine == UserDataEngine::CloudInit,
        DeviationKind::DirectUserData => engine == UserDataEngine::Direct && !lacks(ImagePart::CloudInit),
        DeviationKind::ReplacedAuthority => replaced.contains(&ReplacedValue::CertificateAuthority),
        DeviationKind::ReplacedBootstrapToken => {
            replaced.contains(&ReplacedValue::BootstrapToken) || replaced.contains(&ReplacedValue::CaCertHash)
        }
        DeviationKind::ClockOfAws => instance.clock_ahead_seconds != 0,
        DeviationKind::RuncClamp => host.clamps_limits,
        DeviationKind::CgroupV1Allowed => host.permits_cgroup_v1,
        DeviationKind::TracedScripts => request.plan.is_traced,
        DeviationKind::PackageStubs
        | DeviationKind::AgentStub
        | DeviationKind::TrustStoreTool
        | DeviationKind::MetadataTool
        | DeviationKind::SystemTools
        | DeviationKind::ModuleTool
        | DeviationKind::CloudFormationTools => request.plan.stubs == Stubs::Packages,
        DeviationKind::CniBridge => request.plan.cni == Cni::Bridge,
        DeviationKind::HarnessTools | DeviationKind::MaskedNetworkManagers => facts.is_some(),
        DeviationKind::MissingCloudInit => lacks(ImagePart::CloudInit),
        DeviationKind::AddedKubelet => lacks(ImagePart::Kubelet),
        DeviationKind::MissingContainerRuntime => lacks(ImagePart::ContainerRuntime),
        DeviationKind::MissingAwsCli => lacks(ImagePart::AwsCli),
        DeviationKind::ForcedCgroupV1 => host.forces_cgroup_v1,
        DeviationKind::BottlerocketSettings => {
            let user_data = request.plan.user_data.as_ref();
            user_data.is_some_and(|data| data.is_translated)
        }
        DeviationKind::PodCidr | DeviationKind::TranslatedSettings | DeviationKind::HostDisk => false,
        DeviationKind::NoWindowsKubelet => request.plan.cluster.maps_windows(),
        DeviationKind::Ipv6OnLoopback => !instance.network.ipv6.is_empty(),
        DeviationKind::Ipv6MetadataOnLoopback => instance.metadata.ipv6,
        DeviationKind::InterfacesLeadNowhere => !instance.network.interfaces.is_empty(),
        DeviationKind::IsolatedNetwork => request.plan.network == Network::Isolated,
        DeviationKind::OpenNetwork => request.plan.network == Network::Open,
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::input::files::Disk;
    use nodejoin_core::plan::Plan;

    use super::*;
    use crate::request::test_request;

    #[test]
    fn every_deviation_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = DeviationKind::ALL.map(DeviationKind::name).into();
        assert_eq!(names.len(), DeviationKind::ALL.len());
    }

    /// Kinds that a report or the book calls a stub.
    fn stubs() -> impl Iterator<Item = DeviationKind> {
        let is_stub = |kind: &DeviationKind| {
            let name = kind.name();
            name.ends_with("-stub") || name.ends_with("-stubs") || !kind.stand_ins().is_empty()
        };
        DeviationKind::ALL.into_iter().filter(is_stub)
    }

    #[test]
    fn a_scenario_switches_every_stub_off() {
        let mut plan = nodejoin_core::scenario::default_account(&Disk::with_variables([]));
        // With an instance store, whose tools are stand-ins, too.
        plan.instance.instance_type = "m5d.large".to_owned();
        let is_in = |kind, plan: &Plan| has(kind, &test_request(plan), HostWorkarounds::default());
        for kind in stubs() {
            let name = kind.name();
            plan.stubs = Stubs::Packages;
            assert!(is_in(kind, &plan), "{name} is in a node with `stubs: packages`");
            plan.stubs = Stubs::None;
            assert!(!is_in(kind, &plan), "{name} is not in a node with `stubs: none`");
            assert!(!kind.stand_ins().is_empty(), "{name} has stand-ins");
            assert!(
                kind.when().contains("`stubs: packages`"),
                "{name}: {}",
                kind.when()
            );
        }
        assert!(stubs().count() >= 7);
    }
}
