//! The package tools in a node record what they should install, and fail for names that Amazon Linux does not have.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A root folder with the tools.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/packages");
        for tool in ["yum", "dnf", "rpm", "amazon-linux-extras", "mount.nfs"] {
            symlink(&program, root.0.path().join(tool)).unwrap();
        }
        root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, command: &str) -> Output {
        let mut words = command.split_whitespace();
        Command::new("bash")
            .arg(self.path(words.next().unwrap()))
            .args(words)
            .env("NODEJOIN_ROOT", self.0.path())
            .output()
            .unwrap()
    }

    fn code(&self, command: &str) -> i32 {
        self.run(command).status.code().unwrap()
    }

    fn record(&self) -> String {
        std::fs::read_to_string(self.path("var/log/nodejoin-packages")).unwrap_or_default()
    }
}

#[test]
fn known_packages_are_recorded_and_bring_their_commands_and_units() {
    let root = Root::new();
    assert_eq!(root.code("yum install -y nfs-utils amazon-ssm-agent"), 0);
    assert_eq!(
        root.record(),
        "yum install nfs-utils\nyum install amazon-ssm-agent\n"
    );
    assert!(root.path("usr/bin/mount.nfs").is_symlink());
    assert!(
        root.path("usr/lib/systemd/system/amazon-ssm-agent.service")
            .exists()
    );
}

#[test]
fn a_file_or_url_has_the_name_of_its_package() {
    let root = Root::new();
    assert_eq!(root.code("rpm -q amazon-ssm-agent"), 1);
    assert_eq!(
        root.code("yum install -y https://s3.eu-west-1.amazonaws.com/agent/amazon-ssm-agent.rpm"),
        0
    );
    assert!(
        root.path("usr/lib/systemd/system/amazon-ssm-agent.service")
            .exists()
    );
    assert_eq!(root.code("rpm -q amazon-ssm-agent"), 0);
}

#[test]
fn a_package_with_its_version_is_known() {
    let root = Root::new();
    assert_eq!(
        root.code("yum install -y docker-19.03.13ce-1.amzn2 nfs-utils-1.3.0"),
        0
    );
    assert_eq!(
        root.record(),
        "yum install docker-19.03.13ce-1.amzn2\nyum install nfs-utils-1.3.0\n"
    );
    assert!(root.path("usr/bin/mount.nfs").is_symlink());
    assert_eq!(root.code("yum install -y docker-of-mine"), 1);
}

#[test]
fn unknown_packages_fail_as_in_each_tool() {
    let root = Root::new();
    assert_eq!(root.code("yum install -y no-such-package"), 1);
    // yum installs the others, dnf nothing more.
    assert_eq!(root.code("yum install -y no-such-package jq"), 0);
    let refused = root.run("dnf install -y no-such-package jq");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Unable to find a match: no-such-package"));
    assert_eq!(root.code("amazon-linux-extras install no-such-topic"), 1);
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const UNKNOWN: &str = "nodejoin's stand-in does not know this: package ";

#[test]
fn only_a_misspelt_name_or_one_of_another_system_is_an_error_of_the_user_data() {
    let root = Root::new();
    for (name, expected) in [
        ("nfs-utlis", "nfs-utlis resembles the package nfs-utils"),
        ("chronyy", "chronyy resembles the package chrony"),
        (
            "amazon-efs-utlis",
            "amazon-efs-utlis resembles the package amazon-efs-utils",
        ),
        ("docker-ce", "Amazon Linux has no package docker-ce"),
        (
            "apt-transport-https",
            "Amazon Linux has no package apt-transport-https",
        ),
    ] {
        for tool in ["yum", "dnf"] {
            let refused = root.run(&format!("{tool} install -y {name}"));
            assert_eq!(refused.status.code(), Some(1), "{name}");
            assert!(words(&refused).contains(expected), "{}", words(&refused));
            assert!(!words(&refused).contains(UNKNOWN), "{name}");
        }
    }
    // Another version of a known package, and a short name that can be one of its own.
    for name in ["falcon-sensor-of-mine", "java-25-amazon-corretto", "gdbm"] {
        let refused = root.run(&format!("dnf install -y {name}"));
        assert_eq!(refused.status.code(), Some(1), "{name}");
        assert!(
            words(&refused).contains(&format!("dnf: {UNKNOWN}{name}")),
            "{}",
            words(&refused)
        );
    }
}

#[test]
fn another_repository_can_have_every_package() {
    for add in ["file", "command"] {
        let root = Root::new();
        if add == "file" {
            std::fs::create_dir_all(root.path("etc/yum.repos.d")).unwrap();
            std::fs::write(root.path("etc/yum.repos.d/docker-ce.repo"), "").unwrap();
        } else {
            assert_eq!(
                root.code("yum config-manager --add-repo https://example.com/docker-ce.repo"),
                0
            );
        }
        let refused = root.run("yum install -y docker-ce");
        assert!(
            words(&refused).contains(&format!("yum: {UNKNOWN}docker-ce")),
            "{}",
            words(&refused)
        );
    }
}

#[test]
fn updates_and_topics_succeed_and_change_nothing() {
    let root = Root::new();
    assert_eq!(root.code("yum -y update"), 0);
    assert_eq!(root.code("amazon-linux-extras install -y docker"), 0);
    assert!(!root.path("usr").exists());
}

#[test]
fn a_command_of_a_package_is_recorded_and_succeeds() {
    let root = Root::new();
    assert_eq!(root.code("mount.nfs server:/share /mnt"), 0);
    assert_eq!(root.record(), "mount.nfs server:/share /mnt\n");
}

#[test]
fn the_cloudwatch_agent_reads_the_configuration_that_it_gets() {
    let root = Root::new();
    assert_eq!(root.code("yum install -y amazon-cloudwatch-agent"), 0);
    let agent = "opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl";
    assert!(root.path(agent).is_symlink());
    let fetch = format!("{agent} -a fetch-config -m ec2 -s -c file:/opt/agent.json");
    assert_eq!(root.code(&fetch), 1);
    std::fs::write(root.path("opt/agent.json"), "{ \"metrics\": ").unwrap();
    assert_eq!(root.code(&fetch), 1);
    std::fs::write(root.path("opt/agent.json"), "{ \"metrics\": {} }").unwrap();
    assert_eq!(root.code(&fetch), 0);
    assert!(
        root.record()
            .contains("amazon-cloudwatch-agent-ctl -a fetch-config")
    );
}

#[test]
fn packages_bring_the_folders_of_their_configuration() {
    let root = Root::new();
    assert_eq!(
        root.code("yum install -y amazon-cloudwatch-agent audit fail2ban"),
        0
    );
    for folder in [
        "opt/aws/amazon-cloudwatch-agent/bin",
        "opt/aws/amazon-cloudwatch-agent/etc/amazon-cloudwatch-agent.d",
        "opt/aws/amazon-cloudwatch-agent/logs",
        "opt/aws/amazon-cloudwatch-agent/var",
        "etc/audit/rules.d",
        "etc/fail2ban/action.d",
        "etc/fail2ban/filter.d",
        "etc/fail2ban/jail.d",
    ] {
        assert!(root.path(folder).is_dir(), "{folder}");
    }
    assert!(root.path("usr/lib/systemd/system/fail2ban.service").exists());
}

#[test]
fn the_command_of_nvme_cli_is_the_one_that_lists_disks() {
    let root = Root::new();
    assert_eq!(root.code("dnf install -y nvme-cli"), 0);
    let target = std::fs::read_link(root.path("usr/sbin/nvme")).unwrap();
    assert!(target.ends_with("guest/instance-tools"), "{}", target.display());
}

#[test]
fn yum_is_dnf_on_amazon_linux_2023() {
    let root = Root::new();
    std::fs::create_dir_all(root.path("etc")).unwrap();
    std::fs::write(
        root.path("etc/os-release"),
        "ID=\"amzn\"\nPLATFORM_ID=\"platform:al2023\"\n",
    )
    .unwrap();
    assert_eq!(root.code("yum install -y no-such-package jq"), 1);
    assert_eq!(root.record(), "dnf install jq\n");
}
