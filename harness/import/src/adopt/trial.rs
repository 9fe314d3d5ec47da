//! A machine as a scenario, with a report of what it adopts and replaces.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::plan::EndpointUrl;
use nodejoin_core::user_data::{ReplacedValue, Values, parse, replace_cluster};

use super::added_keys::AddedKeys;
use super::ami::{self, AmiFiles};
use super::cloud_config_keys;
use super::cloud_config_typos;
use super::cluster::{self, Surroundings};
use super::drop_in_folders;
use super::endpoint_mistakes::endpoint_mistake;
use super::error::AdoptError;
use super::expectations;
use super::file_name::file_name;
use super::images_without_kubelet::image_without_kubelet;
use super::ipv6_calls::ipv6_mistakes;
use super::kubelet_start::{is_without_kubelet, may_start_kubelet};
use super::lost_flags::LostFlags;
use super::lost_lines;
use super::lost_variables::lost_variable;
use super::missing_interpreter;
use super::missing_script::missing_script;
use super::mistyped_path::mistyped_paths;
use super::needed_disks;
use super::open_values;
use super::other_beginnings::type_by_beginning;
use super::placeholders;
use super::region::{note_other_region, with_region};
use super::removed_flags;
use super::report::{AdoptionKind, AdoptionLine, line};
use super::shell::UNKNOWN;
use super::stand_ins;
use super::stated::Stated;
use super::unset_variables::unset_variables;
use super::versions::WantedKubernetes;
use super::whole_texts;
use super::yaml_text::YamlText;
use crate::bottlerocket::{self, Translated};
use crate::eks::{self, STAND_IN_GROUP, complete_user_data, is_bottlerocket};
use crate::error::ImportError;
use crate::machine::{ClusterTraits, Machine, ManagedNodeGroup};
use crate::source_lines::SourceLines;
use crate::template_stack::TemplateStack;
use crate::text::{decoded, is_gzip, settings, unpacked};

/// Programs of other people take longer than the scripts of this repository.
const JOIN_SECONDS: u32 = 180;

/// A machine as a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The machine's name in its file.
    pub machine: String,
    /// A name for files, from the machine's.
    pub id: String,
    /// The user data of the instance. `None`: it has none.
    pub user_data: Option<Vec<u8>>,
    /// The built-in node image, unless it is the default one.
    pub image: Option<&'static str>,
    /// Whether the file, or a default of its tool, decides the family of the AMI.
    pub is_ami_stated: bool,
    /// Files of the AMI that the node image lacks.
    pub ami_files: Vec<AmiFiles>,
    pub report: Vec<AdoptionLine>,
    /// The version that the machine is for.
    pub kubernetes: WantedKubernetes,
    /// Whether the scenario reads the user data as settings of Bottlerocket.
    is_translated: bool,
    keys: Vec<(String, YamlText)>,
    expect: YamlText,
}

/// Turns a machine into a scenario.
///
/// # Errors
/// The user data is not filled in, the system is not Linux, EKS rejects the user data, or no instance can read it.
pub fn adopt(machine: &Machine, set: &BTreeMap<String, String>) -> Result<Trial, AdoptError> {
    let mut report = Vec::new();
    let of_file = machine;
    let machine = &with_region(machine, set);
    ami::choose(machine, &Stated::default())?;
    check_metadata(machine)?;
    let (user_data, own_text) = own_user_data(machine, set, &mut report)?;
    let translated = translation(machine, user_data.as_deref())?;
    let read = translated
        .as_ref()
        .map(|translated| translated.node_config.as_bytes());
    let scripts = machine
        .stack
        .as_ref()
        .map(TemplateStack::scripts)
        .unwrap_or_default();
    let own = machine.user_data.as_deref().unwrap_or_default();
    let own_plain = plain(own);
    let lines = SourceLines::of(machine, String::from_utf8_lossy(&own_plain));
    let text = read.or(user_data.as_deref()).unwrap_or_default();
    let stated = Stated::with_scripts(text, &scripts, &lines);
    let mut choice = ami::choose(machine, &stated)?;
    let is_stated = machine.traits.ami_family.is_some() || is_bottlerocket(machine);
    if !is_stated
        && choice.image.is_some()
        && own_text.as_ref().is_some_and(|text| !text.contains(NODE_CONFIG))
    {
        AL2023_OF_EKS.clone_into(&mut choice.text);
    }
    line(
        &mut report,
        AdoptionKind::Chosen,
        std::mem::take(&mut choice.text),
    );
    let complete = user_data.as_deref().unwrap_or_default();
    let lost_variable = lost_variable(complete, &stated, &choice, own_text.is_some());
    missing_interpreter::note_parts(complete, &choice, &mut report);
    let of_whole = whole_texts::mistakes(complete, &stated, &lines);
    let disks = needed_disks::note(machine, &stated, &lines);
    let Surroundings {
        mut keys,
        endpoint,
        is_ipv6,
        kubernetes,
    } = cluster::surroundings(machine, &stated, &mut report);
    note_other_region(of_file, &stated, endpoint.as_ref(), &mut report);
    stand_ins::name_stand_ins(machine, &stated, own_text.as_deref(), &mut report);
    let user_data = user_data.map(|bytes| with_endpoint(bytes, &stated, endpoint.as_ref(), &mut report));
    let texts = [read.or(user_data.as_deref()).unwrap_or_default()];
    let texts = texts.into_iter().chain(scripts.iter().map(String::as_bytes));
    report_replaced(texts, &stated, &mut report);
    let lost_flags = LostFlags::of(own, &stated, lost_variable.as_ref());
    let expect = expectations::expectations(machine, &stated, &lost_flags, is_ipv6, &mut report);
    for path in translated.iter().flat_map(|translated| &translated.not_run) {
        let text = format!("`{path}`, which only Bottlerocket itself runs");
        line(&mut report, AdoptionKind::NotChecked, text);
    }
    for text in &machine.not_checked {
        line(&mut report, AdoptionKind::NotChecked, text);
    }
    for text in cloud_config_keys::without_effect(own, !machine.traits.volumes.is_empty()) {
        line(&mut report, AdoptionKind::NotChecked, text);
    }
    let swap = cloud_config_keys::swap(own, &stated.text);
    let packages = cloud_config_keys::packages(own);
    let misspelt = cloud_config_typos::misspelt(own, &lines);
    let missing_script = missing_script(machine);
    let place = |flag: &str| stated.place_of(flag, &lines);
    removed_flags::note_removed(&machine.traits, &stated, &place, &mut report);
    let mistakes = stated.flags.mistakes(&place);
    let replaced = stated.flags.replaced(&place);
    let lost = lost_lines::lost_lines(own, &stated, &lines, own_text.is_some());
    let paths = mistyped_paths(own, &lines);
    let unset = unset_variables(own, &stated.text, &lines);
    let unread = drop_in_folders::unread(&String::from_utf8_lossy(&own_plain), &stated.text, &lines);
    let of_ipv6 = ipv6_mistakes(&stated, &choice);
    let plain_image = image_without_kubelet(machine, &stated);
    let texts = stated
        .ignored_arguments
        .iter()
        .chain(&stated.configs.ignored)
        .chain(&mistakes)
        .chain(&replaced)
        .chain(&lost)
        .chain(&unread)
        .chain(&paths)
        .chain(&unset)
        .chain(&of_ipv6)
        .chain(&plain_image)
        .chain(&of_whole)
        .chain(lost_variable.as_ref().map(|variable| &variable.why))
        .chain(&machine.problems)
        .chain(&swap)
        .chain(&packages)
        .chain(&misspelt)
        .chain(&missing_script);
    for text in texts {
        line(&mut report, AdoptionKind::Problem, text);
    }
    for text in machine.notes.iter().chain(&disks) {
        line(&mut report, AdoptionKind::Note, text);
    }
    // Nothing runs a call in a part of the wrong type.
    let has_other = parse(own)
        .parts
        .iter()
        .any(|part| type_by_beginning(part).is_some());
    let is_managed_al2 = machine.managed.is_some() && choice.is_al2();
    let is_called_twice = is_managed_al2 && !has_other && !Stated::of(own).calls.is_empty();
    if is_called_twice {
        line(&mut report, AdoptionKind::Note, CALLED_TWICE);
    }
    let limits = YamlText::map([("join_seconds", Some(YamlText::plain(JOIN_SECONDS)))]);
    keys.push(("limits".to_owned(), limits));
    Ok(Trial {
        machine: machine.name.clone(),
        id: file_name(&machine.name),
        is_translated: translated.is_some(),
        user_data,
        image: choice.image,
        is_ami_stated: machine.traits.ami_family.is_some(),
        ami_files: choice.files,
        report,
        kubernetes,
        keys,
        expect,
    })
}

/// Without the metadata service, an instance finds neither its user data nor its region nor its credentials.
fn check_metadata(machine: &Machine) -> Result<(), AdoptError> {
    if machine.traits.http_endpoint != Some(false) {
        return Ok(());
    }
    Err(AdoptError::Rejected(ImportError::Invalid {
        line: machine.line,
        column: None,
        problem: format!(
            "no instance of `{}` joins: its metadata options disable the metadata service, from which it reads its user data",
            machine.name
        ),
        hint: "set `HttpEndpoint` (in Terraform `http_endpoint`) to enabled".to_owned(),
    }))
}

/// What follows from a call of the bootstrap script beside that of EKS.
const CALLED_TWICE: &str = "the user data calls /etc/eks/bootstrap.sh, and EKS' own part calls it again: the kubelet starts with the flags of the \
                            first call and takes those of the second when it starts again (scripts of AMIs since v20221222 do not restart it \
                            with containerd), and the Node keeps the labels and taints of the first start that registers it";
/// How a NodeConfig names its kind.
const NODE_CONFIG: &str = "node.eks.aws";
/// The reason of a choice that the user data does not make.
const AL2023_OF_EKS: &str =
    "AL2023: the default of EKS for managed node groups; `--with 'image: al2'` for one of type AL2_x86_64";

/// The user data of the instance, filled in; and its text without the part of EKS, if EKS adds one.
fn own_user_data(
    machine: &Machine,
    set: &BTreeMap<String, String>,
    report: &mut Vec<AdoptionLine>,
) -> Result<(Option<Vec<u8>>, Option<String>), AdoptError> {
    let mut machine = machine.clone();
    machine.user_data = machine.user_data.map(|bytes| match String::from_utf8(bytes) {
        Ok(text) => placeholders::filled(&text, set).into_bytes(),
        Err(error) => error.into_bytes(),
    });
    let plain = machine.user_data.as_deref().map(plain);
    if let Some(text) = plain.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) {
        open_values::check(&machine, text)?;
    }
    if machine.managed.is_none() && is_of_managed_group(&machine) {
        machine.managed = Some(ManagedNodeGroup::default());
        let own = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default());
        if !own.contains("/etc/eks/bootstrap.sh") && !own.contains(NODE_CONFIG) {
            let text = "only in a managed node group does a node with this user data join: nothing in it starts a kubelet";
            line(report, AdoptionKind::Note, text);
        }
    }
    let own = machine.user_data.as_deref().unwrap_or_default();
    let is_unusable = lost_lines::has_unusable_commands(own);
    let is_joined_elsewhere = machine.managed.is_some() || is_bottlerocket(&machine) || is_unusable;
    if !is_joined_elsewhere && is_without_kubelet(&machine) {
        let text = "nothing in this user data starts a kubelet: a node with it joins only if the AMI starts one itself";
        line(report, AdoptionKind::Note, text);
    }
    if !is_joined_elsewhere && machine.user_data.is_none() && machine.stack.is_none() {
        let text =
            "the machine has no user data: a node without it joins only if the AMI starts a kubelet itself";
        line(report, AdoptionKind::Note, text);
    }
    let group = eks::group(&machine).map_err(AdoptError::Rejected)?;
    let is_completed = group.is_some();
    if is_completed {
        let text = "the part that EKS adds to the user data of a managed node group without an AMI id; values of the cluster \
                    that the file does not state are stand-ins";
        line(report, AdoptionKind::Chosen, text);
    }
    if group.is_some_and(|group| group.name.is_none()) {
        let text = format!("node group name {STAND_IN_GROUP}, a stand-in: the file states none");
        line(report, AdoptionKind::Chosen, text);
    }
    let own = machine.user_data.as_deref().unwrap_or_default();
    let own = is_completed.then(|| String::from_utf8_lossy(own).into_owned());
    let stated = Stated::of(machine.user_data.as_deref().unwrap_or_default()).cluster();
    let complete = complete_user_data(&machine, &stated).map_err(AdoptError::Rejected)?;
    Ok((complete, own))
}

/// User data without gzip. Damaged data has no text.
fn plain(user_data: &[u8]) -> Cow<'_, [u8]> {
    match is_gzip(user_data) {
        true => Cow::Owned(unpacked(user_data).unwrap_or_default()),
        false => Cow::Borrowed(user_data),
    }
}

/// Whether a message is for a managed node group without an AMI id: it changes the bootstrap script and does not call
/// it, it has a NodeConfig without a cluster, or nothing in it has to do with a kubelet. EKS accepts MIME alone there,
/// and AWS' documentation shows such a message.
fn is_of_managed_group(machine: &Machine) -> bool {
    let Some(user_data) = machine.user_data.as_deref().filter(|_| machine.may_be_managed()) else {
        return false;
    };
    let stated = Stated::of(user_data);
    let configs = &stated.configs;
    let is_partial = configs.endpoint.is_none() && configs.authority.is_none() && configs.is_any;
    let starts_none = !parse(user_data).parts.is_empty() && !may_start_kubelet(&stated.text);
    !stated.is_complete() && (stated.text.contains("/etc/eks/bootstrap.sh") || is_partial || starts_none)
}

/// The NodeConfig in place of settings of Bottlerocket.
fn translation(machine: &Machine, user_data: Option<&[u8]>) -> Result<Option<Translated>, AdoptError> {
    let Some(bytes) = user_data.filter(|_| is_bottlerocket(machine)) else {
        return Ok(None);
    };
    let content = String::from_utf8_lossy(bytes);
    let translated = settings(&content).and_then(|table| bottlerocket::translated(&content, &table));
    let lines = SourceLines::of(machine, content.clone());
    let located = translated.map_err(|error| lines.located(error, &content));
    located.map(Some).map_err(AdoptError::Rejected)
}

/// User data whose endpoint a run can serve. Host names stay; addresses and other ports cannot.
fn with_endpoint(
    user_data: Vec<u8>,
    stated: &Stated,
    endpoint: Option<&EndpointUrl>,
    report: &mut Vec<AdoptionLine>,
) -> Vec<u8> {
    if is_gzip(&user_data) {
        return user_data;
    }
    let Ok(mut text) = String::from_utf8(user_data.clone()) else {
        return user_data;
    };
    // A JoinConfiguration can name the endpoint that is adopted.
    let adopted = endpoint.map(|endpoint| format!("{}:443", endpoint.host()));
    let is_other = |address: &&str| {
        !address.is_empty() && !address.contains(UNKNOWN) && adopted.as_deref() != Some(*address)
    };
    let kubeadm = stated.kubeadm.as_deref().filter(is_other);
    let is_foreign = |text: &&str| endpoint.is_none() && endpoint_mistake(text).is_none();
    let old = stated.endpoint.as_deref().filter(is_foreign);
    for (old, new) in [
        (kubeadm, "{{ cluster.api_server }}"),
        (old, "{{ cluster.endpoint }}"),
    ] {
        let Some(old) = old else { continue };
        let reached = "a node of a run reaches its API server by a host name on port 443";
        if text.contains(old) {
            text = text.replace(old, new);
            let why = format!("the endpoint `{old}`: {reached}");
            line(report, AdoptionKind::Replaced, why);
        } else {
            let why = format!("the endpoint `{old}`: no text of the user data to replace, and {reached}");
            line(report, AdoptionKind::NotChecked, why);
        }
    }
    text.into_bytes()
}

fn report_replaced<'a>(
    texts: impl Iterator<Item = &'a [u8]>,
    stated: &Stated,
    report: &mut Vec<AdoptionLine>,
) {
    let values: BTreeSet<ReplacedValue> = texts
        .flat_map(|text| replace_cluster(text, &Values::default()).values)
        .collect();
    let is_stand_in =
        stated.authority.is_some() && stated.authority == ClusterTraits::stand_in().certificate_authority;
    for value in &values {
        let text = match value {
            // Not of the file.
            ReplacedValue::CertificateAuthority if is_stand_in => continue,
            ReplacedValue::CertificateAuthority => {
                "the certificate authority of the cluster, whose key is not in the file (deviation `replaced-authority`)"
            }
            ReplacedValue::BootstrapToken => "the bootstrap token (deviation `replaced-bootstrap-token`)",
            ReplacedValue::CaCertHash => "the CA hash of kubeadm (deviation `replaced-bootstrap-token`)",
        };
        line(report, AdoptionKind::Replaced, text);
    }
    let Some(authority) = &stated.authority else {
        return;
    };
    let inner = decoded(authority.as_bytes()).and_then(|inner| decoded(&inner));
    let problem = match inner.is_some_and(|inner| inner.starts_with(b"-----BEGIN")) {
        true => {
            "is encoded twice in base64; `describe-cluster` prints it encoded once: a node with it does not trust the API server"
        }
        false if !values.contains(&ReplacedValue::CertificateAuthority) => {
            "is not the whole base64 of a PEM certificate and stays as it is: the script cannot decode it, or the node does not \
             trust the API server"
        }
        false => return,
    };
    let text = format!("the certificate authority in the user data {problem}");
    line(report, AdoptionKind::Problem, text);
}

impl Trial {
    /// The text of the scenario with the added keys. `overlays` and `user_data` are paths relative to its file.
    #[must_use]
    pub fn scenario(&self, overlays: &[String], user_data: Option<&str>, added: &AddedKeys) -> String {
        let name = format!("{} joins", self.machine);
        let mut keys = vec![("name".to_owned(), YamlText::text(&name))];
        let image = self
            .image
            .map(|image| ("image".to_owned(), YamlText::plain(image)));
        keys.extend(image);
        if !overlays.is_empty() {
            keys.push(("overlay".to_owned(), YamlText::texts(overlays.iter().cloned())));
        }
        keys.extend(self.keys.iter().cloned());
        if let Some(file) = user_data {
            let source = YamlText::map([
                (
                    if self.is_translated { "from" } else { "file" },
                    Some(YamlText::text(file)),
                ),
                ("replace", Some(YamlText::text("cluster"))),
            ]);
            keys.push(("user_data".to_owned(), source));
        }
        keys.push(("expect".to_owned(), self.expect.clone()));
        added.merge_into(&mut keys);
        YamlText::Map(keys.into_iter().filter(|(_, value)| !value.is_empty()).collect()).document()
    }
}

#[cfg(test)]
mod tests;
