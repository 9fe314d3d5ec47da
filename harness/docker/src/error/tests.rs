//! Snapshots of every error text and hint.

use std::error::Error;
use std::io;

use super::*;

/// The name of a variant. A new variant does not compile here until [`examples`] has one of it.
fn name(error: &DockerError) -> &'static str {
    match error {
        DockerError::Unreachable { .. } => "Unreachable",
        DockerError::UnsupportedHost { .. } => "UnsupportedHost",
        DockerError::TooOld { .. } => "TooOld",
        DockerError::TimeFactor(_) => "TimeFactor",
        DockerError::Engine { .. } => "Engine",
        DockerError::Start { .. } => "Start",
        DockerError::Unexpected { .. } => "Unexpected",
        DockerError::Ending { .. } => "Ending",
        DockerError::TimedOut { .. } => "TimedOut",
        DockerError::UnknownImage { .. } => "UnknownImage",
        DockerError::NodeImage { .. } => "NodeImage",
        DockerError::Recipe { .. } => "Recipe",
        DockerError::Build { .. } => "Build",
        DockerError::Base { .. } => "Base",
        DockerError::NotPulled { .. } => "NotPulled",
        DockerError::Package { .. } => "Package",
        DockerError::ImageVersion { .. } => "ImageVersion",
        DockerError::Assets { .. } => "Assets",
        DockerError::Program { .. } => "Program",
        DockerError::Architecture { .. } => "Architecture",
        DockerError::Version(_) => "Version",
        DockerError::NoKubernetes { .. } => "NoKubernetes",
        DockerError::Proxy { .. } => "Proxy",
        DockerError::Download { .. } => "Download",
        DockerError::Checksum { .. } => "Checksum",
        DockerError::Io { .. } => "Io",
    }
}

fn node_image(problem: ImageProblem) -> DockerError {
    DockerError::NodeImage {
        image: "my-ami:1".to_owned(),
        problem,
    }
}

fn refusal(message: &str) -> BollardError {
    BollardError::DockerResponseServerError {
        status_code: 500,
        message: message.to_owned(),
    }
}

fn unreachable(host: &str, cause: &str) -> DockerError {
    DockerError::Unreachable {
        host: host.to_owned(),
        source: cause.into(),
    }
}

fn start(lines: &str) -> DockerError {
    DockerError::Start {
        name: "nodejoin-abcdefgh-node-1".to_owned(),
        image: "nodejoin/al2:0123456789ab".to_owned(),
        lines: lines.to_owned(),
        source: Box::new(testcontainers::TestcontainersError::other("boom")),
    }
}

/// Every variant, and every case of a hint that depends on more than the variant.
fn examples() -> Vec<DockerError> {
    vec![
        unreachable(DEFAULT_HOST, "connection refused"),
        unreachable(DEFAULT_HOST, "Permission denied (os error 13)"),
        unreachable("tcp://10.0.0.1:2375", "connection refused"),
        DockerError::UnsupportedHost {
            host: "ssh://build.example".to_owned(),
        },
        DockerError::TooOld {
            version: "19.03".to_owned(),
            api: "1.40".to_owned(),
        },
        DockerError::TimeFactor(
            "x".parse::<nodejoin_core::run::time_factor::TimeFactor>()
                .unwrap_err(),
        ),
        DockerError::engine("inspect image", "al2")(refusal("boom")),
        DockerError::engine("create network", "net")(refusal(
            "all predefined address pools have been fully subnetted",
        )),
        DockerError::engine("import image", "base")(refusal("write /x: no space left on device")),
        DockerError::engine("run a command in", "node")(refusal("inotify_init: too many open files")),
        DockerError::engine("run a command in", "node")(refusal("No such container: node")),
        DockerError::engine("inspect image", "al2")(BollardError::RequestTimeoutError),
        start(""),
        start("systemd[1]: Failed to mount cgroup"),
        DockerError::Unexpected {
            object: "network `net`".to_owned(),
            problem: "has no IPv4 subnet".to_owned(),
        },
        DockerError::Ending {
            object: "container `node`".to_owned(),
            run: "abcdefgh".to_owned(),
        },
        DockerError::TimedOut {
            operation: "run a probe container from image",
            object: "nodejoin/base:0123456789ab".to_owned(),
            timeout: Some(Duration::from_secs(30)),
        },
        node_image(ImageProblem::Missing),
        node_image(ImageProblem::Unreadable(io::Error::from(io::ErrorKind::NotFound))),
        node_image(ImageProblem::Damaged(io::Error::from(
            io::ErrorKind::UnexpectedEof,
        ))),
        node_image(ImageProblem::OutsidePath {
            path: "../etc/passwd".to_owned(),
        }),
        node_image(ImageProblem::NotRootFs {
            why: "it is empty".to_owned(),
        }),
        node_image(ImageProblem::Layout("invalid manifest".to_owned())),
        node_image(ImageProblem::NoInit),
        node_image(ImageProblem::NoVersion {
            program: "kubelet".to_owned(),
            output: "it ended with status 124".to_owned(),
        }),
        DockerError::UnknownImage {
            name: "al3".to_owned(),
            known: vec!["al2".to_owned(), "al2023".to_owned()],
        },
        DockerError::Recipe {
            recipe: "nodes/al2".to_owned(),
            problem: "the Dockerfile is missing".to_owned(),
        },
        DockerError::Build {
            image: "nodejoin/al2:0123456789ab".to_owned(),
            reason: "exit code 1".to_owned(),
            log: "/cache/builds/al2.log".into(),
            lines: "E: Unable to locate package".to_owned(),
        },
        DockerError::Base {
            image: "nodejoin/base:0123456789ab".to_owned(),
            tried: vec!["the registry timed out".to_owned(), "no apt-get".to_owned()],
            log: "/cache/builds/base.log".into(),
        },
        DockerError::NotPulled {
            image: "rancher/k3s:v1.32.1-k3s1".to_owned(),
            reason: "the registry timed out".to_owned(),
        },
        DockerError::Package {
            package: "kind".to_owned(),
            release: "trixie".to_owned(),
            reason: "no apt-get".to_owned(),
        },
        DockerError::ImageVersion {
            image: "kindest/node:v1.19.16".to_owned(),
            actual: "v1.19.16".to_owned(),
            requested: "v1.20.2".to_owned(),
        },
        DockerError::Assets {
            folder: "/assets".into(),
            variable: "NODEJOIN_ASSETS".to_owned(),
            missing: vec!["kubelet".to_owned(), "kubeadm".to_owned()],
        },
        DockerError::Program {
            program: "/assets/kubelet".into(),
            problem: "`--version` timed out".to_owned(),
        },
        DockerError::Architecture {
            what: "base image",
            instead: "set NODEJOIN_BASE to an image of Debian for it",
            source: "riscv64"
                .parse::<nodejoin_core::plan::architecture::Architecture>()
                .unwrap_err(),
        },
        DockerError::Version("newest".parse::<VersionRequest>().unwrap_err()),
        DockerError::NoKubernetes {
            requested: "1.94".parse().unwrap(),
            tried: vec!["first".to_owned(), "second".to_owned()],
        },
        DockerError::Proxy {
            variable: "HTTPS_PROXY".to_owned(),
        },
        DockerError::Download {
            url: "https://dl.k8s.io/x".to_owned(),
            reason: "404 Not Found".to_owned(),
        },
        DockerError::Checksum {
            url: "https://dl.k8s.io/x".to_owned(),
            expected: "aa".to_owned(),
            actual: "bb".to_owned(),
        },
        DockerError::io("write", "/cache/x")(io::Error::from(io::ErrorKind::PermissionDenied)),
    ]
}

/// The part of a text that core writes is replaced: core has its own snapshots.
fn without_core(error: &DockerError, text: String) -> String {
    let of_core = match error {
        DockerError::TimeFactor(cause) => vec![cause.to_string()],
        DockerError::Architecture { source, .. } => vec![source.to_string()],
        DockerError::Version(version) => vec![version.to_string(), version.hint().to_owned()],
        _ => Vec::new(),
    };
    of_core
        .iter()
        .fold(text, |text, part| text.replace(part, "[text of core]"))
}

#[test]
fn error_texts_and_hints() {
    let text = |error: &DockerError| {
        let cause = error
            .source()
            .map_or(String::new(), |cause| format!("\n  cause: {cause}"));
        let hint = error
            .hint()
            .map_or(String::new(), |hint| format!("\n  hint: {hint}"));
        without_core(error, format!("{}\n  error: {error}{cause}{hint}\n", name(error)))
    };
    let all: Vec<_> = examples().iter().map(text).collect();
    insta::assert_snapshot!(all.join("\n"));
}
