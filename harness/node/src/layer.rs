//! The files that are added to the image before a node starts, as one archive: one upload that preserves modes.

mod values;

use std::io::Write as _;

use nodejoin_core::kubernetes::{DifferenceKind, Minor, newer_gates, newer_than};
use nodejoin_core::plan::{Cni, NewerSettings, Stubs, UserDataEngine};
use nodejoin_core::run::shell::quoted;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::user_data::sets_up_disks;

use crate::error::NodeError;
use crate::host_workarounds::HostWorkarounds;
use crate::pods;
use crate::refusals;
use crate::request::{DirectUserData, LaidFile, NodeRequest};
use crate::tools::{Tools, journal_unit};

pub(crate) use values::has_disk_tools;
use values::values;

/// Path of the archive in the container.
pub(crate) const ARCHIVE: &str = "/opt/nodejoin.tar";
/// The container's command line behind `/bin/sh -c`.
///
/// A second boot unpacks nothing, so that changes by scripts remain.
///
/// On an engine with slow storage, folders of the image become overlays of the kernel, at each boot and before the
/// archive is unpacked. Their layers are then unmounted, which leaves them to the overlays alone: root on the node
/// could otherwise make the volumes that all nodes share writable. The engine's own mounts below /etc would stay behind
/// the overlay.
const COMMAND: &str = "cd /opt/nodejoin 2>/dev/null; if [ -d folders/usr/bin ]; then \
     umount /etc/hostname /etc/hosts /etc/resolv.conf 2>/dev/null; \
     for name in etc var/log usr; do mkdir -p changes/$name changes/of/$name && mount -t overlay \
     -o lowerdir=folders/$name,upperdir=changes/$name,workdir=changes/of/$name overlay /$name && umount folders/$name || :; done; \
     umount changes || :; fi; cd /; if [ -e /opt/nodejoin.tar ]; then \
     tar --extract --file /opt/nodejoin.tar --directory / opt/nodejoin/remove && . /opt/nodejoin/remove && \
     tar --extract --file /opt/nodejoin.tar --directory / && rm /opt/nodejoin.tar || exit 98; fi; exec /opt/nodejoin/enter";

const ENTER: &str = include_str!("../guest/enter");
const JOURNAL_UNIT: &str = include_str!("../guest/journal.service");
const GATE: &str = include_str!("../guest/gate");
const GATE_UNIT: &str = include_str!("../guest/gate.service");
const JOURNALD: &str = include_str!("../guest/journald.conf");
const CLOUD_INIT: &str = include_str!("../guest/cloud-init");
const DATA_SOURCE: &str = include_str!("../guest/datasource.py");
/// The modules of Amazon Linux 2 for disks, before those of the image.
const DISK_MODULES: &str = "cloud_config_modules: [disk_setup, mounts, timezone, runcmd]\n";
const CLOUD_CONFIG: &str = include_str!("../guest/cloud.cfg");
/// The programs of aws-cfn-bootstrap: the program that their links start, and its modules.
const CFN: [(&str, &str); 6] = [
    ("tool", include_str!("../guest/cfn/tool")),
    ("aws.py", include_str!("../guest/cfn/aws.py")),
    ("build.py", include_str!("../guest/cfn/build.py")),
    ("files.py", include_str!("../guest/cfn/files.py")),
    ("mustache.py", include_str!("../guest/cfn/mustache.py")),
    ("report.py", include_str!("../guest/cfn/report.py")),
];
const INSTANCE_TOOLS: &str = include_str!("../guest/instance-tools");
const PACKAGES: &str = include_str!("../guest/packages");
const RUNC: &str = include_str!("../guest/runc");
const SETTINGS: &str = include_str!("../guest/settings");
const PROBED_KUBELET: &str = include_str!("../guest/kubelet");
const DISK_VIEWS: &str = include_str!("../guest/disk-views");
const STORAGE: &str = include_str!("../guest/storage");
const LIMITS: &str = include_str!("../guest/limits");
const MACHINE: &str = include_str!("../guest/machine");
const RESOLVED: &str = include_str!("../guest/resolved");
const RESOLVED_UNIT: &str = include_str!("../guest/resolved.service");
const NPROC: &str = include_str!("../guest/nproc");
const REFUSE: &str = include_str!("../guest/refuse");
const TRACE: &str = include_str!("../guest/trace");
const SHOW: &str = include_str!("../guest/show");
const METADATA_SOCKET: &str = include_str!("../guest/metadata.socket");
const METADATA_UNIT: &str = include_str!("../guest/metadata.service");
const USER_DATA: &str = include_str!("../guest/user-data");
const USER_DATA_UNIT: &str = include_str!("../guest/user-data.service");

/// The container's first command, which unpacks the archive.
pub(crate) fn command(tools: Tools) -> [String; 2] {
    ["-c".to_owned(), tools.script(COMMAND)]
}

/// Builds the archive of files for a node.
///
/// # Errors
/// When a file of the overlay is unreadable, or a path does not fit into an archive.
pub(crate) fn archive(
    request: &NodeRequest<'_>,
    host: HostWorkarounds,
    factor: TimeFactor,
) -> Result<Vec<u8>, NodeError> {
    let mut layer = LayerArchive::default();
    let tools = Tools::of(&request.image);
    // Runs before the other files are unpacked, among which can be new ones in a removed folder.
    layer.file("/opt/nodejoin/remove", 0o644, removal(request).as_bytes())?;
    // The overlay comes first, so that files of the harness replace it.
    for file in overlay(request)? {
        layer.file(&file.path, file.mode, &file.content)?;
    }
    layer.file("/opt/nodejoin/enter", 0o755, tools.file(ENTER).as_bytes())?;
    layer.file(
        "/opt/nodejoin/values",
        0o644,
        values(request, host, factor).as_bytes(),
    )?;
    layer.file("/opt/nodejoin/ca.pem", 0o644, request.aws_ca_pem.as_bytes())?;
    let unit = journal_unit(&tools.file(JOURNAL_UNIT), request.image.facts.as_ref());
    layer.unit("nodejoin-journal.service", "sysinit.target", &unit)?;
    layer.file(
        "/etc/systemd/journald.conf.d/99-nodejoin.conf",
        0o644,
        JOURNALD.as_bytes(),
    )?;
    let user_data = request.plan.user_data.as_ref();
    match user_data.map_or(UserDataEngine::CloudInit, |data| data.engine) {
        UserDataEngine::CloudInit => layer.cloud_init()?,
        UserDataEngine::Direct => layer.direct(
            request.direct.as_ref().unwrap_or(&DirectUserData::default()),
            tools,
        )?,
    }
    if request.plan.instance.metadata.ipv6 {
        layer.unit("nodejoin-metadata.socket", "sysinit.target", METADATA_SOCKET)?;
        layer.file(
            "/etc/systemd/system/nodejoin-metadata.service",
            0o644,
            tools.file(METADATA_UNIT).as_bytes(),
        )?;
    }
    if host.clamps_limits {
        layer.file("/opt/nodejoin/runc", 0o755, tools.file(RUNC).as_bytes())?;
        // In an image that users bring, a program could have this path.
        if tools == Tools::Image {
            layer.link("/usr/local/sbin/runc", "/opt/nodejoin/runc")?;
        }
    }
    if request.is_ahead {
        layer.file("/opt/nodejoin/gate", 0o755, tools.file(GATE).as_bytes())?;
        layer.file("/opt/nodejoin/waits", 0o644, b"")?;
        layer.unit("nodejoin-gate.service", "sysinit.target", GATE_UNIT)?;
    }
    layer.file(
        "/opt/nodejoin/machine-views",
        0o755,
        tools.file(MACHINE).as_bytes(),
    )?;
    layer.file(
        "/opt/nodejoin/disk-views",
        0o755,
        tools.file(DISK_VIEWS).as_bytes(),
    )?;
    if has_disk_tools(request.plan) {
        layer.file("/opt/nodejoin/storage", 0o755, tools.file(STORAGE).as_bytes())?;
        // An imported image has the modules of its own cloud-init.
        let data = request.plan.user_data.as_ref();
        if request.image.facts.is_none() && data.is_some_and(sets_up_disks) {
            layer.file(
                "/etc/cloud/cloud.cfg.d/98_nodejoin_disks.cfg",
                0o644,
                DISK_MODULES.as_bytes(),
            )?;
        }
    }
    layer.file("/opt/nodejoin/limits", 0o755, tools.file(LIMITS).as_bytes())?;
    layer.file("/opt/nodejoin/nproc", 0o644, NPROC.as_bytes())?;
    layer.file("/opt/nodejoin/settings", 0o755, SETTINGS.as_bytes())?;
    layer.file("/opt/nodejoin/resolved", 0o755, tools.file(RESOLVED).as_bytes())?;
    layer.file("/opt/nodejoin/resolved.service", 0o644, RESOLVED_UNIT.as_bytes())?;
    if request.plan.newer_settings == NewerSettings::Translate {
        layer.newer_settings(Minor::of(&request.image.kubernetes))?;
    }
    if request.plan.stubs == Stubs::Packages {
        layer.file("/opt/nodejoin/packages", 0o755, tools.file(PACKAGES).as_bytes())?;
        let instance_tools = tools.file(INSTANCE_TOOLS);
        layer.file("/opt/nodejoin/instance-tools", 0o755, instance_tools.as_bytes())?;
        for (name, text) in CFN {
            layer.file(&format!("/opt/nodejoin/cfn/{name}"), 0o755, text.as_bytes())?;
        }
    }
    if refusals::are_in(&request.plan.faults) {
        layer.file("/opt/nodejoin/refuse", 0o755, tools.file(REFUSE).as_bytes())?;
    }
    if request.plan.is_probe {
        let version = request.plan.probed_kubelet.as_deref().unwrap_or_default();
        let kubelet = format!("NODEJOIN_KUBELET_VERSION={version}\n{PROBED_KUBELET}");
        layer.file("/opt/nodejoin/kubelet", 0o755, kubelet.as_bytes())?;
        layer.file("/opt/nodejoin/show", 0o755, tools.file(SHOW).as_bytes())?;
    }
    if request.plan.is_traced {
        layer.file("/opt/nodejoin/trace.sh", 0o644, TRACE.as_bytes())?;
    }
    if request.plan.cni == Cni::Bridge {
        layer.file(
            pods::PATH,
            0o644,
            pods::conflist(request.plan.instance.private_ip).as_bytes(),
        )?;
    }
    layer.finish()
}

fn overlay(request: &NodeRequest<'_>) -> Result<Vec<LaidFile>, NodeError> {
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
    request.plan.image.added().map(read).collect()
}

/// Shell commands that remove paths of the image. A path that the image does not have is an error of the overlay.
fn removal(request: &NodeRequest<'_>) -> String {
    let remove = |(path, must_exist): (&str, bool)| {
        let force = if must_exist { "" } else { " -f" };
        format!("rm -r{force} {} &&\n", quoted(path))
    };
    let commands: String = request.plan.image.removed().map(remove).collect();
    format!("{commands}true\n")
}

/// An archive of files that is being built.
struct LayerArchive(tar::Builder<Vec<u8>>);

impl Default for LayerArchive {
    fn default() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }
}

impl LayerArchive {
    fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), NodeError> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        // Not 1970: programs compare modification times of sources and caches.
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

    /// Adds a unit and the link that makes a target start it.
    fn unit(&mut self, name: &str, target: &str, text: &str) -> Result<(), NodeError> {
        self.file(&format!("/etc/systemd/system/{name}"), 0o644, text.as_bytes())?;
        self.link(
            &format!("/etc/systemd/system/{target}.wants/{name}"),
            &format!("../{name}"),
        )
    }

    /// Adds the list of what a kubelet is too old for.
    fn newer_settings(&mut self, kubelet: Minor) -> Result<(), NodeError> {
        let names = |what| -> Vec<&str> { newer_than(what, kubelet).map(|row| row.name).collect() };
        let (fields, flags) = (
            names(DifferenceKind::KubeletField),
            names(DifferenceKind::KubeletFlag),
        );
        let gates: Vec<&str> = newer_gates(kubelet).collect();
        if fields.is_empty() && flags.is_empty() && gates.is_empty() {
            return Ok(());
        }
        let newer = serde_json::json!({ "fields": fields, "flags": flags, "gates": gates });
        self.file(
            "/opt/nodejoin/newer-settings.json",
            0o644,
            newer.to_string().as_bytes(),
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

    fn direct(&mut self, data: &DirectUserData, tools: Tools) -> Result<(), NodeError> {
        self.file("/etc/cloud/cloud-init.disabled", 0o644, b"")?;
        for file in &data.files {
            self.file(&file.path, file.mode, &file.content)?;
        }
        self.file(
            "/opt/nodejoin/user-data/run",
            0o755,
            tools.file(USER_DATA).as_bytes(),
        )?;
        for (index, script) in data.scripts.iter().enumerate() {
            let path = format!("/opt/nodejoin/user-data/scripts/{index:03}.{}", script.name);
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
    fn modes_bytes_and_links_are_preserved() {
        let mut layer = LayerArchive::default();
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
    fn scripts_are_numbered_in_their_order() {
        let script = |name: &str| crate::request::UserDataScript {
            name: name.to_owned(),
            content: Vec::new(),
        };
        let data = DirectUserData {
            files: Vec::new(),
            scripts: vec![script("part-001"), script("runcmd")],
        };
        let mut layer = LayerArchive::default();
        layer.direct(&data, Tools::Image).unwrap();
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
