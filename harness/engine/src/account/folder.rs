//! The folder of a running account: files for clients, scripts and `nodejoin aws set`.
//!
//! | file | content |
//! | --- | --- |
//! | `ca.pem` | the certificate authority of the AWS host names |
//! | `env` | shell commands that point an AWS CLI at the account |
//! | `webhook.kubeconfig` | for `--authentication-token-webhook-config-file` of an API server; only with a webhook |
//! | `control` | the name of the control socket, and the digest of each other file |
//!
//! The process that listens at the control socket owns the folder. A later process replaces the files of a killed one
//! that still have their digest. Every other file belongs to someone else: it is never written and never removed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nodejoin_core::plan::ids::InstanceId;
use sha2::{Digest as _, Sha256};

use super::control_socket::{self, CONTROL_FILE, SocketName};
use super::error::AccountError;

const AUTHORITY: &str = "ca.pem";
const ENVIRONMENT: &str = "env";
const WEBHOOK: &str = "webhook.kubeconfig";
/// The files besides the control file.
const FILES: [&str; 3] = [AUTHORITY, ENVIRONMENT, WEBHOOK];

/// Where a running account is reached.
#[derive(Debug, Clone)]
pub struct AccountEndpoints {
    /// The instances, each with the address of its metadata service; never empty.
    pub metadata: Vec<(InstanceId, SocketAddr)>,
    /// Address of all other services.
    pub services: SocketAddr,
    /// Address of the token webhook; `None` without one.
    pub webhook: Option<SocketAddr>,
    pub region: String,
    /// Absolute path of the account's folder.
    pub folder: PathBuf,
}

impl AccountEndpoints {
    /// Shell commands that point an AWS CLI at the account, as its first instance. Comments have the metadata services
    /// of the others.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let authority = self.folder.join(AUTHORITY).display().to_string();
        let authority = nodejoin_core::run::shell::quoted(&authority);
        let metadata =
            |address: &SocketAddr| format!("export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{address}");
        let (first, others) = self.metadata.split_at(1);
        let others = others
            .iter()
            .map(|(id, address)| format!("# {id}: {}", metadata(address)));
        let lines = [
            metadata(&first[0].1),
            format!(
                "export HTTPS_PROXY=http://{} AWS_CA_BUNDLE={authority}",
                self.services
            ),
            format!("export AWS_DEFAULT_REGION={}", self.region),
        ];
        lines.into_iter().chain(others).collect()
    }

    /// A kubeconfig with which an API server calls the webhook.
    fn kubeconfig(&self, webhook: SocketAddr) -> String {
        let authority = self.folder.join(AUTHORITY).display().to_string();
        let authority = serde_json::Value::from(authority);
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: authenticator\n  cluster:\n    \
             certificate-authority: {authority}\n    server: https://{webhook}/authenticate\n\
             users: [{{ name: api-server }}]\ncontexts:\n- name: webhook\n  \
             context: {{ cluster: authenticator, user: api-server }}\ncurrent-context: webhook\n"
        )
    }
}

/// An owned folder. Dropping it removes its files, and the folder itself if it was created for them.
#[derive(Debug)]
pub(super) struct AccountFolder {
    /// Absolute path.
    pub(super) path: PathBuf,
    was_made: bool,
    written: Vec<WrittenFile>,
}

/// A file with the digest of the text that was written.
#[derive(Debug)]
struct WrittenFile {
    path: PathBuf,
    digest: String,
}

impl WrittenFile {
    fn of(path: PathBuf, text: &str) -> Self {
        Self {
            path,
            digest: digest(text.as_bytes()),
        }
    }

    /// Whether the file still has the text that was written.
    fn is_unchanged(&self) -> bool {
        fs::read(&self.path).is_ok_and(|bytes| digest(&bytes) == self.digest)
    }

    /// Removes the file if it still has the text that was written.
    fn remove(&self) -> io::Result<()> {
        match self.is_unchanged() {
            true => remove(&self.path),
            false => Ok(()),
        }
    }
}

impl AccountFolder {
    /// Takes ownership of a folder, and creates it if it is missing. Replaces the files of a killed process.
    pub(super) fn take(path: &Path, name: &SocketName) -> Result<Self, AccountError> {
        let was_made = !path.exists();
        let failed = |source| AccountError::Write {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(path).map_err(failed)?;
        let mut folder = Self {
            path: fs::canonicalize(path).map_err(failed)?,
            was_made,
            written: Vec::new(),
        };
        let control = folder.path.join(CONTROL_FILE);
        if control_socket::is_served(&control) {
            folder.was_made = false;
            return Err(AccountError::Taken {
                folder: path.to_owned(),
            });
        }
        folder.remove_left_files(&control)?;
        folder.check_free()?;
        // Of two processes that start at the same time, one finds the file of the other.
        folder.write(CONTROL_FILE, &name.to_string())?;
        Ok(folder)
    }

    /// Removes the files of a killed process, except those that were changed since.
    fn remove_left_files(&self, control: &Path) -> Result<(), AccountError> {
        let text = match fs::read_to_string(control) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => return Err(foreign(control)),
        };
        let mut lines = text.lines();
        if !lines.next().is_some_and(SocketName::is_valid) {
            return Err(foreign(control));
        }
        let files = lines.filter_map(|line| line.split_once(' '));
        let ours = files.filter(|(_, name)| FILES.contains(name));
        let left = ours.map(|(digest, name)| WrittenFile {
            path: self.path.join(name),
            digest: digest.to_owned(),
        });
        let mut removed = left.map(|file| file.remove());
        let removed = removed
            .try_for_each(|removed| removed)
            .and_then(|()| remove(control));
        removed.map_err(|source| AccountError::Write {
            path: control.to_owned(),
            source,
        })
    }

    fn check_free(&self) -> Result<(), AccountError> {
        let mut paths = FILES.iter().map(|name| self.path.join(name));
        match paths.find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(foreign(&path)),
            None => Ok(()),
        }
    }

    /// Writes the files for clients and scripts.
    pub(super) fn write_files(
        &mut self,
        endpoints: &AccountEndpoints,
        ca_pem: &str,
    ) -> Result<(), AccountError> {
        let mut files = vec![
            (AUTHORITY, ca_pem.to_owned()),
            (ENVIRONMENT, endpoints.lines().join("\n") + "\n"),
        ];
        files.extend(
            endpoints
                .webhook
                .map(|webhook| (WEBHOOK, endpoints.kubeconfig(webhook))),
        );
        self.announce(&files)?;
        files.iter().try_for_each(|(name, text)| self.write(name, text))
    }

    /// Adds the digests of files to the control file, before the files exist.
    fn announce(&mut self, files: &[(&str, String)]) -> Result<(), AccountError> {
        let control = self.path.join(CONTROL_FILE);
        let failed = |source| AccountError::Write {
            path: control.clone(),
            source,
        };
        let mut text = fs::read_to_string(&control).map_err(failed)?;
        for (name, content) in files {
            text.push_str(&format!("{} {name}\n", digest(content.as_bytes())));
        }
        fs::write(&control, &text).map_err(failed)?;
        let mut written = self.written.iter_mut();
        if let Some(file) = written.find(|file| file.path == control) {
            file.digest = digest(text.as_bytes());
        }
        Ok(())
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), AccountError> {
        let path = self.path.join(name);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => foreign(&path),
            _ => AccountError::Write {
                path: path.clone(),
                source,
            },
        };
        let mut file = File::create_new(&path).map_err(failed)?;
        self.written.push(WrittenFile::of(path.clone(), text));
        file.write_all(text.as_bytes()).map_err(failed)
    }
}

impl Drop for AccountFolder {
    fn drop(&mut self) {
        for file in &self.written {
            if let Err(error) = file.remove() {
                eprintln!("could not remove `{}`: {error}", file.path.display());
            }
        }
        if self.was_made {
            // Fails when the folder has other files, which stay.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn foreign(path: &Path) -> AccountError {
    AccountError::Foreign {
        path: path.to_owned(),
    }
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_spaces_and_quotes_is_quoted() {
        let endpoints = AccountEndpoints {
            metadata: [("i-0b22a22eec53b9321", 1338), ("i-0b22a22eec53b9322", 1339)]
                .map(|(id, port)| (id.parse().unwrap(), SocketAddr::from(([127, 0, 0, 1], port))))
                .into(),
            services: "127.0.0.1:8443".parse().unwrap(),
            webhook: None,
            region: "eu-west-1".to_owned(),
            folder: "/a b/it's".into(),
        };
        assert_eq!(
            endpoints.lines(),
            [
                "export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1338",
                "export HTTPS_PROXY=http://127.0.0.1:8443 AWS_CA_BUNDLE=\"/a b/it's/ca.pem\"",
                "export AWS_DEFAULT_REGION=eu-west-1",
                "# i-0b22a22eec53b9322: export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1339",
            ]
        );
    }
}
