//! The text and the hint of every error, as a user reads them.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use nodejoin_cluster::ClusterError;

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
        limit: Duration::from_secs(60),
        last_seen: "connection refused".to_owned(),
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
        ClusterError::Kind {
            cluster: text("demo"),
            wrong: text("it ended with exit status: 1"),
            log: "/cache/kind/demo.log".into(),
            lines: text("ERROR: failed to create cluster"),
        },
        ClusterError::Kubeconfig {
            wrong: text("its server `http://10.0.0.1` is not https"),
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
            there: vec![text("ConfigMap `aws-auth`")],
        },
        ClusterError::OtherAuthority {
            image: text("rancher/k3s:v1.32.1-k3s1"),
        },
        ClusterError::Program {
            program: "docker",
            wrong: text("it is not on PATH"),
        },
        ClusterError::Program {
            program: "kind",
            wrong: text("it does not say its version"),
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
        ClusterError::UnknownInstance {
            instance: text("i-0b22a22eec53b9321"),
        },
        ClusterError::Unreadable {
            what: "the certificate authorities of k3s",
        },
        ClusterError::WiringFolder {
            folder: "/etc/wiring".into(),
            wrong: text("`listen` holds no address and port"),
        },
    ]
}
