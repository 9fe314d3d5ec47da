//! The wiring of a user's cluster: files for its API server, with the same address and CA in every run.
//!
//! ```text
//!   nodejoin wiring --listen 172.18.0.1:9443 --out wiring     writes the files and prints the flags
//!   the user                                                  adds both to the API server
//!   nodejoin run --control-plane external --wiring wiring     listens on that address
//! ```

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::run::secret::Secret;

use crate::ClusterError;
use crate::pki::{Ca, Pki};

use super::files::{ApiServerFile, ApiServerWiring};

const LISTEN: &str = "listen";
const CERTIFICATE: &str = "webhooks.crt";
const KEY: &str = "webhooks.key";

/// A folder with the files of a wiring.
#[derive(Debug)]
pub struct WiringFolder {
    folder: PathBuf,
    listen: SocketAddr,
    authority: (String, Secret),
}

impl WiringFolder {
    /// Creates a folder. An existing one stays unchanged, because an API server may already trust its CA.
    ///
    /// # Errors
    /// When the folder has files for another address or is not writable, or the address cannot be called.
    pub fn create(folder: &Path, listen: SocketAddr) -> Result<Self, ClusterError> {
        let invalid = |reason: String| ClusterError::WiringFolder {
            folder: folder.to_owned(),
            reason,
        };
        if listen.ip().is_unspecified() || listen.port() == 0 {
            return Err(invalid(format!(
                "invalid address `{listen}`: expected one that an API server can call"
            )));
        }
        if folder.join(LISTEN).exists() {
            let existing = Self::open(folder)?;
            return match existing.listen == listen {
                true => Ok(existing),
                false => Err(invalid(format!("it already has files for {}", existing.listen))),
            };
        }
        let authority = Ca::new("nodejoin webhooks")?;
        let created = Self {
            folder: folder.to_owned(),
            listen,
            authority: (authority.pem().to_owned(), authority.key().clone()),
        };
        created.write().map_err(|error| invalid(error.to_string()))?;
        Ok(created)
    }

    /// Reads a folder.
    ///
    /// # Errors
    /// When a file is missing or invalid.
    pub fn open(folder: &Path) -> Result<Self, ClusterError> {
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|error| ClusterError::WiringFolder {
                folder: folder.to_owned(),
                reason: format!("`{name}`: {error}"),
            })
        };
        let listen = read(LISTEN)?;
        let listen = listen.trim().parse().map_err(|_| ClusterError::WiringFolder {
            folder: folder.to_owned(),
            reason: format!("invalid file `{LISTEN}`: expected an address and a port"),
        })?;
        let opened = Self {
            folder: folder.to_owned(),
            listen,
            authority: (read(CERTIFICATE)?, Secret::new(read(KEY)?)),
        };
        opened.authority()?;
        Ok(opened)
    }

    /// The address of the webhooks.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The flags of kube-apiserver for a minor version. `folder` is the folder in the API server's file system.
    ///
    /// # Errors
    /// When the crypto library fails.
    pub fn flags(&self, folder: &str, minor: Minor) -> Result<Vec<String>, ClusterError> {
        let flags = self.wiring(Pki::generate()?)?.api_server_flags(folder, minor);
        Ok(flags
            .into_iter()
            .map(|(name, value)| format!("--{name}={value}"))
            .collect())
    }

    /// The wiring of a run. The caller that starts the cluster provides the other certificates in `pki`.
    ///
    /// # Errors
    /// When the CA in the folder is invalid.
    pub fn wiring(&self, pki: Pki) -> Result<ApiServerWiring, ClusterError> {
        Ok(ApiServerWiring {
            webhooks: self.listen,
            pki: Pki {
                webhooks: self.authority()?,
                ..pki
            },
        })
    }

    fn authority(&self) -> Result<Ca, ClusterError> {
        Ca::from_pem(&self.authority.0, self.authority.1.clone())
    }

    fn write(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let wiring = Pki::generate().and_then(|pki| self.wiring(pki));
        let mut files = wiring.map_err(std::io::Error::other)?.files();
        let file = |name: &str, text: Secret| ApiServerFile {
            name: name.to_owned(),
            text,
        };
        files.push(file(CERTIFICATE, Secret::new(self.authority.0.clone())));
        files.push(file(KEY, self.authority.1.clone()));
        // Last: its presence shows that the others are complete.
        files.push(file(LISTEN, Secret::new(format!("{}\n", self.listen))));
        files.iter().try_for_each(|file| self.write_file(file))
    }

    /// The API server may run as any user, so its files are readable for all; the key is for the harness only.
    fn write_file(&self, file: &ApiServerFile) -> std::io::Result<()> {
        let path = self.folder.join(&file.name);
        match file.name == KEY {
            true => nodejoin_docker::write_private(&path, file.text.reveal()),
            false => fs::write(path, file.text.reveal()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_existing_folder_stays_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("wiring");
        let listen = "172.18.0.1:9443".parse().unwrap();
        let made = WiringFolder::create(&folder, listen).unwrap();
        let again = WiringFolder::create(&folder, listen).unwrap();
        assert_eq!(made.authority.0, again.authority.0);
        let other = WiringFolder::create(&folder, "172.18.0.1:9444".parse().unwrap()).unwrap_err();
        assert!(
            other
                .to_string()
                .contains("already has files for 172.18.0.1:9443"),
            "{other}"
        );
        let mode = fs::metadata(folder.join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_folder_has_the_files_that_the_flags_name() {
        let folder = tempfile::tempdir().unwrap();
        let made = WiringFolder::create(folder.path(), "10.0.0.1:9443".parse().unwrap()).unwrap();
        let flags = made.flags("/etc/wiring", Minor::new(20)).unwrap();
        for name in [
            "token-webhook.kubeconfig",
            "audit-webhook.kubeconfig",
            "audit-policy.yaml",
        ] {
            assert!(folder.path().join(name).is_file(), "{name}");
            assert!(
                flags
                    .iter()
                    .any(|flag| flag.ends_with(&format!("=/etc/wiring/{name}")))
            );
        }
        let webhook = fs::read_to_string(folder.path().join("token-webhook.kubeconfig")).unwrap();
        assert!(webhook.contains("https://10.0.0.1:9443/authenticate"));
    }

    #[test]
    fn an_address_that_cannot_be_called_is_rejected() {
        for address in ["0.0.0.0:9443", "10.0.0.1:0"] {
            assert!(WiringFolder::create(Path::new("/nonexistent"), address.parse().unwrap()).is_err());
        }
        assert!(WiringFolder::open(Path::new("/nonexistent")).is_err());
    }
}
