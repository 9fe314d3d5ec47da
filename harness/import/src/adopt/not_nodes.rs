//! Machines that are not nodes of the cluster, such as a bastion host, beside machines that are.
//!
//! A trial of such a machine fails, because nothing in it joins. One that could be a node is tried: a pass of the
//! others says nothing about it.

use super::kubelet_start::{may_start_kubelet, readable, starts_kubelet};
use super::stated::Stated;
use crate::eks::is_bottlerocket;
use crate::machine::{Machine, StartedBy, System};
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
        if is_apart(machine) && !shares_role(machine, &nodes) && starts_nothing(machine) {
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
    machine.managed.is_some() || is_bottlerocket(machine) || joins()
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
    machine.started_by == StartedBy::ScalingGroups
        && machine.system == System::Linux
        && machine.managed.is_none()
        && traits.ami_family.is_none()
        && traits.image_version.is_none()
        && !tags.any(|tag| is_of_node(&tag))
        && !is_named_node
}

/// Whether the machine has the role or the instance profile of a node, or a role that the cluster admits.
fn shares_role(machine: &Machine, nodes: &[Machine]) -> bool {
    let traits = &machine.traits;
    let is_role = |role: &String| {
        let mut admitted = traits.cluster.node_roles.iter();
        admitted.any(|one| one == role || one.ends_with(&format!("/{role}")))
            || nodes.iter().any(|node| node.traits.role.as_ref() == Some(role))
    };
    let is_profile = |profile: &String| {
        nodes
            .iter()
            .any(|node| node.traits.instance_profile.as_ref() == Some(profile))
    };
    traits.role.as_ref().is_some_and(is_role) || traits.instance_profile.as_ref().is_some_and(is_profile)
}

/// Whether nothing in the user data starts a kubelet, or a program that may do so.
fn starts_nothing(machine: &Machine) -> bool {
    let Some(bytes) = machine.user_data.as_deref() else {
        return true;
    };
    let Some(stated) = readable(machine) else {
        return false;
    };
    let content = String::from_utf8_lossy(bytes);
    let is_known = text::is_gzip(bytes) || text::format(&content).is_some();
    let lines: Vec<String> = stated.text.lines().map(str::to_ascii_lowercase).collect();
    is_known
        && !stated.configs.is_any
        && !text::joins(&content)
        && !lines
            .iter()
            .filter(|line| !is_of_client(line))
            .any(|line| may_start_kubelet(line) || starts_kubelet(line) || runs_another_program(line))
}

/// Whether a line only gets or uses a program for people who use the cluster.
fn is_of_client(line: &str) -> bool {
    CLIENTS.iter().any(|word| line.contains(word)) && !BOOTSTRAP.iter().any(|word| line.contains(word))
}

/// Whether a line runs a program that the file does not contain, and that the systems of an AMI do not have.
fn runs_another_program(line: &str) -> bool {
    let line = line.trim();
    if let Some(interpreter) = line.strip_prefix("#!") {
        let program = interpreter.split_whitespace().next().unwrap_or_default();
        let last = program.rsplit('/').next().unwrap_or_default();
        return !["bash", "sh", "env"].contains(&last) || last == "env" && !interpreter.ends_with("bash");
    }
    if line.starts_with('#') {
        return false;
    }
    line.split([';', '&', '|']).any(|command| {
        let mut words = command.split_whitespace();
        let is_before = |word: &&str| KEYWORDS.contains(word) || is_assignment(word);
        let program = words.find(|word| !is_before(word)).unwrap_or_default();
        let is_elsewhere = program.contains('/') && !FOLDERS.iter().any(|folder| program.starts_with(folder));
        RUNNERS.contains(&program) || is_elsewhere || program.contains(['$', '`'])
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name && !value.contains(['$', '`'])
    })
}
