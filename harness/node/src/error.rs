//! What can go wrong with a node that is not the node's own doing.

use nodejoin_docker::DockerError;

/// A node could not be made, asked or removed.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The container engine refused.
    #[error("could not {operation} the node `{node}`")]
    Docker {
        /// What was tried.
        operation: &'static str,
        /// The instance.
        node: String,
        /// Why it failed.
        #[source]
        source: DockerError,
    },
    /// The container engine does not tell of a container's end.
    #[error("could not wait for the end of the node `{node}`")]
    Wait {
        /// The instance.
        node: String,
        /// Why it failed.
        #[source]
        source: testcontainers::bollard::errors::Error,
    },
    /// A file of an overlay cannot be read.
    #[error("could not read `{path}`, which the overlay lays at `{to}`")]
    Overlay {
        /// The file on this machine.
        path: String,
        /// Where it was to land.
        to: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The archive of what is laid over the image could not be made.
    #[error("could not lay `{path}` over the image")]
    Layer {
        /// The path in the node.
        path: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A program of ours inside the node failed.
    #[error("`{program}` in the node `{node}` ended with {code}: {message}")]
    Guest {
        /// The program.
        program: &'static str,
        /// The instance.
        node: String,
        /// Its exit code.
        code: i64,
        /// What it wrote on standard error.
        message: String,
    },
    /// What the node sent cannot be read.
    #[error("could not read what the node `{node}` sent")]
    Answer {
        /// The instance.
        node: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A file of evidence could not be written.
    #[error("could not write `{path}`")]
    Evidence {
        /// The file.
        path: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
}

impl NodeError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Docker { .. } | Self::Wait { .. } => {
                "see `nodejoin doctor` for what the container engine must allow"
            }
            Self::Overlay { .. } => "check the overlay's manifest, and that the checkout is complete",
            Self::Layer { .. } => {
                "paths in the node must be absolute and not longer than a file system takes"
            }
            Self::Guest { .. } | Self::Answer { .. } => {
                "the image must have sh, tar, coreutils and systemd; the container's output is in the evidence"
            }
            Self::Evidence { .. } => {
                "check that the folder for reports can be written and the disk is not full"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io;

    use super::*;

    #[test]
    fn texts_and_hints_match_their_snapshot() {
        let node = || "i-0b22a22eec53b9321".to_owned();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let errors = [
            NodeError::Docker {
                operation: "start",
                node: node(),
                source: DockerError::NotPulled {
                    image: "x".to_owned(),
                    reason: "y".to_owned(),
                },
            },
            NodeError::Wait {
                node: node(),
                source: testcontainers::bollard::errors::Error::RequestTimeoutError,
            },
            NodeError::Overlay {
                path: "files/bootstrap.sh".to_owned(),
                to: "/etc/eks/bootstrap.sh".to_owned(),
                source: full(),
            },
            NodeError::Layer {
                path: "/etc/x".to_owned(),
                source: full(),
            },
            NodeError::Guest {
                program: "sh",
                node: node(),
                code: 2,
                message: "no such file".to_owned(),
            },
            NodeError::Answer {
                node: node(),
                source: full(),
            },
            NodeError::Evidence {
                path: "/evidence/node".to_owned(),
                source: full(),
            },
        ];
        let mut all = String::new();
        for error in errors {
            writeln!(all, "{error}\n  do: {}", error.hint()).unwrap();
        }
        insta::assert_snapshot!("errors", all);
    }
}
