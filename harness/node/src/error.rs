//! Errors of the harness with a node's container. None of them is the fault of the scripts under test.

use nodejoin_docker::DockerError;

/// A node could not be created, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The container engine returned an error.
    #[error("could not {operation} the node `{node}`")]
    Docker {
        /// A verb, such as `start`.
        operation: &'static str,
        /// Id of the instance.
        node: String,
        #[source]
        source: DockerError,
    },
    /// The container engine could not report the end of a container.
    #[error("could not wait for the end of the node `{node}`")]
    Wait {
        /// Id of the instance.
        node: String,
        #[source]
        source: testcontainers::bollard::errors::Error,
    },
    /// The container engine did not return the output of a container.
    #[error("could not read the log of the node `{node}`")]
    Log {
        /// Id of the instance.
        node: String,
        #[source]
        source: testcontainers::bollard::errors::Error,
    },
    /// A file of an overlay could not be read.
    #[error("could not read `{path}`, which the overlay copies to `{to}`")]
    Overlay {
        /// Path on this host.
        path: String,
        /// Path in the node.
        to: String,
        #[source]
        source: std::io::Error,
    },
    /// The archive of files for the image could not be written.
    #[error("could not add `{path}` to the image")]
    Layer {
        /// Path in the node.
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// A program of the harness failed inside the node.
    #[error("`{program}` in the node `{node}` exited with {code}: {message}")]
    Guest {
        program: &'static str,
        /// Id of the instance.
        node: String,
        code: i64,
        /// Its standard error.
        message: String,
    },
    /// The archive of the node's facts is damaged.
    #[error("could not read the archive that the node `{node}` sent")]
    Answer {
        /// Id of the instance.
        node: String,
        #[source]
        source: std::io::Error,
    },
    /// A file of evidence could not be written.
    #[error("could not write `{path}`")]
    Evidence {
        path: String,
        #[source]
        source: std::io::Error,
    },
}

impl NodeError {
    /// The action that resolves the error.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Docker { .. } | Self::Wait { .. } | Self::Log { .. } => {
                "run `nodejoin doctor` to see what the container engine must allow"
            }
            Self::Overlay { .. } => "check the manifest of the overlay, and that the checkout is complete",
            Self::Layer { .. } => "use absolute paths in the node, no longer than its file system allows",
            Self::Guest { .. } | Self::Answer { .. } => {
                "check that the image has sh, tar, coreutils and systemd; the evidence has the container's output"
            }
            Self::Evidence { .. } => "check that the evidence folder is writable and the disk is not full",
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
            NodeError::Log {
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
