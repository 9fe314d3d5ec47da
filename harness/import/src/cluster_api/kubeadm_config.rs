//! KubeadmConfig: a cloud-config that calls `kubeadm join`.

use serde_json::{Value, json};

use super::config::BootstrapConfig;
use super::sections::{files, sections};
use crate::error::ImportError;
use crate::known_fields::check_taint;
use crate::machine::Traits;
use crate::tree::Tree;
use crate::words::{kubelet_argument, taint, taint_of_text};

const PATH: &str = "/run/kubeadm/kubeadm-join-config.yaml";
/// In place of the token that Cluster API creates for each machine.
const STAND_IN_TOKEN: &str = "abcdef.0123456789abcdef";
/// In place of the hash of the cluster's certificate.
const STAND_IN_HASH: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The user data.
pub(super) fn render(config: &BootstrapConfig<'_>) -> String {
    let mut files = files(config.spec);
    files.push(json!({
        "path": PATH,
        "owner": "root:root",
        "permissions": "0640",
        "content": format!("---\n{}\n", join_configuration(config)),
    }));
    let mut commands: Vec<Value> = strings(config.commands("preKubeadmCommands"));
    commands.push(
        format!("kubeadm join --config {PATH} && echo success > /run/cluster-api/bootstrap-success.complete")
            .into(),
    );
    commands.extend(strings(config.commands("postKubeadmCommands")));
    format!(
        "## template: jinja\n#cloud-config\n\nwrite_files: {}\nruncmd: {}\n{}",
        Value::from(files),
        Value::from(commands),
        sections(config.spec)
    )
}

fn join_configuration(config: &BootstrapConfig<'_>) -> Value {
    let mut own = config
        .spec
        .get("joinConfiguration")
        .filter(|join| join.is_map())
        .map_or_else(|| json!({}), Tree::to_json);
    own["apiVersion"] = "kubeadm.k8s.io/v1beta3".into();
    own["kind"] = "JoinConfiguration".into();
    if own.get("discovery").is_none() {
        let endpoint = config.cluster.endpoint.clone().unwrap_or_default();
        let host = endpoint.trim_start_matches("https://");
        let address = match host.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:443"),
        };
        own["discovery"] = json!({"bootstrapToken": {
            "apiServerEndpoint": address,
            "token": STAND_IN_TOKEN,
            "caCertHashes": [STAND_IN_HASH],
        }});
    }
    own
}

fn strings(commands: Vec<String>) -> Vec<Value> {
    commands.into_iter().map(Value::from).collect()
}

/// Adds the labels and taints with which kubeadm starts the kubelet.
///
/// # Errors
/// A taint without a key or an effect.
pub(super) fn describe(config: &BootstrapConfig<'_>, traits: &mut Traits) -> Result<(), ImportError> {
    let Some(node) = config.spec.at(&["joinConfiguration", "nodeRegistration"]) else {
        return Ok(());
    };
    let labels = kubelet_argument(node, "node-labels").unwrap_or_default();
    let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
    // cloud-init fills in `{{ }}` on the instance.
    let stated = pairs.filter(|(_, value)| !value.contains(['{', '$']));
    traits
        .labels
        .extend(stated.map(|(key, value)| (key.trim().to_owned(), value.to_owned())));
    for tree in node.items_at(&["taints"]) {
        check_taint(tree, "the kubelet does not start with it")?;
        traits.taints.extend(taint(tree));
    }
    let taints = kubelet_argument(node, "register-with-taints").unwrap_or_default();
    traits.taints.extend(taints.split(',').filter_map(taint_of_text));
    Ok(())
}
