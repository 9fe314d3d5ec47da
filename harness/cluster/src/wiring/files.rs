//! The wiring of every API server, for all providers: three files and a table of flags.
//!
//! | file | content |
//! | --- | --- |
//! | `token-webhook.kubeconfig` | the address of the token webhook |
//! | `audit-webhook.kubeconfig` | the address of the audit webhook |
//! | `audit-policy.yaml` | the events that the API server sends |

use std::net::SocketAddr;

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::secret::Secret;

use super::flags::Program;
use crate::pki::Pki;

/// Placeholder for the folder of the files.
const FOLDER: &str = "@FOLDER@";

/// The behaviour of EKS, and what the harness needs to observe it.
const API_SERVER: &[&str] = &[
    "--allow-privileged=true",
    "--anonymous-auth=true",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--kubelet-preferred-address-types=InternalIP,Hostname",
    "--authentication-token-webhook-config-file=@FOLDER@/token-webhook.kubeconfig",
    "--authentication-token-webhook-version=v1",
    // Every rejection is reported, and a new mapping takes effect at once.
    "--authentication-token-webhook-cache-ttl=0s",
    "--audit-policy-file=@FOLDER@/audit-policy.yaml",
    "--audit-webhook-config-file=@FOLDER@/audit-webhook.kubeconfig",
    // `blocking` would add a round trip to every request of every node.
    "--audit-webhook-mode=batch",
    "--audit-webhook-batch-max-wait=50ms",
    "--audit-webhook-batch-throttle-enable=false",
    "--audit-webhook-initial-backoff=1s",
    "--profiling=false",
];

/// The events that the API server sends to the harness.
///
/// Requests of the control plane's own components are left out, except writes of Nodes and decisions on certificates. A
/// failed authentication has no user yet, so no rule for users matches it, and it is logged only at the start of its
/// response: `ResponseStarted` must stay. Bodies of token reviews would contain tokens.
const AUDIT_POLICY: &str = r#"apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "nodejoin:admin", "eks:authenticator", "eks:node-manager", "eks:cloud-controller-manager", "eks:certificate-controller", "kubernetes-admin"]
  verbs: [get, list, watch]
- level: RequestResponse
  namespaces: [kube-system]
  resources: [{ group: "", resources: [configmaps], resourceNames: [aws-auth] }]
  verbs: [create, update, patch]
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*", "/openapi*", "/metrics"]
- level: Metadata
  resources: [{ group: authentication.k8s.io, resources: [tokenreviews] }]
- level: RequestResponse
  resources: [{ group: "", resources: [nodes, nodes/status] }, { group: certificates.k8s.io, resources: [certificatesigningrequests, certificatesigningrequests/approval, certificatesigningrequests/status] }]
  verbs: [create, update, patch, delete]
- level: RequestResponse
  resources: [{ group: coordination.k8s.io, resources: [leases] }]
  verbs: [create]
- level: RequestResponse
  resources: [{ group: authorization.k8s.io }]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "nodejoin:admin", "eks:authenticator", "eks:node-manager"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
"#;

/// A file for an API server or another program of a control plane.
#[derive(Debug, Clone)]
pub(crate) struct ApiServerFile {
    pub(crate) name: String,
    pub(crate) text: Secret,
}

/// Ties an API server to the harness.
#[derive(Debug)]
pub struct ApiServerWiring {
    /// Address of the webhooks, on the gateway address of the run's network.
    pub webhooks: SocketAddr,
    /// The webhooks' CA, and the cluster's for providers that accept one.
    pub pki: Pki,
}

impl ApiServerWiring {
    /// The files that the flags name. They contain no keys.
    pub(crate) fn files(&self) -> Vec<ApiServerFile> {
        let file = |name: &str, text: String| ApiServerFile {
            name: name.to_owned(),
            text: Secret::new(text),
        };
        let webhook = |path: &str| kubeconfig_of_webhook(self.pki.webhooks.pem(), self.webhooks, path);
        vec![
            file("token-webhook.kubeconfig", webhook("/authenticate")),
            file("audit-webhook.kubeconfig", webhook("/audit")),
            file("audit-policy.yaml", AUDIT_POLICY.to_owned()),
        ]
    }

    /// The names and values of kube-apiserver's flags for this version, with the files in this folder.
    pub(crate) fn api_server_flags(&self, folder: &str, minor: Minor) -> Vec<(String, String)> {
        let known = API_SERVER
            .iter()
            .filter(|flag| Program::ApiServer.knows(flag, minor));
        known
            .filter_map(|flag| flag.trim_start_matches("--").split_once('='))
            .map(|(name, value)| (name.to_owned(), value.replace(FOLDER, folder)))
            .collect()
    }
}

fn kubeconfig_of_webhook(ca: &str, address: SocketAddr, path: &str) -> String {
    let ca = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, ca);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: nodejoin\n\
         contexts:\n- name: nodejoin\n  context: {{ cluster: nodejoin, user: kube-apiserver }}\n\
         clusters:\n- name: nodejoin\n  cluster:\n    server: https://{address}{path}\n    \
         certificate-authority-data: {ca}\n\
         users:\n- name: kube-apiserver\n  user: {{}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wiring() -> ApiServerWiring {
        ApiServerWiring {
            webhooks: "10.0.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        }
    }

    #[test]
    fn flags_name_exactly_the_files() {
        let wiring = wiring();
        let flags = wiring.api_server_flags("/somewhere", Minor::new(20));
        let mut named: Vec<_> = flags
            .iter()
            .filter_map(|(_, value)| value.strip_prefix("/somewhere/"))
            .collect();
        let files = wiring.files();
        let mut written: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        named.sort_unstable();
        written.sort_unstable();
        assert_eq!(named, written);
    }

    #[test]
    fn the_policy_ends_with_a_catch_all_rule() {
        let policy: serde_json::Value = serde_yaml::from_str(AUDIT_POLICY).unwrap();
        assert_eq!(
            policy["rules"].as_array().unwrap().last().unwrap()["level"],
            "Metadata"
        );
    }
}
