//! The container of k3s as plain data: image, command line, files, mounts.
//!
//! | default of k3s | here |
//! | --- | --- |
//! | one CA for clients and one for servers | both are the cluster's CA, written before the first start |
//! | a listener on 6443 in front of kube-apiserver | not used: nodes are redirected to kube-apiserver's port |
//! | an agent, a scheduler, packaged components, a cloud controller | off: EKS has its own controllers |
//! | a tunnel from kube-apiserver to kubelets | off: only agents of k3s serve its other end |
//!
//! EKS has one CA for clients and servers, and kubelets verify API servers with it. The listener of k3s drops names
//! with `*` from its certificate. The node under test is the only node.

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::secret::Secret;
use nodejoin_docker::Run;
use serde::Serialize;
use testcontainers::bollard::models::HostConfig;
use testcontainers::{ContainerRequest, CopyDataSource, CopyTargetOptions, GenericImage, ImageExt as _};

use crate::wiring::{ApiServerWiring, Program};

/// Folder of the wiring's files.
const FOLDER: &str = "/etc/nodejoin";

/// Folder in which k3s stores its certificates. It uses existing authorities.
pub(crate) const TLS: &str = "/var/lib/rancher/k3s/server/tls";

/// Port of kube-apiserver behind the listener of k3s.
pub(crate) const API_SERVER_PORT: u16 = 6444;

/// Flags of `k3s server`. An argument for kube-apiserver replaces k3s' default for it.
const SERVER: &[&str] = &[
    "--disable-agent",
    "--disable-scheduler",
    "--disable-cloud-controller",
    "--disable-network-policy",
    "--disable=coredns",
    "--disable=servicelb",
    "--disable=traefik",
    "--disable=local-storage",
    "--disable=metrics-server",
    "--flannel-backend=none",
    // The tunnel exists since the releases of May 2022, from 1.22 on (https://github.com/k3s-io/k3s/pull/5577).
    "--egress-selector-mode=disabled",
    "--service-cidr=10.100.0.0/16",
    "--cluster-dns=10.100.0.10",
];

/// Arguments for kube-apiserver in addition to the wiring's. Its certificate has the names that k3s' own lacks; the
/// components of k3s use k3s' own.
const API_SERVER: &[(&str, &str)] = &[
    ("bind-address", "0.0.0.0"),
    (
        "tls-sni-cert-key",
        "@FOLDER@/apiserver.crt,@FOLDER@/apiserver.key",
    ),
];

/// A container of `k3s server`.
#[derive(Debug, Serialize)]
pub(crate) struct K3sContainer {
    pub(crate) image: String,
    pub(crate) command: Vec<String>,
    /// Folders on anonymous volumes: k3s creates overlays and databases there.
    pub(crate) volumes: Vec<&'static str>,
    /// Folders in memory.
    pub(crate) in_memory: Vec<&'static str>,
    /// Files that exist before the start, with their permissions.
    pub(crate) files: BTreeMap<String, &'static str>,
    /// Capabilities in addition to the engine's default.
    pub(crate) capabilities: Vec<&'static str>,
    #[serde(skip)]
    contents: BTreeMap<String, Secret>,
}

impl K3sContainer {
    pub(crate) fn new(image: &str, wiring: &ApiServerWiring, minor: Minor) -> Self {
        let contents = contents(wiring);
        Self {
            image: image.to_owned(),
            command: command(wiring, minor),
            volumes: vec!["/var/lib/rancher/k3s"],
            in_memory: vec!["/var/lib/cni", "/var/lib/kubelet", "/var/log"],
            files: contents.keys().map(|path| (path.clone(), "0600")).collect(),
            // Sets redirections to the containers of nodes.
            capabilities: vec!["NET_ADMIN"],
            contents,
        }
    }

    /// Converts to a request of testcontainers.
    pub(crate) fn into_request(self, run: &Run) -> ContainerRequest<GenericImage> {
        let (name, tag) = self
            .image
            .rsplit_once(':')
            .filter(|(_, tag)| !tag.contains('/'))
            .unwrap_or((&self.image, "latest"));
        let mounts: Vec<_> = self
            .volumes
            .iter()
            .map(|target| run.volume_mount(target))
            .collect();
        let (in_memory, capabilities) = (self.in_memory, self.capabilities);
        let request = GenericImage::new(name, tag)
            .with_cmd(self.command)
            .with_host_config_modifier(move |host| {
                host.mounts = Some(mounts.clone());
                host.tmpfs = Some(
                    in_memory
                        .iter()
                        .map(|folder| ((*folder).to_owned(), String::new()))
                        .collect(),
                );
                allow(host, &capabilities);
            });
        self.contents.into_iter().fold(request, |request, (path, text)| {
            let target = CopyTargetOptions::new(path).with_mode(0o600);
            request.with_copy_to(target, CopyDataSource::Data(text.reveal().as_bytes().to_vec()))
        })
    }
}

/// Without its agent, k3s does not need the `--privileged` of its documentation. As PID 1 on cgroup v2 it would move
/// itself into another cgroup, which it may not, so an init process is PID 1.
fn allow(host: &mut HostConfig, capabilities: &[&str]) {
    host.init = Some(true);
    host.cap_add = Some(
        capabilities
            .iter()
            .map(|capability| (*capability).to_owned())
            .collect(),
    );
}

fn command(wiring: &ApiServerWiring, minor: Minor) -> Vec<String> {
    let server = Program::K3s.lines(SERVER, minor);
    let api_server = wiring.api_server_flags(FOLDER, minor).into_iter();
    let api_server = api_server.chain(API_SERVER.iter().map(|(name, value)| {
        let value = value.replace("@FOLDER@", FOLDER);
        ((*name).to_owned(), value)
    }));
    ["server".to_owned()]
        .into_iter()
        .chain(server.lines().map(str::to_owned))
        .chain(api_server.map(|(name, value)| format!("--kube-apiserver-arg={name}={value}")))
        .collect()
}

fn contents(wiring: &ApiServerWiring) -> BTreeMap<String, Secret> {
    let pki = &wiring.pki;
    let authority = |name: &str| {
        [
            (
                format!("{TLS}/{name}.crt"),
                Secret::new(pki.cluster.pem().to_owned()),
            ),
            (format!("{TLS}/{name}.key"), pki.cluster.key().clone()),
        ]
    };
    let serving = [
        (
            format!("{FOLDER}/apiserver.crt"),
            Secret::new(pki.api_server.certificate.clone()),
        ),
        (format!("{FOLDER}/apiserver.key"), pki.api_server.key.clone()),
    ];
    let wired = wiring.files().into_iter();
    let wired = wired.map(|file| (format!("{FOLDER}/{}", file.name), file.text));
    authority("server-ca")
        .into_iter()
        .chain(authority("client-ca"))
        .chain(serving)
        .chain(wired)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Pki;

    fn request(minor: u32) -> K3sContainer {
        let wiring = ApiServerWiring {
            webhooks: "198.18.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        K3sContainer::new("rancher/k3s:v1.32.1-k3s1", &wiring, Minor::new(minor))
    }

    #[test]
    fn the_container_matches_the_golden_file() {
        let shown = serde_yaml::to_string(&request(32)).unwrap();
        assert_eq!(shown, include_str!("container.golden.yaml"), "\n{shown}");
    }

    #[test]
    fn flags_unknown_to_a_version_are_left_out() {
        let has_tunnel = |minor| {
            request(minor)
                .command
                .contains(&"--egress-selector-mode=disabled".to_owned())
        };
        assert!(!has_tunnel(20));
        assert!(has_tunnel(22));
    }

    #[test]
    fn keys_are_not_printed() {
        let request = request(32);
        assert!(!format!("{request:?}").contains("PRIVATE"));
        assert!(
            request
                .contents
                .values()
                .any(|text| text.reveal().contains("PRIVATE"))
        );
    }

    #[test]
    fn k3s_is_not_pid_1_and_not_privileged() {
        let mut host = HostConfig::default();
        allow(&mut host, &["NET_ADMIN"]);
        assert_eq!((host.init, host.privileged), (Some(true), None));
        assert_eq!(host.cap_add.unwrap(), ["NET_ADMIN"]);
    }
}
