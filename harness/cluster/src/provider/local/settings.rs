//! Files and flags of a `local` control plane in addition to the wiring's.

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::secret::Secret;

use crate::api_server::access::kubeconfig;
use crate::wiring::{ApiServerFile, ApiServerWiring, Program};

/// Path of the archive. The container's entry point unpacks it into `/etc/nodejoin`.
pub(crate) const ARCHIVE: &str = "/etc/nodejoin.tar";

/// Folder of the files in the container.
const FOLDER: &str = "/etc/nodejoin";

/// Tells whether the API server is ready. The two hooks wait one second before they look for objects that the image's
/// etcd has.
pub(crate) const READYZ: &str = "/readyz?exclude=poststarthook/rbac/bootstrap-roles\
    &exclude=poststarthook/scheduling/bootstrap-system-priority-classes";

/// Nodes connect to `https://<ID>.gr7.<region>.eks.amazonaws.com`, without a port.
pub(crate) const SECURE_PORT: u16 = 443;

/// The data ends with the container, so waiting for a disk gains nothing.
const ETCD: &[&str] = &[
    "--data-dir=/var/lib/etcd",
    "--unsafe-no-fsync",
    "--log-level=warn",
    "--listen-client-urls=http://127.0.0.1:2379",
    "--advertise-client-urls=http://127.0.0.1:2379",
    "--listen-peer-urls=http://127.0.0.1:0",
    // A single member elects itself after this time.
    "--heartbeat-interval=10",
    "--election-timeout=50",
];

const API_SERVER: &[&str] = &[
    "--etcd-servers=http://127.0.0.1:2379",
    "--secure-port=443",
    // An internal network has no default route to derive the address from.
    "--advertise-address=@ADDRESS@",
    "--client-ca-file=/etc/nodejoin/ca.crt",
    "--tls-cert-file=/etc/nodejoin/apiserver.crt",
    "--tls-private-key-file=/etc/nodejoin/apiserver.key",
    "--service-account-key-file=/etc/nodejoin/sa.pub",
    "--service-account-signing-key-file=/etc/nodejoin/sa.key",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.100.0.0/16",
    "--kubelet-client-certificate=/etc/nodejoin/kubelet-client.crt",
    "--kubelet-client-key=/etc/nodejoin/kubelet-client.key",
    "--kubelet-certificate-authority=/etc/nodejoin/ca.crt",
];

const CONTROLLER_MANAGER: &[&str] = &[
    "--kubeconfig=/etc/nodejoin/controller-manager.kubeconfig",
    "--leader-elect=false",
    "--controllers=*,bootstrapsigner,tokencleaner",
    "--cluster-signing-cert-file=/etc/nodejoin/ca.crt",
    "--cluster-signing-key-file=/etc/nodejoin/ca.key",
    "--service-account-private-key-file=/etc/nodejoin/sa.key",
    "--root-ca-file=/etc/nodejoin/ca.crt",
    // No client reads its metrics, and generating a serving certificate takes a quarter of a second.
    "--secure-port=0",
    "--port=0",
    // The default limits of its client are for large clusters and would delay nodes.
    "--kube-api-qps=200",
    "--kube-api-burst=300",
    "--profiling=false",
];

/// Every file of a `local` control plane.
pub(crate) fn files(wiring: &ApiServerWiring, minor: Minor) -> Vec<ApiServerFile> {
    let pki = &wiring.pki;
    let file = |name: &str, text: &str| ApiServerFile {
        name: name.to_owned(),
        text: Secret::new(text.to_owned()),
    };
    let flags = |program: &str, text: &str| file(&format!("{program}.flags"), text);
    let manager = kubeconfig(
        &format!("https://127.0.0.1:{SECURE_PORT}"),
        pki.cluster.pem(),
        &pki.controller_manager,
    );
    let mut files = vec![
        file("ca.crt", pki.cluster.pem()),
        file("ca.key", pki.cluster.key().reveal()),
        file("apiserver.crt", &pki.api_server.certificate),
        file("apiserver.key", pki.api_server.key.reveal()),
        file("kubelet-client.crt", &pki.kubelet_client.certificate),
        file("kubelet-client.key", pki.kubelet_client.key.reveal()),
        file("sa.key", pki.service_account_key.reveal()),
        file("sa.pub", &pki.service_account_public_key),
        file("controller-manager.kubeconfig", &manager),
        file("readyz", READYZ),
        flags("etcd", &Program::Etcd.lines(ETCD, minor)),
        flags("kube-apiserver", &api_server(wiring, minor)),
        flags(
            "kube-controller-manager",
            &Program::ControllerManager.lines(CONTROLLER_MANAGER, minor),
        ),
    ];
    files.extend(wiring.files());
    files
}

/// The flags of kube-apiserver, including those of the wiring.
fn api_server(wiring: &ApiServerWiring, minor: Minor) -> String {
    let wired = wiring.api_server_flags(FOLDER, minor);
    let wired = wired
        .into_iter()
        .map(|(name, value)| format!("--{name}={value}\n"));
    Program::ApiServer.lines(API_SERVER, minor) + &wired.collect::<String>()
}

/// Packs the files into one archive: copying fifteen files into a container takes fifteen requests to the engine.
pub(crate) fn archive(files: &[ApiServerFile]) -> std::io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Pki;

    fn wiring() -> ApiServerWiring {
        ApiServerWiring {
            webhooks: "10.0.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        }
    }

    #[test]
    fn every_file_that_a_flag_names_exists() {
        let files = files(&wiring(), Minor::new(20));
        let flags = files.iter().filter(|file| file.name.ends_with(".flags"));
        let values = flags
            .flat_map(|file| file.text.reveal().lines())
            .filter_map(|flag| flag.split_once('='));
        let named: Vec<_> = values
            .filter_map(|(_, value)| value.strip_prefix("/etc/nodejoin/"))
            .collect();
        assert!(named.contains(&"audit-policy.yaml"), "{named:?}");
        for name in named {
            assert!(files.iter().any(|file| file.name == name), "`{name}` is missing");
        }
    }

    #[test]
    fn kubeconfigs_are_yaml() {
        for file in files(&wiring(), Minor::new(20)) {
            if file.name.ends_with(".kubeconfig") {
                let value: serde_json::Value = serde_yaml::from_str(file.text.reveal()).unwrap();
                assert_eq!(value["current-context"], "nodejoin");
                let server = value["clusters"][0]["cluster"]["server"].as_str().unwrap();
                assert!(server.starts_with("https://"), "{server}");
            }
        }
    }
}
