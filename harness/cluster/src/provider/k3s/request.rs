//! What a container of k3s is asked for, as plain data: image, command line, files, mounts.
//!
//! | of k3s | here |
//! | --- | --- |
//! | one CA for clients and one for servers | both are the cluster's own, laid down before the first start: EKS has one for both, and kubelets verify API servers by it, too |
//! | a listener on 6443 in front of kube-apiserver | passed by: it drops names with a `*` from its certificate, so nodes are led to kube-apiserver's own port |
//! | an agent, a scheduler, packaged components, a cloud controller | off: the node under test is the only one, and its controllers are those of EKS |
//! | a tunnel from kube-apiserver to kubelets | off: only k3s' own agents are at its other end |

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::Minor;
use nodejoin_docker::Run;
use serde::Serialize;
use testcontainers::bollard::models::HostConfig;
use testcontainers::{ContainerRequest, CopyDataSource, CopyTargetOptions, GenericImage, ImageExt as _};

use crate::flags::Program;
use crate::secret::Secret;
use crate::wiring::Wiring;

/// A container of k3s' server.
#[derive(Debug, Serialize)]
pub(crate) struct Request {
    pub(crate) image: String,
    pub(crate) command: Vec<String>,
    /// Folders that are anonymous volumes: k3s makes overlays and data bases there.
    pub(crate) volumes: Vec<&'static str>,
    /// Folders in memory.
    pub(crate) in_memory: Vec<&'static str>,
    /// Files that lie there before it starts, with their permissions.
    pub(crate) files: BTreeMap<String, &'static str>,
    /// What it may beside what the engine gives every container.
    pub(crate) capabilities: Vec<&'static str>,
    #[serde(skip)]
    contents: BTreeMap<String, Secret>,
}

impl Request {
    /// For this image, with the flags of this version.
    pub(crate) fn new(image: &str, wiring: &Wiring, minor: Minor) -> Self {
        let contents = contents(wiring);
        Self {
            image: image.to_owned(),
            command: command(wiring, minor),
            volumes: vec!["/var/lib/rancher/k3s"],
            in_memory: vec!["/var/lib/cni", "/var/lib/kubelet", "/var/log"],
            files: contents.keys().map(|path| (path.clone(), "0600")).collect(),
            // Redirections to the containers of nodes are set from inside.
            capabilities: vec!["NET_ADMIN"],
            contents,
        }
    }

    /// The same, as testcontainers takes it.
    pub(crate) fn into_container(self, run: &Run) -> ContainerRequest<GenericImage> {
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

/// Without its agent k3s needs nothing of the `--privileged` that its documentation gives it. But as the first process of a
/// container on cgroup v2 it would move itself into a group of its own, which it may not: so another process is the first.
fn allow(host: &mut HostConfig, capabilities: &[&str]) {
    host.init = Some(true);
    host.cap_add = Some(
        capabilities
            .iter()
            .map(|capability| (*capability).to_owned())
            .collect(),
    );
}

fn command(wiring: &Wiring, minor: Minor) -> Vec<String> {
    let own = Program::K3s.lines(SERVER, minor);
    let wired = wiring.api_server_flags(FOLDER, minor).into_iter();
    let wired = wired.chain(API_SERVER.iter().map(|(name, value)| {
        let value = value.replace("@FOLDER@", FOLDER);
        ((*name).to_owned(), value)
    }));
    ["server".to_owned()]
        .into_iter()
        .chain(own.lines().map(str::to_owned))
        .chain(wired.map(|(name, value)| format!("--kube-apiserver-arg={name}={value}")))
        .collect()
}

fn contents(wiring: &Wiring) -> BTreeMap<String, Secret> {
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

/// Where the files of the wiring lie.
const FOLDER: &str = "/etc/nodejoin";

/// Where k3s keeps its certificates, and takes authorities that lie there already.
pub(crate) const TLS: &str = "/var/lib/rancher/k3s/server/tls";

/// The port on which k3s lets kube-apiserver listen behind its own.
pub(crate) const API_SERVER_PORT: u16 = 6444;

/// Flags of `k3s server`. It drops its own default for an argument of kube-apiserver that is given.
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
    // The tunnel came to the releases of May 2022, 1.22 the oldest of them (https://github.com/k3s-io/k3s/pull/5577).
    "--egress-selector-mode=disabled",
    "--service-cidr=10.100.0.0/16",
    "--cluster-dns=10.100.0.10",
];

/// Arguments of kube-apiserver beside those of the wiring. Its certificate for names that k3s' own has not; that one stays for
/// the parts of k3s.
const API_SERVER: &[(&str, &str)] = &[
    ("bind-address", "0.0.0.0"),
    (
        "tls-sni-cert-key",
        "@FOLDER@/apiserver.crt,@FOLDER@/apiserver.key",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::Pki;

    fn request(minor: u32) -> Request {
        let wiring = Wiring {
            webhooks: "198.18.0.1:5000".parse().unwrap(),
            pki: Pki::generate().unwrap(),
        };
        Request::new("rancher/k3s:v1.32.1-k3s1", &wiring, Minor::new(minor))
    }

    #[test]
    fn the_container_is_asked_for_as_it_stands_in_the_file() {
        let shown = serde_yaml::to_string(&request(32)).unwrap();
        assert_eq!(shown, include_str!("request.golden.yaml"), "\n{shown}");
    }

    #[test]
    fn flags_that_a_version_has_not_are_left_out() {
        let has_tunnel = |minor| {
            request(minor)
                .command
                .contains(&"--egress-selector-mode=disabled".to_owned())
        };
        assert!(!has_tunnel(20));
        assert!(has_tunnel(22));
    }

    #[test]
    fn no_key_is_shown() {
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
    fn it_is_not_the_first_process_and_has_no_privileges() {
        let mut host = HostConfig::default();
        allow(&mut host, &["NET_ADMIN"]);
        assert_eq!((host.init, host.privileged), (Some(true), None));
        assert_eq!(host.cap_add.unwrap(), ["NET_ADMIN"]);
    }
}
