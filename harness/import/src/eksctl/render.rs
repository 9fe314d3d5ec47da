//! The user data of each AMI family.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use serde_json::json;

use super::group::EksctlGroup;
use super::{bottlerocket, cloud_config};
use crate::error::ImportError;
use crate::machine::AmiFamily;
use crate::mime;
use crate::tree::Tree;
use crate::words::{joined_labels, joined_taints};

const SHELL: &[&str] = &["text/x-shellscript", "charset=\"us-ascii\""];
const NODE_CONFIG: &[&str] = &["application/node.eks.aws"];

/// The types and the content of a part.
type TypedPart = (&'static [&'static str], String);

/// What an instance of the group receives; `None`: nothing.
pub(super) fn user_data(group: &EksctlGroup<'_>, family: AmiFamily) -> Result<Option<Vec<u8>>, ImportError> {
    match family {
        AmiFamily::Al2023 => Ok(message(&al2023(group))),
        AmiFamily::Al2 if group.is_managed => Ok(message(&managed_al2(group))),
        AmiFamily::Bottlerocket => bottlerocket::render(group).map(Some),
        AmiFamily::Windows => Ok(windows(group)),
        AmiFamily::Al2 | AmiFamily::Ubuntu | AmiFamily::Custom => {
            Ok(Some(gzip(cloud_config::render(group, family).as_bytes())))
        }
    }
}

fn message(parts: &[TypedPart]) -> Option<Vec<u8>> {
    (!parts.is_empty()).then(|| mime::message_of_go(parts).into_bytes())
}

/// Scripts come first. eksctl writes a `#!` before each.
fn al2023(group: &EksctlGroup<'_>) -> Vec<TypedPart> {
    let mut parts: Vec<TypedPart> = group
        .commands()
        .iter()
        .map(|command| (SHELL, format!("#!/bin/bash\n{command}")))
        .collect();
    if !group.is_bootstrapped_by_eks() {
        parts.push(node_config(&json!({
            "cluster": cluster(group),
            "kubelet": {"config": kubelet(group), "flags": flags(group)},
        })));
    }
    if let Some(max_pods) = group.max_pods() {
        parts.push(node_config(
            &json!({"kubelet": {"config": {"maxPods": max_pods}}}),
        ));
    }
    if let Some(command) = group.text("overrideBootstrapCommand") {
        parts.push((NODE_CONFIG, command));
    }
    parts
}

fn cluster(group: &EksctlGroup<'_>) -> serde_json::Value {
    let mut cluster = json!({
        "name": group.cluster.name,
        "apiServerEndpoint": group.cluster.endpoint,
        "certificateAuthority": group.cluster.certificate_authority,
        "cidr": group.cluster.service_cidr,
    });
    if group.is_on_outpost {
        cluster["enableOutpost"] = true.into();
        cluster["id"] = json!(group.cluster.name);
    }
    cluster
}

/// JSON is YAML, too.
fn node_config(spec: &serde_json::Value) -> TypedPart {
    let text = format!("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {spec}\n");
    (NODE_CONFIG, text)
}

/// `kubeletExtraConfig` is for self-managed groups only.
fn kubelet(group: &EksctlGroup<'_>) -> serde_json::Value {
    let extra = group
        .tree
        .get("kubeletExtraConfig")
        .filter(|extra| extra.is_map() && !group.is_managed);
    let mut config = extra.map_or_else(|| json!({}), Tree::to_json);
    config["clusterDNS"] = json!([group.dns_ip()]);
    config
}

fn flags(group: &EksctlGroup<'_>) -> Vec<String> {
    let mut flags = vec![format!("--node-labels={}", joined_labels(&group.labels()))];
    let taints = group.taints();
    if !taints.is_empty() {
        flags.push(format!("--register-with-taints={}", joined_taints(&taints)));
    }
    flags
}

/// Commands as the user typed them: eksctl adds no `#!` here.
fn managed_al2(group: &EksctlGroup<'_>) -> Vec<TypedPart> {
    let mut parts: Vec<TypedPart> = group
        .commands()
        .into_iter()
        .map(|command| (SHELL, command))
        .collect();
    let max_pods = group.max_pods().filter(|_| group.is_bootstrapped_by_eks());
    if let Some(command) = group.text("overrideBootstrapCommand") {
        parts.push((SHELL, command));
    } else if let Some(max_pods) = max_pods {
        let script = format!(
            "#!/bin/sh\nset -ex\nsed -i 's/KUBELET_EXTRA_ARGS=$2/KUBELET_EXTRA_ARGS=\"$2 --max-pods={max_pods}\"/' \
             /etc/eks/bootstrap.sh\n"
        );
        parts.push((SHELL, script));
    }
    parts
}

fn windows(group: &EksctlGroup<'_>) -> Option<Vec<u8>> {
    let mut lines = group.commands();
    if !group.is_bootstrapped_by_eks() {
        lines.push(format!(
            "[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n\
             & $EKSBootstrapScriptFile -EKSClusterName \"{}\" -APIServerEndpoint \"{}\" -Base64ClusterCA \"{}\" -ServiceCIDR \"{}\" \
             -DNSClusterIP \"{}\" -KubeletExtraArgs \"{}\"",
            group.cluster.name.as_deref().unwrap_or_default(),
            group.cluster.endpoint.as_deref().unwrap_or_default(),
            group.cluster.certificate_authority.as_deref().unwrap_or_default(),
            group.cluster.service_cidr.as_deref().unwrap_or_default(),
            group.dns_ip(),
            flags(group).join(" ")
        ));
    }
    (!lines.is_empty()).then(|| format!("<powershell>\n{}\n</powershell>\n", lines.join("\n")).into_bytes())
}

/// Without time and name, so that a file always gives the same bytes.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}
