//! Labels, taints and pod capacity in the flags of a kubelet.

use std::collections::BTreeMap;

use super::shell::UNKNOWN;
use crate::machine::{Taint, TaintEffect};
use crate::words::{joined_labels, joined_taints};

/// The flags that state something about the Node.
pub(super) const READ: [&str; 3] = ["--node-labels", "--register-with-taints", "--max-pods"];

/// What the flags of a kubelet state about its Node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KubeletFlags {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) max_pods: Option<u32>,
    /// Values of `--max-pods` that a later one of the same command line replaces.
    pub(crate) replaced_max_pods: Vec<u32>,
    /// Addresses of `--cluster-dns`, which replace those of the kubelet's configuration. Several flags add up.
    pub(crate) dns: Vec<String>,
    /// What cannot be read, in words of a report.
    pub(crate) unclear: Vec<String>,
}

impl KubeletFlags {
    /// Adds the flags of a text, as in `--kubelet-extra-args`. A value that a blank cuts states nothing: the kubelet
    /// takes the word after the blank for a command, and exits.
    pub(crate) fn add(&mut self, text: &str) {
        let mut words = text.split_whitespace().map(without_quotes).peekable();
        while let Some(word) = words.next() {
            if word.starts_with(UNKNOWN) {
                self.unclear
                    .push("flags of the kubelet that only a run of the script shows".to_owned());
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(without_quotes(value))),
                None => (word, None),
            };
            let value = value.or_else(|| words.next_if(|word| !word.starts_with("--")));
            let after = words.next_if(|word| !word.starts_with(['-', UNKNOWN]) && !word.is_empty());
            if let (true, Some(after)) = (READ.contains(&flag), after) {
                let value = shown(value.unwrap_or_default());
                self.unclear.push(format!(
                    "`{flag}={value} {}`: the value has a blank, so the kubelet takes `{}` for a command",
                    shown(after),
                    shown(after)
                ));
                continue;
            }
            match (flag, value) {
                ("--node-labels", Some(value)) => self.labels(value),
                ("--register-with-taints", Some(value)) => self.taints(value),
                ("--max-pods", Some(value)) => self.max_pods(value),
                ("--cluster-dns", Some(value)) => self.dns(value),
                (flag, None) if READ.contains(&flag) => {
                    self.unclear.push(format!("`{flag}` without a value"));
                }
                _ => {}
            }
        }
    }

    /// Removes what other flags state, too; of a label that is what they give it.
    pub(super) fn remove(&mut self, others: &Self) {
        self.labels.retain(|key, _| !others.labels.contains_key(key));
        self.taints.retain(|taint| !others.taints.contains(taint));
        let is_passed = |pods: u32| others.max_pods == Some(pods) || others.replaced_max_pods.contains(&pods);
        self.max_pods = self.max_pods.filter(|pods| !is_passed(*pods));
    }

    /// A sentence for each `--max-pods` that has no effect. `place` says where a flag is.
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
        self.replaced_max_pods.iter().map(sentence).collect()
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
            match label.split_once('=') {
                Some((key, value)) if is_known(label) && is_label(key, value) => {
                    self.labels.insert(key.to_owned(), value.to_owned());
                }
                _ if label.chars().all(|c| c == UNKNOWN) => self
                    .unclear
                    .push("labels in `--node-labels` that only a run of the script shows".to_owned()),
                _ if is_literal(label) => self.unclear.push(format!(
                    "the label `{label}`: it is not valid, and a kubelet that gets it exits"
                )),
                _ => self.unclear.push(format!("the label `{}`", shown(label))),
            }
        }
    }

    /// The last one of several flags counts.
    fn taints(&mut self, value: &str) {
        let replaced: Vec<String> = self.taints.drain(..).map(|taint| taint.to_string()).collect();
        if !replaced.is_empty() {
            self.unclear.push(format!(
                "the taints {} of an earlier `--register-with-taints`: the kubelet takes the last one only",
                replaced.join(", ")
            ));
        }
        for text in value.split(',').filter(|text| !text.is_empty()) {
            match taint(text).filter(|_| is_known(text)) {
                Some(taint) => self.taints.push(taint),
                None if text.chars().all(|c| c == UNKNOWN) => self.unclear.push(
                    "taints in `--register-with-taints` that only a run of the script shows".to_owned(),
                ),
                None if is_literal(text) => self.unclear.push(format!(
                    "the taint `{text}`: it is not `KEY=VALUE:EFFECT`, and a kubelet that gets it exits"
                )),
                None => self.unclear.push(format!("the taint `{}`", shown(text))),
            }
        }
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

/// Reads `key=value:Effect`, whose value may be missing.
pub(crate) fn taint(text: &str) -> Option<Taint> {
    let (pair, effect) = text.rsplit_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let effect = effect_of(effect)?;
    (!key.is_empty()).then(|| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    })
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
        text.len() <= 63
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
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

fn without_quotes(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// Unknown text as it looks in a report.
pub(crate) fn shown(text: &str) -> String {
    text.replace(UNKNOWN, "...")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> KubeletFlags {
        let mut flags = KubeletFlags::default();
        flags.add(text);
        flags
    }

    fn labels(flags: &KubeletFlags) -> String {
        let pairs = flags.labels.iter().map(|(key, value)| format!("{key}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    }

    #[test]
    fn labels_of_a_run_are_not_a_label() {
        let flags = read(&format!(
            "--node-labels={UNKNOWN} --register-with-taints={UNKNOWN}"
        ));
        let only_a_run = "that only a run of the script shows";
        assert_eq!(
            flags.unclear,
            [
                format!("labels in `--node-labels` {only_a_run}"),
                format!("taints in `--register-with-taints` {only_a_run}")
            ]
        );
    }

    #[test]
    fn values_follow_an_equals_sign_or_a_blank() {
        for text in [
            "--node-labels=a.b/c=d,e= --max-pods=58 --register-with-taints=x=y:NoSchedule,z:NoExecute",
            "--v=2 --node-labels \"a.b/c=d,e=\" --max-pods 58 --register-with-taints='x=y:NoSchedule,z:NoExecute'",
        ] {
            let flags = read(text);
            assert_eq!(labels(&flags), "a.b/c=d,e=", "{text}");
            assert_eq!(flags.max_pods, Some(58));
            let taints: Vec<_> = flags.taints.iter().map(Taint::to_string).collect();
            assert_eq!(taints, ["x=y:NoSchedule", "z=:NoExecute"]);
            assert!(flags.unclear.is_empty());
        }
    }

    #[test]
    fn later_flags_add_labels_and_replace_values() {
        let mut flags = read("--node-labels=a=1,b=2 --max-pods=1");
        flags.add("--node-labels=b=3 --max-pods=2");
        assert_eq!((labels(&flags).as_str(), flags.max_pods), ("a=1,b=3", Some(2)));
        let expected = "`--max-pods=1` has no effect: of several, the kubelet takes the last one, which is `--max-pods=2`";
        let replaced = |flags: &KubeletFlags| flags.replaced(&|_| String::new());
        assert_eq!(replaced(&flags), [expected]);
        flags.add("--max-pods=2");
        assert_eq!(replaced(&flags), [expected]);
        flags.add(&format!("--max-pods={UNKNOWN}"));
        assert_eq!((flags.max_pods, replaced(&flags).len()), (None, 2));
    }

    #[test]
    fn a_value_that_a_blank_cuts_states_nothing() {
        for (text, labels_left, unclear) in [
            (
                "--node-labels=team=pay ments --max-pods=5",
                "",
                "`--node-labels=team=pay ments`",
            ),
            (
                "--node-labels=\"team=pay ments\" --max-pods=5",
                "",
                "`--node-labels=team=pay ments`",
            ),
            (
                "--node-labels team=pay, a=b --max-pods 5",
                "",
                "`--node-labels=team=pay, a=b`",
            ),
            (
                "--node-labels=a=b --register-with-taints=t=x :NoSchedule --max-pods=5",
                "a=b",
                "`--register-with-taints=t=x :NoSchedule`",
            ),
        ] {
            let flags = read(text);
            assert_eq!(
                (labels(&flags).as_str(), flags.max_pods),
                (labels_left, Some(5)),
                "{text}"
            );
            assert!(flags.taints.is_empty(), "{text}");
            assert_eq!(flags.unclear.len(), 1, "{text}: {:?}", flags.unclear);
            assert!(flags.unclear[0].starts_with(unclear), "{:?}", flags.unclear);
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_named() {
        let text = format!(
            "--node-labels=id={UNKNOWN},team=web,odd,sp@ce=x --max-pods={UNKNOWN} --register-with-taints=t {UNKNOWN}"
        );
        let flags = read(&text);
        assert_eq!((labels(&flags).as_str(), flags.max_pods), ("team=web", None));
        assert_eq!(
            flags.unclear,
            [
                "the label `id=...`",
                "the label `odd`: it is not valid, and a kubelet that gets it exits",
                "the label `sp@ce=x`: it is not valid, and a kubelet that gets it exits",
                "`--max-pods=...`",
                "the taint `t`: it is not `KEY=VALUE:EFFECT`, and a kubelet that gets it exits",
                "flags of the kubelet that only a run of the script shows"
            ]
        );
    }
}
