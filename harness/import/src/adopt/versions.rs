//! The Kubernetes version of a trial: what the file states, what the user data needs, what is available offline.

use nodejoin_core::kubernetes::{DifferenceKind, Minor, Version, newer_than};

use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use crate::machine::Traits;

/// Which versions a machine is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedKubernetes {
    /// The version of the file's cluster, or of its AMI.
    stated: Option<Minor>,
    /// Settings that older kubelets do not have, each with the first version that has it.
    needs: Vec<(String, Minor)>,
    /// The oldest kubelet for which nothing can be translated.
    required: Option<Minor>,
}

/// The versions that a run can use without a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfflineKubernetes {
    /// The version of a run without a request.
    pub default: Version,
    /// All of them, `default` among them.
    pub all: Vec<Version>,
}

impl WantedKubernetes {
    pub(crate) fn of(traits: &Traits, stated: &Stated, required: Option<Minor>) -> Self {
        let version = traits.cluster.version.as_ref().or(traits.image_version.as_ref());
        let version = version.and_then(|version| minor_of(version));
        let kinds = [DifferenceKind::KubeletField, DifferenceKind::KubeletFlag];
        let rows = kinds.into_iter().flat_map(|kind| newer_than(kind, Minor::OLDEST));
        let needs = rows.filter(|row| has_word(&stated.text, row.name));
        Self {
            stated: version,
            needs: needs
                .filter_map(|row| Some((row.name.to_owned(), row.since?)))
                .collect(),
            required,
        }
    }

    /// The version of the file's cluster, or of its AMI.
    pub(crate) fn stated(&self) -> Option<Minor> {
        self.stated
    }

    /// The version to request, and lines for the report. `None`: the default of a run.
    #[must_use]
    pub fn choose(
        &self,
        file: &str,
        offline: &OfflineKubernetes,
        report: &mut Vec<AdoptionLine>,
    ) -> Option<Version> {
        let needed = self
            .needs
            .iter()
            .map(|(_, since)| *since)
            .chain(self.required)
            .max();
        let fits =
            |version: &&Version| version.is_final() && needed.is_none_or(|needed| needed <= version.minor());
        let chosen = match self.stated {
            Some(stated) => {
                let distance = |version: &&Version| version.minor().number().abs_diff(stated.number());
                let exact = offline
                    .all
                    .iter()
                    .find(|version| version.is_final() && version.minor() == stated);
                exact.or_else(|| offline.all.iter().filter(fits).min_by_key(distance))
            }
            None if needed.is_none_or(|needed| needed <= offline.default.minor()) => None,
            None => offline
                .all
                .iter()
                .filter(fits)
                .max_by_key(|version| version.rank()),
        };
        let runs = chosen.unwrap_or(&offline.default);
        self.describe(file, runs, report);
        chosen.filter(|version| **version != offline.default).cloned()
    }

    fn describe(&self, file: &str, runs: &Version, report: &mut Vec<AdoptionLine>) {
        match self.stated {
            Some(stated) if stated == runs.minor() => {
                let text = format!("Kubernetes {runs}: the file states {stated}");
                line(report, AdoptionKind::Adopted, text);
            }
            Some(stated) => {
                let text = format!(
                    "Kubernetes {runs}: the file states {stated}, which is not available offline; \
                     `nodejoin try {file} --kubernetes {stated}` downloads and tests it"
                );
                line(report, AdoptionKind::OtherVersion, text);
            }
            None if self.needs.is_empty() && self.required.is_none() => {
                let text = format!(
                    "Kubernetes {runs}, as the file states none; `nodejoin try {file} --kubernetes VERSION` tests another, such as \
                     that of your cluster"
                );
                line(report, AdoptionKind::Chosen, text);
            }
            None => {}
        }
        let missing: Vec<&(String, Minor)> = self
            .needs
            .iter()
            .filter(|(_, since)| runs.minor() < *since)
            .collect();
        if self.stated.is_none() && missing.is_empty() && !self.needs.is_empty() {
            let text = format!(
                "Kubernetes {runs}: the user data sets {}",
                names(self.needs.iter())
            );
            line(report, AdoptionKind::Chosen, text);
        }
        if let Some(newest) = missing.iter().map(|(_, since)| *since).max() {
            let text = format!(
                "kubelet {runs} has no {}: the run translates or removes it, and lists what it did; \
                 `nodejoin try {file} --kubernetes {}` downloads and tests it",
                names(missing.into_iter()),
                self.stated.unwrap_or(newest).max(newest)
            );
            line(report, AdoptionKind::Note, text);
        }
        if let Some(required) = self.required.filter(|required| runs.minor() < *required) {
            let text = format!(
                "an IPv6 cluster needs kubelet {required} or newer, and nothing translates it for kubelet {runs}: \
                 this machine is skipped; run `nodejoin try {file} --kubernetes {}`",
                self.stated.unwrap_or(required).max(required)
            );
            line(report, AdoptionKind::Note, text);
        }
    }
}

/// Names an AMI whose kubelet is newer than the cluster.
pub(crate) fn check_image_version(traits: &Traits, report: &mut Vec<AdoptionLine>) {
    let version = |text: &Option<String>| minor_of(text.as_ref()?);
    let versions = version(&traits.image_version).zip(version(&traits.cluster.version));
    if let Some((image, cluster)) = versions.filter(|(image, cluster)| image > cluster) {
        let text = format!(
            "the AMI has Kubernetes {image}, and the cluster {cluster}: Kubernetes does not support a kubelet that is newer than its API \
             server; use an AMI of {cluster}"
        );
        line(report, AdoptionKind::Problem, text);
    }
}

/// The minor release in a version such as `1.33` or `1.33.4`.
pub(super) fn minor_of(text: &str) -> Option<Minor> {
    let whole = text.parse::<Version>().ok().map(|version| version.minor());
    whole.or(text.parse().ok())
}

fn names<'a>(settings: impl Iterator<Item = &'a (String, Minor)>) -> String {
    let names: Vec<String> = settings
        .map(|(name, since)| format!("`{name}` (from {since} on)"))
        .collect();
    names.join(", ")
}

/// Whether a text has this word as the name of a setting.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn offline(versions: &[&str]) -> OfflineKubernetes {
        OfflineKubernetes {
            default: version(versions[0]),
            all: versions.iter().map(|text| version(text)).collect(),
        }
    }

    /// The choice, and the report.
    fn chosen(stated: Option<&str>, text: &str, versions: &[&str]) -> (String, String) {
        let traits = Traits {
            image_version: stated.map(str::to_owned),
            ..Traits::default()
        };
        let wanted = WantedKubernetes::of(&traits, &Stated::of(text.as_bytes()), None);
        let mut report = Vec::new();
        let chosen = wanted.choose("FILE", &offline(versions), &mut report);
        let lines: Vec<String> = report
            .iter()
            .map(|line| format!("{} {}", line.kind, line.text))
            .collect();
        (
            chosen.map(|version| version.to_string()).unwrap_or_default(),
            lines.join("\n"),
        )
    }

    const TAINTS: &str = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: { kubelet: { config: { registerWithTaints: [] } } }\n";

    #[test]
    fn the_version_of_the_file_is_adopted_if_it_is_available() {
        let all = ["v1.20.2", "v1.33.4", "v1.36.0"];
        assert_eq!(
            chosen(Some("1.33"), "", &all),
            (
                "v1.33.4".to_owned(),
                "adopted Kubernetes v1.33.4: the file states 1.33".to_owned()
            )
        );
        let (version, report) = chosen(Some("1.34"), "", &all);
        assert_eq!(version, "v1.33.4");
        assert!(
            report.starts_with(
                "chosen Kubernetes v1.33.4: the file states 1.34, which is not available offline"
            ),
            "{report}"
        );
        assert!(
            report.contains("`nodejoin try FILE --kubernetes 1.34`"),
            "{report}"
        );
        let (version, report) = chosen(None, "", &all);
        assert_eq!(version, "");
        assert!(
            report.starts_with("chosen Kubernetes v1.20.2, as the file states none"),
            "{report}"
        );
    }

    #[test]
    fn a_setting_chooses_a_version_that_has_it() {
        let (version, report) = chosen(None, TAINTS, &["v1.20.2", "v1.22.0", "v1.29.1"]);
        assert_eq!(version, "v1.29.1");
        assert_eq!(
            report,
            "chosen Kubernetes v1.29.1: the user data sets `registerWithTaints` (from 1.23 on)"
        );
        let (version, report) = chosen(
            None,
            "#!/bin/sh\nkubelet --seccomp-default --x-seccomp-default-y\n",
            &["v1.22.0"],
        );
        assert_eq!(version, "");
        assert!(
            report.contains("sets `--seccomp-default` (from 1.22 on)"),
            "{report}"
        );
    }

    #[test]
    fn without_such_a_version_the_report_names_it_and_the_command() {
        let (version, report) = chosen(None, TAINTS, &["v1.20.2"]);
        assert_eq!(version, "");
        assert_eq!(
            report,
            "note kubelet v1.20.2 has no `registerWithTaints` (from 1.23 on): the run translates or removes it, and lists what it \
             did; `nodejoin try FILE --kubernetes 1.23` downloads and tests it"
        );
        let wanted = WantedKubernetes {
            required: Some(Minor::new(26)),
            ..WantedKubernetes::default()
        };
        let mut report = Vec::new();
        assert_eq!(wanted.choose("FILE", &offline(&["v1.20.2"]), &mut report), None);
        assert!(
            report[0]
                .text
                .contains("this machine is skipped; run `nodejoin try FILE --kubernetes 1.26`")
        );
    }
}
