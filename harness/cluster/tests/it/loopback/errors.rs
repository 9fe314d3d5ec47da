//! The text and the hint of every error, as a user reads them.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use nodejoin_cluster::ClusterError;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::DockerError;

#[test]
fn every_error_has_its_text_and_hint() {
    let errors = examples();
    let names: Vec<_> = errors.iter().map(name).collect();
    assert!(names.is_sorted_by(|one, next| one <= next), "{names:?}");
    let shown: String = errors.iter().map(render).collect();
    insta::assert_snapshot!(shown);
}

fn render(error: &ClusterError) -> String {
    let cause = error
        .source()
        .map_or_else(String::new, |cause| format!("\n  cause: {cause}"));
    let hint = error
        .hint()
        .map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
    format!("{}\n  error: {error}{cause}{hint}\n\n", name(error))
}

/// Names each variant, so that one without an example below does not compile unnoticed.
fn name(error: &ClusterError) -> &'static str {
    match error {
        ClusterError::Api { .. } => "Api",
        ClusterError::Certificate { .. } => "Certificate",
        ClusterError::Client { .. } => "Client",
        ClusterError::Command { .. } => "Command",
        ClusterError::Container { .. } => "Container",
        ClusterError::Ended { .. } => "Ended",
        ClusterError::File { .. } => "File",
        ClusterError::Image(_) => "Image",
        ClusterError::Kind { .. } => "Kind",
        ClusterError::Kubeconfig { .. } => "Kubeconfig",
        ClusterError::Listen { .. } => "Listen",
        ClusterError::MissingRights { .. } => "MissingRights",
        ClusterError::NoAnswer { .. } => "NoAnswer",
        ClusterError::Occupied { .. } => "Occupied",
        ClusterError::OtherAuthority { .. } => "OtherAuthority",
        ClusterError::Program { .. } => "Program",
        ClusterError::Remote { .. } => "Remote",
        ClusterError::Taken { .. } => "Taken",
        ClusterError::TimedOut { .. } => "TimedOut",
        ClusterError::Tls { .. } => "Tls",
        ClusterError::Unavailable { .. } => "Unavailable",
        ClusterError::UnknownInstance { .. } => "UnknownInstance",
        ClusterError::Unreadable { .. } => "Unreadable",
        ClusterError::WiringFolder { .. } => "WiringFolder",
    }
}

fn kube_error() -> Box<kube::Error> {
    Box::new(kube::Error::LinesCodecMaxLineLengthExceeded)
}

fn timed_out() -> ClusterError {
    ClusterError::TimedOut {
        what: "/readyz of the API server".to_owned(),
        timeout: Duration::from_secs(60),
        last_status: "connection refused".to_owned(),
    }
}

fn examples() -> Vec<ClusterError> {
    let text = str::to_owned;
    vec![
        ClusterError::Api {
            operation: text("list pods"),
            source: kube_error(),
        },
        ClusterError::Certificate {
            role: text("kube-apiserver"),
            source: rcgen::Error::CouldNotParseCertificate,
        },
        ClusterError::Client {
            user: text("eks:node-manager"),
            source: kube_error(),
        },
        ClusterError::Command {
            command: text("iptables --wait"),
            code: 4,
            stderr: text("Permission denied"),
        },
        ClusterError::Container {
            operation: "start the container of k3s",
            source: Box::new(io::Error::other("no such image")),
        },
        ClusterError::Ended {
            phase: "it started",
            lines: text("first\nsecond"),
        },
        ClusterError::File {
            path: "/cache/kind/demo.log".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        },
        ClusterError::Image(DockerError::NotPulled {
            image: text("rancher/k3s:v1.32.1-k3s1"),
            reason: text("no such host"),
        }),
        ClusterError::Kind {
            cluster: text("demo"),
            reason: text("it ended with exit status: 1"),
            log: "/cache/kind/demo.log".into(),
            lines: text("ERROR: failed to create cluster"),
        },
        ClusterError::Kubeconfig {
            reason: text("invalid server `http://10.0.0.1`: expected an https URL"),
        },
        ClusterError::Listen {
            address: "198.18.0.1:8443".parse().unwrap(),
            source: io::ErrorKind::AddrNotAvailable.into(),
        },
        ClusterError::MissingRights {
            missing: vec![text("delete nodes"), text("watch nodes")],
        },
        ClusterError::NoAnswer {
            server: text("https://10.0.0.1:6443"),
            source: Box::new(timed_out()),
        },
        ClusterError::Occupied {
            objects: vec![text("ConfigMap `aws-auth`")],
        },
        ClusterError::OtherAuthority {
            image: text("rancher/k3s:v1.32.1-k3s1"),
        },
        ClusterError::Program {
            program: "docker",
            reason: text("it is not on PATH"),
        },
        ClusterError::Program {
            program: "kind",
            reason: text("`kind version` does not end"),
        },
        ClusterError::Remote {
            server: text("https://203.0.113.7:6443"),
            address: "203.0.113.7".parse().unwrap(),
        },
        ClusterError::Taken {
            what: "private address",
            value: text("192.168.40.16"),
            holder: text("i-0b22a22eec53b9321"),
        },
        timed_out(),
        ClusterError::Tls {
            role: "the webhooks",
            source: rustls::Error::General(text("no certificate")),
        },
        ClusterError::Unavailable {
            name: ProviderName::External,
            reason: text("no kubeconfig is set"),
            hint: text("set a file with `--kubeconfig` or KUBECONFIG"),
        },
        ClusterError::UnknownInstance {
            instance: text("i-0b22a22eec53b9321"),
        },
        ClusterError::Unreadable {
            what: "the certificate authorities of k3s",
        },
        ClusterError::WiringFolder {
            folder: "/etc/wiring".into(),
            reason: text("invalid file `listen`: expected an address and a port"),
        },
    ]
}
