//! Labels, taints and pod capacity in the flags of a kubelet.

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::node_labels::is_set_by_kubelets;

use super::feature_gates;
use super::kubelet_flag_names;
use super::shell::UNKNOWN;
use super::systemd_words;
use crate::machine::{Taint, TaintEffect};
use crate::words::{joined_labels, joined_taints};
use mistakes::FlagMistake;

mod mistakes;

/// The flags that state something about the Node.
pub(super) const READ: [&str; 3] = ["--node-labels", "--register-with-taints", "--max-pods"];

/// What the flags of a kubelet state about its Node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KubeletFlags {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) max_pods: Option<u32>,
    /// The value of `--pods-per-core`, which limits the pods further; 0: no limit.
    pub(crate) pods_per_core: Option<PodsPerCore>,
    /// Values of `--max-pods` that a later one of the same command line replaces.
    pub(crate) replaced_max_pods: Vec<u32>,
    /// Taints of a `--register-with-taints`, or of the kubelet's configuration, that a later flag replaces.
    pub(crate) replaced_taints: Vec<Taint>,
    /// Words at which a kubelet exits.
    mistakes: Vec<FlagMistake>,
    /// Addresses of `--cluster-dns`, which replace those of the kubelet's configuration. Several flags add up.
    pub(crate) dns: Vec<String>,
    /// What cannot be read, in words of a report.
    pub(crate) unclear: Vec<String>,
}

/// How many pods a processor may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodsPerCore {
    Number(u32),
    /// Only a run shows it.
    Unknown,
}

impl KubeletFlags {
    /// Adds the flags in the value of a variable, such as `$KUBELET_EXTRA_ARGS`, which systemd splits. A value that a
    /// blank cuts states nothing: the kubelet takes the word after the blank for a command, and exits.
    pub(crate) fn add(&mut self, text: &str) {
        let words = systemd_words::words(text);
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if word.starts_with(UNKNOWN) {
                self.unclear
                    .push("flags of the kubelet that only a run of the script shows".to_owned());
                continue;
            }
            if self.is_without_hyphens(word) {
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word, None),
            };
            self.name(flag, word);
            let value = value.or_else(|| words.next_if(|word| !word.starts_with("--")));
            let after = words.next_if(|word| {
                !word.starts_with(['-', UNKNOWN]) && !word.is_empty() && !is_flag_without_hyphens(word)
            });
            if let (true, Some(after)) = (READ.contains(&flag), after) {
                self.cut_value(&format!("{flag}={}", value.unwrap_or_default()), after);
                continue;
            }
            match (flag, value) {
                ("--node-labels", Some(value)) => self.labels(value),
                ("--register-with-taints", Some(value)) => self.taints(value),
                ("--max-pods", Some(value)) => self.max_pods(value),
                ("--pods-per-core", Some(value)) => self.pods_per_core(value),
                ("--cluster-dns", Some(value)) => self.dns(value),
                ("--feature-gates", Some(value)) => self.feature_gates(value),
                (flag, None) if READ.contains(&flag) => {
                    self.unclear.push(format!("`{flag}` without a value"));
                }
                _ => {}
            }
        }
    }

    /// Checks the name of a flag: a kubelet exits at one that it does not have.
    fn name(&mut self, flag: &str, word: &str) {
        if kubelet_flag_names::is_shorthand(flag) {
            self.add_mistake(FlagMistake::Shorthand(word.to_owned()));
        } else if kubelet_flag_names::is_unknown(flag) {
            let flag = flag.to_owned();
            self.add_mistake(match kubelet_flag_names::meant(&flag) {
                Some(meant) => FlagMistake::Misspelt(flag, meant),
                None => FlagMistake::Unknown(flag),
            });
        }
    }

    fn cut_value(&mut self, flag: &str, after: &str) {
        if is_literal(flag) && is_literal(after) {
            self.add_mistake(FlagMistake::CutValue(flag.to_owned(), after.to_owned()));
            return;
        }
        let (flag, after) = (shown(flag), shown(after));
        self.unclear.push(format!(
            "`{flag} {after}`: the value has a blank, so the kubelet takes `{after}` for a command"
        ));
    }

    /// Whether a blank cuts a value: the rest of it is not one of another flag.
    pub(super) fn has_cut_value(&self) -> bool {
        let mut mistakes = self.mistakes.iter();
        mistakes.any(|mistake| matches!(mistake, FlagMistake::CutValue(..)))
    }

    fn is_without_hyphens(&mut self, word: &str) -> bool {
        let is_one = is_flag_without_hyphens(word);
        if is_one {
            self.add_mistake(FlagMistake::WithoutHyphens(word.to_owned()));
        }
        is_one
    }

    fn add_mistake(&mut self, mistake: FlagMistake) {
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// Flags without effect: taints that others replace, and words without hyphens, or with a single one.
    pub(super) fn lost_flags(&self) -> Vec<String> {
        let words = self.mistakes.iter().filter_map(|mistake| match mistake {
            FlagMistake::WithoutHyphens(word) => Some(format!("--{word}")),
            FlagMistake::Shorthand(word) => Some(format!("-{word}")),
            FlagMistake::Misspelt(..)
            | FlagMistake::Unknown(_)
            | FlagMistake::Gate(..)
            | FlagMistake::UnknownGate(_)
            | FlagMistake::Label(_)
            | FlagMistake::Taint(_)
            | FlagMistake::InvalidLabel(_)
            | FlagMistake::InvalidTaint(_)
            | FlagMistake::EmptyTaint(_)
            | FlagMistake::CutValue(..) => None,
        });
        let taints = (!self.replaced_taints.is_empty())
            .then(|| format!("--register-with-taints={}", joined_taints(&self.replaced_taints)));
        words.chain(taints).collect()
    }

    /// A sentence for each word at which a kubelet exits. `place` says where a text is.
    pub(super) fn mistakes(&self, place: &dyn Fn(&str) -> String) -> Vec<String> {
        self.mistakes
            .iter()
            .map(|mistake| mistake.sentence(place))
            .collect()
    }

    /// Removes what other flags state, too; of a label that is what they give it.
    pub(super) fn remove(&mut self, others: &Self) {
        self.labels.retain(|key, _| !others.labels.contains_key(key));
        self.taints.retain(|taint| !others.taints.contains(taint));
        let is_passed = |pods: u32| others.max_pods == Some(pods) || others.replaced_max_pods.contains(&pods);
        self.max_pods = self.max_pods.filter(|pods| !is_passed(*pods));
    }

    /// A sentence for each `--max-pods` and for taints that have no effect. `place` says where a flag is.
    pub(super) fn replaced(&self, place: &dyn Fn(&str) -> String) -> Vec<String> {
        let last = self.max_pods.map_or_else(
            || "is read in a run only".to_owned(),
            |pods| format!("is `--max-pods={pods}`"),
        );
        let sentence = |pods: &u32| {
            let place = place(&format!("--max-pods={pods}"));
            format!(
                "`--max-pods={pods}`{place} has no effect: of several, the kubelet takes the last one, which {last}"
            )
        };
        let taints = (!self.replaced_taints.is_empty()).then(|| {
            let taints = joined_taints(&self.replaced_taints);
            let place = place(&format!("--register-with-taints={taints}"));
            format!(
                "the taints `{taints}`{place} have no effect: the kubelet takes those of the last `--register-with-taints` only; write all \
                 into one"
            )
        });
        self.replaced_max_pods
            .iter()
            .map(sentence)
            .chain(taints)
            .collect()
    }

    /// The flags that state this.
    pub(super) fn as_arguments(&self) -> Vec<String> {
        let labels =
            (!self.labels.is_empty()).then(|| format!("--node-labels={}", joined_labels(&self.labels)));
        let taints = (!self.taints.is_empty())
            .then(|| format!("--register-with-taints={}", joined_taints(&self.taints)));
        let pods = self.max_pods.map(|pods| format!("--max-pods={pods}"));
        [labels, taints, pods].into_iter().flatten().collect()
    }

    fn labels(&mut self, value: &str) {
        for label in value.split(',').filter(|label| !label.is_empty()) {
            // `spot` is `spot=`, and blanks around the words do not count (`ConfigurationMap.Set` in
            // component-base/cli/flag).
            let (key, value) = label.split_once('=').unwrap_or((label, ""));
            let (key, value) = (key.trim(), value.trim());
            if is_known(label) && is_label(key, value) {
                if !is_set_by_kubelets(key) {
                    self.add_mistake(FlagMistake::Label(label.to_owned()));
                }
                self.labels.insert(key.to_owned(), value.to_owned());
            } else if label.chars().all(|c| c == UNKNOWN) {
                self.unclear
                    .push("labels in `--node-labels` that only a run of the script shows".to_owned());
            } else if is_literal(label) {
                self.add_mistake(FlagMistake::InvalidLabel(label.to_owned()));
            } else {
                self.unclear.push(format!("the label `{}`", shown(label)));
            }
        }
    }

    /// The last one of several flags counts.
    fn taints(&mut self, value: &str) {
        let replaced = std::mem::take(&mut self.taints);
        let has_empty = !value.is_empty() && value.split(',').any(str::is_empty);
        if has_empty && is_literal(value) {
            self.add_mistake(FlagMistake::EmptyTaint(value.to_owned()));
        }
        for text in value.split(',').filter(|text| !text.is_empty()) {
            match taint(text).filter(|_| is_known(text)) {
                Some(taint) => self.taints.push(taint),
                None if text.chars().all(|c| c == UNKNOWN) => self.unclear.push(
                    "taints in `--register-with-taints` that only a run of the script shows".to_owned(),
                ),
                // A hyphen at its end removes a taint.
                None if text.ends_with('-') => self.unclear.push(format!("the taint `{}`", shown(text))),
                None if is_literal(text) && has_other_effect(text) => {
                    self.add_mistake(FlagMistake::Taint(text.to_owned()));
                }
                None if is_literal(text) => {
                    self.add_mistake(FlagMistake::InvalidTaint(text.to_owned()));
                }
                None => self.unclear.push(format!("the taint `{}`", shown(text))),
            }
        }
        let is_lost = |taint: &Taint| !self.taints.contains(taint);
        let lost: Vec<Taint> = replaced.into_iter().filter(is_lost).collect();
        self.replaced_taints.extend(lost);
    }

    fn dns(&mut self, value: &str) {
        if !is_literal(value) {
            self.unclear.push(format!("`--cluster-dns={}`", shown(value)));
        }
        self.dns.extend(value.split(',').map(str::to_owned));
    }

    /// The addresses of `--cluster-dns`; none if only a run shows one of them. `None`: without the flag.
    pub(super) fn cluster_dns(&self) -> Option<Vec<String>> {
        let is_known = self.dns.iter().all(|address| is_literal(address));
        (!self.dns.is_empty()).then(|| if is_known { self.dns.clone() } else { Vec::new() })
    }

    fn pods_per_core(&mut self, value: &str) {
        let number = value.parse().ok();
        self.pods_per_core = Some(number.map_or(PodsPerCore::Unknown, PodsPerCore::Number));
        if number.is_none() {
            self.unclear.push(format!("`--pods-per-core={}`", shown(value)));
        }
    }

    fn feature_gates(&mut self, value: &str) {
        for pair in value.split(',').filter(|pair| is_literal(pair)) {
            let (gate, _) = pair.split_once('=').unwrap_or((pair, ""));
            if let Some(meant) = feature_gates::meant(gate) {
                self.add_mistake(FlagMistake::Gate(gate.to_owned(), meant));
            } else if feature_gates::is_unknown(gate) {
                self.add_mistake(FlagMistake::UnknownGate(gate.to_owned()));
            }
        }
    }

    fn max_pods(&mut self, value: &str) {
        let earlier = self.max_pods.take();
        match value.parse() {
            Ok(number) => {
                self.replaced_max_pods
                    .extend(earlier.filter(|earlier| *earlier != number));
                self.max_pods = Some(number);
            }
            Err(_) => {
                self.replaced_max_pods.extend(earlier);
                self.unclear.push(format!("`--max-pods={}`", shown(value)));
            }
        }
    }
}

/// Whether a word is a flag of the kubelet without its hyphens, such as `max-pods=20`.
fn is_flag_without_hyphens(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.starts_with('-') && kubelet_flag_names::is_known(&format!("--{name}")))
}

/// Reads `key=value:Effect`, whose value may be missing. Another colon or equals sign is not valid, and key and value
/// are those of a label (`parseTaint` in pkg/util/taints).
pub(crate) fn taint(text: &str) -> Option<Taint> {
    let (pair, effect) = text.split_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let effect = effect_of(effect)?;
    is_label(key, value).then(|| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    })
}

/// Whether a taint has an effect that Kubernetes does not have: a kubelet exits at it (`parseTaint` in
/// pkg/util/taints).
fn has_other_effect(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(_, effect)| effect_of(effect).is_none())
}

/// The effect with this name in Kubernetes.
pub(crate) fn effect_of(name: &str) -> Option<TaintEffect> {
    let all = [
        TaintEffect::NoSchedule,
        TaintEffect::PreferNoSchedule,
        TaintEffect::NoExecute,
    ];
    all.into_iter().find(|effect| effect.to_string() == name)
}

/// Names and values that Kubernetes allows. A kubelet refuses others, and then no Node has them.
fn is_label(key: &str, value: &str) -> bool {
    let is_name = |text: &str| {
        let is_sign = |c: char| "-_.".contains(c);
        text.len() <= 63
            && !text.starts_with(is_sign)
            && !text.ends_with(is_sign)
            && text.chars().all(|c| c.is_ascii_alphanumeric() || is_sign(c))
    };
    let name = key.rsplit('/').next().unwrap_or_default();
    !name.is_empty() && is_name(name) && is_name(value)
}

/// Whether neither a shell nor a template replaces a part of a text.
fn is_literal(text: &str) -> bool {
    is_known(text) && !text.contains(['$', '{', '<', '`'])
}

fn is_known(text: &str) -> bool {
    !text.contains(UNKNOWN)
}

/// Unknown text as it looks in a report.
pub(crate) fn shown(text: &str) -> String {
    text.replace(UNKNOWN, "...")
}

#[cfg(test)]
mod tests;
