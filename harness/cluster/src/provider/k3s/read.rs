//! What k3s made, read out of its container: the authorities that it goes by, and its kubeconfig.

use std::time::Duration;

use base64::Engine as _;
use kube::config::Kubeconfig;
use nodejoin_docker::{Run, StartedContainer};
use tokio::time::timeout;

use crate::ClusterError;
use crate::pki::Authority;
use crate::provider::k3s::request::TLS;
use crate::secret::Secret;

/// The authorities of a running k3s.
#[derive(Debug)]
pub(crate) struct Made {
    /// What its kubeconfig lets clients trust.
    pub(crate) server_ca: String,
    /// Whose clients it believes.
    pub(crate) client_ca: Authority,
}

/// Waits for the kubeconfig and reads what k3s goes by. A container that has ended has nothing to read.
pub(crate) async fn read(run: &Run, container: &StartedContainer) -> Result<Made, ClusterError> {
    let limit = run.engine().time_factor().limit(LIMIT);
    let script = script();
    let command = ["sh", "-c", &script];
    let read = timeout(limit, run.engine().exec(&container.id, &command)).await;
    let read = read.map_err(|_| ClusterError::TimedOut {
        what: format!("k3s to write `{KUBECONFIG}`"),
        limit,
        last_seen: "no such file".to_owned(),
    })?;
    // A container that ended takes the command along, or refuses it.
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

/// The last line that k3s writes tells that the file is whole.
fn script() -> String {
    format!(
        "until grep -q client-key-data {KUBECONFIG} 2>/dev/null; do sleep 0.1; done\n\
         for file in {KUBECONFIG} {TLS}/client-ca.crt {TLS}/client-ca.key; do cat $file && echo '{END}' || exit 1; done"
    )
}

fn parse(text: &str) -> Option<Made> {
    let end = format!("{END}\n");
    let mut files = text.split(end.as_str()).map(str::to_owned);
    let (kubeconfig, certificate, key) = (files.next()?, files.next()?, files.next()?);
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).ok()?;
    let cluster = kubeconfig.clusters.into_iter().next()?.cluster?;
    let server_ca = base64::engine::general_purpose::STANDARD.decode(cluster.certificate_authority_data?);
    Some(Made {
        server_ca: String::from_utf8(server_ca.ok()?).ok()?,
        client_ca: Authority::from_pem(&certificate, Secret::new(key)).ok()?,
    })
}

const KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";
const END: &str = "-- nodejoin --";
const LIMIT: Duration = Duration::from_secs(60);
const LAST_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_read_from_the_files() {
        let made = Authority::new("kubernetes").unwrap();
        let data = base64::engine::general_purpose::STANDARD.encode(made.pem());
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: default\n  cluster: {{ server: \"https://127.0.0.1:6443\", \
             certificate-authority-data: {data} }}\n"
        );
        let text = [kubeconfig.as_str(), made.pem(), made.key().reveal()]
            .map(|file| format!("{file}{END}\n"))
            .concat();
        let read = parse(&text).unwrap();
        assert_eq!(read.server_ca, made.pem());
        assert_eq!(read.client_ca.pem(), made.pem());
        read.client_ca.client("system:admin", &[]).unwrap();
        assert!(parse("").is_none());
    }
}
