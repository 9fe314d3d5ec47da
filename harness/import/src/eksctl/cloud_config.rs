//! The cloud-config of self-managed AL2 and Ubuntu nodes: files, and scripts that read them.
//!
//! The scripts have the names and the effect of those of eksctl. Their text is our own.

use serde_json::{Value, json};

use super::group::EksctlGroup;
use crate::machine::AmiFamily;
use crate::tree::Tree;
use crate::words::{joined_labels, joined_taints};

const SCRIPTS: &str = "/var/lib/cloud/scripts/eksctl";
/// Reads the file of the environment, and what only the instance knows.
const HELPER: &str = r#"#!/bin/bash
set -o errexit
set -o pipefail
set -o nounset

source /etc/eksctl/kubelet.env

metadata() {
  local token
  token=$(curl --silent --fail -X PUT -H "X-aws-ec2-metadata-token-ttl-seconds: 600" http://169.254.169.254/latest/api/token)
  curl --silent --fail -H "X-aws-ec2-metadata-token: ${token}" "http://169.254.169.254/latest/meta-data/$1"
}

INSTANCE_ID=$(metadata instance-id)
INSTANCE_LIFECYCLE=$(metadata instance-life-cycle || true)
NODE_LABELS="${NODE_LABELS},node-lifecycle=${INSTANCE_LIFECYCLE:-on-demand},alpha.eksctl.io/instance-id=${INSTANCE_ID}"
KUBELET_ARGS="--node-labels=${NODE_LABELS} --register-with-taints=${NODE_TAINTS:-}"
if [[ -n "${MAX_PODS:-}" ]]; then
  KUBELET_ARGS="${KUBELET_ARGS} --max-pods=${MAX_PODS}"
fi
"#;
/// Calls the script of the AMI, with the settings of the kubelet merged into its file.
const BOOTSTRAP: &str = r#"#!/bin/bash
set -o errexit
set -o pipefail
set -o nounset

source /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh

config=/etc/kubernetes/kubelet/kubelet-config.json
if [[ -f "${config}" ]]; then
  merged=$(jq -s '.[0] * .[1]' "${config}" /etc/eksctl/kubelet-extra.json)
  echo "${merged}" > "${config}"
fi

/etc/eks/bootstrap.sh "${CLUSTER_NAME}" \
  --apiserver-endpoint "${API_SERVER_URL}" \
  --b64-cluster-ca "${B64_CLUSTER_CA}" \
  --dns-cluster-ip "${CLUSTER_DNS}" \
  --kubelet-extra-args "${KUBELET_ARGS}"
"#;

/// JSON is YAML, too.
pub(super) fn render(group: &EksctlGroup<'_>, family: AmiFamily) -> String {
    let name = match family {
        AmiFamily::Ubuntu => "ubuntu",
        _ => "al2",
    };
    let script = format!("{SCRIPTS}/bootstrap.{name}.sh");
    let shell = |command: &String| json!(["/bin/bash", "-c", command]);
    let mut commands: Vec<Value> = group.commands().iter().map(shell).collect();
    let mut files = vec![
        file("/etc/eksctl/kubelet-extra.json", &kubelet(group), "0644"),
        file("/etc/eksctl/kubelet.env", &environment(group), "0644"),
        file(&format!("{SCRIPTS}/bootstrap.helper.sh"), HELPER, "0755"),
    ];
    match group.text("overrideBootstrapCommand") {
        Some(command) => commands.push(shell(&command)),
        None => {
            files.push(file(&script, BOOTSTRAP, "0755"));
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

fn environment(group: &EksctlGroup<'_>) -> String {
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
    if let Some(max_pods) = group.max_pods() {
        lines.push(format!("MAX_PODS={max_pods}"));
    }
    lines.join("\n") + "\n"
}
