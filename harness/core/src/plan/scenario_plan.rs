//! The complete input of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kubernetes::RequestedVersions;
use crate::plan::aws::AwsPlan;
use crate::plan::cluster::ClusterPlan;
use crate::plan::dns_fault::DnsFault;
use crate::plan::expect::Expect;
use crate::plan::fault::Fault;
use crate::plan::golden::GoldenPlan;
use crate::plan::image::ImagePlan;
use crate::plan::instance::{InstancePlan, RolePlan};
use crate::plan::overlay::{Overlay, OverlayRange};
use crate::plan::provider::ProviderName;
use crate::plan::sources::Sources;
use crate::plan::step::StepPlan;
use crate::plan::values::{
    Cni, Network, NewerSettings, OutsideFiles, PodPlan, Stubs, Timeouts, UserDataPlan,
};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::http_proxy::HttpProxyUrl;
use crate::vocabulary::ids::{AccountId, ScenarioId, ScenarioTag};
use crate::vocabulary::region::Region;

/// Lines of the journal after which a probe ends. Changed scripts often repeat a line without end.
const JOURNAL_LINES_OF_PROBE: u32 = 10_000;

/// The complete input of the engine for one scenario. Plain data that can cross a process boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub id: ScenarioId,
    /// Whether `nodejoin try` wrote the scenario for this run: no file of the user contains it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    /// Whether the file of a trial decides the family of the AMI, which its user data must fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ami_stated: bool,
    /// Whether the run ends where the machine starts its kubelet, whose place a program of the harness takes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_probe: bool,
    /// The version that the kubelet of a probe reports in place of its own, such as `v1.27.0`: nothing joins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed_kubelet: Option<String>,
    /// Whether bash reports each command of the scripts that run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_traced: bool,
    /// One sentence that says what the scenario shows.
    pub name: String,
    /// Path of the scenario file, as the user gave it.
    pub file: String,
    /// Words by which a filter selects the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<ScenarioTag>,
    /// Control planes that support the scenario; on others it is skipped. Empty: all.
    pub control_plane: Vec<ProviderName>,
    /// Supported Kubernetes versions of the control plane; on others the scenario is skipped.
    #[schemars(with = "Option<String>")]
    pub kubernetes: Option<semver::VersionReq>,
    /// Supported kubelet versions; on others the scenario is skipped.
    #[schemars(with = "Option<String>")]
    pub kubelet: Option<semver::VersionReq>,
    /// The kubelets that its overlays are for; on others the scenario is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlay_ranges: Vec<OverlayRange>,
    /// Unset environment variables that the scenario requires. If there are any, it is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// The requested Kubernetes versions.
    #[serde(default, skip_serializing_if = "RequestedVersions::is_nothing")]
    pub requested: RequestedVersions,
    /// Networks that the node reaches.
    pub network: Network,
    /// Recorded answers to requests outside: paths of files by URL.
    #[serde(default, skip_serializing_if = "OutsideFiles::is_empty")]
    pub outside: OutsideFiles,
    /// The HTTP proxy that the node reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<HttpProxyUrl>,
    /// The node image and its overlay files.
    pub image: ImagePlan,
    pub account: AccountId,
    /// Region of all resources.
    pub region: Region,
    /// The first instance.
    pub instance: InstancePlan,
    /// More instances that boot at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<InstancePlan>,
    /// Role in the instance profile; `None`: an instance without a profile.
    pub role: Option<RolePlan>,
    pub cluster: ClusterPlan,
    pub user_data: Option<UserDataPlan>,
    /// Other resources of the account.
    #[serde(default)]
    pub aws: AwsPlan,
    pub faults: Vec<Fault>,
    /// Faults of the node's DNS resolver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_faults: Vec<DnsFault>,
    /// Container networking of the node.
    pub cni: Cni,
    /// Programs of Amazon Linux that stand in for those that the image lacks.
    #[serde(default, skip_serializing_if = "Stubs::are_default")]
    pub stubs: Stubs,
    /// What happens to settings that the kubelet is too old for.
    #[serde(default, skip_serializing_if = "NewerSettings::are_default")]
    pub newer_settings: NewerSettings,
    /// A pod that must answer once the node is ready.
    pub pod: Option<PodPlan>,
    /// The expected outcome of the join.
    pub expect: Expect,
    /// The scenario of `expect.same_as`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<Box<Self>>,
    /// A snapshot to compare the node with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<GoldenPlan>,
    /// Steps after the join, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<StepPlan>,
    /// Timeouts of the join and of each step, and what a node can use of its host.
    pub limits: Timeouts,
    /// Positions in the user's files.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

impl Plan {
    /// Changes the node image, also that of the scenario to compare with.
    pub fn change_image(&mut self, change: &dyn Fn(&mut ImagePlan)) {
        change(&mut self.image);
        if let Some(other) = &mut self.same_as {
            other.change_image(change);
        }
    }

    /// Adds the files of an overlay to the node.
    pub fn add_overlay(&mut self, overlay: &Overlay) {
        self.change_image(&|image| image.overlay.extend_from_slice(&overlay.files));
        self.overlay_ranges.extend_from_slice(&overlay.ranges);
    }

    /// The command that runs the plan and stops at its verdict with everything alive.
    #[must_use]
    pub fn hold_command(&self) -> String {
        match self.is_trial {
            true => format!("nodejoin try {} --hold", self.file),
            false => "nodejoin run --hold".to_owned(),
        }
    }

    /// How to give the scenario a key: in its file, or on the command line of a trial, which has no file.
    #[must_use]
    pub fn key_hint(&self, yaml: &str) -> String {
        match self.is_trial {
            true => format!("add `--with '{yaml}'` to the command"),
            false => format!("set `{yaml}` in the scenario"),
        }
    }

    /// Whether the scenario changes the shared control plane, so that no other scenario may run at the same time.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.cluster.aws_auth_text.is_some() || self.cluster.restart_api_server_after.is_some()
    }

    /// The expected diagnoses of the join and of each step.
    pub fn causes(&self) -> impl Iterator<Item = Cause> {
        let steps = self.then.iter().map(|step| &step.expect);
        std::iter::once(&self.expect)
            .chain(steps)
            .filter_map(|expect| expect.diagnosis)
    }

    /// Lets notes fail the join and each step, unless the scenario decides it.
    pub fn require_clean(&mut self) {
        let steps = self.then.iter_mut().map(|step| &mut step.expect);
        for expect in std::iter::once(&mut self.expect).chain(steps) {
            expect.clean.get_or_insert(true);
        }
    }

    /// All instances of the scenario, including replacements.
    pub fn instances(&self) -> impl Iterator<Item = &InstancePlan> {
        let replaced = self.then.iter().map(|step| &step.instance);
        std::iter::once(&self.instance)
            .chain(&self.others)
            .chain(replaced.filter(|instance| instance.id != self.instance.id))
    }

    /// One plan per node. The plans differ in their instance only.
    #[must_use]
    pub fn nodes(&self) -> Vec<Self> {
        let instances = std::iter::once(&self.instance).chain(&self.others);
        let node = |instance: &InstancePlan| Self {
            instance: instance.clone(),
            others: Vec::new(),
            ..self.clone()
        };
        instances.map(node).collect()
    }

    /// The plan of a probe: the first node, up to the start of its kubelet, without expectations.
    #[must_use]
    pub fn probe(&self) -> Self {
        Self {
            is_probe: true,
            others: Vec::new(),
            expect: Expect::default(),
            same_as: None,
            golden: None,
            pod: None,
            then: Vec::new(),
            cluster: ClusterPlan {
                restart_api_server_after: None,
                ..self.cluster.clone()
            },
            limits: Timeouts {
                journal_lines: self.limits.journal_lines.min(JOURNAL_LINES_OF_PROBE),
                ..self.limits.clone()
            },
            ..self.clone()
        }
    }

    /// The probe with what the scenario expects, which its machine may already tell.
    #[must_use]
    pub fn probe_with_checks(&self) -> Self {
        Self {
            expect: self.expect.clone(),
            ..self.probe()
        }
    }

    /// The plan of the node after a step, whose outcome is judged like that of a join.
    #[must_use]
    pub fn after(&self, step: &StepPlan) -> Self {
        let user_data = self.user_data.clone();
        Self {
            instance: step.instance.clone(),
            expect: step.expect.clone(),
            user_data: user_data.filter(|_| step.action.minds_user_data()),
            same_as: None,
            // Faults apply to the first join only.
            faults: Vec::new(),
            dns_faults: Vec::new(),
            pod: None,
            golden: None,
            then: Vec::new(),
            ..self.clone()
        }
    }
}
