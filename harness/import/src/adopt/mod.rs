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
//! | `replaced_lists` | lists of a cloud-config that a later part replaces |
//! | `replaced_marks` | marks that a command of the script fills in |
//! | `filled_marks` | the values of marks that a command of the script or a run fills in |
//! | `kubernetes_settings` | which lines of settings are those of Kubernetes |
//! | `placeholders` | places in user data that are not filled in |
//! | `report` | a line of the report, and what it is about |
//! | `file_name` | the name of a machine as a name of files |
//! | `region_in_text` | the region that user data names |
//! | `region` | the region of the scenario |
//! | `shell` | reads the commands of a script without running it |
//! | `shell_grammar` | certain mistakes in the syntax of a script, and where it certainly ends |
//! | `wrappers` | programs that run another one |
//! | `shell_scripts` | the scripts of user data that bash or a shell like it runs |
//! | `broken_scripts` | scripts with an error at which their shell ends |
//! | `join_configuration` | the configuration of `kubeadm join` |
//! | `kubeconfig` | the cluster in a kubeconfig |
//! | `systemd_words` | how systemd makes arguments of a text |
//! | `kubelet_fields` | misspelt fields of the kubelet's configuration |
//! | `feature_gates` | misspelt and unknown feature gates of the kubelet |
//! | `kubelet_flags` | labels, taints and pod capacity in flags |
//! | `removed_flags` | flags and feature gates that newer kubelets do not have |
//! | `kubelet_flag_names` | misspelt and unknown flags of the kubelet |
//! | `bootstrap_call` | calls of the bootstrap script and of kubeadm |
//! | `mistyped_path` | misspelt paths of the bootstrap script |
//! | `indirect_calls` | calls by functions, units and programs in other languages |
//! | `shell_functions` | functions of a script, and what it passes to them |
//! | `run_arguments` | whether a function runs its arguments or prints them |
//! | `passed_names` | names of the cluster that a call does not show |
//! | `eks_commands` | commands of `aws eks` about a cluster |
//! | `early_commands` | the commands of `bootcmd` |
//! | `yaml_documents` | the YAML documents of a text |
//! | `mistyped_parts` | NodeConfigs in parts of another type |
//! | `inner_messages` | NodeConfigs in a message inside of a message |
//! | `unhandled_parts` | parts of a type that nothing handles |
//! | `other_beginnings` | parts that begin as one of another type |
//! | `first_lines` | scripts whose first line is not the right one |
//! | `missing_interpreter` | parts of scripts without `#!` |
//! | `node_config` | NodeConfigs |
//! | `cel` | types and errors of the expression for the number of pods in a NodeConfig |
//! | `max_pods_tokens` | its words and signs |
//! | `max_pods` | its value |
//! | `stated` | all of that for all parts of user data |
//! | `ami` | chooses the AMI |
//! | `images_without_kubelet` | AMIs that are not those of EKS |
//! | `ipv6_calls` | mistakes of calls for IPv6 clusters |
//! | `versions` | the Kubernetes version that file and user data are for |
//! | `yaml_text` | writes YAML |
//! | `added_keys` | keys of the command line |
//! | `stated_mapping` | how the file lets the role of a machine in, or keeps it out |
//! | `refused_entries` | access entries that EKS refuses |
//! | `access` | the role of the instance, and how the cluster lets it in |
//! | `service_networks` | networks of services that differ |
//! | `tags` | tags of the instance |
//! | `metadata` | the options of the instance's metadata |
//! | `outpost` | the Outpost of a local cluster |
//! | `stack` | the CloudFormation stack that user data reads |
//! | `endpoint_mistakes` | endpoints at which no cluster of EKS answers |
//! | `endpoint` | the endpoint, and whether EKS can have it |
//! | `impossible_name` | a name that no cluster of EKS has |
//! | `adopted_name` | the name of the cluster of a trial |
//! | `mistyped_names` | names of the cluster that differ by a typing error |
//! | `several_names` | calls with several names of the cluster |
//! | `cluster_names` | what EKS takes for the name of a cluster |
//! | `cluster` | the cluster and the instance of the scenario |
//! | `cloud_config_typos` | misspelt keys of a cloud-config |
//! | `cloud_config_keys` | keys of a cloud-config that have no effect |
//! | `missing_script` | a call of a script that the AMI lacks |
//! | `stand_ins` | names values of the cluster that no file states |
//! | `unexecutable_files` | files of a cloud-config that a command cannot execute |
//! | `lost_lines` | lines that nothing runs |
//! | `lost_parts` | parts of a MIME message that nothing reads |
//! | `drop_in_folders` | drop-ins that systemd does not read |
//! | `lost_variables` | a variable that nothing reads |
//! | `lost_flags` | flags of the kubelet that nothing reads |
//! | `open_values` | refuses user data with values that are not filled in |
//! | `needed_disks` | disks that the instance type of a trial does not have |
//! | `dns_addresses` | addresses of the cluster's DNS that are none |
//! | `early_exits` | commands that end a script before its call of the bootstrap script |
//! | `whole_texts` | mistakes that only a whole script, or all NodeConfigs together, show |
//! | `expectations` | what the node must have |
//! | `kubelet_start` | whether user data may start a kubelet |
//! | `not_nodes` | machines that are not nodes, beside machines that are |
//! | `started_units` | units and containers that cannot be a kubelet |
//! | `unset_variables` | variables in calls that nothing sets |
//! | `trial` | the scenario and its report |

mod access;
mod added_keys;
mod adopted_name;
mod ami;
mod angle_names;
mod assigned;
mod bootstrap_call;
mod broken_scripts;
mod cel;
mod cloud_config_keys;
mod cloud_config_typos;
mod cluster;
mod cluster_names;
mod dns_addresses;
mod drop_in_folders;
mod early_commands;
mod early_exits;
mod eks_commands;
mod endpoint;
mod endpoint_mistakes;
mod error;
mod expectations;
mod feature_gates;
mod file_name;
mod filled_marks;
mod first_lines;
mod images_without_kubelet;
mod impossible_name;
mod indirect_calls;
mod inner_messages;
mod ipv6_calls;
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
mod missing_script;
mod mistyped_names;
mod mistyped_parts;
mod mistyped_path;
mod name_marks;
mod needed_disks;
mod node_config;
mod not_nodes;
mod open_values;
mod other_beginnings;
mod outpost;
mod passed_names;
mod placeholders;
mod printed_documents;
mod refused_entries;
mod region;
mod region_in_text;
mod removed_flags;
mod replaced_lists;
mod replaced_marks;
mod report;
mod run_arguments;
mod service_networks;
mod several_names;
mod shell;
mod shell_functions;
mod shell_grammar;
mod shell_scripts;
mod stack;
mod stand_ins;
mod started_units;
mod stated;
mod stated_mapping;
mod systemd_words;
mod tags;
mod trial;
mod unexecutable_files;
mod unhandled_parts;
mod unset_variables;
mod versions;
mod whole_texts;
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
