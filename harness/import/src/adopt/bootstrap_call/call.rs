//! A call of the bootstrap script: its arguments, and the flags that the shell does not pass to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::adopt::kubelet_flags::READ;
use crate::adopt::shell::UNKNOWN;

/// The flag with arguments of the kubelet.
pub(super) const ARGUMENTS: &str = "--kubelet-extra-args";
/// Flags of the scripts of all eras.
pub(crate) const FLAGS: &[&str] = &[
    "--apiserver-endpoint",
    "--aws-api-retry-attempts",
    "--b64-cluster-ca",
    "--cluster-id",
    "--container-runtime",
    "--containerd-config-file",
    "--dns-cluster-ip",
    "--docker-config-json",
    "--enable-docker-bridge",
    "--enable-local-outpost",
    "--help",
    "--ip-family",
    "--kubelet-extra-args",
    "--local-disks",
    "--mount-bpf-fs",
    "--pause-container-account",
    "--pause-container-version",
    "--service-ipv4-cidr",
    "--service-ipv6-cidr",
    "--use-max-pods",
];

/// Flags by which a call means the name of the cluster, which has none.
pub(super) const OF_THE_NAME: &[&str] = &["--cluster-name", "--clustername", "--eks-cluster-name", "--name"];

/// What a backslash before a carriage return quotes.
const QUOTED_RETURN: &str = "\r";

/// A call of `/etc/eks/bootstrap.sh`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BootstrapCall {
    /// The first word that is not a flag.
    pub(crate) cluster: Option<String>,
    /// Values of flags, or of the variables that are their defaults.
    pub(crate) values: BTreeMap<String, String>,
    /// Flags of the command line.
    pub(crate) flags: BTreeSet<String>,
    /// Words such as `--flag=value`.
    pub(super) joined: BTreeSet<String>,
    /// Flags that the command line has more than once.
    pub(super) repeated: BTreeSet<String>,
    /// A flag behind the name of the cluster, without a blank between them.
    pub(super) glued: Option<String>,
    /// Arguments of the kubelet that a later flag of the call replaces.
    pub(super) replaced: Vec<String>,
    /// The first word that is neither a flag nor its value, if it is before the name of the cluster, such as
    /// `--max-pods=20`: the script takes it for the name.
    pub(super) as_name: Option<String>,
    /// Whether only a run shows some of its arguments, such as `"$@"`.
    pub(crate) is_open: bool,
    /// Flags that the shell does not pass to the script.
    pub(super) cut: Vec<CutFlag>,
    /// The lines of the script, from 1, with its first word and with its end.
    pub(super) lines: (usize, usize),
}

impl BootstrapCall {
    /// The script takes each word that it does not know for a positional one, such as `--flag=value`, and the first
    /// of them for the name of the cluster.
    pub(super) fn arguments(&mut self, words: &[String]) {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            self.is_open |= word.chars().all(|c| c == UNKNOWN);
            if word == QUOTED_RETURN || is_short(word) {
                self.as_name.get_or_insert_with(|| word.clone());
            } else if word.starts_with("--") {
                let is_known = FLAGS.contains(&word.as_str());
                if !is_known && self.cluster.is_none() {
                    self.as_name.get_or_insert_with(|| word.clone());
                }
                if word.contains('=') {
                    self.joined.insert(word.clone());
                    continue;
                }
                let is_repeated = !self.flags.insert(word.clone());
                if is_repeated {
                    self.repeated.insert(word.clone());
                }
                let value = words.next_if(|value| is_known || !FLAGS.contains(&value.as_str()));
                self.value(word, value.filter(|value| *value != QUOTED_RETURN), is_repeated);
            } else if self.cluster.is_none() {
                let glued = FLAGS
                    .iter()
                    .find_map(|flag| Some((flag, word.strip_suffix(flag)?)));
                self.cluster = Some(glued.map_or(word.as_str(), |(_, name)| name).to_owned());
                if let Some((flag, _)) = glued {
                    self.glued = Some((*flag).to_owned());
                    // The value of the flag.
                    words.next();
                }
            }
        }
    }

    fn value(&mut self, flag: &str, value: Option<&String>, is_repeated: bool) {
        let Some(value) = value else { return };
        if OF_THE_NAME.contains(&flag) && self.cluster.is_none() {
            self.cluster = Some(value.clone());
            return;
        }
        let old = self.values.insert(flag.to_owned(), value.clone());
        self.replaced
            .extend(old.filter(|_| is_repeated && flag == ARGUMENTS));
    }

    /// The numbers of the lines of the script with the call, from 1.
    pub(crate) fn line_numbers(&self) -> RangeInclusive<usize> {
        self.lines.0..=self.lines.1
    }

    /// Whether the script can ask EKS for the cluster, whose network then takes the place of one in flags. It does
    /// without an endpoint or a certificate authority.
    pub(crate) fn may_describe(&self) -> bool {
        let is_missing = |flag: &&str| self.values.get(*flag).is_none_or(String::is_empty);
        self.is_open
            || ["--apiserver-endpoint", "--b64-cluster-ca"]
                .iter()
                .any(is_missing)
    }

    /// Forgets the flags in lines behind the call, which may be text of another kind.
    pub(crate) fn forget_cut_flags(&mut self) {
        self.cut.clear();
    }

    /// Arguments for the kubelet that the script does not pass to it.
    pub(crate) fn lost_flags(&self) -> Vec<String> {
        let unknown = self
            .values
            .iter()
            .filter(|(flag, _)| !FLAGS.contains(&flag.as_str()));
        let unknown = unknown.map(|(flag, value)| match value.starts_with("--") {
            true => value.clone(),
            false => format!("{flag}={value}"),
        });
        let joined = self.joined.iter().map(|word| match word.split_once('=') {
            Some((flag, value)) if value.starts_with("--") && !READ.contains(&flag) => value.to_owned(),
            _ => word.clone(),
        });
        unknown
            .chain(joined)
            .chain(self.replaced.iter().cloned())
            .chain(self.cut.iter().flat_map(|cut| cut.arguments.iter().cloned()))
            .collect()
    }
}

/// Whether a word is a flag of one letter, which the script takes for a positional argument.
fn is_short(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// A flag that the shell runs as a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutFlag {
    /// The first word of the line.
    pub(super) flag: String,
    /// The line, from 1, and the one that ends the command before it.
    pub(super) line: usize,
    pub(super) end: usize,
    pub(super) why: WhyCut,
    /// Arguments of the kubelet in the line.
    pub(super) arguments: Vec<String>,
}

/// Why a command ends before the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhyCut {
    /// The line does not end with a backslash.
    NoBackslash,
    /// A blank follows the backslash.
    Blank,
    /// A carriage return follows the backslash, and cloud-init does not remove it.
    CarriageReturn,
    /// The line is empty, and the one before it ends with a backslash.
    Empty,
    /// The line is a comment, which no backslash continues.
    Comment,
    /// A comment in the line contains its backslash.
    InComment,
}

impl WhyCut {
    pub(super) fn of(line: &str) -> Self {
        let code = line.trim();
        match code {
            "" => Self::Empty,
            _ if code.starts_with('#') => Self::Comment,
            _ if !code.ends_with('\\') => Self::NoBackslash,
            _ if line.ends_with('\\') => Self::InComment,
            _ if line.ends_with("\\\r") => Self::CarriageReturn,
            _ => Self::Blank,
        }
    }
}
