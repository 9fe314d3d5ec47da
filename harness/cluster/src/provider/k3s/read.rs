//! Reads the certificate authorities of k3s from its container.

use std::time::Duration;

use base64::Engine as _;
use kube::config::Kubeconfig;
use nodejoin_core::run::secret::Secret;
use nodejoin_docker::{Run, StartedContainer};
use tokio::time::timeout;

use crate::ClusterError;
use crate::pki::Ca;

use super::container::TLS;

const KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";
const END: &str = "-- nodejoin --";
const KUBECONFIG_TIMEOUT: Duration = Duration::from_secs(60);
const LAST_LINES: usize = 20;

/// The certificate authorities of a running k3s.
#[derive(Debug)]
pub(crate) struct K3sAuthorities {
    /// The CA that its kubeconfig trusts, PEM.
    pub(crate) server_ca: String,
    /// The CA whose client certificates it accepts.
    pub(crate) client_ca: Ca,
}

/// Waits for the kubeconfig, then reads the authorities. Fails if the container ends.
pub(crate) async fn authorities(
    run: &Run,
    container: &StartedContainer,
) -> Result<K3sAuthorities, ClusterError> {
    let time_limit = run.engine().time_factor().scale(KUBECONFIG_TIMEOUT);
    let script = script();
    let command = ["sh", "-c", &script];
    let read = timeout(time_limit, run.engine().exec(&container.id, &command)).await;
    let read = read.map_err(|_| ClusterError::TimedOut {
        what: format!("k3s to write `{KUBECONFIG}`"),
        timeout: time_limit,
        last_status: "no such file".to_owned(),
    })?;
    // The command fails if the container ends.
    match read {
        Ok(output) if output.is_success() => {
            parse(&String::from_utf8_lossy(&output.stdout)).ok_or(ClusterError::Unreadable {
                what: "the certificate authorities of k3s",
            })
        }
        _ => Err(ended(run, container).await),
    }
}

async fn ended(run: &Run, container: &StartedContainer) -> ClusterError {
    let logs = run.logs(&container.id).await.unwrap_or_default();
    let lines: Vec<_> = logs.lines().rev().take(LAST_LINES).collect();
    ClusterError::Ended {
        phase: "k3s started",
        lines: lines.into_iter().rev().collect::<Vec<_>>().join("\n"),
    }
}

/// `client-key-data` is in the last line that k3s writes.
fn script() -> String {
    format!(
        "until grep -q client-key-data {KUBECONFIG} 2>/dev/null; do sleep 0.1; done\n\
         for file in {KUBECONFIG} {TLS}/client-ca.crt {TLS}/client-ca.key; do cat $file && echo '{END}' || exit 1; done"
    )
}

fn parse(text: &str) -> Option<K3sAuthorities> {
    let end = format!("{END}\n");
    let mut files = text.split(end.as_str()).map(str::to_owned);
    let (kubeconfig, certificate, key) = (files.next()?, files.next()?, files.next()?);
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).ok()?;
    let cluster = kubeconfig.clusters.into_iter().next()?.cluster?;
    let server_ca = base64::engine::general_purpose::STANDARD.decode(cluster.certificate_authority_data?);
    Some(K3sAuthorities {
        server_ca: String::from_utf8(server_ca.ok()?).ok()?,
        client_ca: Ca::from_pem(&certificate, Secret::new(key)).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_parsed_from_the_files() {
        let authority = Ca::new("kubernetes").unwrap();
        let data = base64::engine::general_purpose::STANDARD.encode(authority.pem());
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: default\n  cluster: {{ server: \"https://127.0.0.1:6443\", \
             certificate-authority-data: {data} }}\n"
        );
        let text = [kubeconfig.as_str(), authority.pem(), authority.key().reveal()]
            .map(|file| format!("{file}{END}\n"))
            .concat();
        let read = parse(&text).unwrap();
        assert_eq!(read.server_ca, authority.pem());
        assert_eq!(read.client_ca.pem(), authority.pem());
        read.client_ca.client("system:admin", &[]).unwrap();
        assert!(parse("").is_none());
    }
}
