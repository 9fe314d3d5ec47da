//! Turns a machine of another tool's file into a scenario: adopts what the file and the user data state about cluster
//! and instance, chooses the AMI, and derives what the node must have.
//!
//! In this crate and not in `core`, because it joins the machine's traits with the text; pure like the readers.
//!
//! ```text
//! Machine -> user data of the instance (EKS' part, values of --set) -> Stated -> AMI, cluster, expectations -> Trial
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `error` | why a machine cannot be tried |
//! | `assigned` | names that a script sets |
//! | `angle_names` | `<name>` where a value belongs |
//! | `name_marks` | marks of templates where a name of the cluster stands |
//! | `printed_documents` | here-documents whose text is for a reader |
//! | `replaced_marks` | marks that a command of the script fills in |
//! | `kubernetes_settings` | which lines of settings are those of Kubernetes |
//! | `placeholders` | places in user data that are not filled in |
//! | `report` | a line of the report, and what it is about |
//! | `file_name` | the name of a machine as a name of files |
//! | `region` | the region of the scenario |
//! | `shell` | reads the commands of a script without running it |
//! | `wrappers` | programs that run another one |
//! | `join_configuration` | the configuration of `kubeadm join` |
//! | `kubeconfig` | the cluster in a kubeconfig |
//! | `kubelet_fields` | misspelt fields of the kubelet's configuration |
//! | `kubelet_flags` | labels, taints and pod capacity in flags |
//! | `kubelet_flag_names` | misspelt flags of the kubelet |
//! | `bootstrap_call` | calls of the bootstrap script and of kubeadm |
//! | `yaml_documents` | the YAML documents of a text |
//! | `mistyped_parts` | NodeConfigs in parts of another type |
//! | `inner_messages` | NodeConfigs in a message inside of a message |
//! | `missing_interpreter` | parts of scripts without `#!` |
//! | `unhandled_parts` | parts of a type that nothing handles |
//! | `node_config` | NodeConfigs |
//! | `cel` | types and errors of the expression for the number of pods in a NodeConfig |
//! | `max_pods_tokens` | its words and signs |
//! | `max_pods` | its value |
//! | `stated` | all of that for all parts of user data |
//! | `ami` | chooses the AMI |
//! | `versions` | the Kubernetes version that file and user data are for |
//! | `yaml_text` | writes YAML |
//! | `added_keys` | keys of the command line |
//! | `access` | the role of the instance, and how the cluster lets it in |
//! | `tags` | tags of the instance |
//! | `metadata` | the options of the instance's metadata |
//! | `outpost` | the Outpost of a local cluster |
//! | `stack` | the CloudFormation stack that user data reads |
//! | `endpoint` | the endpoint, and whether EKS can have it |
//! | `impossible_name` | a name that no cluster of EKS has |
//! | `cluster` | the cluster and the instance of the scenario |
//! | `cloud_config_typos` | misspelt keys of a cloud-config |
//! | `cloud_config_keys` | keys of a cloud-config that have no effect |
//! | `stand_ins` | names values of the cluster that no file states |
//! | `lost_lines` | lines that nothing runs |
//! | `lost_parts` | parts of a MIME message that nothing reads |
//! | `drop_in_folders` | drop-ins that systemd does not read |
//! | `lost_variables` | a variable that nothing reads |
//! | `lost_flags` | flags of the kubelet that nothing reads |
//! | `open_values` | refuses user data with values that are not filled in |
//! | `expectations` | what the node must have |
//! | `kubelet_start` | whether user data may start a kubelet |
//! | `not_nodes` | machines that are not nodes, beside machines that are |
//! | `started_units` | units and containers that cannot be a kubelet |
//! | `trial` | the scenario and its report |

mod access;
mod added_keys;
mod ami;
mod angle_names;
mod assigned;
mod bootstrap_call;
mod cel;
mod cloud_config_keys;
mod cloud_config_typos;
mod cluster;
mod drop_in_folders;
mod endpoint;
mod error;
mod expectations;
mod file_name;
mod impossible_name;
mod inner_messages;
mod join_configuration;
mod kubeconfig;
mod kubelet_fields;
mod kubelet_flag_names;
mod kubelet_flags;
mod kubelet_start;
mod kubernetes_settings;
mod lost_flags;
mod lost_lines;
mod lost_parts;
mod lost_variables;
mod max_pods;
mod max_pods_tokens;
mod metadata;
mod missing_interpreter;
mod mistyped_parts;
mod name_marks;
mod node_config;
mod not_nodes;
mod open_values;
mod outpost;
mod placeholders;
mod printed_documents;
mod region;
mod replaced_marks;
mod report;
mod shell;
mod stack;
mod stand_ins;
mod started_units;
mod stated;
mod tags;
mod trial;
mod unhandled_parts;
mod versions;
mod wrappers;
mod yaml_documents;
mod yaml_text;

pub use added_keys::AddedKeys;
pub use ami::AmiFiles;
pub(crate) use bootstrap_call::calls_bootstrap_program;
pub use error::AdoptError;
pub(crate) use kubelet_fields::fields as kubelet_fields;
pub(crate) use not_nodes::leave_out_others;
pub use placeholders::Placeholder;
pub(crate) use placeholders::{filled, is_printed};
pub use report::{AdoptionKind, AdoptionLine};
pub(crate) use stated::Stated;
pub use trial::{Trial, adopt};
pub use versions::{OfflineKubernetes, WantedKubernetes};
