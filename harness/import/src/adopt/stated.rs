//! What user data states about its cluster and its node, gathered from all of its parts.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::user_data::{CloudConfig, Parsed, Part, parse};

use super::bootstrap_call::{self, BootstrapCall};
use super::early_commands::early_commands;
use super::eks_commands::{EksCommand, eks_commands};
use super::filled_marks::{with_filled_marks, without};
use super::first_lines::config_behind_script;
use super::indirect_calls::indirect_calls;
use super::inner_messages;
use super::join_configuration::JoinConfigurations;
use super::kubeconfig::Kubeconfig;
use super::kubelet_flags::KubeletFlags;
use super::mistyped_parts::{has_parts, is_mistyped};
use super::node_config::NodeConfigs;
use super::other_beginnings::type_by_beginning;
use super::passed_names::PassedNames;
use super::placeholders::JINJA;
use super::replaced_lists::replaced_config;
use super::shell::{self, ShellScript, UNKNOWN};
use super::unhandled_parts::{CLOUD_CONFIG, meant_type};
use crate::machine::ClusterTraits;
use crate::mime;
use crate::mime_end;
use crate::source_lines::SourceLines;
use crate::text::{is_gzip, unpacked};

mod flag_places;

/// Variables of scripts and of eksctl's files that name the cluster's values.
const NAME_VARIABLES: &[&str] = &["CLUSTER_NAME", "EKS_CLUSTER_NAME", "CLUSTER"];
const ENDPOINT_VARIABLES: &[&str] = &["API_SERVER_URL", "APISERVER_ENDPOINT", "CLUSTER_ENDPOINT"];
/// The type of parts that are templates for cloud-init.
const JINJA_TYPE: &str = "text/jinja2";
const DNS_VARIABLES: &[&str] = &["CLUSTER_DNS", "K8S_CLUSTER_DNS_IP"];

/// What user data states.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    pub(crate) calls: Vec<BootstrapCall>,
    /// Arguments of the calls that the script does not read, each with what to do.
    pub(crate) ignored_arguments: Vec<String>,
    /// Lines of calls whose backslash a blank follows, if a message of these says so.
    pub(crate) lines_with_blanks: Vec<String>,
    pub(crate) configs: NodeConfigs,
    /// The endpoint of a call of `kubeadm join`, or of the file that it reads; empty if neither names it.
    pub(crate) kubeadm: Option<String>,
    joins: JoinConfigurations,
    kubeconfig: Kubeconfig,
    /// Calls that count if the user data has no other.
    indirect: Vec<BootstrapCall>,
    pub(super) passed: PassedNames,
    /// Commands of `aws eks` about a cluster.
    pub(super) commands: Vec<EksCommand>,
    pub(crate) name: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) cidr: Option<String>,
    /// Whether a flag chooses IPv6.
    pub(crate) is_ipv6: bool,
    /// The id of a local cluster on an Outpost.
    pub(crate) cluster_id: Option<String>,
    pub(crate) is_on_outpost: bool,
    /// Whether the node's name is the instance id.
    pub(crate) is_named_by_instance_id: bool,
    /// What the kubelet gets.
    pub(crate) dns: Vec<String>,
    /// That, or the value of a variable that no call passes on: it names the network of the cluster.
    pub(crate) known_dns: Option<String>,
    pub(crate) flags: KubeletFlags,
    /// Flags that no call passes on, such as `--max-pods=20`: a command may write them into a file, which only a run
    /// shows.
    pub(crate) flags_elsewhere: Vec<String>,
    /// The text of all parts, for words that any part may contain.
    pub(crate) text: String,
    /// What parts of a message state that nothing reads, with the others.
    pub(super) lost: Option<Box<Stated>>,
    variables: BTreeMap<String, String>,
}

/// What all parts of user data share while they are read.
struct PartsReading<'a> {
    /// Whether a here-document is read, whose lines need not be those of a script.
    is_document: bool,
    lines: &'a SourceLines<'a>,
}

impl Stated {
    /// Whether a call of the bootstrap script passes arguments for the kubelet.
    pub(crate) fn passes_arguments(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.values.contains_key("--kubelet-extra-args"))
    }

    /// Reads user data.
    pub(crate) fn of(user_data: &[u8]) -> Self {
        Self::with_scripts(user_data, &[], &SourceLines::default())
    }

    /// Reads user data, and scripts that it runs.
    pub(crate) fn with_scripts(user_data: &[u8], scripts: &[String], lines: &SourceLines<'_>) -> Self {
        let mut stated = Self::default();
        let plain = if is_gzip(user_data) {
            unpacked(user_data).unwrap_or_default()
        } else {
            user_data.to_vec()
        };
        let plain = mime_end::with_end(without_empty_begin(plain));
        let mut parsed = parse(&with_filled_marks(&without_templates(&plain)));
        for part in parsed.parts.iter_mut().filter(|part| part.mime == JINJA_TYPE) {
            fill_template(part);
        }
        let has_parts = has_parts(&plain);
        let mut reading = PartsReading {
            is_document: false,
            lines,
        };
        for part in &parsed.parts {
            let is_config = type_of(&parsed, part) == CLOUD_CONFIG;
            let inner = inner_messages::node_configs(part);
            if has_parts && (is_mistyped(part) || !inner.is_empty()) {
                match &inner[..] {
                    [] => stated.configs.add_mistyped(part, lines),
                    inner => inner
                        .iter()
                        .for_each(|inner| stated.configs.add_inner(inner, lines)),
                }
                stated.text.push_str(&String::from_utf8_lossy(&part.content));
                stated.text.push('\n');
            } else if !is_config {
                stated.add(&String::from_utf8_lossy(&part.content), &mut reading);
            }
        }
        let mut config = parsed.cloud_config();
        let unhandled = |part: &&Part| part.mime != CLOUD_CONFIG && type_of(&parsed, part) == CLOUD_CONFIG;
        for part in parsed.parts.iter().filter(unhandled) {
            if let Ok(unhandled) = CloudConfig::read(&String::from_utf8_lossy(&part.content)) {
                config.merge(unhandled);
            }
        }
        for file in &config.files {
            stated.add(&String::from_utf8_lossy(&file.content), &mut reading);
        }
        let is_config = |part: &&Part| type_of(&parsed, part) == CLOUD_CONFIG;
        for part in parsed.parts.iter().filter(is_config) {
            if let Some(commands) = early_commands(&String::from_utf8_lossy(&part.content)) {
                stated.add(&commands, &mut reading);
            }
        }
        if let Some(commands) = &config.runcmd {
            stated.add(&String::from_utf8_lossy(commands), &mut reading);
        }
        for script in scripts {
            stated.add(script, &mut reading);
        }
        stated.conclude();
        let text = String::from_utf8_lossy(&plain);
        if let Some(meant) = mime::meant(&text).or_else(|| config_behind_script(&text)) {
            stated.add_lost(Self::of(meant.as_bytes()));
        } else if let Some(config) = replaced_config(&plain, &parsed) {
            stated.add_lost(Self::of_config(&config, lines));
        }
        stated
    }

    /// Reads files and commands of a cloud-config alone.
    fn of_config(config: &CloudConfig, lines: &SourceLines<'_>) -> Self {
        let mut stated = Self::default();
        let mut reading = PartsReading {
            is_document: false,
            lines,
        };
        let files = config.files.iter().map(|file| &file.content);
        for content in files.chain(&config.runcmd) {
            stated.add(&String::from_utf8_lossy(content), &mut reading);
        }
        stated.conclude();
        stated
    }

    /// Adds what a message states in parts that nothing reads: its cluster is the one that its author means.
    fn add_lost(&mut self, meant: Self) {
        let keep = |known: &mut Option<String>, lost: &Option<String>| {
            *known = known.take().or_else(|| lost.clone());
        };
        keep(&mut self.name, &meant.name);
        keep(&mut self.endpoint, &meant.endpoint);
        keep(&mut self.authority, &meant.authority);
        keep(&mut self.cidr, &meant.cidr);
        keep(&mut self.known_dns, &meant.known_dns);
        self.lost = Some(Box::new(meant));
    }

    /// Whether the user data is to join a cluster without a part of EKS, also by parts that nothing reads.
    pub(super) fn is_complete(&self) -> bool {
        let is_own = !self.calls.is_empty() || self.configs.name.is_some() || self.kubeadm.is_some();
        is_own || self.lost.as_ref().is_some_and(|lost| lost.is_complete())
    }

    /// Adds a script, a NodeConfig, or a file of variables.
    fn add(&mut self, text: &str, reading: &mut PartsReading<'_>) {
        self.text.push_str(text);
        self.text.push('\n');
        if crate::text::is_node_config(text) && !text.starts_with("#!") {
            self.configs.add(text, reading.lines);
            return;
        }
        let script = shell::read(text);
        self.joins.add(text);
        self.kubeconfig.add(text);
        self.joins.add_script(&script);
        for inner in script.commands.iter().filter_map(shell::inner) {
            self.add(inner, reading);
        }
        let calls = bootstrap_call::calls(&script);
        if !reading.is_document && !self.is_for_ubuntu() {
            let again = bootstrap_call::called_again(&calls, &script, reading.lines);
            self.ignored_arguments.extend(again);
        }
        for call in calls {
            self.call(call, &script, reading);
        }
        self.kubeadm = self
            .kubeadm
            .take()
            .or_else(|| bootstrap_call::kubeadm_join(&script));
        self.indirect.extend(indirect_calls(text, &script));
        self.passed.add(text, &script);
        self.commands.extend(eks_commands(text, &script.variables));
        self.variables(text);
        self.documents(&script, reading);
    }

    fn call(&mut self, mut call: BootstrapCall, script: &ShellScript, reading: &PartsReading<'_>) {
        if reading.is_document {
            call.forget_cut_flags();
        }
        let mut notes = call.ignored(script, reading.lines);
        if !self.is_for_ubuntu() {
            notes.extend(call.refused(script, reading.lines));
        }
        for note in notes {
            // A script in an argument is read twice.
            if !self.ignored_arguments.contains(&note) {
                self.ignored_arguments.push(note);
            }
        }
        let blanks = call.lines_with_blanks(script).into_iter();
        self.lines_with_blanks.extend(blanks.map(str::to_owned));
        self.calls.push(call);
    }

    /// Scripts write NodeConfigs and scripts by here-documents.
    fn documents(&mut self, script: &ShellScript, reading: &mut PartsReading<'_>) {
        let was_document = std::mem::replace(&mut reading.is_document, true);
        for document in &script.documents {
            // A shell fills in variables of the document before: what remains of them is not known.
            self.add(document, reading);
        }
        reading.is_document = was_document;
    }

    fn variables(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim().trim_start_matches("export ");
            if let Some((name, value)) = line.split_once('=') {
                let value = value.trim_matches(['"', '\'']);
                if !value.contains('$') {
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
            }
        }
    }

    fn conclude(&mut self) {
        if self.calls.is_empty() {
            self.calls.append(&mut self.indirect);
        }
        if self.kubeadm.as_deref() == Some("") {
            self.kubeadm = self.joins.endpoint().map(str::to_owned).or(self.kubeadm.take());
        }
        let known = |value: &String| !value.is_empty() && !value.contains([UNKNOWN, '$', '{']);
        let call = self.calls.first().cloned().unwrap_or_default();
        let flag = |name: &str| call.values.get(name).cloned();
        let variable = |names: &[&str]| names.iter().find_map(|name| self.variables.get(*name).cloned());
        let first = |options: &[Option<String>]| options.iter().flatten().find(|value| known(value)).cloned();
        let kubeconfig = self.kubeconfig.of_kubelet(self.is_complete());
        let configs = &self.configs;
        let of_calls = self
            .calls
            .iter()
            .find_map(|call| call.cluster.clone().filter(known));
        let of_commands = self.commands.iter().find_map(EksCommand::cluster);
        self.name = first(&[
            of_calls,
            configs.name.clone(),
            self.passed.known.clone(),
            variable(NAME_VARIABLES),
            of_commands.map(str::to_owned),
            kubeconfig.name,
        ]);
        self.endpoint = first(&[
            flag("--apiserver-endpoint"),
            configs.endpoint.clone(),
            variable(ENDPOINT_VARIABLES),
            kubeconfig.endpoint,
        ]);
        self.authority = first(&[
            flag("--b64-cluster-ca"),
            configs.authority.clone(),
            variable(&["B64_CLUSTER_CA"]),
            None,
        ]);
        self.cidr = first(&[
            flag("--service-ipv4-cidr"),
            flag("--service-ipv6-cidr"),
            configs.cidr.clone(),
            variable(&["SERVICE_IPV4_CIDR", "SERVICE_IPV6_CIDR"]),
        ]);
        self.is_ipv6 = flag("--ip-family").is_some_and(|family| family.eq_ignore_ascii_case("ipv6"));
        self.cluster_id = first(&[flag("--cluster-id"), configs.id.clone(), None, None]);
        self.is_on_outpost =
            configs.is_on_outpost || flag("--enable-local-outpost").as_deref() == Some("true");
        self.is_named_by_instance_id = configs.is_named_by_instance_id;
        let of_variable = variable(DNS_VARIABLES).filter(|_| self.calls.is_empty());
        let dns = first(&[flag("--dns-cluster-ip"), of_variable, None, None]);
        self.dns = match dns {
            Some(dns) => dns.split(',').map(str::to_owned).collect(),
            None => configs.dns.clone(),
        };
        self.known_dns = first(&[self.dns.first().cloned(), variable(DNS_VARIABLES), None, None]);
        self.kubelet(&call);
        if let Some(dns) = self.flags.cluster_dns() {
            self.known_dns = self.known_dns.take().or_else(|| dns.first().cloned());
            self.dns = dns;
        }
    }

    /// Flags of the kubelet. Several different calls contradict each other: which of them runs is not known.
    fn kubelet(&mut self, call: &BootstrapCall) {
        self.flags = self.configs.flags.clone();
        let different: BTreeSet<_> = self
            .calls
            .iter()
            .map(|call| call.values.get("--kubelet-extra-args"))
            .collect();
        if different.len() > 1 {
            self.flags
                .unclear
                .push("flags of several calls of the bootstrap script".to_owned());
        } else if let Some(arguments) = call.values.get("--kubelet-extra-args") {
            // Those of a NodeConfig are another command line.
            let of_configs = self.flags.max_pods.take();
            let passed = match self.is_for_ubuntu() {
                true => Some(arguments.clone()),
                false => call.passed_arguments(),
            };
            self.flags.add(&passed.unwrap_or_default());
            self.flags.max_pods = self.flags.max_pods.or(of_configs);
        }
        self.joins.add_to(&mut self.flags);
        if let Some(labels) = self.variables.get("NODE_LABELS") {
            self.flags.add(&format!("--node-labels={labels}"));
        }
        if let Some(taints) = self.variables.get("NODE_TAINTS") {
            self.flags.add(&format!("--register-with-taints={taints}"));
        }
        self.find_flags_elsewhere();
    }

    /// The cluster, without what is not stated.
    pub(crate) fn cluster(&self) -> ClusterTraits {
        ClusterTraits {
            name: self.name.clone(),
            endpoint: self.endpoint.clone(),
            certificate_authority: self.authority.clone(),
            service_cidr: self.cidr.clone(),
            dns_ip: self.known_dns.clone(),
            ..ClusterTraits::default()
        }
    }

    /// Whether words of the user data are those of Ubuntu, whose bootstrap script is not published.
    pub(super) fn is_for_ubuntu(&self) -> bool {
        let mut words = ["snap set kubelet-eks", "apt-get ", "apt install"].iter();
        words.any(|word| self.text.contains(word))
    }

    /// Whether a bootstrap script is called with this flag.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.calls.iter().any(|call| call.flags.contains(flag))
    }
}

/// The type that the author of a part means.
fn type_of<'p>(parsed: &Parsed, part: &'p Part) -> &'p str {
    let meant = meant_type(parsed, part).or_else(|| type_by_beginning(part));
    meant.unwrap_or(&part.mime)
}

/// A message without the empty lines that end its header before it begins: what its author meant.
fn without_empty_begin(user_data: Vec<u8>) -> Vec<u8> {
    let text = String::from_utf8_lossy(&user_data);
    match mime::header_behind_empty_lines(&text) {
        Some(_) => text.trim_start().as_bytes().to_vec(),
        None => user_data,
    }
}

/// The cloud-config that cloud-init makes of a Jinja template, with unknown values.
fn without_templates(user_data: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(user_data).ok();
    let template = text.and_then(|text| text.strip_prefix(JINJA)?.split_once('\n'));
    match template {
        Some((_, template)) => without(template, &|_| true).into_bytes(),
        None => user_data.to_vec(),
    }
}

/// Makes of a part what cloud-init makes of it: its type is the one of the text in the template.
fn fill_template(part: &mut Part) {
    let filled = parse(&without_templates(part.content.trim_ascii_start()));
    if let Some(filled) = filled.parts.into_iter().next() {
        part.mime = filled.mime;
        part.content = filled.content;
    }
}

#[cfg(test)]
mod tests;
