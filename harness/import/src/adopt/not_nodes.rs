//! Machines that are not nodes of the cluster, such as a bastion host, beside machines that are.
//!
//! A trial of such a machine fails, because nothing in it joins. One that could be a node is tried: a pass of the
//! others says nothing about it.

use nodejoin_core::user_data::parse;

use super::kubelet_start::{may_start_kubelet, readable, starts_kubelet};
use super::started_units::{command_of_unit, packages, runs_confined_container, starts_foreign_unit};
use super::stated::Stated;
use crate::bottlerocket::is_of_another_host;
use crate::eks::is_bottlerocket;
use crate::machine::{Machine, STAND_IN_AMI, StartedBy, System};
use crate::source_lines::SourceLines;
use crate::text;

/// How tags of nodes begin.
const TAGS_OF_NODES: [&str; 4] = ["kubernetes.io/", "k8s.io/", "eks:", "karpenter"];
/// Words in names of nodes.
const NAMES_OF_NODES: [&str; 2] = ["node", "worker"];
/// Programs for people who use the cluster. A line that gets or installs one starts no kubelet.
const CLIENTS: [&str; 10] = [
    "kubectl",
    "update-kubeconfig",
    "helm",
    "eksctl",
    "awscli",
    "session-manager-plugin",
    "amazon-ssm-agent",
    "k9s",
    "aws-iam-authenticator",
    "terraform",
];
/// Words that such a line does not have.
const BOOTSTRAP: [&str; 6] = [
    "bootstrap",
    "nodeadm",
    "kubeadm",
    "kubelet",
    "node.eks.aws",
    "join",
];
/// Words of a shell before a command.
const KEYWORDS: [&str; 17] = [
    "if", "then", "elif", "else", "do", "while", "until", "!", "{", "}", "(", ")", "sudo", "exec", "nohup",
    "time", "env",
];
/// Programs that run something which is not in the line.
const RUNNERS: [&str; 22] = [
    "bash",
    "sh",
    ".",
    "source",
    "eval",
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "ansible",
    "ansible-pull",
    "ansible-playbook",
    "puppet",
    "chef-client",
    "chef-solo",
    "cinc-client",
    "salt-call",
    "docker",
    "snap",
    "make",
];
/// What user data writes for an AMI that starts its kubelet by itself.
const FILES_OF_NODES: [&str; 3] = ["/etc/kubernetes", "/etc/eks", "kubelet"];
/// Folders with the sources of packages. A download into them runs nothing.
const PACKAGE_SOURCES: [&str; 4] = [
    "/etc/yum.repos.d/",
    "/etc/apt/",
    "/usr/share/keyrings/",
    "/etc/pki/rpm-gpg/",
];
/// Folders of the programs that Amazon Linux and Ubuntu have.
const FOLDERS: [&str; 4] = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"];

/// Marks the machines that are not nodes. Without a machine that bootstraps one, all are tried.
pub(crate) fn leave_out_others(machines: &mut [Machine]) {
    let nodes: Vec<Machine> = machines
        .iter()
        .filter(|machine| bootstraps(machine))
        .cloned()
        .collect();
    if nodes.is_empty() {
        return;
    }
    for machine in machines {
        if is_apart(machine)
            && !shares_role(machine, &nodes)
            && !shares_ami(machine, &nodes)
            && starts_nothing(machine)
        {
            machine.left_out = Some(reason(machine));
        }
    }
}

fn reason(machine: &Machine) -> String {
    let line = machine
        .line
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    let user_data = match machine.user_data {
        Some(_) => "nothing in its user data starts a kubelet",
        None => "it has no user data",
    };
    format!(
        "{line}it is not a node, as far as the file tells: no node group uses it, no tag names a cluster, its AMI is not one of \
         EKS, and {user_data}; `--select {}` tries it nevertheless",
        shell_word(&machine.name)
    )
}

/// The name as a word of a shell: names of Terraform can have quotes and brackets.
fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{name}'"),
    }
}

/// Whether a machine is a node without doubt.
fn bootstraps(machine: &Machine) -> bool {
    let joins = || {
        let scripts = machine
            .stack
            .as_ref()
            .map(|stack| stack.scripts())
            .unwrap_or_default();
        let user_data = machine.user_data.as_deref().unwrap_or_default();
        let stated = Stated::with_scripts(user_data, &scripts, &SourceLines::default());
        stated.configs.is_any || text::joins(&stated.text)
    };
    let is_own_host = is_host_of_bottlerocket(machine);
    machine.managed.is_some() || is_bottlerocket(machine) && !is_own_host || joins()
}

/// Whether a machine with an AMI of its own runs Bottlerocket without settings of Kubernetes, which EKS does not add.
fn is_host_of_bottlerocket(machine: &Machine) -> bool {
    let content = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default());
    let is_alone = machine.managed.is_none() && machine.traits.ami_id.is_some();
    is_bottlerocket(machine)
        && is_alone
        && text::settings(&content).is_ok_and(|table| is_of_another_host(&table))
}

/// Whether only Auto Scaling groups start the machine, and nothing around its user data has to do with a cluster.
fn is_apart(machine: &Machine) -> bool {
    let traits = &machine.traits;
    let is_of_node = |tag: &&String| TAGS_OF_NODES.iter().any(|begin| tag.starts_with(begin));
    let mut tags = traits.tags.keys().chain(traits.lost_tags.keys());
    let names = [
        Some(&machine.name),
        traits.tags.get("Name"),
        traits.lost_tags.get("Name"),
    ];
    let is_named_node = names.into_iter().flatten().any(|name| {
        // The stand-in for the name of a stack, and the modules of Terraform, say nothing about the machine.
        let name = name.to_ascii_lowercase().replace("nodejoin", "");
        let name = name.rsplit('.').next().unwrap_or_default();
        NAMES_OF_NODES.iter().any(|word| name.contains(word))
    });
    let is_of_linux = machine.system == System::Linux && traits.ami_family.is_none();
    machine.started_by == StartedBy::ScalingGroups
        && (is_of_linux || is_host_of_bottlerocket(machine))
        && machine.managed.is_none()
        && traits.image_version.is_none()
        && !tags.any(|tag| is_of_node(&tag))
        && !is_named_node
}

/// Whether the machine has the role or the instance profile of a node, or a role that the cluster admits.
fn shares_role(machine: &Machine, nodes: &[Machine]) -> bool {
    let traits = &machine.traits;
    let is_role = |role: &String| {
        let admitted = traits.cluster.access.node_roles();
        let is_own = |one: &&str| *one == role || one.ends_with(&format!("/{role}"));
        admitted.iter().any(is_own) || nodes.iter().any(|node| node.traits.role.as_ref() == Some(role))
    };
    let is_profile = |profile: &String| {
        nodes
            .iter()
            .any(|node| node.traits.instance_profile.as_ref() == Some(profile))
    };
    traits.role.as_ref().is_some_and(is_role) || traits.instance_profile.as_ref().is_some_and(is_profile)
}

/// Whether the machine has the AMI of a node: such an AMI can start a kubelet by itself.
fn shares_ami(machine: &Machine, nodes: &[Machine]) -> bool {
    let ami = machine.traits.ami_id.as_ref().filter(|ami| *ami != STAND_IN_AMI);
    ami.is_some_and(|ami| nodes.iter().any(|node| node.traits.ami_id.as_ref() == Some(ami)))
}

/// Whether nothing in the user data starts a kubelet, or a program that may do so.
fn starts_nothing(machine: &Machine) -> bool {
    let Some(bytes) = machine.user_data.as_deref() else {
        return true;
    };
    if is_host_of_bottlerocket(machine) {
        return true;
    }
    let Some(stated) = readable(machine) else {
        return false;
    };
    let content = String::from_utf8_lossy(bytes);
    let is_known = text::is_gzip(bytes) || text::format(&content).is_some();
    let text = stated.text.to_ascii_lowercase();
    let packages = packages(bytes, &text);
    // Names of files are in the cloud-config alone.
    let whole = format!("{text}\n{}", cloud_configs(bytes).to_ascii_lowercase());
    let own_lines = |text| str::lines(text).filter(|line| !is_of_client(line));
    is_known
        && !stated.configs.is_any
        && !text::joins(&content)
        && !own_lines(&whole).any(names_files_of_nodes)
        && !own_lines(&text).any(|line| {
            may_start_kubelet(&without_sources(line))
                || starts_kubelet(line)
                || runs_another_program(line, &packages, &whole)
        })
}

fn cloud_configs(user_data: &[u8]) -> String {
    let parts = parse(user_data).parts.into_iter();
    let configs = parts.filter(|part| part.mime == "text/cloud-config");
    let texts = configs.map(|part| String::from_utf8_lossy(&part.content).into_owned());
    texts.collect::<Vec<_>>().join("\n")
}

fn names_files_of_nodes(line: &str) -> bool {
    !line.trim_start().starts_with('#') && FILES_OF_NODES.iter().any(|name| line.contains(name))
}

/// A line without the programs that download a source of packages.
fn without_sources(line: &str) -> String {
    let is_of_sources = PACKAGE_SOURCES.iter().any(|folder| line.contains(folder));
    match is_of_sources {
        true => line.replace("wget", "").replace("curl", ""),
        false => line.to_owned(),
    }
}

/// Whether a line only gets or uses a program for people who use the cluster.
fn is_of_client(line: &str) -> bool {
    CLIENTS.iter().any(|word| line.contains(word)) && !BOOTSTRAP.iter().any(|word| line.contains(word))
}

/// Whether a line runs a program that the file does not contain, and that the systems of an AMI do not have.
fn runs_another_program(line: &str, packages: &[String], text: &str) -> bool {
    let line = line.trim();
    let line = command_of_unit(line).unwrap_or(line);
    if let Some(interpreter) = line.strip_prefix("#!") {
        let program = interpreter.split_whitespace().next().unwrap_or_default();
        let last = program.rsplit('/').next().unwrap_or_default();
        return !["bash", "sh", "env"].contains(&last) || last == "env" && !interpreter.ends_with("bash");
    }
    if line.starts_with('#') {
        return false;
    }
    line.split([';', '&', '|']).any(|command| {
        let is_before = |word: &&str| KEYWORDS.contains(word) || is_assignment(word);
        let words: Vec<&str> = command.split_whitespace().skip_while(is_before).collect();
        let program = words.first().copied().unwrap_or_default();
        let is_elsewhere = program.contains('/') && !FOLDERS.iter().any(|folder| program.starts_with(folder));
        let is_runner = RUNNERS.contains(&program) && !runs_confined_container(&words);
        is_runner
            || is_elsewhere
            || program.contains(['$', '`'])
            || starts_foreign_unit(&words, packages, text)
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name && !value.contains(['$', '`'])
    })
}
