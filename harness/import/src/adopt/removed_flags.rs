//! Flags and feature gates that newer kubelets do not have any more, and at which they exit.

use std::collections::BTreeSet;

use nodejoin_core::kubernetes::{DifferenceKind, Minor, difference, has_in_tree_aws};

use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::systemd_words;
use super::versions::minor_of;
use crate::machine::Traits;

const ARGUMENTS: &str = "--kubelet-extra-args";
const CLOUD_PROVIDER: &str = "--cloud-provider=aws";

/// What a kubelet gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum KubeletWord {
    /// A flag, with its value if it has one.
    Flag(String),
    Gate(String),
}

/// Names what the kubelet of the file's version does not have, or the last version that has it if the file states none.
pub(super) fn note_removed(
    traits: &Traits,
    stated: &Stated,
    place: &dyn Fn(&str) -> String,
    report: &mut Vec<AdoptionLine>,
) {
    // The kubelet is that of the AMI.
    let version = traits.image_version.as_ref().or(traits.cluster.version.as_ref());
    let version = version.and_then(|version| minor_of(version));
    for word in words(stated) {
        let Some(last) = word.last_version() else { continue };
        let (what, at) = (word.shown(), place(word.text()));
        match version {
            Some(version) if last < version => {
                let text = format!(
                    "kubelet {version}, which the file states, has no {what}{at} and exits at it: kubelets up to {last} have it; remove it"
                );
                line(report, AdoptionKind::Problem, text);
            }
            None => {
                let text = format!("kubelets after {last} have no {what}{at} and exit at it");
                line(report, AdoptionKind::Note, text);
            }
            Some(_) => {}
        }
    }
}

/// The words of the calls and of the NodeConfigs.
fn words(stated: &Stated) -> BTreeSet<KubeletWord> {
    let of_calls = stated.calls.iter().filter_map(|call| call.values.get(ARGUMENTS));
    let texts = of_calls.chain(&stated.configs.kubelet_words);
    let all: Vec<String> = texts.flat_map(|text| systemd_words::words(text)).collect();
    let mut all = all.iter().map(String::as_str).peekable();
    let mut words: BTreeSet<KubeletWord> = stated
        .configs
        .gates
        .iter()
        .cloned()
        .map(KubeletWord::Gate)
        .collect();
    while let Some(word) = all.next() {
        if !word.starts_with("--") {
            continue;
        }
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, all.next_if(|next| !next.starts_with('-'))),
        };
        // The kubelet takes an underscore for a hyphen.
        let flag = flag.replace('_', "-");
        if let ("--feature-gates", Some(gates)) = (flag.as_str(), value) {
            let gates = gates.split(',').filter_map(|gate| gate.split('=').next());
            words.extend(gates.map(|gate| KubeletWord::Gate(gate.to_owned())));
        }
        words.insert(KubeletWord::Flag(match value {
            Some(value) => format!("{flag}={value}"),
            None => flag,
        }));
    }
    words
}

impl KubeletWord {
    fn text(&self) -> &str {
        match self {
            Self::Flag(text) | Self::Gate(text) => text,
        }
    }

    fn name(&self) -> &str {
        self.text().split('=').next().unwrap_or_default()
    }

    fn shown(&self) -> String {
        match self {
            Self::Flag(text) if text == CLOUD_PROVIDER => {
                format!("provider for AWS in `{CLOUD_PROVIDER}`")
            }
            Self::Flag(_) => format!("flag `{}`", self.name()),
            Self::Gate(gate) => format!("feature gate `{gate}`"),
        }
    }

    /// The last version that has it; `None`: the newest one has.
    fn last_version(&self) -> Option<Minor> {
        let kind = match self {
            Self::Flag(text) if text == CLOUD_PROVIDER => return last_with_provider(),
            Self::Flag(_) => DifferenceKind::KubeletFlag,
            Self::Gate(_) => DifferenceKind::KubeletGate,
        };
        difference(kind, self.name())?.until
    }
}

fn last_with_provider() -> Option<Minor> {
    let mut newest_first = (Minor::OLDEST.number()..=Minor::NEWEST.number())
        .rev()
        .map(Minor::new);
    newest_first.find(|minor| has_in_tree_aws(*minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(version: Option<&str>, text: &str) -> String {
        let traits = Traits {
            image_version: version.map(str::to_owned),
            ..Traits::default()
        };
        let mut report = Vec::new();
        note_removed(
            &traits,
            &Stated::of(text.as_bytes()),
            &|_| String::new(),
            &mut report,
        );
        let texts: Vec<String> = report.into_iter().map(|line| line.text).collect();
        texts.join("\n")
    }

    fn call(arguments: &str) -> String {
        format!(
            "#!/bin/bash\n/etc/eks/bootstrap.sh demo --container-runtime containerd --kubelet-extra-args '{arguments}'\n"
        )
    }

    #[test]
    fn a_flag_that_the_version_of_the_file_lacks_is_named() {
        let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags: [--container-runtime=remote]\n";
        let note = "kubelet 1.31, which the file states, has no flag `--container-runtime` and exits at it: kubelets up to 1.26 have it; \
                    remove it";
        assert_eq!(notes(Some("1.31"), config), note);
        assert_eq!(notes(Some("1.31"), &call("--container-runtime remote")), note);
        assert_eq!(
            notes(Some("1.30"), &call("--cloud-provider=aws")),
            "kubelet 1.30, which the file states, has no provider for AWS in `--cloud-provider=aws` and exits at it: kubelets \
             up to 1.26 have it; remove it"
        );
        assert_eq!(
            notes(None, config),
            "kubelets after 1.26 have no flag `--container-runtime` and exit at it"
        );
    }

    #[test]
    fn a_removed_gate_is_named() {
        let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      featureGates: { CSIMigrationAWS: true }\n";
        for text in [
            config.to_owned(),
            call("--feature-gates=CSIMigrationAWS=true,NodeSwap=true"),
            call("--feature-gates=\"CSIMigrationAWS=true\",\"NodeSwap=true\""),
        ] {
            let notes = notes(Some("1.31"), &text);
            assert!(notes.contains("has no feature gate `CSIMigrationAWS`"), "{notes}");
            assert!(!notes.contains("NodeSwap"), "{notes}");
        }
    }

    #[test]
    fn gates_of_features_that_every_newer_kubelet_has_are_named() {
        let gates = [
            ("EphemeralContainers", "1.26"),
            ("IPv6DualStack", "1.24"),
            ("TTLAfterFinished", "1.24"),
        ];
        for (gate, last) in gates {
            let found = notes(None, &call(&format!("--feature-gates={gate}=true")));
            assert_eq!(
                found,
                format!("kubelets after {last} have no feature gate `{gate}` and exit at it")
            );
        }
    }

    #[test]
    fn what_the_version_has_is_not_named() {
        for arguments in [
            "--container-runtime=remote --cloud-provider=aws --feature-gates=CSIMigrationAWS=true",
            "--node-labels=a=b",
        ] {
            assert_eq!(notes(Some("1.26"), &call(arguments)), "", "{arguments}");
        }
        for arguments in [
            "--cloud-provider=external --container-runtime-endpoint=unix:///x",
            "--v=2",
        ] {
            assert_eq!(notes(Some("1.31"), &call(arguments)), "", "{arguments}");
            assert_eq!(notes(None, &call(arguments)), "", "{arguments}");
        }
        let printed =
            "#!/bin/bash\n# --container-runtime=remote\nfluentd --log-file=/x\n/etc/eks/bootstrap.sh demo\n";
        assert_eq!(notes(Some("1.31"), printed), "");
    }
}
