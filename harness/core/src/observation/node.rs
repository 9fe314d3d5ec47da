//! What the node reports: its journal, and what is collected from it at the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AccessResult, ScriptTrace};
use crate::vocabulary::file_type::FileType;

/// A line of the node's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// The unit that wrote the line, or that the line of systemd is about.
    pub unit: Option<String>,
    /// The command that wrote the line.
    pub command: Option<String>,
    /// Whether systemd itself wrote the line.
    pub by_systemd: bool,
    pub message: String,
}

/// What is collected from the node at the end of a join.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Arguments of the running kubelet, program first; `None` if no kubelet runs.
    pub kubelet_argv: Option<Vec<String>>,
    /// `/configz` of the kubelet, through the API server.
    pub configz: Option<serde_json::Value>,
    /// Fields of the kubelet's configuration that the harness changed, as the script chose them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chosen_configuration: BTreeMap<String, serde_json::Value>,
    /// The files that the scenario checks, by path.
    pub files: BTreeMap<String, CollectedFile>,
    /// `ActiveState` of systemd units.
    pub units: BTreeMap<String, String>,
    /// Values of `systemctl show` of these units, by `UNIT PROPERTY`; whether they are enabled is `UNIT enabled`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unit_properties: BTreeMap<String, String>,
    /// Units that were enabled after the boot; `None`: not collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units_enabled: Option<Vec<String>>,
    /// The certificate on port 10250.
    pub served: Option<ServingCertificate>,
    pub user_data: Option<UserDataResult>,
    /// Processes of user data that still runs: seconds since the start, CPU time, command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_data_processes: Vec<String>,
    /// Output of user data that `exec > FILE` sends to files, which the journal lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirected_output: Vec<String>,
    pub pod: Option<PodResult>,
    /// The node's snapshot, if the scenario has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<String>,
    /// The commands of shell scripts that ran, if they are traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_trace: Option<ScriptTrace>,
    /// Results of the scenario's `access` checks, in their order; `None` if the node never had an identity.
    pub access: Option<Vec<AccessResult>>,
}

impl Collected {
    /// Stores `/configz`, with the fields that the harness changed as the script chose them.
    pub fn set_configz(&mut self, configz: Option<serde_json::Value>) {
        self.configz = configz;
        let fields = self.configz.as_mut().and_then(serde_json::Value::as_object_mut);
        if let Some(fields) = fields {
            fields.extend(self.chosen_configuration.clone());
        }
    }
}

/// A path of the node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectedFile {
    /// Whether anything has this path.
    pub exists: bool,
    /// What the path itself is.
    #[serde(default, rename = "type")]
    pub file_type: FileType,
    /// The target of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// User and group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Permission bits.
    pub mode: u32,
    /// The content of a file; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The certificate that the kubelet serves on port 10250.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServingCertificate {
    /// SHA-256 of the certificate, in hexadecimal; `None` if every handshake failed.
    pub fingerprint: Option<String>,
    /// Whether the certificate is valid for the node's address and signed by the cluster's CA.
    pub verified: bool,
    /// Why the handshake or the verification failed.
    pub error: Option<String>,
}

/// The result of the user data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserDataResult {
    pub ran: bool,
    /// The final data source of cloud-init, such as `DataSourceEc2` or `DataSourceNone`.
    pub data_source: Option<String>,
    /// Status of cloud-init: `done`, `error`, `running`.
    pub status: Option<String>,
    /// Errors that cloud-init reports.
    pub errors: Vec<String>,
    /// Exit code of each part.
    pub exit_codes: BTreeMap<String, i32>,
    pub output: String,
}

/// The result of the scenario's pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PodResult {
    /// Whether it responded through the API server.
    pub answered: bool,
    /// Its last phase, and the error in place of a response.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_the_harness_changed_are_those_of_the_script() {
        let mut collected = Collected {
            chosen_configuration: [("maxPods".to_owned(), serde_json::json!(4))].into(),
            ..Collected::default()
        };
        collected.set_configz(Some(serde_json::json!({ "maxPods": 100, "port": 10250 })));
        assert_eq!(
            collected.configz,
            Some(serde_json::json!({ "maxPods": 4, "port": 10250 }))
        );
        collected.set_configz(None);
        assert_eq!(collected.configz, None);
    }
}
