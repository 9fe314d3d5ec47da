//! A scenario with every default and file reference resolved: the input of the engine.

pub mod access_entry;
pub mod answer;
pub mod architecture;
pub mod aws;
mod aws_auth;
pub mod bootstrap_token;
pub mod change;
mod cluster;
pub mod disks;
pub mod dns_fault;
pub mod ec2;
pub mod expect;
pub mod fault;
pub mod golden;
mod image;
mod instance;
pub mod instance_type;
pub mod link_local;
pub mod machine;
mod metadata;
pub mod outside;
mod overlay;
pub mod pod_identity;
pub mod provider;
mod scenario_plan;
pub mod sources;
pub mod step;
pub mod stored;
mod values;

pub use crate::vocabulary::cluster_status::ClusterStatus;
pub use crate::vocabulary::endpoint::{EndpointUrl, InvalidEndpoint};
pub use crate::vocabulary::http_proxy::HttpProxyUrl;
pub use crate::vocabulary::{cidr, cluster_status, ids, region};
pub use aws_auth::{AwsAuthWriter, RoleMapping};
pub use cluster::{Approval, CaChoice, ClusterPlan, LateApproval, LateRight, StatusStep};
pub use image::{ImagePlan, ImageSource, OverlayFile, PatchedFile};
pub use instance::{InstancePlan, LifeCycle, RolePlan, VolumePlan};
pub use metadata::{MetadataPlan, Tokens};
pub use overlay::{Overlay, OverlayRange};
pub use provider::ProviderName;
pub use scenario_plan::Plan;
pub use values::{
    Cni, Network, NewerSettings, PodPlan, Replacement, Stubs, Timeouts, UserDataEngine, UserDataPlan,
};
