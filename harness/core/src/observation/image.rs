//! What a node image has that the harness did not build.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::architecture::Architecture;

/// Programs whose absence the harness makes up for: one that is there must not be taken for missing.
const PROGRAMS: [&str; 2] = ["cloud-init", "kubelet"];

/// The parts of a node image, read from it before its first boot. A part without a version is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ImageFacts {
    /// The name or path that the scenario gives.
    pub source: String,
    /// Name of the operating system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Path of its systemd.
    pub init: Option<String>,
    /// Architecture of its programs as the ELF header of systemd names it, such as `3e00`.
    pub machine: Option<String>,
    pub systemd: Option<String>,
    pub cloud_init: Option<String>,
    pub kubelet: Option<String>,
    pub containerd: Option<String>,
    pub docker: Option<String>,
    pub aws_cli: Option<String>,
    /// Programs that are there and report no version, with the last line of their output.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unreadable: BTreeMap<String, String>,
}

/// A part that a join usually needs and an image can lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImagePart {
    CloudInit,
    Kubelet,
    ContainerRuntime,
    AwsCli,
}

impl ImagePart {
    /// All parts, in the order of a report.
    pub const ALL: [Self; 4] = [
        Self::CloudInit,
        Self::Kubelet,
        Self::ContainerRuntime,
        Self::AwsCli,
    ];

    /// The name in a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CloudInit => "cloud-init",
            Self::Kubelet => "kubelet",
            Self::ContainerRuntime => "container runtime",
            Self::AwsCli => "AWS CLI",
        }
    }
}

impl ImageFacts {
    /// Parses lines of a name and the output of a program, such as `kubelet Kubernetes v1.20.2`, or `kubelet ?` and an
    /// error.
    #[must_use]
    pub fn parse(source: &str, lines: &str) -> Self {
        let mut facts = Self {
            source: source.to_owned(),
            ..Self::default()
        };
        for line in lines.lines() {
            let (name, text) = line.split_once(' ').unwrap_or((line, ""));
            let text = text.trim();
            if let Some(output) = text.strip_prefix('?') {
                if PROGRAMS.contains(&name) {
                    facts.unreadable.insert(name.to_owned(), output.trim().to_owned());
                }
                continue;
            }
            let whole = || Some(text.to_owned()).filter(|text| !text.is_empty());
            match name {
                "os" => facts.os = whole(),
                "init" => facts.init = whole(),
                "machine" => facts.machine = whole(),
                "systemd" => facts.systemd = version(text),
                "cloud-init" => facts.cloud_init = version(text),
                "kubelet" => facts.kubelet = version(text).map(|version| format!("v{version}")),
                "containerd" => facts.containerd = version(text),
                "docker" => facts.docker = version(text),
                "aws" => facts.aws_cli = version(text),
                _ => {}
            }
        }
        facts
    }

    /// The architecture of the programs; `None` if it is unknown.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        match self.machine.as_deref() {
            Some("3e00") => Some(Architecture::X86_64),
            Some("b700") => Some(Architecture::Aarch64),
            _ => None,
        }
    }

    /// Whether the image lacks a part.
    #[must_use]
    pub fn lacks(&self, part: ImagePart) -> bool {
        match part {
            ImagePart::CloudInit => self.cloud_init.is_none(),
            ImagePart::Kubelet => self.kubelet.is_none(),
            ImagePart::ContainerRuntime => self.containerd.is_none() && self.docker.is_none(),
            ImagePart::AwsCli => self.aws_cli.is_none(),
        }
    }

    /// Major version of systemd.
    #[must_use]
    pub fn systemd_major(&self) -> Option<u32> {
        let digits = self.systemd.as_deref()?.split('.').next()?;
        digits.parse().ok()
    }

    /// Versions and missing parts in one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        let parts = [
            ("", &self.os),
            ("systemd ", &self.systemd),
            ("cloud-init ", &self.cloud_init),
            ("kubelet ", &self.kubelet),
            ("containerd ", &self.containerd),
            ("docker ", &self.docker),
            ("AWS CLI ", &self.aws_cli),
        ];
        let has = parts
            .iter()
            .filter_map(|(name, version)| Some(format!("{name}{}", version.as_ref()?)));
        let lacks = ImagePart::ALL
            .into_iter()
            .filter(|part| self.lacks(*part))
            .map(|part| format!("no {}", part.name()));
        has.chain(lacks).collect::<Vec<_>>().join(", ")
    }
}

/// The first word that starts as a version does: digits, with or without `v`, `aws-cli/` or a comma behind it.
fn version(text: &str) -> Option<String> {
    let words = text.split([' ', ',', '/', '(', ')']);
    let mut versions = words
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    versions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "os Debian GNU/Linux 12 (bookworm)\ninit /usr/lib/systemd/systemd\nmachine 3e00\n\
        systemd systemd 252 (252.22-1~deb12u1)\ncloud-init /usr/bin/cloud-init 22.4.2\nkubelet Kubernetes v1.32.1\n\
        containerd containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1\n\
        docker Docker version 20.10.24+dfsg1, build 297e128\naws aws-cli/2.9.19 Python/3.11.2 Linux/5.10\n";

    #[test]
    fn versions_are_read_from_the_outputs_of_programs() {
        let facts = ImageFacts::parse("my-ami:1", LINES);
        assert_eq!(
            facts.summary(),
            "Debian GNU/Linux 12 (bookworm), systemd 252, cloud-init 22.4.2, kubelet v1.32.1, containerd 1.6.20~ds1, \
             docker 20.10.24+dfsg1, AWS CLI 2.9.19"
        );
        assert_eq!(facts.architecture(), Some(Architecture::X86_64));
        assert_eq!(facts.systemd_major(), Some(252));
    }

    #[test]
    fn a_program_that_prints_no_version_is_missing() {
        let facts = ImageFacts::parse(
            "x",
            "os Amazon Linux 2\nsystemd systemd 219\nkubelet\ncontainerd \n",
        );
        assert_eq!(
            facts.summary(),
            "Amazon Linux 2, systemd 219, no cloud-init, no kubelet, no container runtime, no AWS CLI"
        );
        assert_eq!(facts.architecture(), None);
    }

    #[test]
    fn a_program_that_does_not_run_is_not_missing() {
        let facts = ImageFacts::parse("x", "kubelet ? line 1: 3: cannot run\naws ? no module\n");
        let expected = BTreeMap::from([("kubelet".to_owned(), "line 1: 3: cannot run".to_owned())]);
        assert_eq!(facts.unreadable, expected);
    }
}
