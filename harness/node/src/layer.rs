//! Everything that is laid over the image before a node starts, as one archive: one upload, and modes are kept.

use std::io::Write as _;

use nodejoin_core::plan::aws::InterfacePlan;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::instance_type::has_nvidia_gpu;
use nodejoin_core::plan::{Cni, InstancePlan, Network, UserDataEngine};
use nodejoin_core::run::time_factor::TimeFactor;

use crate::ask::{DirectUserData, LaidFile, NodeAsk};
use crate::error::NodeError;
use crate::host::Host;
use crate::pods;

/// Where the archive lands, and what unpacks it and becomes the machine.
pub(crate) const ARCHIVE: &str = "/opt/nodejoin.tar";
/// The container's command line behind `/bin/sh -c`.
///
/// On a second boot nothing is laid: what scripts made of it stays.
pub(crate) const COMMAND: &str = "if [ -e /opt/nodejoin.tar ]; then \
     tar --extract --file /opt/nodejoin.tar --directory / && rm /opt/nodejoin.tar || exit 98; fi; exec /opt/nodejoin/enter";

const ENTER: &str = include_str!("../guest/enter");
const JOURNAL_UNIT: &str = include_str!("../guest/journal.service");
const JOURNALD: &str = include_str!("../guest/journald.conf");
const CLOUD_INIT: &str = include_str!("../guest/cloud-init");
const DATA_SOURCE: &str = include_str!("../guest/datasource.py");
const CLOUD_CONFIG: &str = include_str!("../guest/cloud.cfg");
const RUNC: &str = include_str!("../guest/runc");
const METADATA_SOCKET: &str = include_str!("../guest/metadata.socket");
const METADATA_UNIT: &str = include_str!("../guest/metadata.service");
const USER_DATA: &str = include_str!("../guest/user-data");
const USER_DATA_UNIT: &str = include_str!("../guest/user-data.service");

const METADATA_IP: &str = "169.254.169.254";
const METADATA_IPV6: &str = "fd00:ec2::254";
const DNS_IP: &str = "169.254.169.253";
/// All host names of AWS resolve to this address.
const TLS_IP: &str = "169.254.171.1";
/// Nobody has this address: what is sent by way of it goes nowhere.
const NOWHERE_IP: &str = "169.254.171.254";

/// How often the metadata address is asked whose it is, 20 times a second or less: the node's container waits for its address to be
/// made known.
const METADATA_TRIES: u32 = 400;

/// The archive for a node.
///
/// # Errors
/// Where a file of the overlay cannot be read, or a path does not fit into an archive.
pub(crate) fn archive(
    run: &RunId,
    ask: &NodeAsk<'_>,
    host: Host,
    factor: TimeFactor,
) -> Result<Vec<u8>, NodeError> {
    let mut layer = Layer::default();
    // The overlay first: what the harness needs in order to see anything must win.
    for file in overlay(ask)? {
        layer.file(&file.path, file.mode, &file.content)?;
    }
    layer.file("/opt/nodejoin/enter", 0o755, ENTER.as_bytes())?;
    layer.file(
        "/opt/nodejoin/values",
        0o644,
        values(run, ask, host, factor).as_bytes(),
    )?;
    layer.file("/opt/nodejoin/ca.pem", 0o644, ask.aws_ca_pem.as_bytes())?;
    layer.unit("nodejoin-journal.service", "sysinit.target", JOURNAL_UNIT)?;
    layer.file(
        "/etc/systemd/journald.conf.d/99-nodejoin.conf",
        0o644,
        JOURNALD.as_bytes(),
    )?;
    match ask
        .plan
        .user_data
        .as_ref()
        .map_or(UserDataEngine::CloudInit, |data| data.engine)
    {
        UserDataEngine::CloudInit => layer.cloud_init()?,
        UserDataEngine::Direct => layer.direct(ask.direct.as_ref().unwrap_or(&DirectUserData::default()))?,
    }
    if ask.plan.instance.metadata.ipv6 {
        layer.unit("nodejoin-metadata.socket", "sysinit.target", METADATA_SOCKET)?;
        layer.file(
            "/etc/systemd/system/nodejoin-metadata.service",
            0o644,
            METADATA_UNIT.as_bytes(),
        )?;
    }
    if host.clamps_limits {
        layer.file("/opt/nodejoin/runc", 0o755, RUNC.as_bytes())?;
        layer.link("/usr/local/sbin/runc", "/opt/nodejoin/runc")?;
    }
    if ask.plan.cni == Cni::Bridge {
        layer.file(
            pods::PATH,
            0o644,
            pods::conflist(ask.plan.instance.private_ip).as_bytes(),
        )?;
    }
    layer.finish()
}

fn overlay(ask: &NodeAsk<'_>) -> Result<Vec<LaidFile>, NodeError> {
    let read = |file: &nodejoin_core::plan::OverlayFile| {
        let content = match &file.patched {
            Some(patched) => patched.content.clone().into_bytes(),
            None => std::fs::read(&file.from).map_err(|source| NodeError::Overlay {
                path: file.from.clone(),
                to: file.to.clone(),
                source,
            })?,
        };
        Ok(LaidFile {
            path: file.to.clone(),
            mode: file.mode,
            content,
        })
    };
    ask.plan.image.overlay.iter().map(read).collect()
}

/// What `enter` reads, as assignments of a shell.
fn values(run: &RunId, ask: &NodeAsk<'_>, host: Host, factor: TimeFactor) -> String {
    let instance = &ask.plan.instance;
    let network = match ask.plan.network {
        Network::Isolated => "isolated",
        Network::Open => "open",
    };
    [
        ("RUN_ID", run.to_string()),
        ("NETWORK", network.to_owned()),
        (
            "CGROUP_V1",
            if host.is_refused { "refused" } else { "will do" }.to_owned(),
        ),
        ("GATEWAY", ask.network.gateway.to_string()),
        ("PRIVATE_IP", instance.private_ip.to_string()),
        ("IPV6", ipv6(ask)),
        ("METADATA_IPV6", metadata_ipv6(ask)),
        ("INTERFACES", interfaces(ask)),
        ("MAC", instance.mac.clone()),
        ("GPU", pci_vendor(instance).to_owned()),
        ("HOST_NAME", instance.host_name.clone()),
        ("DOMAIN", ask.plan.region.private_domain()),
        ("METADATA_IP", METADATA_IP.to_owned()),
        ("DNS_IP", DNS_IP.to_owned()),
        ("TLS_IP", TLS_IP.to_owned()),
        ("NOWHERE_IP", NOWHERE_IP.to_owned()),
        ("METADATA_TRIES", factor.tries(METADATA_TRIES).to_string()),
        ("METADATA_AT", ask.metadata.to_string()),
        ("DNS_AT", ask.dns.to_string()),
        ("TLS_AT", ask.tls.to_string()),
        ("API_SERVER_AT", ask.api_server.to_string()),
    ]
    .iter()
    .map(|(name, value)| format!("{name}={}\n", quoted(value)))
    .collect()
}

/// The addresses of IPv6 that the machine has, with blanks between.
fn ipv6(ask: &NodeAsk<'_>) -> String {
    let addresses = ask.plan.instance.network.ipv6.iter().map(ToString::to_string);
    addresses.collect::<Vec<_>>().join(" ")
}

/// What the PCI bus says of the type's GPUs: NVIDIA's id as a vendor. Nothing of a type without any.
fn pci_vendor(instance: &InstancePlan) -> &'static str {
    if has_nvidia_gpu(&instance.instance_type) {
        "0x10de"
    } else {
        ""
    }
}

/// The address of the metadata service's IPv6 endpoint, where the instance has it on.
fn metadata_ipv6(ask: &NodeAsk<'_>) -> String {
    let address = if ask.plan.instance.metadata.ipv6 {
        METADATA_IPV6
    } else {
        ""
    };
    address.to_owned()
}

/// The interfaces after the primary one, a line each: MAC address, then private addresses.
fn interfaces(ask: &NodeAsk<'_>) -> String {
    let interfaces = ask.plan.instance.network.interfaces.iter();
    let line = |interface: &InterfacePlan| {
        let addresses = interface.private_ips.iter().map(ToString::to_string);
        let words = std::iter::once(interface.mac.clone()).chain(addresses);
        words.collect::<Vec<_>>().join(" ")
    };
    interfaces.map(line).collect::<Vec<_>>().join("\n")
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An archive in the making.
struct Layer(tar::Builder<Vec<u8>>);

impl Default for Layer {
    fn default() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }
}

impl Layer {
    fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), NodeError> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        // Not 1970: programs compare the times of their sources and caches.
        header.set_mtime(1_660_000_000);
        self.0
            .append_data(&mut header, path.trim_start_matches('/'), content)
            .map_err(|source| NodeError::Layer {
                path: path.to_owned(),
                source,
            })
    }

    fn link(&mut self, path: &str, target: &str) -> Result<(), NodeError> {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        self.0
            .append_link(&mut header, path.trim_start_matches('/'), target)
            .map_err(|source| NodeError::Layer {
                path: path.to_owned(),
                source,
            })
    }

    /// A unit that a target wants.
    fn unit(&mut self, name: &str, target: &str, text: &str) -> Result<(), NodeError> {
        self.file(&format!("/etc/systemd/system/{name}"), 0o644, text.as_bytes())?;
        self.link(
            &format!("/etc/systemd/system/{target}.wants/{name}"),
            &format!("../{name}"),
        )
    }

    fn cloud_init(&mut self) -> Result<(), NodeError> {
        self.file("/opt/nodejoin/cloud-init", 0o755, CLOUD_INIT.as_bytes())?;
        let package = "/usr/lib/python3/dist-packages/nodejoin_cloud";
        self.file(&format!("{package}/__init__.py"), 0o644, b"")?;
        self.file(
            &format!("{package}/DataSourceEc2Node.py"),
            0o644,
            DATA_SOURCE.as_bytes(),
        )?;
        self.file(
            "/etc/cloud/cloud.cfg.d/99_nodejoin.cfg",
            0o644,
            CLOUD_CONFIG.as_bytes(),
        )
    }

    fn direct(&mut self, data: &DirectUserData) -> Result<(), NodeError> {
        self.file("/etc/cloud/cloud-init.disabled", 0o644, b"")?;
        for file in &data.files {
            self.file(&file.path, file.mode, &file.content)?;
        }
        self.file("/opt/nodejoin/user-data/run", 0o755, USER_DATA.as_bytes())?;
        for (place, script) in data.scripts.iter().enumerate() {
            let path = format!("/opt/nodejoin/user-data/scripts/{place:03}.{}", script.name);
            self.file(&path, 0o700, &script.content)?;
        }
        self.unit("nodejoin-user-data.service", "multi-user.target", USER_DATA_UNIT)
    }

    fn finish(self) -> Result<Vec<u8>, NodeError> {
        let path = || ARCHIVE.to_owned();
        let mut bytes = self
            .0
            .into_inner()
            .map_err(|source| NodeError::Layer { path: path(), source })?;
        bytes
            .flush()
            .map_err(|source| NodeError::Layer { path: path(), source })?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        assert_eq!(quoted("a'b; rm -rf /"), r"'a'\''b; rm -rf /'");
    }

    #[test]
    fn modes_bytes_and_links_are_kept() {
        let mut layer = Layer::default();
        layer
            .file("/etc/eks/bootstrap.sh", 0o755, b"#!/bin/bash\r\n")
            .unwrap();
        layer.unit("a.service", "b.target", "[Unit]\n").unwrap();
        let bytes = layer.finish().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut entries = archive.entries().unwrap();
        let mut first = entries.next().unwrap().unwrap();
        let mut content = Vec::new();
        first.read_to_end(&mut content).unwrap();
        assert_eq!(first.path().unwrap().to_str(), Some("etc/eks/bootstrap.sh"));
        assert_eq!(
            (first.header().mode().unwrap(), content.as_slice()),
            (0o755, b"#!/bin/bash\r\n".as_slice())
        );
        let link = entries.nth(1).unwrap().unwrap();
        assert_eq!(link.link_name().unwrap().unwrap().to_str(), Some("../a.service"));
    }

    #[test]
    fn scripts_keep_their_order_and_their_names() {
        let script = |name: &str| crate::ask::Script {
            name: name.to_owned(),
            content: Vec::new(),
        };
        let data = DirectUserData {
            files: Vec::new(),
            scripts: vec![script("part-001"), script("runcmd")],
        };
        let mut layer = Layer::default();
        layer.direct(&data).unwrap();
        let bytes = layer.finish().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let paths: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|e| e.unwrap().path().unwrap().display().to_string())
            .collect();
        assert!(
            paths.contains(&"opt/nodejoin/user-data/scripts/000.part-001".to_owned()),
            "{paths:?}"
        );
        assert!(
            paths.contains(&"opt/nodejoin/user-data/scripts/001.runcmd".to_owned()),
            "{paths:?}"
        );
    }
}
