//! The wiring of an API server as files and flags: the same for every provider, as data, with each version's
//! differences in one place.

use std::net::SocketAddr;

use crate::pki::Pki;
use crate::secret::Secret;

/// A file of `/etc/nodejoin`.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: Secret,
}

/// One flag of a program, and the Kubernetes minor versions (of 1.x) that know it.
struct Flag {
    text: &'static str,
    since: u32,
    until: u32,
}

/// Every file of a `local` control plane.
pub(crate) fn files(pki: &Pki, webhooks: SocketAddr, minor: u32) -> Vec<File> {
    let file = |name: &str, text: &str| File {
        name: name.to_owned(),
        text: Secret::new(text.to_owned()),
    };
    let flags = |program: &str, table: &[Flag]| file(&format!("{program}.flags"), &flag_lines(table, minor));
    let webhook = |path: &str| kubeconfig_of_webhook(pki.webhooks.pem(), webhooks, path);
    let manager = kubeconfig(
        &format!("https://127.0.0.1:{SECURE_PORT}"),
        pki.cluster.pem(),
        &pki.controller_manager,
    );
    vec![
        file("ca.crt", pki.cluster.pem()),
        file("ca.key", pki.cluster.key().reveal()),
        file("apiserver.crt", &pki.api_server.certificate),
        file("apiserver.key", pki.api_server.key.reveal()),
        file("kubelet-client.crt", &pki.kubelet_client.certificate),
        file("kubelet-client.key", pki.kubelet_client.key.reveal()),
        file("sa.key", pki.service_account_key.reveal()),
        file("sa.pub", &pki.service_account_public_key),
        file("controller-manager.kubeconfig", &manager),
        file("token-webhook.kubeconfig", &webhook("/authenticate")),
        file("audit-webhook.kubeconfig", &webhook("/audit")),
        file("audit-policy.yaml", AUDIT_POLICY),
        flags("etcd", ETCD),
        flags("kube-apiserver", API_SERVER),
        flags("kube-controller-manager", CONTROLLER_MANAGER),
    ]
}

/// The files as one archive: the engine takes each file that is copied into a container as a request of its own, and a
/// start should not wait for fifteen of them.
pub(crate) fn archive(files: &[File]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let text = file.text.reveal().as_bytes();
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, &file.name, text)?;
    }
    archive.into_inner()
}

/// A kubeconfig with one user, who shows a client certificate.
pub(crate) fn kubeconfig(server: &str, ca: &str, user: &crate::pki::Identity) -> String {
    let base64 = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: nodejoin\n\
         contexts:\n- name: nodejoin\n  context: {{ cluster: nodejoin, user: nodejoin }}\n\
         clusters:\n- name: nodejoin\n  cluster:\n    server: {server}\n    tls-server-name: {SERVER_NAME}\n    \
         certificate-authority-data: {}\n\
         users:\n- name: nodejoin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        base64(ca),
        base64(&user.certificate),
        base64(user.key.reveal()),
    )
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

fn flag_lines(table: &[Flag], minor: u32) -> String {
    let fits = table
        .iter()
        .filter(|flag| (flag.since..=flag.until).contains(&minor));
    fits.map(|flag| format!("{}\n", flag.text)).collect()
}

const fn flag(text: &'static str) -> Flag {
    Flag {
        text,
        since: 0,
        until: u32::MAX,
    }
}

/// Where the archive is laid; the container's entry unpacks it into `/etc/nodejoin`.
pub(crate) const ARCHIVE: &str = "/etc/nodejoin.tar";

/// Where the files lie in the API server's file system.
#[cfg(test)]
const FOLDER: &str = "/etc/nodejoin/";

/// Nodes ask for `https://<ID>.gr7.<region>.eks.amazonaws.com`, so it has to be this one.
pub(crate) const SECURE_PORT: u16 = 443;

/// The name by which the harness connects; the container's address is in no certificate.
pub(crate) const SERVER_NAME: &str = "kubernetes";

/// The data dies with the container, so nothing is gained by waiting for a disk.
const ETCD: &[Flag] = &[
    flag("--data-dir=/var/lib/etcd"),
    flag("--unsafe-no-fsync"),
    flag("--log-level=warn"),
    flag("--listen-client-urls=http://127.0.0.1:2379"),
    flag("--advertise-client-urls=http://127.0.0.1:2379"),
    flag("--listen-peer-urls=http://127.0.0.1:0"),
    // A member alone waits this long before it elects itself.
    flag("--heartbeat-interval=10"),
    flag("--election-timeout=50"),
];

const API_SERVER: &[Flag] = &[
    flag("--etcd-servers=http://127.0.0.1:2379"),
    flag("--secure-port=443"),
    // An internal network has no default route, from which the address would be guessed.
    flag("--advertise-address=@ADDRESS@"),
    flag("--client-ca-file=/etc/nodejoin/ca.crt"),
    flag("--tls-cert-file=/etc/nodejoin/apiserver.crt"),
    flag("--tls-private-key-file=/etc/nodejoin/apiserver.key"),
    flag("--service-account-key-file=/etc/nodejoin/sa.pub"),
    flag("--service-account-signing-key-file=/etc/nodejoin/sa.key"),
    flag("--service-account-issuer=https://kubernetes.default.svc"),
    flag("--service-cluster-ip-range=10.100.0.0/16"),
    flag("--allow-privileged=true"),
    flag("--anonymous-auth=true"),
    flag("--authorization-mode=Node,RBAC"),
    flag("--enable-admission-plugins=NodeRestriction"),
    flag("--enable-bootstrap-token-auth=true"),
    flag("--kubelet-client-certificate=/etc/nodejoin/kubelet-client.crt"),
    flag("--kubelet-client-key=/etc/nodejoin/kubelet-client.key"),
    flag("--kubelet-certificate-authority=/etc/nodejoin/ca.crt"),
    flag("--kubelet-preferred-address-types=InternalIP,Hostname"),
    flag("--authentication-token-webhook-config-file=/etc/nodejoin/token-webhook.kubeconfig"),
    flag("--authentication-token-webhook-version=v1"),
    // Each refusal is news, and a role that was mapped a moment ago must count at once.
    flag("--authentication-token-webhook-cache-ttl=0s"),
    flag("--audit-policy-file=/etc/nodejoin/audit-policy.yaml"),
    flag("--audit-webhook-config-file=/etc/nodejoin/audit-webhook.kubeconfig"),
    // `blocking` would add a round trip to every request of every node.
    flag("--audit-webhook-mode=batch"),
    flag("--audit-webhook-batch-max-wait=50ms"),
    flag("--audit-webhook-batch-throttle-enable=false"),
    flag("--audit-webhook-initial-backoff=1s"),
    flag("--profiling=false"),
];

const CONTROLLER_MANAGER: &[Flag] = &[
    flag("--kubeconfig=/etc/nodejoin/controller-manager.kubeconfig"),
    flag("--leader-elect=false"),
    flag("--controllers=*,bootstrapsigner,tokencleaner"),
    flag("--cluster-signing-cert-file=/etc/nodejoin/ca.crt"),
    flag("--cluster-signing-key-file=/etc/nodejoin/ca.key"),
    flag("--service-account-private-key-file=/etc/nodejoin/sa.key"),
    flag("--root-ca-file=/etc/nodejoin/ca.crt"),
    // The delays of its own client, not of the cluster: a node should not wait for a quota meant for big clusters.
    // Nobody asks for its metrics, and a certificate of its own costs it a quarter of a second.
    flag("--secure-port=0"),
    Flag {
        text: "--port=0",
        since: 0,
        until: 23,
    },
    flag("--kube-api-qps=200"),
    flag("--kube-api-burst=300"),
    flag("--profiling=false"),
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
  users: ["system:apiserver", "system:kube-controller-manager", "nodejoin:admin", "eks:authenticator", "eks:node-manager", "eks:cloud-controller-manager", "eks:certificate-controller"]
  verbs: [get, list, watch]
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

    #[test]
    fn flags_follow_the_version() {
        let table = [
            flag("--always"),
            Flag {
                text: "--old",
                since: 0,
                until: 23,
            },
            Flag {
                text: "--new",
                since: 24,
                until: u32::MAX,
            },
        ];
        assert_eq!(flag_lines(&table, 20), "--always\n--old\n");
        assert_eq!(flag_lines(&table, 30), "--always\n--new\n");
    }

    #[test]
    fn every_file_that_a_flag_names_is_laid() {
        let files = files(&Pki::generate().unwrap(), "10.0.0.1:5000".parse().unwrap(), 20);
        let flags = files.iter().filter(|file| file.name.ends_with(".flags"));
        for flag in flags.flat_map(|file| file.text.reveal().lines()) {
            if let Some(name) = flag
                .split_once('=')
                .and_then(|(_, path)| path.strip_prefix(FOLDER))
            {
                assert!(
                    files.iter().any(|file| file.name == name),
                    "{flag} names a file that is not laid"
                );
            }
        }
    }

    #[test]
    fn kubeconfigs_and_the_policy_are_yaml() {
        let pki = Pki::generate().unwrap();
        for file in files(&pki, "10.0.0.1:5000".parse().unwrap(), 20) {
            if file.name.ends_with(".kubeconfig") {
                let value: serde_json::Value = serde_yaml::from_str(file.text.reveal()).unwrap();
                assert_eq!(value["current-context"], "nodejoin");
                assert!(
                    value["clusters"][0]["cluster"]["server"]
                        .as_str()
                        .unwrap()
                        .starts_with("https://")
                );
            }
        }
        let policy: serde_json::Value = serde_yaml::from_str(AUDIT_POLICY).unwrap();
        assert_eq!(
            policy["rules"].as_array().unwrap().last().unwrap()["level"],
            "Metadata"
        );
    }
}
