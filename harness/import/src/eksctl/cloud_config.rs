//! The cloud-config of self-managed AL2 and Ubuntu nodes: files, and scripts that read them.
//!
//! The scripts have the names and the effect of those of eksctl. Their text is our own.

use serde_json::{Value, json};

use super::group::EksctlGroup;
use crate::machine::AmiFamily;
use crate::tree::Tree;
use crate::words::{joined_labels, joined_taints};

const SCRIPTS: &str = "/var/lib/cloud/scripts/eksctl";
/// Reads the file of the environment, and what only the instance knows. Commands that replace the bootstrap script read
/// it, too, so that its variables have the names of eksctl.
const HELPER: &str = r#"#!/bin/bash
set -o errexit
set -o pipefail
set -o nounset

source /etc/eksctl/kubelet.env

metadata() {
  local token
  token=$(curl --silent --fail -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 600" http://169.254.169.254/latest/api/token)
  curl --silent -H "X-aws-ec2-metadata-token: ${token}" "http://169.254.169.254/latest/meta-data/$1"
}

: "${CLUSTER_DNS:=}" "${NODE_TAINTS:=}" "${MAX_PODS:=}" "${CONTAINER_RUNTIME:=dockerd}"
INSTANCE_ID=$(metadata instance-id)
INSTANCE_LIFECYCLE=$(metadata instance-life-cycle)
NODE_LABELS+=",node-lifecycle=${INSTANCE_LIFECYCLE},alpha.eksctl.io/instance-id=${INSTANCE_ID}"
KUBELET_EXTRA_ARGS="--node-labels=${NODE_LABELS}"
if [[ -n ${NODE_TAINTS} ]]; then KUBELET_EXTRA_ARGS+=" --register-with-taints=${NODE_TAINTS}"; fi
if [[ -n ${MAX_PODS} ]]; then KUBELET_EXTRA_ARGS+=" --max-pods=${MAX_PODS}"; fi
KUBELET_CONFIG=/etc/kubernetes/kubelet/kubelet-config.json
KUBELET_EXTRA_CONFIG=/etc/eksctl/kubelet-extra.json
"#;
const BEGIN: &str = r#"#!/bin/bash
set -o errexit
set -o pipefail
set -o nounset

source /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh

"#;
/// The calls of the AMI's script, each followed by a merge of extra settings and a restart of the kubelet.
const AL2: &str = r#"/etc/eks/bootstrap.sh "${CLUSTER_NAME}" --apiserver-endpoint "${API_SERVER_URL}" \
  --b64-cluster-ca "${B64_CLUSTER_CA}" --dns-cluster-ip "${CLUSTER_DNS}" \
  --kubelet-extra-args "${KUBELET_EXTRA_ARGS}" --container-runtime "${CONTAINER_RUNTIME}"
"#;
/// The call for a local cluster on an Outpost has these, too.
const OUTPOST: &str = r#" \
  --enable-local-outpost true --cluster-id "${CLUSTER_ID}"
"#;
const UBUNTU: &str = r#"/etc/eks/bootstrap.sh "${CLUSTER_NAME}" --dns-cluster-ip "${CLUSTER_DNS}" \
  --kubelet-extra-args "${KUBELET_EXTRA_ARGS}"
"#;
const MERGE: &str = r#"merged=$(jq -s '.[0] * .[1]' "${KUBELET_CONFIG}" "${KUBELET_EXTRA_CONFIG}")
printf '%s\n' "${merged}" > "${KUBELET_CONFIG}"
"#;

/// JSON is YAML, too.
pub(super) fn render(group: &EksctlGroup<'_>, family: AmiFamily) -> String {
    let (name, call, restart) = match family {
        AmiFamily::Ubuntu => ("ubuntu", UBUNTU, "snap restart kubelet-eks\n"),
        _ => ("al2", AL2, "systemctl daemon-reload\nsystemctl restart kubelet\n"),
    };
    let script = format!("{SCRIPTS}/bootstrap.{name}.sh");
    let shell = |command: &String| json!(["/bin/bash", "-c", command]);
    let mut commands: Vec<Value> = group.commands().iter().map(shell).collect();
    let mut files = vec![
        file("/etc/eksctl/kubelet-extra.json", &kubelet(group), "0644"),
        file("/etc/eksctl/kubelet.env", &environment(group, family), "0644"),
        file(&format!("{SCRIPTS}/bootstrap.helper.sh"), HELPER, "0755"),
    ];
    match group.text("overrideBootstrapCommand") {
        Some(command) => commands.push(shell(&command)),
        None => {
            let call = match group.is_on_outpost {
                true => format!("{}{OUTPOST}", call.trim_end()),
                false => call.to_owned(),
            };
            let content = [BEGIN, &call, MERGE, restart].concat();
            files.push(file(&script, &content, "0755"));
            commands.push(json!([script]));
        }
    }
    format!(
        "#cloud-config\n{}\n",
        json!({"write_files": files, "runcmd": commands})
    )
}

fn file(path: &str, content: &str, permissions: &str) -> Value {
    json!({"path": path, "content": content, "permissions": permissions, "owner": "root:root"})
}

fn kubelet(group: &EksctlGroup<'_>) -> String {
    let extra = group.tree.get("kubeletExtraConfig").map(Tree::to_json);
    extra.unwrap_or_else(|| json!({})).to_string()
}

fn environment(group: &EksctlGroup<'_>, family: AmiFamily) -> String {
    let cluster = group.cluster;
    let mut lines = vec![
        format!("CLUSTER_NAME={}", cluster.name.as_deref().unwrap_or_default()),
        format!(
            "API_SERVER_URL={}",
            cluster.endpoint.as_deref().unwrap_or_default()
        ),
        format!(
            "B64_CLUSTER_CA={}",
            cluster.certificate_authority.as_deref().unwrap_or_default()
        ),
        format!("NODE_LABELS={}", joined_labels(&group.labels())),
        format!("NODE_TAINTS={}", joined_taints(&group.taints())),
        format!("CLUSTER_DNS={}", group.dns_ip()),
    ];
    if family == AmiFamily::Al2 {
        lines.push("CONTAINER_RUNTIME=containerd".to_owned());
    }
    if group.is_on_outpost {
        let id = cluster.name.as_deref().unwrap_or_default();
        lines.extend(["ENABLE_LOCAL_OUTPOST=true".to_owned(), format!("CLUSTER_ID={id}")]);
    }
    if let Some(max_pods) = group.max_pods() {
        lines.push(format!("MAX_PODS={max_pods}"));
    }
    lines.join("\n") + "\n"
}
