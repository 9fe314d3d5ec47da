//! What NodeConfigs state about cluster and node.

use nodejoin_core::user_data::Part;
use nodejoin_core::vocabulary::nearest::nearest;

use super::kubelet_fields;
use super::kubelet_flags::KubeletFlags;
use super::mistyped_parts::NODE_CONFIG;
use super::systemd_words::value_of_environment_file;
use super::yaml_documents::{YamlDocument, documents};
use crate::machine::Taint;
use crate::source_lines::SourceLines;
use crate::tree::{Tree, yaml};
use lost_fields::{lose, place_of, taint};
use merged_config::MergedConfig;
use types::CONFIG;

mod cluster_fields;
mod containerd;
mod kubelet_values;
mod lost_fields;
mod merged_config;
mod misspelt_spec;
mod quantities;
mod replaced_values;
mod together;
mod types;
mod values;

/// All NodeConfigs of user data, merged as nodeadm does: later values win, flags accumulate.
#[derive(Debug, Default)]
pub(crate) struct NodeConfigs {
    pub(crate) flags: KubeletFlags,
    pub(crate) dns: Vec<String>,
    pub(crate) cidr: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) name: Option<String>,
    /// The id of a local cluster on an Outpost.
    pub(crate) id: Option<String>,
    pub(crate) is_on_outpost: bool,
    /// Whether the node's name is the instance id, and not the private DNS name.
    pub(crate) is_named_by_instance_id: bool,
    pub(crate) is_any: bool,
    /// The flags of the kubelet, as they are written, and the names of its feature gates.
    pub(crate) kubelet_words: Vec<String>,
    pub(crate) gates: Vec<String>,
    /// From what nodeadm computes the number of pods.
    pub(crate) max_pods_expression: Option<String>,
    /// The number of pods in a flag, and in the configuration of the kubelet.
    flag_max_pods: Option<u32>,
    config_max_pods: Option<u32>,
    /// Whether a flag states taints.
    has_flag_taints: bool,
    /// The limit of pods for each processor; `None` or 0: none.
    pub(crate) pods_per_core: Option<u32>,
    /// What nodeadm or the kubelet ignores or rejects, each with what to do.
    pub(crate) ignored: Vec<String>,
    /// Flags of the kubelet in such fields, and settings with which a flag is equal.
    pub(crate) lost_flags: Vec<String>,
    merged: MergedConfig,
}

/// The fields of a NodeConfig whose fields are known, from nodeadm's api/v1alpha1.
const FIELDS: [(&str, &[&str]); 7] = [
    ("", &["apiVersion", "kind", "metadata", "spec", "status"]),
    (
        "spec",
        &["cluster", "containerd", "instance", "kubelet", "featureGates"],
    ),
    (
        "spec.cluster",
        &[
            "name",
            "apiServerEndpoint",
            "certificateAuthority",
            "cidr",
            "enableOutpost",
            "id",
        ],
    ),
    ("spec.kubelet", &["config", "flags", "maxPodsExpression"]),
    ("spec.containerd", &["config", "baseRuntimeSpec"]),
    ("spec.instance", &["localStorage", "environment", "network"]),
    (
        "spec.instance.localStorage",
        &["strategy", "mountPath", "disabledMounts"],
    ),
];

/// What a message calls a NodeConfig whose line it cannot find in the user data.
const DOCUMENT: &str = "the NodeConfig";

impl NodeConfigs {
    /// Adds the first document of a text, as nodeadm does; others have no effect.
    pub(crate) fn add(&mut self, text: &str, lines: &SourceLines<'_>) {
        let mut documents = documents(text).into_iter();
        let Some(first) = documents.next() else { return };
        let first = match yaml(first.text) {
            Ok(first) => first.into_iter().next().filter(is_node_config),
            Err(error) => {
                let place = error.line().map(|line| lines.place(text, line, DOCUMENT));
                let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
                self.ignored.push(format!(
                    "nodeadm rejects the NodeConfig: {place}{}",
                    error.problem()
                ));
                self.flags
                    .unclear
                    .push("what the NodeConfig states: its YAML is invalid".to_owned());
                return;
            }
        };
        if let Some(first) = &first {
            self.is_any = true;
            self.document(first, text, lines);
            if let Some(meant) = misspelt_spec::meant(first) {
                self.unread(&meant, text, lines);
            }
        }
        for later in documents {
            self.later_document(later, first.is_some(), text, lines);
        }
    }

    fn later_document(
        &mut self,
        later: YamlDocument<'_>,
        is_first_read: bool,
        text: &str,
        lines: &SourceLines<'_>,
    ) {
        let document = yaml(later.text).ok().and_then(|found| found.into_iter().next());
        let Some(document) = document.filter(is_node_config) else {
            return;
        };
        let place = lines.place(text, later.line, DOCUMENT);
        self.ignored.push(match is_first_read {
            true => format!(
                "nodeadm reads only the first YAML document of a text: the NodeConfig in {place} has no effect; merge it with the first \
                 one, or give it a MIME part of its own"
            ),
            false => format!(
                "nodeadm rejects the text with the NodeConfig in {place}: it reads only the first YAML document, which is not a \
                 NodeConfig; remove what stands before it"
            ),
        });
        self.unread(&document, later.text, lines);
    }

    /// Adds the NodeConfig in a part of another type, which nodeadm does not read.
    pub(crate) fn add_mistyped(&mut self, part: &Part, lines: &SourceLines<'_>) {
        let (name, mime) = (&part.name, &part.mime);
        self.add_unread(part, lines, |place| {
            format!(
                "{name} is a NodeConfig ({place}), and its type is `{mime}`: nodeadm reads only parts with the header \
                 `Content-Type: {NODE_CONFIG}`"
            )
        });
    }

    /// Adds the NodeConfig in a message inside of the message, which nodeadm does not read.
    pub(crate) fn add_inner(&mut self, part: &Part, lines: &SourceLines<'_>) {
        self.add_unread(part, lines, |place| {
            format!(
                "the NodeConfig in {place} is in a MIME message that is a part itself: nodeadm reads only the parts of the outer \
                 message and does not find it; move its part to the outer message"
            )
        });
    }

    fn add_unread(&mut self, part: &Part, lines: &SourceLines<'_>, note: impl Fn(&str) -> String) {
        let text = String::from_utf8_lossy(&part.content);
        let documents = documents(&text);
        let Some(first) = documents.first() else { return };
        let document = yaml(first.text).ok().and_then(|found| found.into_iter().next());
        let place = lines.place(&text, first.line, DOCUMENT);
        self.ignored.push(note(&place));
        if let Some(document) = document {
            self.unread(&document, &text, lines);
        }
    }

    /// What a NodeConfig states that nodeadm does not read: its cluster is the one that its author means, and the Node
    /// lacks the rest.
    fn unread(&mut self, document: &Tree, text: &str, lines: &SourceLines<'_>) {
        let mut unread = Self::default();
        unread.document(document, text, lines);
        let keep = |known: &mut Option<String>, of_unread| *known = known.take().or(of_unread);
        keep(&mut self.name, unread.name);
        keep(&mut self.endpoint, unread.endpoint);
        keep(&mut self.authority, unread.authority);
        keep(&mut self.cidr, unread.cidr);
        self.is_any = true;
        self.lost_flags.append(&mut unread.flags.as_arguments());
        self.lost_flags.append(&mut unread.lost_flags);
        self.ignored.append(&mut unread.ignored);
    }

    /// Finds the fields that nodeadm, or the kubelet, ignores.
    fn unknown_fields(&mut self, document: &Tree, text: &str, lines: &SourceLines<'_>) {
        for (path, known) in FIELDS {
            let keys: Vec<&str> = path.split('.').filter(|key| !key.is_empty()).collect();
            let fields = document.at(&keys).map(Tree::entries).unwrap_or_default();
            for (key, value) in fields.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
                let place = FIELDS.iter().find(|(_, fields)| fields.contains(&key.as_str()));
                let of_kubelet = || kubelet_fields::is_field(key).then(|| format!("{CONFIG}.{key}"));
                let near = || nearest(key, known.iter().copied()).map(|near| joined(path, near));
                let meant = place.map(|(place, _)| joined(place, key));
                let meant = meant.or_else(|| cluster_fields::meant(path, key));
                let meant = meant.or_else(|| place_of(key)).or_else(of_kubelet).or_else(near);
                let line = line_of(text, key, value).map(|line| lines.place(text, line, DOCUMENT));
                let end = cluster_fields::end_without(document, meant.as_deref());
                let note = ignored("nodeadm", path, key, line, meant);
                self.ignored.push(note + &end);
                lose(key, value, &mut self.lost_flags);
            }
        }
        let settings = document
            .at(&["spec", "kubelet", "config"])
            .map(Tree::entries)
            .unwrap_or_default();
        for (key, value) in settings {
            // A whole KubeletConfiguration is valid, too.
            if kubelet_fields::is_field(key) || ["apiVersion", "kind"].contains(&key.as_str()) {
                continue;
            }
            let near = kubelet_fields::meant(key);
            let meant = near.map(|near| joined(CONFIG, near)).or_else(|| place_of(key));
            let line = line_of(text, key, value).map(|line| lines.place(text, line, DOCUMENT));
            self.ignored
                .push(ignored("the kubelet", CONFIG, key, line, meant));
            lose(near.unwrap_or(key), value, &mut self.lost_flags);
        }
    }

    /// Finds what nodeadm, or the kubelet, rejects.
    fn rejected(&mut self, document: &Tree, text: &str, lines: &SourceLines<'_>) {
        let at = |key: &str, value: &Tree| {
            let line = line_of(text, key, value).map(|line| lines.place(text, line, DOCUMENT));
            line.map(|line| format!(" ({line})")).unwrap_or_default()
        };
        for (key, expected) in [("apiVersion", types::API), ("kind", types::KIND)] {
            let is = match document.get(key).map(|value| (value, value.text())) {
                Some((_, Some(text))) if text == expected => continue,
                Some((value, Some(text))) => format!("its `{key}`{} is `{text}`", at(key, value)),
                Some((_, None)) | None => format!("its `{key}` is missing"),
            };
            self.ignored.push(format!(
                "nodeadm rejects the NodeConfig: {is}, and `{expected}` is expected"
            ));
        }
        let wrong_types = types::wrong_types(document).into_iter();
        for wrong in wrong_types.chain(values::rejected(document)) {
            let at = at(&wrong.key, wrong.value);
            self.ignored
                .push(format!("{}: `{}`{at} {}", wrong.by, wrong.field, wrong.what));
        }
        self.ignored.extend(values::misspelt(document, &at));
        // Flags as text.
        let flags = document.text_at(&["spec", "kubelet", "flags"]);
        self.lost_flags.extend(flags);
    }

    fn document(&mut self, document: &Tree, text: &str, lines: &SourceLines<'_>) {
        self.unknown_fields(document, text, lines);
        self.rejected(document, text, lines);
        self.merged.add(document);
        // A block scalar (`|`) ends with a line break.
        let cluster = |key: &str| {
            let text = document.text_at(&["spec", "cluster", key])?;
            Some(text.trim().to_owned())
        };
        let replaced = replaced_values::notes(&self.cluster_values(), document);
        self.ignored.extend(replaced);
        let set = |old: &mut Option<String>, new: Option<String>| *old = new.or(old.take());
        set(&mut self.name, cluster("name"));
        set(&mut self.endpoint, cluster("apiServerEndpoint"));
        set(&mut self.authority, cluster("certificateAuthority"));
        set(&mut self.cidr, cluster("cidr"));
        set(&mut self.id, cluster("id"));
        let switch = |old: &mut bool, new: Option<String>| *old = new.map_or(*old, |new| new == "true");
        switch(&mut self.is_on_outpost, cluster("enableOutpost"));
        let gate = document.text_at(&["spec", "featureGates", "InstanceIdNodeName"]);
        switch(&mut self.is_named_by_instance_id, gate);
        let expression = document.text_at(&["spec", "kubelet", "maxPodsExpression"]);
        set(
            &mut self.max_pods_expression,
            expression.filter(|text| !text.is_empty()),
        );
        self.kubelet_config(document);
        self.kubelet_flags(document);
    }

    /// The fields of the cluster, with the values of earlier documents.
    fn cluster_values(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("name", self.name.as_deref()),
            ("apiServerEndpoint", self.endpoint.as_deref()),
            ("certificateAuthority", self.authority.as_deref()),
            ("cidr", self.cidr.as_deref()),
        ]
    }

    /// nodeadm puts the flags of all documents into one command line, whose values the kubelet prefers to its
    /// configuration.
    fn kubelet_flags(&mut self, document: &Tree) {
        let flags = document.items_at(&["spec", "kubelet", "flags"]).iter();
        let words: Vec<&str> = flags.filter_map(Tree::text).collect();
        self.kubelet_words
            .extend(words.iter().map(|word| (*word).to_owned()));
        self.flags.max_pods = self.flag_max_pods;
        // nodeadm writes them into `/etc/eks/kubelet/environment` (v20260304: internal/kubelet/environment.go).
        self.flags.add(&value_of_environment_file(&words.join(" ")));
        let is_of_taints = |word: &&str| word.contains("--register-with-taints");
        self.has_flag_taints |= words.iter().any(is_of_taints);
        self.flag_max_pods = self.flags.max_pods;
        if let Some((flag, config)) = self
            .flag_max_pods
            .zip(self.config_max_pods)
            .filter(|(one, other)| one != other)
        {
            let text = format!(
                "`{CONFIG}.maxPods: {config}` has no effect: the flag `--max-pods={flag}` takes precedence"
            );
            if !self.ignored.contains(&text) {
                self.ignored.push(text);
            }
        }
        self.flags.max_pods = self.flag_max_pods.or(self.config_max_pods);
    }

    fn kubelet_config(&mut self, document: &Tree) {
        let config = ["spec", "kubelet", "config"];
        let at = |key: &'static str| [&config[..], &[key]].concat();
        let gates = document
            .at(&at("featureGates"))
            .map(Tree::entries)
            .unwrap_or_default();
        self.gates.extend(gates.iter().map(|(gate, _)| gate.clone()));
        let dns = document.items_at(&at("clusterDNS"));
        if !dns.is_empty() {
            self.dns = dns.iter().filter_map(Tree::text).map(str::to_owned).collect();
        }
        if let Some(pods) = document.text_at(&at("maxPods")) {
            let mut read = KubeletFlags::default();
            read.add(&format!("--max-pods={pods}"));
            self.flags.unclear.append(&mut read.unclear);
            let earlier = self.config_max_pods;
            if let Some(earlier) = earlier.filter(|earlier| read.max_pods.is_some_and(|now| now != *earlier))
            {
                self.ignored.push(format!(
                    "`{CONFIG}.maxPods: {earlier}` has no effect: a later NodeConfig sets {pods}"
                ));
            }
            self.config_max_pods = read.max_pods.or(earlier);
        }
        let per_core = document.text_at(&at("podsPerCore"));
        self.pods_per_core = per_core.and_then(|pods| pods.parse().ok()).or(self.pods_per_core);
        let taints = document.items_at(&at("registerWithTaints"));
        let read: Vec<Taint> = taints.iter().filter_map(taint).collect();
        let is_unclear = |item: &Tree| taint(item).is_none() && !values::is_rejected_taint(item);
        if taints.iter().any(is_unclear) {
            self.flags
                .unclear
                .push("a taint of `registerWithTaints`".to_owned());
        }
        match self.has_flag_taints {
            // The flag of an earlier NodeConfig takes precedence.
            true => {
                let known = [&self.flags.taints[..], &self.flags.replaced_taints[..]].concat();
                let lost = read.into_iter().filter(|taint| !known.contains(taint));
                self.flags.replaced_taints.extend(lost);
            }
            false if !taints.is_empty() => self.flags.taints = read,
            false => {}
        }
    }
}

fn is_node_config(document: &Tree) -> bool {
    let api = document.text_at(&["apiVersion"]);
    api.is_some_and(|api| api.starts_with("node.eks.aws/"))
}

fn joined(path: &str, key: &str) -> String {
    match path.is_empty() {
        true => key.to_owned(),
        false => format!("{path}.{key}"),
    }
}

/// The line of a field: its value can begin on a later one.
pub(super) fn line_of(text: &str, key: &str, value: &Tree) -> Option<usize> {
    let last = value.line()?;
    let has_key = |line: &str| {
        let line = line
            .trim_start()
            .trim_start_matches("- ")
            .trim_start_matches(['"', '\'']);
        line.strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let lines: Vec<&str> = text.lines().take(last).collect();
    let found = lines.iter().rposition(|line| has_key(line));
    Some(found.map_or(last, |index| index + 1))
}

fn ignored(by: &str, path: &str, key: &str, line: Option<String>, meant: Option<String>) -> String {
    let line = line.map(|line| format!(" ({line})")).unwrap_or_default();
    let meant = meant
        .map(|meant| format!("; did you mean `{meant}`?"))
        .unwrap_or_default();
    let field = joined(path, key);
    format!("{by} has no field `{field}`{line} and ignores it{meant}")
}

#[cfg(test)]
mod tests;
