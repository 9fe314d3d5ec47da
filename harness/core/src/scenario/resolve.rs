//! Resolves a scenario into a plan: fills in defaults and reads referenced files.

use std::net::Ipv4Addr;
use std::path::Path;

use super::cluster_file::{AwsAuthFile, BootstrapTokenFile, ClusterFile, RoleMappingFile, StatusFile};
use super::derived_defaults::DerivedDefaults;
use super::file::{ProvidersFile, Scenario};
use super::{answers, image, instance, outside, replicas, repositories, user_data};
use crate::input::files::Files;
use crate::input::problems::Problems;
use crate::kubernetes::RequestedVersions;
use crate::plan::access_entry::AccessEntry;
use crate::plan::aws::{AuthenticationMode, GROUP_TAG};
use crate::plan::bootstrap_token::{BootstrapToken, DEFAULT_GROUP, TokenUsage};
use crate::plan::expect::{Expect, PodExpect};
use crate::plan::golden::{GoldenFile, GoldenPlan, MachineSnapshotPlan};
use crate::plan::sources::Sources;
use crate::plan::{
    ClusterPlan, ClusterStatus, Cni, ImagePlan, Overlay, Plan, PodPlan, ProviderName, RoleMapping, RolePlan,
    StatusStep,
};
use crate::scenario::overlay;
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ids::{AccountId, ScenarioId};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;

const DEFAULT_ACCOUNT: &str = "111122223333";
const DEFAULT_SERVICE_NETWORK: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 0);

/// Resolves a scenario. Reports each problem and continues with a default, so that later checks run too.
pub(super) fn resolve(
    scenario: &Scenario,
    id: ScenarioId,
    path: &Path,
    text: &str,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Plan {
    let unique = DerivedDefaults::of(&id);
    let account = account(scenario);
    let region = region(scenario);
    let role = role(scenario, &unique);
    let cluster = cluster(&scenario.cluster, role.as_ref(), &account, &region, &unique);
    let mut instance = instance::instance(&scenario.instance, &region, &cluster.name, &unique);
    if let Some(autoscaling) = &scenario.aws.autoscaling {
        let tag = instance.tags.entry(GROUP_TAG.to_owned());
        tag.or_insert_with(|| autoscaling.group.clone());
    }
    let others = replicas::of(&instance, scenario.count.unwrap_or(1), &id, &region);
    let then = replicas::steps(&scenario.then, &instance, &id);
    let is_unset = |name: &&String| files.variable(name).is_none_or(|value| value.is_empty());
    let unset: Vec<String> = scenario.variables.iter().filter(is_unset).cloned().collect();
    // With an unset variable the scenario is skipped, so its files need not exist.
    let (overlay, image) = match unset.as_slice() {
        [] => (
            overlays(scenario, path, files, problems),
            image::resolve(scenario.image.as_ref(), path, files, problems),
        ),
        _ => (Overlay::default(), image::resolve(None, path, files, problems)),
    };
    let (mut aws, images) = repositories::found(&scenario.aws, path, files, problems);
    answers::resolve(&mut aws, path, files, problems);
    let mut plan = Plan {
        is_probe: false,
        is_traced: false,
        probed_kubelet: None,
        same_as: None,
        name: scenario.name.clone(),
        file: path.display().to_string(),
        tags: scenario.tags.clone(),
        control_plane: control_planes(scenario.control_plane.as_ref()),
        kubernetes: scenario.kubernetes.clone(),
        kubelet: scenario.kubelet.clone(),
        overlay_ranges: overlay.ranges,
        unset,
        requested: RequestedVersions::default(),
        network: scenario.network,
        outside: outside::resolve(&scenario.outside, path, files, problems),
        http_proxy: scenario.http_proxy.clone(),
        image: ImagePlan {
            overlay: overlay.files,
            ..image
        },
        account,
        region,
        instance,
        others,
        golden: scenario
            .golden
            .as_ref()
            .map(|golden| snapshot(golden, path, files)),
        then,
        role,
        cluster,
        user_data: None,
        aws,
        faults: scenario.faults.clone(),
        dns_faults: scenario.dns_faults.clone(),
        cni: scenario.cni,
        stubs: scenario.stubs,
        newer_settings: scenario.newer_settings,
        pod: scenario.pod.as_ref().map(|pod| PodPlan {
            image: pod.image.clone(),
        }),
        expect: expectations(scenario),
        limits: scenario.limits.clone(),
        sources: Sources {
            images,
            ..Sources::default()
        },
        id,
        is_trial: false,
        is_ami_stated: false,
    };
    if let Some((user_data, scripts)) =
        user_data::read(scenario.user_data.as_ref(), &plan, path, text, files, problems)
    {
        plan.user_data = Some(user_data);
        plan.sources.scripts = scripts;
    }
    plan
}

fn control_planes(given: Option<&ProvidersFile>) -> Vec<ProviderName> {
    match given {
        None => Vec::new(),
        Some(ProvidersFile::One(name)) => vec![*name],
        Some(ProvidersFile::Many(names)) => names.clone(),
    }
}

fn expectations(scenario: &Scenario) -> Expect {
    let mut expect = scenario.expect.clone();
    let is_bare = expect == Expect::default();
    if scenario.pod.is_some() && expect.diagnosis.is_none() {
        expect.phase.get_or_insert(Phase::Ready);
        expect.pod.get_or_insert(PodExpect {
            answers: Some(true),
            ..PodExpect::default()
        });
    } else if is_bare {
        expect.phase = Some(match scenario.cni {
            Cni::Bridge => Phase::Ready,
            Cni::None => Phase::Registered,
        });
    }
    expect
}

/// The snapshot file of a scenario. It may be missing: `--bless` creates it.
fn snapshot(file: &GoldenFile, scenario: &Path, files: &dyn Files) -> GoldenPlan {
    let folder = scenario.parent().unwrap_or(Path::new(""));
    let path = match &file.snapshot {
        Some(name) => folder.join(name),
        None => scenario.with_extension("snapshot"),
    };
    let read = |path: &Path| {
        let bytes = files.read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let machine = path.with_extension("machine");
    GoldenPlan {
        path: path.display().to_string(),
        files: file.files.clone(),
        argv: file.argv,
        without_lines: file.without_lines.clone(),
        text: read(&path),
        machine: file.machine.then(|| MachineSnapshotPlan {
            text: read(&machine),
            path: machine.display().to_string(),
            except: file.except.clone(),
        }),
        is_optional: false,
    }
}

fn account(scenario: &Scenario) -> AccountId {
    let default = || DEFAULT_ACCOUNT.parse().expect("the default is an account id");
    scenario.account.clone().unwrap_or_else(default)
}

fn region(scenario: &Scenario) -> Region {
    let default = || Region::DEFAULT.parse().expect("the default is a region");
    scenario.region.clone().unwrap_or_else(default)
}

fn overlays(scenario: &Scenario, path: &Path, files: &dyn Files, problems: &mut Problems<'_>) -> Overlay {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut all = Overlay::default();
    for name in scenario
        .overlay
        .as_ref()
        .map(|overlay| overlay.as_slice())
        .unwrap_or_default()
    {
        let manifest = folder.join(name);
        if let Err(error) = files.read(&manifest) {
            let what = format!("cannot read overlay manifest `{}`", manifest.display());
            problems.add(
                "overlay",
                what,
                error.to_string(),
                "the path is relative to the folder of the scenario",
            );
            continue;
        }
        match overlay::load(&manifest, files) {
            Ok(found) => all.extend(found),
            Err(error) => problems.extend(error),
        }
    }
    all
}

fn role(scenario: &Scenario, unique: &DerivedDefaults<'_>) -> Option<RolePlan> {
    let full = match &scenario.instance.role {
        None => unique.role(),
        Some(given) => given.clone()?,
    };
    let (path, name) = full.rsplit_once('/').unwrap_or(("", &full));
    let path = path.trim_matches('/');
    let path = if path.is_empty() {
        "/".to_owned()
    } else {
        format!("/{path}/")
    };
    Some(RolePlan {
        name: name.to_owned(),
        path,
        allow: scenario.iam.allow.clone(),
        deny: scenario.iam.deny.clone(),
    })
}

fn cluster(
    file: &ClusterFile,
    role: Option<&RolePlan>,
    account: &AccountId,
    region: &Region,
    unique: &DerivedDefaults<'_>,
) -> ClusterPlan {
    let own = || {
        role.map(|role| RoleMappingFile {
            role: Some(role.name.clone()),
            ..Default::default()
        })
    };
    let (rows, text) = match file.aws_auth.clone() {
        None => (own().into_iter().collect(), None),
        Some(AwsAuthFile::Rows(rows)) => (rows, None),
        Some(AwsAuthFile::Text(text)) => (Vec::new(), Some(text)),
    };
    ClusterPlan {
        name: file.name.clone().unwrap_or_else(|| unique.cluster_name()),
        endpoint_id: unique.endpoint_id(),
        endpoint: file.endpoint.clone(),
        status: match file.status.clone() {
            None => vec![StatusStep {
                status: ClusterStatus::Active,
                until_seconds: None,
            }],
            Some(StatusFile::Always(status)) => vec![StatusStep {
                status,
                until_seconds: None,
            }],
            Some(StatusFile::Steps(steps)) => steps,
        },
        service_ipv4_cidr: file
            .service_ipv4_cidr
            .unwrap_or_else(|| Some(Cidr::around(DEFAULT_SERVICE_NETWORK, 16)))
            .map(|network| network.to_string()),
        certificate_authority: file.certificate_authority,
        aws_auth: rows
            .into_iter()
            .map(|row| mapping(row, account, region))
            .collect(),
        aws_auth_text: text,
        authentication_mode: file.authentication_mode.unwrap_or({
            if file.access_entries.is_empty() {
                AuthenticationMode::ConfigMap
            } else {
                AuthenticationMode::ApiAndConfigMap
            }
        }),
        access_entries: file
            .access_entries
            .iter()
            .map(|entry| AccessEntry::of(entry.clone(), account, region))
            .collect(),
        approve_serving: file.approve_serving,
        cloud_node_controller: file.cloud_node_controller,
        approve_clients: file.approve_clients,
        authenticator_until: file.authenticator_until,
        bootstrap_tokens: bootstrap_tokens(&file.bootstrap_tokens, unique),
        restart_api_server_after: file.restart_api_server_after,
        eks: file.eks.clone(),
    }
}

/// Bootstrap tokens with the defaults of `kubeadm token create`.
fn bootstrap_tokens(given: &[BootstrapTokenFile], unique: &DerivedDefaults<'_>) -> Vec<BootstrapToken> {
    let derived = |index| {
        let text = unique.bootstrap_token(index);
        text.parse()
            .expect("a derived token has the format of Kubernetes")
    };
    let token = |(index, file): (usize, &BootstrapTokenFile)| BootstrapToken {
        token: file.token.clone().unwrap_or_else(|| derived(index)),
        expires_seconds: file.expires_seconds,
        deleted: file.deleted,
        usages: file.usages.clone().unwrap_or_else(|| TokenUsage::ALL.to_vec()),
        groups: file
            .groups
            .clone()
            .unwrap_or_else(|| vec![DEFAULT_GROUP.to_owned()]),
    };
    given.iter().enumerate().map(token).collect()
}

/// A row of `aws-auth` with the defaults that EKS writes.
pub(super) fn mapping(row: RoleMappingFile, account: &AccountId, region: &Region) -> RoleMapping {
    let arn = |name: String| format!("arn:{}:iam::{account}:role/{name}", region.partition());
    RoleMapping {
        rolearn: row.rolearn.or_else(|| row.role.map(arn)).unwrap_or_default(),
        username: row
            .username
            .unwrap_or_else(|| "system:node:{{EC2PrivateDNSName}}".to_owned()),
        groups: row
            .groups
            .unwrap_or_else(|| vec!["system:bootstrappers".to_owned(), "system:nodes".to_owned()]),
        added_by: row.added_by,
        after_seconds: row.after_seconds,
    }
}
