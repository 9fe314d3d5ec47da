//! What every API server is told of the harness, whoever runs it: three files and a table of flags.
//!
//! | file | what |
//! | --- | --- |
//! | `token-webhook.kubeconfig` | where tokens are reviewed |
//! | `audit-webhook.kubeconfig` | where audit events go |
//! | `audit-policy.yaml` | which of them |

use std::net::SocketAddr;

use nodejoin_core::kubernetes::Minor;

use crate::flags::Program;
use crate::pki::Pki;
use crate::secret::Secret;

/// A file of an API server or a program beside it.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: Secret,
}

/// The ties between an API server and the harness.
#[derive(Debug)]
pub struct Wiring {
    /// Where the webhooks listen: the address of the run's network that is the host's.
    pub webhooks: SocketAddr,
    /// Certificates: the webhooks' authority, and a cluster's for providers that let one be given.
    pub pki: Pki,
}

impl Wiring {
    /// The files that the flags name. The webhooks' hold an address and a CA, and no key.
    pub(crate) fn files(&self) -> Vec<File> {
        let file = |name: &str, text: String| File {
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

    /// The flags of kube-apiserver for this version, as name and value, with the files in this folder.
    pub(crate) fn api_server_flags(&self, folder: &str, minor: Minor) -> Vec<(String, String)> {
        let fits = API_SERVER
            .iter()
            .filter(|flag| Program::ApiServer.knows(flag, minor));
        fits.filter_map(|flag| flag.trim_start_matches("--").split_once('='))
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

/// Stands for the folder of the files.
const FOLDER: &str = "@FOLDER@";

/// EKS behaves like this, and the harness sees it by these.
const API_SERVER: &[&str] = &[
    "--allow-privileged=true",
    "--anonymous-auth=true",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    "--kubelet-preferred-address-types=InternalIP,Hostname",
    "--authentication-token-webhook-config-file=@FOLDER@/token-webhook.kubeconfig",
    "--authentication-token-webhook-version=v1",
    // Each refusal is news, and a role that was mapped a moment ago must count at once.
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

/// What the API server tells the harness.
///
/// Requests of the control plane's own parts are left out, except where they write a Node or decide on a certificate.
/// A refused authentication has no user yet, so the rules by user let it through to the last one, and it is logged only
/// when its answer starts: `ResponseStarted` must stay. Token reviews would hold tokens in their bodies.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wiring() -> Wiring {
        Wiring {
            webhooks: "10.0.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        }
    }

    #[test]
    fn every_file_that_a_flag_names_is_there_and_each_is_named() {
        let wiring = wiring();
        let flags = wiring.api_server_flags("/somewhere", Minor::new(20));
        let mut named: Vec<_> = flags
            .iter()
            .filter_map(|(_, value)| value.strip_prefix("/somewhere/"))
            .collect();
        let files = wiring.files();
        let mut laid: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        named.sort_unstable();
        laid.sort_unstable();
        assert_eq!(named, laid);
    }

    #[test]
    fn the_policy_ends_with_a_rule_for_everything() {
        let policy: serde_json::Value = serde_yaml::from_str(AUDIT_POLICY).unwrap();
        assert_eq!(
            policy["rules"].as_array().unwrap().last().unwrap()["level"],
            "Metadata"
        );
    }
}
