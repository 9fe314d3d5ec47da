//! Deviations of a node from the AMI: which a node has. `table.rs` names and explains them for the report;
//! `stand_ins.rs` lists the programs that some of them lay down.

mod stand_ins;
mod table;

pub use table::DeviationKind;

use nodejoin_core::observation::{Deviation, ImagePart};
use nodejoin_core::plan::{Cni, Network, Stubs, UserDataEngine};
use nodejoin_core::user_data::{ReplacedValue, replaced_values};

use crate::host_workarounds::HostWorkarounds;
use crate::layer::has_disk_tools;
use crate::request::NodeRequest;

impl DeviationKind {
    /// A sentence that reports show whatever the outcome: the verdict is about less than the file.
    fn detail(self) -> Option<&'static str> {
        match self {
            Self::BottlerocketSettings => Some(
                "the settings of Bottlerocket run on the kubelet of an AL2023 node; nothing of Bottlerocket's own boot is tested",
            ),
            Self::MissingCloudInit
            | Self::AddedKubelet
            | Self::MissingContainerRuntime
            | Self::MissingAwsCli => Some(self.what()),
            _ => None,
        }
    }
}

impl From<DeviationKind> for Deviation {
    fn from(kind: DeviationKind) -> Self {
        Self {
            name: kind.name().to_owned(),
            what: kind.what().to_owned(),
            why: kind.why().to_owned(),
            details: kind.detail().map(str::to_owned).into_iter().collect(),
        }
    }
}

/// The deviations of this node. The caller adds [`DeviationKind::PodCidr`], which depends on the version of the
/// kubelet, and [`DeviationKind::TranslatedSettings`], which the node's journal shows.
pub(crate) fn of(request: &NodeRequest<'_>, host: HostWorkarounds) -> Vec<Deviation> {
    let has = |kind: DeviationKind| has(kind, request, host);
    DeviationKind::ALL
        .into_iter()
        .filter(|kind| has(*kind))
        .map(Deviation::from)
        .collect()
}

fn has(kind: DeviationKind, request: &NodeRequest<'_>, host: HostWorkarounds) -> bool {
    let engine = request.plan.user_data.as_ref().map(|data| data.engine);
    let engine = engine.unwrap_or(UserDataEngine::CloudInit);
    let facts = request.image.facts.as_ref();
    let lacks = |part| facts.is_some_and(|facts| facts.lacks(part));
    let instance = &request.plan.instance;
    let replaced = request
        .plan
        .user_data
        .as_ref()
        .map(replaced_values)
        .unwrap_or_default();
    match kind {
        DeviationKind::RedirectedAddresses
        | DeviationKind::TrustedAuthority
        | DeviationKind::PrivateKernelSettings
        | DeviationKind::DiskViews
        | DeviationKind::JournalStream => true,
        DeviationKind::MachineViews => instance.machine().is_some(),
        DeviationKind::DiskTools => has_disk_tools(request.plan),
        DeviationKind::SmallerHost => host.is_smaller,
        DeviationKind::MountedFolders => host.mounts_image_folders,
        DeviationKind::CloudInitDataSource => engine == UserDataEngine::CloudInit,
        DeviationKind::DirectUserData => engine == UserDataEngine::Direct && !lacks(ImagePart::CloudInit),
        DeviationKind::ReplacedAuthority => replaced.contains(&ReplacedValue::CertificateAuthority),
        DeviationKind::ReplacedBootstrapToken => {
            replaced.contains(&ReplacedValue::BootstrapToken) || replaced.contains(&ReplacedValue::CaCertHash)
        }
        DeviationKind::ClockOfAws => instance.clock_ahead_seconds != 0,
        DeviationKind::RuncClamp => host.clamps_limits,
        DeviationKind::CgroupV1Allowed => host.permits_cgroup_v1,
        DeviationKind::TracedScripts => request.plan.is_traced,
        DeviationKind::PackageStubs
        | DeviationKind::AgentStub
        | DeviationKind::TrustStoreTool
        | DeviationKind::MetadataTool
        | DeviationKind::SystemTools
        | DeviationKind::ModuleTool
        | DeviationKind::CloudFormationTools => request.plan.stubs == Stubs::Packages,
        DeviationKind::CniBridge => request.plan.cni == Cni::Bridge,
        DeviationKind::HarnessTools | DeviationKind::MaskedNetworkManagers => facts.is_some(),
        DeviationKind::ResolverStandIn => {
            let image = &request.plan.image;
            let is_added = image.added().any(|file| file.to == "/usr/bin/nodeadm");
            facts.is_some() || is_added || image.name == "al2023"
        }
        DeviationKind::MissingCloudInit => lacks(ImagePart::CloudInit),
        DeviationKind::AddedKubelet => lacks(ImagePart::Kubelet),
        DeviationKind::MissingContainerRuntime => lacks(ImagePart::ContainerRuntime),
        DeviationKind::MissingAwsCli => lacks(ImagePart::AwsCli),
        DeviationKind::ForcedCgroupV1 => host.forces_cgroup_v1,
        DeviationKind::BottlerocketSettings => {
            let user_data = request.plan.user_data.as_ref();
            user_data.is_some_and(|data| data.is_translated)
        }
        DeviationKind::PodCidr | DeviationKind::TranslatedSettings | DeviationKind::HostDisk => false,
        DeviationKind::NoWindowsKubelet => request.plan.cluster.maps_windows(),
        DeviationKind::Ipv6OnLoopback => !instance.network.ipv6.is_empty(),
        DeviationKind::Ipv6MetadataOnLoopback => instance.metadata.ipv6,
        DeviationKind::InterfacesLeadNowhere => !instance.network.interfaces.is_empty(),
        DeviationKind::IsolatedNetwork => request.plan.network == Network::Isolated,
        DeviationKind::OpenNetwork => request.plan.network == Network::Open,
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::input::files::Disk;
    use nodejoin_core::plan::Plan;

    use super::*;
    use crate::request::test_request;

    #[test]
    fn every_deviation_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = DeviationKind::ALL.map(DeviationKind::name).into();
        assert_eq!(names.len(), DeviationKind::ALL.len());
    }

    /// Kinds that a report or the book calls a stub.
    fn stubs() -> impl Iterator<Item = DeviationKind> {
        let is_stub = |kind: &DeviationKind| {
            let name = kind.name();
            name.ends_with("-stub") || name.ends_with("-stubs") || !kind.stand_ins().is_empty()
        };
        DeviationKind::ALL.into_iter().filter(is_stub)
    }

    #[test]
    fn a_scenario_switches_every_stub_off() {
        let mut plan = nodejoin_core::scenario::default_account(&Disk::with_variables([]));
        // With an instance store, whose tools are stand-ins, too.
        plan.instance.instance_type = "m5d.large".to_owned();
        let is_in = |kind, plan: &Plan| has(kind, &test_request(plan), HostWorkarounds::default());
        for kind in stubs() {
            let name = kind.name();
            plan.stubs = Stubs::Packages;
            assert!(is_in(kind, &plan), "{name} is in a node with `stubs: packages`");
            plan.stubs = Stubs::None;
            assert!(!is_in(kind, &plan), "{name} is not in a node with `stubs: none`");
            assert!(!kind.stand_ins().is_empty(), "{name} has stand-ins");
            assert!(
                kind.when().contains("`stubs: packages`"),
                "{name}: {}",
                kind.when()
            );
        }
        assert!(stubs().count() >= 7);
    }
}
