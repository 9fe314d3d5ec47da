//! Which machines does a file of another tool define, and with which user data?
//!
//! Pure: bytes in, data out. Files are read only by `disk`, and if the input is a folder `cdk.out`.
//!
//! ```text
//! bytes -> recognize -> reader of the format -> Imported { machines: [user data + traits] }
//! ```
//!
//! A module uses only modules above it in this table.
//!
//! | module | content |
//! | --- | --- |
//! | `tree` | JSON and YAML documents with positions |
//! | `cluster_access` | access entries and rows of `aws-auth` |
//! | `role_rights` | the trust and the policies of a role |
//! | `instance_types` | how many pods fit on an instance type |
//! | `template_stack` | a CloudFormation stack, as user data reads it |
//! | `machine` | what an import returns: machines with user data and traits |
//! | `error` | why a file cannot be imported, and what to do next |
//! | `source_lines` | lines of user data in the file that contains it |
//! | `input` | what an import reads |
//! | `words` | words of AWS and Kubernetes as types |
//! | `bottlerocket`, `windows` | check user data of these systems, and translate settings of Bottlerocket |
//! | `known_fields` | the fields of files whose tools refuse others |
//! | `instance_values` | values of launch templates that EC2 refuses |
//! | `group_values` | values of managed node groups that EKS refuses |
//! | `group_refusals` | what EKS refuses of a node group with a launch template |
//! | `scope` | tools whose nodes do not join by user data of EKS |
//! | `text` | files that are user data themselves |
//! | `go_mime` | whether nodeadm reads a MIME message |
//! | `here_document` | texts in a script that its shell hands to a command |
//! | `mime` | the parts of MIME user data as they are |
//! | `mime_end` | ends of MIME messages that are not ends |
//! | `nearly_user_data` | texts that are almost user data |
//! | `nodeadm_base64` | user data that only nodeadm can read |
//! | `toml_table` | settings of Bottlerocket as tables |
//! | `eks` | the part that EKS appends in a managed node group |
//! | `template` | files that a tool has not rendered yet |
//! | `template_directives` | lines of user data that only a template engine evaluates |
//! | `template_fragment` | `UserData` of CloudFormation without a template |
//! | `other_text` | files of no known tool that contain user data |
//! | `amazon_linux` | AMIs of Amazon Linux that are not those of EKS |
//! | `architecture` | the architecture of an AMI and of its instance type |
//! | `reading` | collects machines |
//! | `scaling_groups` | Auto Scaling groups of one launch template |
//! | `ec2` | launch template versions, instance attributes, launch configurations |
//! | `karpenter` | EC2NodeClass with NodePool |
//! | `eksctl` | node groups of a ClusterConfig |
//! | `cluster_api` | bootstrap configurations and Secrets of Cluster API |
//! | `pulumi` | stacks and previews |
//! | `rancher` | node groups of an EKSClusterConfig |
//! | `terraform` | plans and states |
//! | `cloudformation` | CloudFormation templates, and folders of `cdk synth` |
//! | `crossplane` | manifests of Crossplane, as resources of Terraform |
//! | `ack` | manifests with the fields of AWS' APIs, as a template of CloudFormation |
//! | `layers` | base64 and gzip around a file |
//! | `manifest_values` | `$NAME` in manifests |
//! | `clusterctl` | names in templates of clusterctl |
//! | `recognize` | finds the format of a file and calls its reader |
//! | `adopt` | turns a machine into a scenario |
//! | `disk` | the files of scenarios, with those of other tools |

mod ack;
mod adopt;
mod amazon_linux;
mod architecture;
mod bottlerocket;
mod cloudformation;
mod cluster_access;
mod cluster_api;
mod clusterctl;
mod crossplane;
mod disk;
mod ec2;
mod eks;
mod eksctl;
mod error;
mod go_mime;
mod group_refusals;
mod group_values;
mod here_document;
mod input;
mod instance_types;
mod instance_values;
mod karpenter;
mod known_fields;
mod layers;
mod machine;
mod manifest_values;
mod mime;
mod mime_end;
mod nearly_user_data;
mod nodeadm_base64;
mod other_text;
mod pulumi;
mod rancher;
mod reading;
mod recognize;
mod role_rights;
mod scaling_groups;
mod scope;
mod source_lines;
mod template;
mod template_directives;
mod template_fragment;
mod template_stack;
mod terraform;
#[cfg(test)]
mod tests;
mod text;
mod toml_table;
mod tree;
mod windows;
mod words;

pub use adopt::{
    AddedKeys, AdoptError, AdoptionKind, AdoptionLine, AmiFiles, OfflineKubernetes, Placeholder, Trial,
    WantedKubernetes, adopt,
};
pub use cluster_access::{AwsAuthRow, StatedAccess, StatedEntry};
pub use disk::ImportDisk;
pub use eks::complete_user_data;
pub use error::ImportError;
pub use input::Import;
pub use machine::{
    AmiFamily, CapacityType, ClusterTraits, FileFormat, Imported, LaunchTemplateVersion, Machine,
    ManagedNodeGroup, StartedBy, System, Taint, TaintEffect, Traits, UnreadMachine,
};
pub use recognize::import;
pub use role_rights::RoleRights;
