//! The folder of a running account: files for clients, scripts and `nodejoin aws set`.
//!
//! | file | content |
//! | --- | --- |
//! | `ca.pem` | the certificate authority of the AWS host names |
//! | `env` | shell commands that point an AWS CLI at the account |
//! | `webhook.kubeconfig` | for `--authentication-token-webhook-config-file` of an API server; only with a webhook |
//! | `control` | the name of the control socket; the process that listens there owns the folder |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::control_socket::{self, CONTROL_FILE, SocketName};
use super::error::AccountError;

const AUTHORITY: &str = "ca.pem";
const ENVIRONMENT: &str = "env";
const WEBHOOK: &str = "webhook.kubeconfig";

/// Where a running account is reached.
#[derive(Debug, Clone)]
pub struct AccountEndpoints {
    /// Address of the metadata service.
    pub metadata: SocketAddr,
    /// Address of all other services.
    pub services: SocketAddr,
    /// Address of the token webhook; `None` without one.
    pub webhook: Option<SocketAddr>,
    pub region: String,
    /// Absolute path of the account's folder.
    pub folder: PathBuf,
}

impl AccountEndpoints {
    /// Shell commands that point an AWS CLI at the account.
    #[must_use]
    pub fn lines(&self) -> [String; 3] {
        let authority = self.folder.join(AUTHORITY).display().to_string();
        let authority = nodejoin_core::run::shell::quoted(&authority);
        [
            format!(
                "export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{}",
                self.metadata
            ),
            format!(
                "export HTTPS_PROXY=http://{} AWS_CA_BUNDLE={authority}",
                self.services
            ),
            format!("export AWS_DEFAULT_REGION={}", self.region),
        ]
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
    written: Vec<PathBuf>,
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
        // Of two processes that start at the same time, one finds the file of the other.
        let made =
            remove(&control).and_then(|()| OpenOptions::new().write(true).create_new(true).open(&control));
        match made {
            Ok(file) => folder.fill(file, control, &name.to_string())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder.was_made = false;
                return Err(AccountError::Taken {
                    folder: path.to_owned(),
                });
            }
            Err(source) => {
                return Err(AccountError::Write {
                    path: control,
                    source,
                });
            }
        }
        Ok(folder)
    }

    /// Writes the files for clients and scripts.
    pub(super) fn write_files(
        &mut self,
        endpoints: &AccountEndpoints,
        ca_pem: &str,
    ) -> Result<(), AccountError> {
        self.write(AUTHORITY, ca_pem)?;
        self.write(ENVIRONMENT, &(endpoints.lines().join("\n") + "\n"))?;
        match endpoints.webhook {
            Some(webhook) => self.write(WEBHOOK, &endpoints.kubeconfig(webhook)),
            None => Ok(()),
        }
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), AccountError> {
        let path = self.path.join(name);
        let file = File::create(&path).map_err(|source| AccountError::Write {
            path: path.clone(),
            source,
        })?;
        self.fill(file, path, text)
    }

    fn fill(&mut self, mut file: File, path: PathBuf, text: &str) -> Result<(), AccountError> {
        self.written.push(path.clone());
        file.write_all(text.as_bytes())
            .map_err(|source| AccountError::Write { path, source })
    }
}

impl Drop for AccountFolder {
    fn drop(&mut self) {
        for path in &self.written {
            if let Err(error) = remove(path) {
                eprintln!("could not remove `{}`: {error}", path.display());
            }
        }
        if self.was_made {
            // Fails when the folder has other files, which stay.
            let _ = fs::remove_dir(&self.path);
        }
    }
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
            metadata: "127.0.0.1:1338".parse().unwrap(),
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
            ]
        );
    }
}
