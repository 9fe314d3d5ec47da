//! Units and containers that user data starts, and that cannot be a kubelet.

use nodejoin_core::user_data::parse;

use crate::tree::yaml;

/// Services of the system, and agents that AMIs have.
const OF_SYSTEM: [&str; 26] = [
    "amazon-cloudwatch-agent",
    "amazon-ssm-agent",
    "atd",
    "auditd",
    "awslogsd",
    "chronyd",
    "containerd",
    "cron",
    "crond",
    "docker",
    "ec2-instance-connect",
    "firewalld",
    "httpd",
    "iptables",
    "netfilter-persistent",
    "network",
    "nfs-server",
    "nginx",
    "ntpd",
    "postfix",
    "rngd",
    "rpcbind",
    "rsyslog",
    "snap.amazon-ssm-agent.amazon-ssm-agent",
    "ssh",
    "sshd",
];
/// What the name of a program or image has that may be a kubelet or start one.
const OF_NODES: [&str; 9] = [
    "kube",
    "eks",
    "node",
    "join",
    "bootstrap",
    "k3s",
    "k0s",
    "rke",
    "rancher",
];
/// Verbs that start a unit, now or at the next boot.
const STARTS: [&str; 8] = [
    "start",
    "restart",
    "enable",
    "reenable",
    "try-restart",
    "reload-or-restart",
    "reload-or-try-restart",
    "isolate",
];
const INSTALLERS: [&str; 7] = [
    "yum",
    "dnf",
    "microdnf",
    "apt-get",
    "apt",
    "zypper",
    "amazon-linux-extras",
];
/// Lines of a unit that run a program.
const RUN_BY_UNIT: [&str; 4] = ["ExecStart=", "ExecStartPre=", "ExecStartPost=", "ExecReload="];
/// Options with which a container reaches its host.
const REACHING_HOST: [&str; 14] = [
    "--privileged",
    "-v",
    "--volume",
    "--volumes-from",
    "--mount",
    "--net",
    "--network",
    "--pid",
    "--ipc",
    "--uts",
    "--userns",
    "--cap-add",
    "--device",
    "--security-opt",
];

/// The packages that user data installs, in lower case. `text`: that of its scripts and files.
pub(super) fn packages(user_data: &[u8], text: &str) -> Vec<String> {
    let mut packages = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_installer = words.iter().any(|word| INSTALLERS.contains(word));
        let begin = words.iter().position(|word| *word == "install");
        if let Some(begin) = begin.filter(|_| is_installer) {
            packages.extend(words[begin + 1..].iter().map(|word| word.to_ascii_lowercase()));
        }
    }
    for part in parse(user_data).parts {
        let text = String::from_utf8_lossy(&part.content);
        let documents = yaml(&text).ok().filter(|_| part.mime == "text/cloud-config");
        let documents = documents.unwrap_or_default();
        let items = documents.iter().flat_map(|tree| tree.items_at(&["packages"]));
        let names = items.filter_map(|item| item.text().or_else(|| item.items().first()?.text()));
        packages.extend(names.map(str::to_ascii_lowercase));
    }
    packages.retain(|package| package.len() > 2 && !package.starts_with('-'));
    packages
}

/// Whether a command, as words from its program on, starts a unit that the AMI may bring: neither the system nor an
/// installed package has it, and the text does not define it.
pub(super) fn starts_foreign_unit(words: &[&str], packages: &[String], text: &str) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let rest: Vec<&str> = rest
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let units: &[&str] = match (program.rsplit('/').next(), rest.as_slice()) {
        (Some("systemctl"), [verb, units @ ..]) if STARTS.contains(verb) => units,
        (Some("service"), [unit @ .., verb]) if STARTS.contains(verb) => unit,
        _ => return false,
    };
    let is_foreign = |unit: &&str| {
        let name = unit.trim_matches(['"', '\'']);
        let name = name.strip_suffix(".service").unwrap_or(name);
        !OF_SYSTEM.contains(&name) && (is_of_node(name) || !is_known(name, packages, text))
    };
    units.iter().any(is_foreign)
}

fn is_known(unit: &str, packages: &[String], text: &str) -> bool {
    let is_of_package = |package: &String| unit.starts_with(package.as_str()) || package.starts_with(unit);
    let is_name = unit.len() > 2 && !unit.contains(['$', '`', '*']);
    let path = format!("/systemd/system/{unit}.");
    is_name && (unit.starts_with("systemd-") || packages.iter().any(is_of_package) || text.contains(&path))
}

fn is_of_node(name: &str) -> bool {
    OF_NODES.iter().any(|word| name.contains(word))
}

/// The command of a line of a unit.
pub(super) fn command_of_unit(line: &str) -> Option<&str> {
    let key = RUN_BY_UNIT.iter().find(|key| {
        let begin = line.get(..key.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(key))
    })?;
    Some(line[key.len()..].trim_start_matches(['-', '@', '+', '!', ':', ' ']))
}

/// Whether a command, as words from its program on, gets an image or runs a container that cannot reach its host: a
/// kubelet in it cannot join.
pub(super) fn runs_confined_container(words: &[&str]) -> bool {
    let is_literal = words.iter().all(|word| !word.contains(['$', '`', '\\']));
    let reaches = |word: &&str| {
        let option = word.split('=').next().unwrap_or_default();
        REACHING_HOST.contains(&option) || option.starts_with("-v") || option.starts_with("--cgroup")
    };
    match words {
        ["docker", "pull", ..] => is_literal,
        ["docker", "run", rest @ ..] => {
            is_literal && !rest.iter().any(|word| reaches(word) || is_of_node(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_foreign(command: &str, text: &str) -> bool {
        let words: Vec<&str> = command.split_whitespace().collect();
        let user_data = b"#cloud-config\npackages: [mosquitto, [haproxy, 2.0]]\n";
        starts_foreign_unit(&words, &packages(user_data, text), text)
    }

    #[test]
    fn units_of_the_system_of_packages_and_of_the_text_are_known() {
        let text = "yum install -y jenkins docker-ce\ncat > /etc/systemd/system/report.service <<E\n";
        for command in [
            "systemctl enable --now sshd",
            "systemctl enable --now jenkins",
            "systemctl restart docker.service amazon-ssm-agent",
            "service mosquitto start",
            "systemctl start haproxy",
            "systemctl start report.service",
            "systemctl stop agent",
            "systemctl daemon-reload",
        ] {
            assert!(!starts_foreign(command, text), "{command}");
        }
        for command in [
            "systemctl start agent",
            "systemctl enable --now jenkins agent",
            "service agent restart",
            "systemctl start $UNIT",
            "systemctl start kubelet",
            "systemctl start node-agent",
        ] {
            assert!(starts_foreign(command, text), "{command}");
        }
    }

    #[test]
    fn a_container_without_its_host_is_confined() {
        let is_confined = |command: &str| {
            let words: Vec<&str> = command.split_whitespace().collect();
            runs_confined_container(&words)
        };
        for command in [
            "docker pull grafana/grafana:10.4.14-ubuntu",
            "docker run -p 3000:3000 --env A=b -d --name=grafana grafana/grafana",
        ] {
            assert!(is_confined(command), "{command}");
        }
        for command in [
            "docker run --privileged grafana/grafana",
            "docker run -v /etc:/etc grafana/grafana",
            "docker run --net=host grafana/grafana",
            "docker run grafana/grafana \\",
            "docker run $IMAGE",
            "docker run rancher/agent",
            "docker compose up",
        ] {
            assert!(!is_confined(command), "{command}");
        }
    }

    #[test]
    fn commands_of_a_unit_are_read() {
        assert_eq!(command_of_unit("execstart=-/opt/a b"), Some("/opt/a b"));
        assert_eq!(command_of_unit("ExecStart=/opt/a"), Some("/opt/a"));
        assert_eq!(command_of_unit("Restart=always"), None);
    }
}
