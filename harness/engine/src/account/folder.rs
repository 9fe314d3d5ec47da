//! The folder of an account that is served: the files by which clients, scripts and `nodejoin aws set` find it.
//!
//! | file | what it says |
//! | --- | --- |
//! | `ca.pem` | the certificate authority of the AWS host names |
//! | `env` | the lines that point an AWS CLI at the account, for `.` of a shell |
//! | `webhook.kubeconfig` | for `--authentication-token-webhook-config-file` of an API server, where the webhook is served |
//! | `control` | the name of the control socket; whoever has it holds the folder |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::control::{self, SocketName};
use super::error::AccountError;

const AUTHORITY: &str = "ca.pem";
const ENVIRONMENT: &str = "env";
const WEBHOOK: &str = "webhook.kubeconfig";
/// Where the control socket's name stands.
pub(super) const CONTROL: &str = "control";

/// What the folder tells.
#[derive(Debug, Clone)]
pub struct Told {
    /// Where the metadata service answers.
    pub metadata: SocketAddr,
    /// Where all other services answer.
    pub services: SocketAddr,
    /// Where the token webhook answers.
    pub webhook: Option<SocketAddr>,
    /// The region.
    pub region: String,
    /// The folder, absolute.
    pub folder: PathBuf,
}

impl Told {
    /// The lines of a shell that point an AWS CLI at the account.
    #[must_use]
    pub fn lines(&self) -> [String; 3] {
        let authority = self
            .folder
            .join(AUTHORITY)
            .display()
            .to_string()
            .replace('\'', "'\\''");
        [
            format!(
                "export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://{}",
                self.metadata
            ),
            format!(
                "export HTTPS_PROXY=http://{} AWS_CA_BUNDLE='{authority}'",
                self.services
            ),
            format!("export AWS_DEFAULT_REGION={}", self.region),
        ]
    }

    /// What an API server needs to ask the webhook.
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

/// A folder that is held. Its files go when it is dropped, and the folder itself where it was made for them.
#[derive(Debug)]
pub(super) struct Folder {
    /// Absolute.
    pub(super) path: PathBuf,
    was_made: bool,
    written: Vec<PathBuf>,
}

impl Folder {
    /// Takes a folder, and makes it where it is not there. What a killed one left in it is taken over.
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
        let control = folder.path.join(CONTROL);
        if control::is_served(&control) {
            folder.was_made = false;
            return Err(AccountError::Taken {
                folder: path.to_owned(),
            });
        }
        // Of two that start at once, one finds the file made by the other.
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

    /// Writes what is told.
    pub(super) fn tell(&mut self, told: &Told, ca_pem: &str) -> Result<(), AccountError> {
        self.write(AUTHORITY, ca_pem)?;
        self.write(ENVIRONMENT, &(told.lines().join("\n") + "\n"))?;
        match told.webhook {
            Some(webhook) => self.write(WEBHOOK, &told.kubeconfig(webhook)),
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

impl Drop for Folder {
    fn drop(&mut self) {
        for path in &self.written {
            if let Err(error) = remove(path) {
                eprintln!("left behind: `{}`: {error}", path.display());
            }
        }
        if self.was_made {
            // Whatever somebody else put there stays, and the folder with it.
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
    fn the_lines_hold_a_folder_with_blanks_and_quotes() {
        let told = Told {
            metadata: "127.0.0.1:1338".parse().unwrap(),
            services: "127.0.0.1:8443".parse().unwrap(),
            webhook: None,
            region: "eu-west-1".to_owned(),
            folder: "/a b/it's".into(),
        };
        assert_eq!(
            told.lines(),
            [
                "export AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1338",
                "export HTTPS_PROXY=http://127.0.0.1:8443 AWS_CA_BUNDLE='/a b/it'\\''s/ca.pem'",
                "export AWS_DEFAULT_REGION=eu-west-1",
            ]
        );
    }
}
