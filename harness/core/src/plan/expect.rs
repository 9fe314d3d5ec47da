//! The expected outcome of a scenario.

pub mod objects;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::cause::Cause;
use crate::vocabulary::file_type::FileType;
use crate::vocabulary::ids::ScenarioTag;
use crate::vocabulary::phase::Phase;
use objects::{CertificateExpect, NodeExpect};

/// The expected outcome. Missing keys are not checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The phase at which the join ends. Without `diagnosis`: the minimum phase.
    pub phase: Option<Phase>,
    /// The join fails at `phase` with this diagnosis.
    pub diagnosis: Option<Cause>,
    /// Texts in the report of the diagnosis: the cause in one sentence, its evidence, the remedy.
    pub diagnosis_contains: Vec<String>,
    /// Identity of the node in the IAM authenticator and in the API server.
    pub authentication: Option<AuthenticationExpect>,
    /// Writes of `aws-auth` that added the scenario's rows, from the audit log of the API server. Each entry must
    /// match one write.
    pub aws_auth: Vec<MappingExpect>,
    /// Certificate signing requests. Each entry must match one request; `certificates: []` requires that there is
    /// none.
    pub certificates: Option<Vec<CertificateExpect>>,
    /// The Node object.
    pub node: Option<NodeExpect>,
    /// Requests by or about the node in the audit log of the API server. Each entry must match one request, or the
    /// number in `times`.
    pub audit: Vec<AuditExpect>,
    /// Number of AWS calls by `service.Operation`.
    pub aws: BTreeMap<String, CountExpect>,
    /// Events in the required order; others may occur in between. An event is an AWS call as in `aws`, a phase as
    /// `phase.registered`, or the start of a systemd unit as `start.kubelet.service`.
    pub aws_order: Vec<String>,
    /// Files, folders, links and sockets on the node, by absolute path.
    pub files: BTreeMap<String, FileExpect>,
    /// The running kubelet.
    pub kubelet: Option<KubeletExpect>,
    /// User data as a whole and by part.
    pub user_data: Option<UserDataExpect>,
    /// systemd units, each with its state or with a mapping of state, enablement, slice and properties. States:
    /// `active`, `inactive`, `failed`, `activating`, `deactivating`, `reloading`, or `not-found` for a unit that the
    /// node does not have.
    pub units: BTreeMap<String, UnitExpect>,
    /// The complete list of units that were enabled after the boot, in any order. Units that the image enables are
    /// not part of it.
    pub units_enabled: Option<Vec<String>>,
    /// Whether the scenario's pod answers.
    pub pod: Option<PodExpect>,
    /// Whether the verdict has no notes, such as about a part of the user data that failed after the join.
    pub clean: Option<bool>,
    /// The complete list of notes, in any order: each text is part of one note, and each note has one of the texts.
    pub notes: Option<Vec<String>>,
    /// Permissions of the node in the API server, by a SubjectAccessReview for the user name and groups of its token.
    pub access: Vec<AccessExpect>,
    /// Alternatives, such as for scripts of several eras. At least one must hold completely. An alternative has the
    /// keys of `expect` that describe a machine and its Node: not `phase`, `diagnosis`, `diagnosis_contains`, `clean`,
    /// `notes`, `pod`, `access`, `one_of` and `same_as`.
    pub one_of: Vec<Self>,
    /// Another scenario that leaves the same machine when its kubelet starts. AWS calls and requests are not part of
    /// the machine, and values of the instance, the cluster, region and zone count as equal. Both scenarios boot once
    /// more for it.
    pub same_as: Option<SameAsExpect>,
}

/// Another scenario that leaves the same machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameAsExpect {
    /// The file of the other scenario, relative to this file.
    pub scenario: String,
    /// The `id` in the list `with` of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<ScenarioTag>,
    /// Parts of the machine that may differ, as `nodejoin diff` names them, such as `file /etc/eks/*`.
    #[serde(default)]
    pub except: Vec<String>,
}

impl SameAsExpect {
    /// The file, and the scenario in it.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.variant {
            None => self.scenario.clone(),
            Some(variant) => format!("{} ({variant})", self.scenario),
        }
    }
}

impl Expect {
    /// The expectation and its alternatives: everything that a check may need.
    pub fn with_alternatives(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.one_of)
    }

    /// The first key that an alternative must not have: those that decide how a join ends, and those that the
    /// harness must know before it starts.
    #[must_use]
    pub fn key_of_no_alternative(&self) -> Option<&'static str> {
        let keys = [
            ("phase", self.phase.is_some()),
            ("diagnosis", self.diagnosis.is_some()),
            ("diagnosis_contains", !self.diagnosis_contains.is_empty()),
            ("clean", self.clean.is_some()),
            ("notes", self.notes.is_some()),
            ("pod", self.pod.is_some()),
            ("access", !self.access.is_empty()),
            ("one_of", !self.one_of.is_empty()),
            ("same_as", self.same_as.is_some()),
        ];
        keys.into_iter()
            .find_map(|(key, is_given)| is_given.then_some(key))
    }
}

/// A permission that a node has or lacks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessExpect {
    /// Verb, such as `list`.
    pub verb: String,
    /// Plural resource, such as `services`, or with a subresource `pods/log`.
    pub resource: String,
    /// API group, such as `discovery.k8s.io` (default: the core group).
    #[serde(default)]
    pub group: String,
    /// Namespace (default: all namespaces).
    #[serde(default)]
    pub namespace: Option<String>,
    /// Whether it is allowed.
    pub allowed: bool,
}

impl AccessExpect {
    /// The question in the form of `kubectl auth can-i`: `list endpointslices.discovery.k8s.io`.
    #[must_use]
    pub fn question(&self) -> String {
        let group = if self.group.is_empty() {
            String::new()
        } else {
            format!(".{}", self.group)
        };
        let namespace = self
            .namespace
            .as_deref()
            .map(|name| format!(" in {name}"))
            .unwrap_or_default();
        format!("{} {}{group}{namespace}", self.verb, self.resource)
    }
}

/// Identity of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuthenticationExpect {
    /// Whether the authenticator accepted a token of the instance.
    pub accepted: Option<bool>,
    /// Role name in the ARN that STS returned.
    pub role: Option<String>,
    /// User name in TokenReviews and in the audit log of the API server.
    pub username: Option<String>,
    /// The complete list of groups, without `system:authenticated`.
    pub groups: Option<Vec<String>>,
    /// Number of rejected tokens of the instance.
    pub refused: Option<CountExpect>,
    /// Texts that occur in the authenticator's reasons for rejected tokens, each in at least one.
    pub reasons: Vec<String>,
}

/// A write of `aws-auth` that added a row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingExpect {
    /// Name of the role in the row (default: the instance's role).
    pub role: Option<String>,
    /// User name of the writer, such as `eks:node-manager`.
    pub added_by: Option<String>,
    /// Verb of the request, such as `patch` or `update`.
    pub verb: Option<String>,
}

/// A request in the audit log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditExpect {
    /// Verb, such as `patch`.
    pub verb: Option<String>,
    /// Resource with its subresource, such as `nodes` or `nodes/status`.
    pub resource: Option<String>,
    /// User name; `node` stands for the user name of the node.
    pub username: Option<String>,
    /// The complete list of groups, without `system:authenticated`.
    pub groups: Option<Vec<String>>,
    /// HTTP status of the response.
    pub code: Option<u16>,
    /// Text in the error message.
    pub message: Option<String>,
    /// Number of matching requests (default: at least one).
    pub times: Option<CountExpect>,
}

/// Expected number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountExpect {
    /// The exact number.
    Count(u32),
    /// A range.
    Range(CallRange),
}

/// A range of a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallRange {
    /// Minimum, inclusive.
    pub min: Option<u32>,
    /// Maximum, inclusive.
    pub max: Option<u32>,
    /// Counts only the calls whose subject contains this text: the resource of the request, such as the name of a
    /// cluster, or `STACK/RESOURCE STATUS UNIQUE-ID` of a CloudFormation signal.
    pub subject: Option<String>,
}

/// A path on the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileExpect {
    /// Whether the path exists, of whatever type (default: `true`). A link without its target exists.
    pub exists: Option<bool>,
    /// What the path itself is. A link to a file is a `link`.
    #[serde(rename = "type")]
    pub file_type: Option<FileType>,
    /// The target of a link, as written in it.
    pub target: Option<String>,
    /// User and group, such as `root:root`. Of a link, those of its target.
    pub owner: Option<String>,
    /// Texts that the file contains.
    pub contains: Vec<String>,
    /// Texts that the file must not contain.
    pub lacks: Vec<String>,
    /// File mode in octal, such as `"0644"`. Of a link, the mode of its target.
    pub mode: Option<String>,
}

impl FileExpect {
    /// The expectation that nothing has the path.
    #[must_use]
    pub fn missing() -> Self {
        Self {
            exists: Some(false),
            ..Self::default()
        }
    }
}

/// A systemd unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UnitExpect {
    /// The state.
    State(String),
    /// State, enablement, slice and properties.
    Details(UnitDetails),
}

/// Details of a systemd unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UnitDetails {
    /// The state, such as `active`.
    pub state: Option<String>,
    /// Whether systemd starts the unit at boot.
    pub enabled: Option<bool>,
    /// The slice, such as `runtime.slice`.
    pub slice: Option<String>,
    /// Values of `systemctl show`, by property, such as `Restart: always`.
    pub show: BTreeMap<String, String>,
}

impl UnitExpect {
    /// The required state.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        match self {
            Self::State(state) => Some(state),
            Self::Details(details) => details.state.as_deref(),
        }
    }

    /// Required values of `systemctl show`, by property.
    #[must_use]
    pub fn properties(&self) -> BTreeMap<&str, &str> {
        let Self::Details(details) = self else {
            return BTreeMap::new();
        };
        let given = details.show.iter();
        let slice = details.slice.iter().map(|slice| ("Slice", slice.as_str()));
        given
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .chain(slice)
            .collect()
    }

    /// Whether the unit must be enabled.
    #[must_use]
    pub fn enabled(&self) -> Option<bool> {
        match self {
            Self::State(_) => None,
            Self::Details(details) => details.enabled,
        }
    }
}

/// The running kubelet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KubeletExpect {
    /// Required arguments of the running process, each as a complete argument or as `--flag value`.
    pub argv: Vec<String>,
    /// Arguments, or prefixes of arguments, that the process must not have.
    pub argv_absent: Vec<String>,
    /// Values of `/configz` by dotted path, such as `evictionHard.memory.available`. A key that contains dots is
    /// looked up first.
    pub config: BTreeMap<String, serde_json::Value>,
    /// Paths, as in `config`, that `/configz` must not have.
    pub config_absent: Vec<String>,
    /// Number of times that systemd started the kubelet: a number, or a range such as `{ min: 2 }`.
    pub starts: Option<CountExpect>,
}

/// User data as a whole and by part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserDataExpect {
    /// Whether all parts succeeded.
    pub succeeded: Option<bool>,
    /// Exit code by part: its file name in the MIME header, else `part-001` for the first, and so on; `runcmd` for the
    /// commands of a cloud-config. A single plain script is `part-001`.
    pub exit_codes: BTreeMap<String, i32>,
    /// Texts in the output of the user data.
    pub output_contains: Vec<String>,
    /// Texts that the output of the user data, which must have run, does not have.
    pub output_lacks: Vec<String>,
}

/// The scenario's pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PodExpect {
    /// Whether the pod answered through the API server.
    pub answers: Option<bool>,
    /// Texts in the pod's answer, or in the reason why it does not answer: its status and its events.
    pub contains: Vec<String>,
}
