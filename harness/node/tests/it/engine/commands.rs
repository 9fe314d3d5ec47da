//! The page of the book with the commands of the built-in node images, which is read from the images.
//!
//! `NODEJOIN_WRITE_PAGE=1 cargo test -p nodejoin-node --test it engine::commands` writes the page again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use nodejoin_node::DeviationKind;

use super::bench::{Bench, ask, plan, until, user_data_is_over};
use super::machine::Seen;

const PAGE: &str = "../../docs/src/reference/node-commands.md";
/// Writes the page instead of comparing it.
const WRITE: &str = "NODEJOIN_WRITE_PAGE";
const COMMAND: &str = "NODEJOIN_WRITE_PAGE=1 cargo test -p nodejoin-node --test it engine::commands";
const IMAGES: [&str; 2] = ["al2", "al2023"];

/// Commands that the user data of EKS nodes calls: programs of the AMIs' packages, and those in published user data.
const COMMANDS: &str = "
    amazon-cloudwatch-agent-ctl amazon-linux-extras apt-get at auditctl augenrules awk aws aws-iam-authenticator base64 bash bc
    blkid bzip2 cat chkconfig chmod chown chronyc cloud-init conntrack containerd cp crictl crontab ctr curl cut date dd
    df dig dmesg dnf docker dracut du ebsnvme-id ebtables ec2-metadata envsubst ethtool fallocate fdisk file find findmnt free
    gawk gcc getenforce getent git gpg grep groupadd growpart grubby gunzip gzip head hostname hostnamectl htop id ip
    ip6tables ipset iptables iptables-restore iptables-save iscsiadm journalctl jq kubeadm kubectl kubelet ldconfig
    logger logrotate lsblk lscpu lsmod lsof lspci lvcreate make md5sum mdadm mkdir mkfs.ext4 mkfs.xfs mkswap mktemp
    modprobe mount mount.efs mount.nfs mountpoint nc needs-restarting nerdctl netstat networkctl nft nodeadm nproc
    nslookup nsenter numactl nvidia-ctk nvidia-smi nvme openssl parted passwd perl pgrep ping pip3 pkill ps pvcreate
    python python3 readlink realpath resize2fs resolvectl restorecon rm rngd rpm rsync runc sed semanage service
    sestatus setenforce setfacl sha256sum shuf sleep snap socat sort ss ssh-keygen ssm-cli stat strace su sudo swapoff
    swapon sync sysctl systemctl tar taskset tcpdump tee telnet timedatectl timeout tmux touch tr tuned-adm udevadm
    ulimit umount uname unzip update-ca-trust useradd usermod uuidgen vgcreate vim wc wget wipefs xargs xfs_growfs xz yq
    yum yum-config-manager zip zstd
    /etc/eks/bootstrap.sh /etc/eks/max-pods-calculator.sh /opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl
    /opt/aws/bin/cfn-get-metadata /opt/aws/bin/cfn-hup /opt/aws/bin/cfn-init /opt/aws/bin/cfn-signal
    /usr/bin/setup-local-disks";

/// Of programs that no package of Debian has, those of Kubernetes; the others belong to nodejoin.
const OF_KUBERNETES: [&str; 3] = ["kubeadm", "kubectl", "kubelet"];

/// Prints each command with its path, the file behind it, and the package that has this file.
const READ: &str = r#"name: commands
user_data: |
  #!/bin/bash
  for name in COMMANDS; do
    if [ "$(type -t "$name")" = builtin ]; then echo "seen $name builtin"; continue; fi
    path=$(type -P "$name") || continue
    file=$(readlink -f "$path")
    # A host without a privilege has another `runc` before this one.
    [ "$file" != /opt/nodejoin/runc ] || { path=/usr/sbin/runc file=/usr/sbin/runc; }
    # Packages name the folders before the merge of /usr.
    package=$(dpkg-query --search "$path" "$file" "${path#/usr}" "${file#/usr}" 2> /dev/null | head -n 1)
    package=${package%%[:,]*}
    [ -z "$package" ] || package="$package $(dpkg-query --show --showformat '${Version}' "$package")"
    echo "seen $name $path $file $package"
  done
  echo "seen modules-from-files $(python3 -v /usr/bin/aws --version 2>&1 | grep -c 'code object from')"
expect: { phase: booted }
"#;

/// What an image has for a command.
#[derive(Debug, PartialEq, Eq)]
enum Provided {
    Builtin,
    /// A package of Debian, and its version.
    Package(String, String),
    Kubernetes,
    /// A program of the image's recipe that is not the AMI's.
    OfNodejoin,
    Stub(&'static str),
    Missing,
}

impl Provided {
    fn of(name: &str, line: Option<&str>) -> Self {
        let mut words = line.unwrap_or_default().split(' ');
        let (path, file) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if path == "builtin" {
            return Self::Builtin;
        }
        if path.is_empty() {
            return Self::Missing;
        }
        let lays_it_down = |kind: &DeviationKind| kind.stand_ins().contains(&path);
        // Those for disks are there only on an instance with an instance store.
        let stub = DeviationKind::ALL.into_iter().find(lays_it_down);
        if let Some(kind) = stub.filter(|_| file.starts_with("/opt/nodejoin/")) {
            return Self::Stub(kind.name());
        }
        match (words.next(), words.next()) {
            (Some(package), Some(version)) => Self::Package(package.to_owned(), major_and_minor(version)),
            _ if OF_KUBERNETES.contains(&name) => Self::Kubernetes,
            _ => Self::OfNodejoin,
        }
    }

    fn cell(&self) -> String {
        match self {
            Self::Builtin => "part of bash".to_owned(),
            Self::Package(package, version) => format!("Debian's {package} {version}"),
            Self::Kubernetes => "of the requested Kubernetes version".to_owned(),
            Self::OfNodejoin => "a program of this repository".to_owned(),
            Self::Stub(name) => format!("stub ([`{name}`](deviations.md))"),
            Self::Missing => "missing".to_owned(),
        }
    }
}

/// A security update changes the rest of a version. systemd counts its updates in the second number.
fn major_and_minor(version: &str) -> String {
    let version = version.split_once(':').map_or(version, |(_, version)| version);
    let version = version.split(['-', '+', '~']).next().unwrap_or(version);
    let is_of_systemd = version.split('.').next().is_some_and(|major| major.len() > 2);
    let kept = if is_of_systemd { 1 } else { 2 };
    version.split('.').take(kept).collect::<Vec<_>>().join(".")
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = COMMANDS.split_whitespace().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What a node of an image has, by command.
async fn provided(image: &str) -> HashMap<&'static str, Provided> {
    let bench = Bench::of(image).await;
    let plan = plan(&READ.replace("COMMANDS", &names().join(" ")));
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node.collect(&ask(&[], &[], &plan, &bench.aws.ca_pem)).await;
    let output = collected.unwrap().user_data.unwrap().output;
    bench.end().await;
    let seen = Seen::of(&output);
    // All others come from one archive: each file that a call opens costs the node time.
    let from_files: u32 = seen.value("modules-from-files").parse().unwrap();
    assert!((1..100).contains(&from_files), "{output}");
    let line = |name: &str| (!seen.lacks(name)).then(|| seen.value(name));
    names()
        .into_iter()
        .map(|name| (name, Provided::of(name, line(name))))
        .collect()
}

async fn page() -> String {
    let (first, second) = tokio::join!(provided(IMAGES[0]), provided(IMAGES[1]));
    let [one, other] = IMAGES;
    let mut page = format!("<!-- Generated by `{COMMAND}`; do not edit. -->\n\n{INTRODUCTION}");
    let _ = writeln!(page, "| command | `{one}` | `{other}` |\n| --- | --- | --- |");
    for name in names() {
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} |",
            first[name].cell(),
            second[name].cell()
        );
    }
    page
}

const INTRODUCTION: &str = "\
# Commands of a node

What a script finds in a node of the [built-in images](../guide/images.md#the-built-in-images) when it calls a command that the user
data of EKS nodes uses. The table is read from nodes of both images.

- **Debian's** programs are real, in the version of Debian bookworm, which is not that of Amazon Linux.
- **A program of this repository** is part of the image, with the options that user data uses. `aws-iam-authenticator` is the released
  program if the build could download it.
- **Stubs** are [deviations](deviations.md): a node has them unless its scenario has `stubs: none`. On an instance with an
  instance store or `volumes`, `mkfs`, `mdadm`, `blkid`, `file`, `wipefs`, `fdisk`, `mount` and LVM are stubs, too (`disk-tools`).
- A **missing** command fails with 127, and the join has the diagnosis [`harness-limit`](diagnoses.md#harness-limit) if the AMIs have it. Add it with
  [an overlay](../guide/your-script.md). Packages of Amazon Linux that user data installs with `yum` or `dnf` bring their commands, as
  stubs that record the call and do nothing.

";

/// The committed page is what the images have.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_commands_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page().await;
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = page.lines().zip(committed.lines());
    let differing: Vec<_> = lines.filter(|(read, committed)| read != committed).collect();
    assert!(
        page == committed,
        "the page differs from the images: {differing:#?}\nrun `{COMMAND}` and commit the result"
    );
}

#[test]
fn what_an_image_has_is_told_apart() {
    for (name, line, expected) in [
        (
            "jq",
            Some("/usr/bin/jq /usr/bin/jq jq 1.6-2.1"),
            Provided::Package("jq".to_owned(), "1.6".to_owned()),
        ),
        (
            "iptables",
            Some("/usr/sbin/iptables /usr/sbin/xtables-nft-multi iptables 1:1.8.9-2"),
            Provided::Package("iptables".to_owned(), "1.8".to_owned()),
        ),
        (
            "yum",
            Some("/usr/bin/yum /opt/nodejoin/packages "),
            Provided::Stub("package-stubs"),
        ),
        (
            "kubelet",
            Some("/usr/bin/kubelet /usr/bin/kubelet "),
            Provided::Kubernetes,
        ),
        (
            "lsblk",
            Some("/usr/local/bin/lsblk /usr/local/bin/lsblk "),
            Provided::OfNodejoin,
        ),
        (
            "mount",
            Some("/usr/bin/mount /usr/bin/mount mount 2.38.1-5"),
            Provided::Package("mount".to_owned(), "2.38".to_owned()),
        ),
        (
            "systemctl",
            Some("/usr/bin/systemctl /usr/bin/systemctl systemd 252.39-1~deb12u1"),
            Provided::Package("systemd".to_owned(), "252".to_owned()),
        ),
        ("ulimit", Some("builtin"), Provided::Builtin),
        ("htop", None, Provided::Missing),
    ] {
        assert_eq!(Provided::of(name, line), expected, "{name}");
    }
}
