//! Every difference between a node of the harness and an instance that runs the AMI, in the order of a report.

/// Declares the enum, what lists its variants, and what a report has about each.
macro_rules! deviations {
    ($(
        $(#[$meaning:meta])+
        $variant:ident = $name:literal {
            when: $when:literal,
            what: $what:literal,
            why: $why:literal,
        }
    )+) => {
        /// A difference from the AMI, as [`Deviation`](nodejoin_core::observation::Deviation) describes it to a reader.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum DeviationKind {
            $($(#[$meaning])+ $variant,)+
        }

        impl DeviationKind {
            /// All kinds, in the order of a report.
            pub const ALL: [Self; [$($name,)+].len()] = [$(Self::$variant,)+];

            /// The name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// When a node has it.
            #[must_use]
            pub fn when(self) -> &'static str {
                match self {
                    $(Self::$variant => $when,)+
                }
            }

            /// What differs.
            #[must_use]
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$variant => $what,)+
                }
            }

            /// Why the harness does it.
            #[must_use]
            pub fn why(self) -> &'static str {
                match self {
                    $(Self::$variant => $why,)+
                }
            }
        }
    };
}

deviations! {
    /// Addresses of AWS lead to the harness.
    RedirectedAddresses = "redirected-addresses" {
        when: "always",
        what: "iptables in the node's network namespace redirects 169.254.169.254, the DNS resolver and the addresses of AWS host names",
        why: "programs reach the fake AWS at the real addresses and need no changes for the test",
    }
    /// The trust store contains the certificate authority of the harness.
    TrustedAuthority = "trusted-authority" {
        when: "always",
        what: "the system's certificate bundle contains one more certificate authority, and `/etc/resolv.conf` names the resolver of the harness",
        why: "the fake AWS serves TLS under AWS host names",
    }
    /// Kernel settings are copies.
    PrivateKernelSettings = "private-kernel-settings" {
        when: "always",
        what: "/proc/sys/{kernel,vm,fs} and the settings of transparent huge pages are copies with the kernel settings of EKS, each boot has its own boot id, /sys is read-only with an empty PCI bus (except for a GPU of the instance type), /dev/kmsg is empty, so that `dmesg` prints nothing, devices of the host cannot be opened, and clock, kernel modules and swap cannot be changed",
        why: "these settings belong to the host, and a kubelet overwrites them",
    }
    /// Processors and memory are static views of those of the instance type.
    MachineViews = "machine-views" {
        when: "always",
        what: "/proc/{cpuinfo,meminfo,stat} and /sys/devices/system/{cpu,node} are static: processors and memory of the instance type in one NUMA node, processor features and caches of the host, counters of the boot; pods see those of the host. The node runs on as many processors of the host, and its memory is limited",
        why: "scripts and kubelets reserve resources by them, and a container has those of its host",
    }
    /// The host has fewer processors or less memory than the instance type.
    SmallerHost = "smaller-host" {
        when: "a host with fewer processors or less memory than the instance type",
        what: "the node runs on the host's processors and memory, and a program in place of `nproc` reports the processors of the type; the list of processors that a newer kubelet gives to its pods has no effect with control groups of version 1, and with version 2 the entries of /sys/devices/system/node/node0 for processors that the host lacks have other names, so that the kubelet counts all and gives those of the host to its pods; other programs that count the processors that they may use, as Go programs do, get those of the host",
        why: "this host has fewer processors or less memory than the instance type",
    }
    /// /usr is a mount of its own.
    MountedFolders = "mounted-folders" {
        when: "a container engine with the storage driver fuse-overlayfs",
        what: "/usr, /etc and /var/log are overlays of their own, so `mount` lists them, and hard links between them and other folders fail",
        why: "the storage driver of the container engine is slow",
    }
    /// The disks of the instance are views.
    DiskViews = "disk-views" {
        when: "always",
        what: "/sys/block, /proc/partitions, /proc/diskstats and /dev have the root volume, with a size of `limits.disk`, other volumes, and the disks of the instance store, none of which can be opened; what the node writes is measured, and its programs end when it is more than the root volume holds",
        why: "the disks of the host must not be touched, whatever user data does",
    }
    /// Programs of the harness stand in for those that format and mount disks.
    DiskTools = "disk-tools" {
        when: "an instance with an instance store or `volumes`, and `stubs: packages`",
        what: "`mkfs`, `mdadm`, `blkid`, `file`, `wipefs`, `mount` and LVM of a disk besides the root volume record their use in /var/log/nodejoin-disks: a file system is a folder of the host, of any size, and an array holds no data itself; `lsblk` and `blkid` show it, `findmnt` shows the folder",
        why: "user data formats and mounts disks before it calls the bootstrap script",
    }
    /// The journal is streamed to the harness.
    JournalStream = "journal-stream" {
        when: "always",
        what: "a unit copies the journal to the container's output, and the journal omits kernel messages",
        why: "the harness reads every line from the first on, keeps all lines after the node is gone, and kernel messages belong to the host",
    }
    /// cloud-init uses a data source of the harness.
    CloudInitDataSource = "cloud-init-data-source" {
        when: "`user_data.engine: cloud-init`, the default",
        what: "a small cloud-init module selects EC2 as the data source, leaves the network unconfigured, and loads cloud-init once for its four stages, as release 24.3 does itself",
        why: "in a container cloud-init does not read the firmware tables that identify EC2; loading it four times takes longer than a join",
    }
    /// User data runs without cloud-init.
    DirectUserData = "direct-user-data" {
        when: "`user_data.engine: direct`",
        what: "a unit of the harness runs user data, and cloud-init is disabled",
        why: "the scenario requests the engine `direct`",
    }
    /// The certificate authority in user data is that of the run's cluster.
    ReplacedAuthority = "replaced-authority" {
        when: "`user_data.replace: cluster`, and a certificate authority in the user data",
        what: "the user data has the certificate authority of this run's cluster instead of its own, also within gzip and base64",
        why: "the private key of another cluster's certificate authority is not in the file",
    }
    /// Bootstrap token and CA hash in user data are those of the run's cluster.
    ReplacedBootstrapToken = "replaced-bootstrap-token" {
        when: "`user_data.replace: cluster`, and a bootstrap token or CA hash in the user data",
        what: "the user data has a bootstrap token and the CA hash of this run's cluster instead of its own",
        why: "the other cluster alone knows whether its token is valid",
    }
    /// The clocks of AWS and of the authenticator are shifted.
    ClockOfAws = "clock-of-aws" {
        when: "`instance.clock_ahead_seconds`",
        what: "the clocks of AWS and of the authenticator are shifted against the node's clock; certificates keep the time of this machine",
        why: "a container shares its host's clock, and so does its kubelet",
    }
    /// `runc` is wrapped.
    RuncClamp = "runc-clamp" {
        when: "the host lacks CAP_SYS_RESOURCE",
        what: "a `runc` first on PATH, which also replaces the real one, removes raised limits and negative OOM scores from container specifications",
        why: "this host lacks CAP_SYS_RESOURCE, without which pods do not start",
    }
    /// The kubelet accepts cgroup v1.
    CgroupV1Allowed = "cgroup-v1-allowed" {
        when: "the host uses cgroup v1 and the kubelet is 1.35 or newer",
        what: "the kubelet starts with `--fail-cgroupv1=false` after all other arguments",
        why: "this host uses cgroup v1, and this kubelet would exit at once",
    }
    /// The image has programs of the harness.
    HarnessTools = "harness-tools" {
        when: "an image that is not built in",
        what: "the image contains the programs of the harness in /opt/nodejoin/toolbox, which is not on PATH",
        why: "the harness relies on no program of an image that it did not build",
    }
    /// Units that configure the network do not run.
    MaskedNetworkManagers = "masked-network-managers" {
        when: "an image that is not built in",
        what: "the units of systemd-networkd, NetworkManager and ifupdown are masked",
        why: "the harness configures the interface of the container, and these units would do it again",
    }
    /// systemd-resolved writes search domains and nothing else.
    ResolverStandIn = "resolver-stand-in" {
        when: "the image `al2023`, an image that is not built in, and an overlay with nodeadm",
        what: "`systemd-resolved.service` is a program of the harness: it writes the search domains of resolved.conf and its drop-ins into /run/systemd/resolve/resolv.conf, and into /etc/resolv.conf unless a script changed it. The resolver of the harness answers in place of all name servers, and there is neither 127.0.0.53 nor `resolvectl`",
        why: "the harness configures the resolver of the container, and nodeadm and user data restart this unit",
    }
    /// The image has no cloud-init.
    MissingCloudInit = "missing-cloud-init" {
        when: "an image without cloud-init",
        what: "the image has no cloud-init: a unit of the harness runs the user data",
        why: "a join without its user data would show nothing",
    }
    /// The kubelet is that of the harness.
    AddedKubelet = "added-kubelet" {
        when: "an image without a kubelet",
        what: "the image has no kubelet: the harness adds that of the requested Kubernetes version as /usr/bin/kubelet",
        why: "no node joins without a kubelet, and a root file system may be the base of an AMI only",
    }
    /// The image has no container runtime.
    MissingContainerRuntime = "missing-container-runtime" {
        when: "an image without containerd and docker",
        what: "the image has neither containerd nor docker, and nothing replaces them",
        why: "an overlay or the user data can bring one",
    }
    /// The image has no AWS CLI.
    MissingAwsCli = "missing-aws-cli" {
        when: "an image without the AWS CLI",
        what: "the image has no AWS CLI, and nothing replaces it",
        why: "a bootstrap script may not need it, and an overlay can bring one",
    }
    /// systemd accepts cgroup v1.
    ForcedCgroupV1 = "forced-cgroup-v1" {
        when: "the host uses cgroup v1, and the systemd of the image is 256 or newer",
        what: "systemd starts with the argument `SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1`",
        why: "this host uses cgroup v1, and this systemd would not start",
    }
    /// Settings of Bottlerocket run on a node of AL2023.
    BottlerocketSettings = "bottlerocket-settings" {
        when: "`user_data.from` with settings of Bottlerocket",
        what: "a NodeConfig with the settings starts the kubelet of this node image: labels, taints, pod capacity, cluster DNS and the other settings of the kubelet are checked, and nothing of Bottlerocket's own boot, containers or updates",
        why: "Bottlerocket has neither cloud-init nor a shell, and boots from a disk image of its own",
    }
    /// The kubelet starts without settings that it is too old for.
    TranslatedSettings = "translated-settings" {
        when: "`newer_settings: translate`, as in `nodejoin try`, and a kubelet that is too old for a setting of the script",
        what: "the kubelet starts with its configuration without fields, flags and feature gates that only newer kubelets have; `registerWithTaints` becomes `--register-with-taints`",
        why: "the script is for newer kubelets than the one that is available here: this kubelet would exit, or ignore the setting",
    }
    /// The kubelet starts without thresholds for disk space.
    HostDisk = "host-disk" {
        when: "less than 30 % of the container engine's disk is free",
        what: "the kubelet starts with `--eviction-hard` and `--image-gc-high-threshold` after all other arguments, which repeat the thresholds of the script without those for disk space",
        why: "a node shares the disk of its host: its kubelet would taint the Node and evict pods, whatever the script did",
    }
    /// bash reports the commands of scripts.
    TracedScripts = "traced-scripts" {
        when: "`nodejoin coverage`, `nodejoin mutate`, `nodejoin explore` and `nodejoin diff`",
        what: "units have the environment variable `BASH_ENV`, and each bash that they start has a DEBUG trap, `functrace` (`T` in `$-`) and the variables `NODEJOIN_LAST` and `NODEJOIN_COMMAND`",
        why: "bash reports each command outside the output of its script",
    }
    /// Package tools of Amazon Linux record what they should install.
    PackageStubs = "package-stubs" {
        when: "`stubs: packages`, the default, and an image without them",
        what: "`yum`, `dnf`, `rpm` and `amazon-linux-extras`, and, in an image of your own, `packages` of a cloud-config, install nothing: they record the packages in /var/log/nodejoin-packages, lay down their commands (that of the CloudWatch agent checks its configuration), folders, and units without a function, and fail for misspelt names, for names of other systems, and, as a limit of nodejoin, for names that it does not know",
        why: "user data installs packages before it calls the bootstrap script, and the node image is Debian without a network",
    }
    /// The unit of the SSM agent does nothing.
    AgentStub = "agent-stub" {
        when: "`stubs: packages`, the default, and an image without them",
        what: "the units `amazon-ssm-agent`, `auditd`, `chronyd`, `irqbalance`, `sshd`, and on Amazon Linux 2 `crond` and `rsyslog`, run a program that does nothing, and only `sshd` starts with the node. /etc/ssh/sshd_config, /etc/chrony.conf and /etc/audit/auditd.conf have a few lines",
        why: "the AMI contains these services, and user data restarts them",
    }
    /// `update-ca-trust` writes the trust store of the node image.
    TrustStoreTool = "update-ca-trust-stub" {
        when: "`stubs: packages`, the default, and an image without them",
        what: "`update-ca-trust` is a script that writes the certificates in the folders of anchors behind those of the system into the one bundle of the image",
        why: "user data adds the authority of a proxy or registry with it, and Debian's program has another name and other folders",
    }
    /// `ec2-metadata` is a program of the harness.
    MetadataTool = "ec2-metadata-stub" {
        when: "`stubs: packages`, the default, and an image without them",
        what: "`ec2-metadata` is a script with the options and the format of that of ec2-utils, which reads the metadata service",
        why: "user data reads the instance's id and zone with it, and Debian does not have it",
    }
    /// `udevadm`, `chronyc` and others are programs of the harness.
    SystemTools = "system-tool-stubs" {
        when: "`stubs: packages`, the default, and an image without them",
        what: "`udevadm` knows `settle`, `trigger` and `control`, which have nothing to do; `getenforce`, `setenforce` and `sestatus` know the mode of Amazon Linux, and `restorecon` does nothing; `chronyc` says that the clock is right; `auditctl` and `augenrules` keep rules by which nothing is recorded; `chkconfig` calls systemctl, and `crontab` keeps jobs that do not run; `nvme` lists and describes the disks of the instance, `ebsnvme-id` names a volume, `mkfs.xfs` finds no further disk, and `dracut` does nothing",
        why: "a node has no udevd, no SELinux of its own, the clock and the audit of the host, no daemon for jobs, no disk that can be opened, and no initramfs",
    }
    /// `modprobe` records the modules of Amazon Linux.
    ModuleTool = "modprobe-stub" {
        when: "`stubs: packages`, the default",
        what: "/usr/local/sbin/modprobe records modules that Amazon Linux has and loads nothing: their functions are those of the host's kernel. Other modules fail",
        why: "the kernel and its modules belong to the host",
    }
    /// `cfn-init`, `cfn-signal` and `cfn-get-metadata` are programs of the harness.
    CloudFormationTools = "cfn-bootstrap-stub" {
        when: "`stubs: packages`, the default, and an image with Python 3 and without them",
        what: "`cfn-init`, `cfn-signal` and `cfn-get-metadata` in /opt/aws/bin are programs of the harness with their options, messages and logs. `cfn-init` applies packages (yum, rpm), groups, users, sources, files, commands and services, and rejects what it does not know",
        why: "templates keep files and commands of a node in the metadata of a resource, and Debian does not have these programs",
    }
    /// Pods use a bridge of the node.
    CniBridge = "cni-bridge" {
        when: "`cni: bridge`, the default",
        what: "/etc/cni/net.d contains a CNI configuration whose pod addresses belong to this node alone",
        why: "on EKS the VPC CNI writes it, and needs the real EC2",
    }
    /// The control plane assigns a pod CIDR.
    PodCidr = "pod-cidr" {
        when: "`cni: bridge` and a kubelet before 1.22",
        what: "the Node gets a `spec.podCIDR` once its CSINode exists and its kubelet has listed the runtime classes",
        why: "a kubelet before 1.22 reports readiness only at its next status update, up to 10 s later",
    }
    /// A role of Windows nodes is tested on Linux.
    NoWindowsKubelet = "no-windows-kubelet" {
        when: "a mapped role with the groups of Windows nodes",
        what: "a role that is mapped for Windows nodes is used by a Linux node",
        why: "a container uses its host's kernel: the scenario shows what the API server allows the role, and nothing about Windows",
    }
    /// IPv6 addresses are on the loopback interface.
    Ipv6OnLoopback = "ipv6-on-loopback" {
        when: "`instance.network.ipv6`",
        what: "the node's IPv6 addresses are on its loopback interface and not reachable from outside",
        why: "the run's network is IPv4, and so are the rules that confine a node",
    }
    /// The IPv6 address of the metadata service is on the loopback interface.
    Ipv6MetadataOnLoopback = "ipv6-metadata-on-loopback" {
        when: "`instance.metadata.ipv6`",
        what: "fd00:ec2::254 is on the node's loopback interface, and a socket unit forwards its port 80 to 169.254.169.254",
        why: "the run's network is IPv4; the same service answers at both addresses",
    }
    /// Further network interfaces are not connected.
    InterfacesLeadNowhere = "interfaces-lead-nowhere" {
        when: "`instance.network.interfaces`",
        what: "network interfaces after the first have their MAC and private addresses, but are not connected",
        why: "a container has one interface in its run's network; traffic through others would not be confined",
    }
    /// The node reaches nothing but the harness and the cluster.
    IsolatedNetwork = "isolated-network" {
        when: "`network: isolated`, the default",
        what: "the default route points to an address without a host; rules refuse connections to public addresses at once, let names outside, port 80 of public addresses, and port 443 of those that the scenario names lead to the fakes, which answer only the URLs of `outside`, and let the node reach nothing else of this host",
        why: "a node cannot change what it cannot reach, and a join that depends on anything else is not repeatable",
    }
    /// The node reaches the networks of the container engine.
    OpenNetwork = "open-network" {
        when: "`network: open`",
        what: "the node reaches what the container engine's networks reach, and the engine's resolver answers names that are not faked",
        why: "the scenario requests `network: open`",
    }
}
