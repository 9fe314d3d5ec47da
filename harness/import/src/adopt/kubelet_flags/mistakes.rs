//! Words in the flags of a kubelet at which it exits.

use nodejoin_core::kubernetes::FLAGS_UNTIL;

use crate::adopt::feature_gates;
use crate::adopt::kubelet_fields;

/// A word at which a kubelet exits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FlagMistake {
    /// A misspelt flag, and the one that it means.
    Misspelt(String, &'static str),
    /// A flag that no version has.
    Unknown(String),
    /// A flag with a single hyphen, such as `-max-pods=20`.
    Shorthand(String),
    /// A misspelt feature gate, and the one that it means.
    Gate(String, &'static str),
    /// A feature gate that no version is known to have.
    UnknownGate(String),
    /// A flag without its hyphens, such as `max-pods=20`.
    WithoutHyphens(String),
    /// A label of Kubernetes' own domains that a kubelet may not set.
    Label(String),
    /// A taint with an effect that Kubernetes does not have.
    Taint(String),
    /// A label whose name or value Kubernetes does not allow.
    InvalidLabel(String),
    /// A taint without an effect, or with too many signs.
    InvalidTaint(String),
    /// Taints with an empty one among them.
    EmptyTaint(String),
    /// A flag with a part of its value, and the word behind the blank in the value.
    CutValue(String, String),
}

impl FlagMistake {
    /// What the kubelet does, and what to write. `place` says where a text is.
    pub(super) fn sentence(&self, place: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Misspelt(flag, meant) => {
                let place = place(flag);
                format!("the kubelet has no flag `{flag}`{place} and exits at it; did you mean `{meant}`?")
            }
            Self::Unknown(flag) => {
                let place = place(flag);
                let field = kubelet_fields::of_flag(flag);
                let field = field.map(|field| format!("; set the field `{field}` of their configuration"));
                let field = field.unwrap_or_default();
                format!(
                    "kubelets from 1.20 to {FLAGS_UNTIL} have no flag `{flag}`{place} and exit at it{field}"
                )
            }
            Self::Shorthand(word) => {
                let place = place(word);
                format!(
                    "the kubelet takes the letters of `{word}`{place} for flags and exits; write `-{word}`"
                )
            }
            Self::Gate(gate, meant) => feature_gates::sentence(gate, meant, &place(gate)),
            Self::UnknownGate(gate) => feature_gates::sentence_of_unknown(gate, &place(gate)),
            Self::WithoutHyphens(word) => {
                let place = place(word);
                format!("the kubelet takes `{word}`{place} for a command and exits; write `--{word}`")
            }
            Self::Label(label) => {
                let place = place(label);
                format!(
                    "a kubelet may not set the label `{label}`{place} and exits at it; use your own domain or `node.kubernetes.io/`, and \
                     set such labels from the control plane (kubectl label node)"
                )
            }
            Self::Taint(taint) => {
                let place = place(taint);
                format!(
                    "a kubelet exits at the taint `{taint}`{place}: its effect is neither `NoSchedule` nor `PreferNoSchedule` nor \
                     `NoExecute`"
                )
            }
            // Kubelets before 1.25 send such a label (kubernetes#109263), those before 1.23 a taint of a key alone.
            Self::InvalidLabel(label) => {
                let place = place(label);
                format!(
                    "the label `{label}`{place} is not valid: a kubelet exits at it, or the API server refuses its Node"
                )
            }
            Self::InvalidTaint(taint) => {
                let place = place(taint);
                format!(
                    "the taint `{taint}`{place} is not `KEY=VALUE:EFFECT`: a kubelet exits at it, or the API server refuses its Node"
                )
            }
            Self::EmptyTaint(taints) => {
                let place = place(taints);
                format!(
                    "a kubelet exits at the taints `{taints}`{place}: one of them is empty; remove the comma"
                )
            }
            Self::CutValue(flag, after) => {
                let place = place(flag);
                format!(
                    "the value of `{flag} {after}`{place} has a blank: the kubelet takes `{after}` for a command and exits"
                )
            }
        }
    }
}
