//! The wiring of a cluster that the harness does not make: files for its API server, with an address and a CA that stay the same
//! from run to run.
//!
//! ```text
//!   nodejoin wiring --listen 172.18.0.1:9443 --out wiring     writes the files and prints the flags
//!   the user                                                  puts both into the API server
//!   nodejoin run --control-plane external --wiring wiring     listens there
//! ```

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nodejoin_core::kubernetes::Minor;

use crate::ClusterError;
use crate::pki::{Authority, Pki};
use crate::secret::Secret;
use crate::wiring::{File, Wiring};

/// A folder of such files.
#[derive(Debug)]
pub struct WiringFolder {
    folder: PathBuf,
    listen: SocketAddr,
    authority: (String, Secret),
}

impl WiringFolder {
    /// Writes a new one. One that is there already stays as it is: an API server may have been told of its CA.
    ///
    /// # Errors
    /// When the folder has files for another address, or cannot be written; or the address is none that can be called.
    pub fn create(folder: &Path, listen: SocketAddr) -> Result<Self, ClusterError> {
        let wrong = |wrong: String| ClusterError::WiringFolder {
            folder: folder.to_owned(),
            wrong,
        };
        if listen.ip().is_unspecified() || listen.port() == 0 {
            return Err(wrong(format!(
                "`{listen}` is no address that an API server could call"
            )));
        }
        if folder.join(LISTEN).exists() {
            let there = Self::open(folder)?;
            return match there.listen == listen {
                true => Ok(there),
                false => Err(wrong(format!("it has files for {} already", there.listen))),
            };
        }
        let authority = Authority::new("nodejoin webhooks")?;
        let made = Self {
            folder: folder.to_owned(),
            listen,
            authority: (authority.pem().to_owned(), authority.key().clone()),
        };
        made.write().map_err(|error| wrong(error.to_string()))?;
        Ok(made)
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is not whole.
    pub fn open(folder: &Path) -> Result<Self, ClusterError> {
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).map_err(|error| ClusterError::WiringFolder {
                folder: folder.to_owned(),
                wrong: format!("`{name}`: {error}"),
            })
        };
        let listen = read(LISTEN)?;
        let listen = listen.trim().parse().map_err(|_| ClusterError::WiringFolder {
            folder: folder.to_owned(),
            wrong: format!("`{LISTEN}` holds no address and port"),
        })?;
        let opened = Self {
            folder: folder.to_owned(),
            listen,
            authority: (read(CERTIFICATE)?, Secret::new(read(KEY)?)),
        };
        opened.authority()?;
        Ok(opened)
    }

    /// Where the webhooks have to listen.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The flags of kube-apiserver of a minor version (of 1.x), with the files in this folder of its own file system.
    ///
    /// # Errors
    /// When the crypto library refuses.
    pub fn flags(&self, folder: &str, minor: Minor) -> Result<Vec<String>, ClusterError> {
        let flags = self.wiring(Pki::generate()?)?.api_server_flags(folder, minor);
        Ok(flags
            .into_iter()
            .map(|(name, value)| format!("--{name}={value}"))
            .collect())
    }

    /// The ties of such a cluster to the harness; the certificates of `pki` are for whoever starts the cluster.
    ///
    /// # Errors
    /// When the authority in the folder cannot be read.
    pub fn wiring(&self, pki: Pki) -> Result<Wiring, ClusterError> {
        Ok(Wiring {
            webhooks: self.listen,
            pki: Pki {
                webhooks: self.authority()?,
                ..pki
            },
        })
    }

    fn authority(&self) -> Result<Authority, ClusterError> {
        Authority::from_pem(&self.authority.0, self.authority.1.clone())
    }

    fn write(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let wiring = Pki::generate().and_then(|pki| self.wiring(pki));
        let mut files = wiring.map_err(std::io::Error::other)?.files();
        let file = |name: &str, text: Secret| File {
            name: name.to_owned(),
            text,
        };
        files.push(file(CERTIFICATE, Secret::new(self.authority.0.clone())));
        files.push(file(KEY, self.authority.1.clone()));
        // Last: its presence says that the others are whole.
        files.push(file(LISTEN, Secret::new(format!("{}\n", self.listen))));
        files.iter().try_for_each(|file| self.lay(file))
    }

    /// The API server must be able to read its files, whoever it runs as; the key is the harness's alone.
    fn lay(&self, file: &File) -> std::io::Result<()> {
        let path = self.folder.join(&file.name);
        match file.name == KEY {
            true => nodejoin_docker::write_private(&path, file.text.reveal()),
            false => fs::write(path, file.text.reveal()),
        }
    }
}

const LISTEN: &str = "listen";
const CERTIFICATE: &str = "webhooks.crt";
const KEY: &str = "webhooks.key";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("wiring");
        let listen = "172.18.0.1:9443".parse().unwrap();
        let made = WiringFolder::create(&folder, listen).unwrap();
        let again = WiringFolder::create(&folder, listen).unwrap();
        assert_eq!(made.authority.0, again.authority.0);
        let other = WiringFolder::create(&folder, "172.18.0.1:9444".parse().unwrap()).unwrap_err();
        assert!(
            other.to_string().contains("files for 172.18.0.1:9443 already"),
            "{other}"
        );
        let mode = fs::metadata(folder.join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_files_are_those_that_the_flags_name() {
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
    fn an_address_that_nobody_can_call_is_refused() {
        for address in ["0.0.0.0:9443", "10.0.0.1:0"] {
            assert!(WiringFolder::create(Path::new("/nonexistent"), address.parse().unwrap()).is_err());
        }
        assert!(WiringFolder::open(Path::new("/nonexistent")).is_err());
    }
}
