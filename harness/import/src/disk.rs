//! The file system as scenarios see it: with the user data in files of other tools, and with files that exist in memory
//! only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use nodejoin_core::input::files::{Disk, Files, ForeignFileError, MachineUserData, Seekable};

use crate::bottlerocket;
use crate::eks::{complete_user_data, is_bottlerocket};
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{ClusterTraits, Machine};
use crate::recognize::import;
use crate::text::settings;

/// Files on disk, more files in memory, and the machines of other tools' files.
#[derive(Debug, Default)]
pub struct ImportDisk {
    disk: Disk,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl ImportDisk {
    #[must_use]
    pub fn new(disk: Disk) -> Self {
        Self {
            disk,
            files: BTreeMap::new(),
        }
    }

    /// Adds a file in memory, which hides one on disk.
    pub fn add(&mut self, path: PathBuf, bytes: Vec<u8>) {
        self.files.insert(path, bytes);
    }
}

impl Files for ImportDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.files.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.disk.read(path),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        self.disk.open(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.disk.list(folder)
    }

    fn is_folder(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && self.disk.is_folder(path)
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        if self.files.contains_key(path) {
            return Ok(0o644);
        }
        self.disk.mode(path)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.disk.absolute(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.disk.variable(name)
    }

    fn machine_user_data(
        &self,
        path: &Path,
        select: Option<&str>,
    ) -> Result<MachineUserData, ForeignFileError> {
        let bytes = self.read(path);
        let bytes = if self.is_folder(path) {
            Ok(Vec::new())
        } else {
            bytes
        };
        let bytes = bytes.map_err(|error| {
            foreign(
                error.to_string(),
                "the path is relative to the folder of the scenario",
            )
        })?;
        let imported = import(&Import {
            name: &path.display().to_string(),
            bytes: &bytes,
            folder: self.is_folder(path).then_some(path),
            set: &BTreeMap::new(),
            cluster: &ClusterTraits::default(),
        });
        let refused = |error: ImportError| foreign(error.to_string(), error.hint());
        let imported = imported.map_err(refused)?;
        let machine = only(&imported.machines, select)?;
        let user_data = complete_user_data(machine, &ClusterTraits::default()).map_err(refused)?;
        let bytes = user_data.ok_or_else(|| {
            foreign(
                format!("`{}` has no user data", machine.name),
                "select another machine",
            )
        })?;
        let is_translated = is_bottlerocket(machine);
        let bytes = if is_translated {
            let content = String::from_utf8_lossy(&bytes);
            let table = settings(&content).map_err(refused)?;
            let translated = bottlerocket::translated(&content, &table).map_err(refused)?;
            translated.node_config.into_bytes()
        } else {
            bytes
        };
        Ok(MachineUserData { bytes, is_translated })
    }
}

/// The machine with this name, or the only one whose name contains it.
fn only<'a>(machines: &'a [Machine], select: Option<&str>) -> Result<&'a Machine, ForeignFileError> {
    let text = select.unwrap_or_default();
    if let Some(machine) = machines.iter().find(|machine| machine.name == text) {
        return Ok(machine);
    }
    let found: Vec<&Machine> = machines
        .iter()
        .filter(|machine| machine.name.contains(text) && (select.is_some() || machine.left_out.is_none()))
        .collect();
    let names = |machines: &[&Machine]| {
        let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
        names.join(", ")
    };
    match found[..] {
        [machine] => Ok(machine),
        [] => {
            let all: Vec<&Machine> = machines.iter().collect();
            Err(foreign(
                format!("no machine is named `{text}`"),
                format!("the file defines: {}", names(&all)),
            ))
        }
        _ => Err(foreign(
            "the file defines several machines".to_owned(),
            format!("set `select` to one of: {}", names(&found)),
        )),
    }
}

fn foreign(message: String, hint: impl Into<String>) -> ForeignFileError {
    ForeignFileError {
        message,
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use nodejoin_core::plan::Replacement;
    use nodejoin_core::scenario;

    use super::*;

    fn read(select: Option<&str>) -> Result<String, String> {
        let version = |name: &str, text: &str| {
            format!(
                r#"{{"LaunchTemplateName":"{name}","VersionNumber":1,"LaunchTemplateData":{{"ImageId":"ami-1","UserData":"{}"}}}}"#,
                STANDARD.encode(text)
            )
        };
        let text = format!(
            r#"{{"LaunchTemplateVersions":[{},{}]}}"#,
            version("blue", "#!/bin/sh\necho blue\n"),
            version("green", "#!/bin/sh\necho green\n")
        );
        let mut disk = ImportDisk::default();
        disk.add("/x/versions.json".into(), text.into_bytes());
        let found = disk.machine_user_data(Path::new("/x/versions.json"), select);
        found
            .map(|found| String::from_utf8(found.bytes).unwrap())
            .map_err(|error| format!("{error}; {}", error.hint))
    }

    #[test]
    fn user_data_of_one_machine_is_found_by_its_name() {
        assert_eq!(read(Some("blue/1")).unwrap(), "#!/bin/sh\necho blue\n");
        assert_eq!(read(Some("gre")).unwrap(), "#!/bin/sh\necho green\n");
        assert_eq!(
            read(None).unwrap_err(),
            "the file defines several machines; set `select` to one of: blue/1, green/1"
        );
        assert_eq!(
            read(Some("red")).unwrap_err(),
            "no machine is named `red`; the file defines: blue/1, green/1"
        );
    }

    #[test]
    fn a_scenario_takes_user_data_in_base64_and_replaces_the_cluster() {
        let plan = |source: &str| {
            let mut disk = ImportDisk::default();
            let text =
                format!("name: x\ncluster: {{ endpoint: \"https://test-cluster\" }}\nuser_data: {source}\n");
            disk.add("/x/a.yaml".into(), text.into_bytes());
            scenario::load(Path::new("/x/a.yaml"), Path::new("/x"), &disk).map_err(|error| error.with_hints())
        };
        let found = plan("{ base64: IyEvYmluL3NoCg==, replace: cluster }").unwrap();
        let user_data = found.user_data.clone().unwrap();
        assert_eq!(user_data.replace, Some(Replacement::Cluster));
        assert_eq!(STANDARD.decode(user_data.base64).unwrap(), b"#!/bin/sh\n");
        assert_eq!(found.cluster.endpoint_host(&found.region), "test-cluster");
        for (source, problem) in [
            ("{ base64: \"%%\" }", "`user_data.base64`: invalid base64"),
            (
                "{ select: web }",
                "`user_data.select`: `select` names a machine in the file of `from`",
            ),
            (
                "{ from: missing.json }",
                "`user_data.from`: cannot read the user data in",
            ),
        ] {
            let error = plan(source).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }
}
