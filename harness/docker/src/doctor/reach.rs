//! Whether a container on an internal network reaches the harness on that network's gateway address, through the host's firewall.

use std::time::Duration;

use bollard::models::HostConfig;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::doctor::{CheckResult, not_checked};
use crate::engine::Engine;
use crate::error::DockerError;
use crate::probe::{Probe, rand_bits};
use crate::run::{Run, RunNetwork};

const NAME: &str = "way to the fakes";
const LIMIT: Duration = Duration::from_secs(10);
const CALL: Duration = Duration::from_secs(5);
const REMEDY: &str = "let Docker's bridges in: `sudo ufw allow from 198.18.0.0/15`, \
    or `sudo firewall-cmd --permanent --zone=trusted --add-source=198.18.0.0/15 && sudo firewall-cmd --reload`, \
    or `sudo iptables -I INPUT -i br-+ -j ACCEPT`";

/// Tries it with a network and a container of its own, which are gone afterwards.
pub(crate) async fn check(engine: &Engine, image: Option<&str>) -> CheckResult {
    let Some(image) = image else {
        return not_checked(NAME);
    };
    let id = format!("d{:015x}", rand_bits() >> 4);
    let Ok(id) = id.parse() else {
        return not_checked(NAME);
    };
    let run = Run::begin(engine.clone(), id);
    let result = try_out(&run, image).await;
    let done = run.tear_down().await;
    match result {
        Err(error) => CheckResult::failed(NAME, &error),
        Ok(_) if !done.is_clean() => CheckResult::warn(
            NAME,
            format!("left behind: {}", done.left.join("; ")),
            "nodejoin sweep",
        ),
        Ok(result) => result,
    }
}

async fn try_out(run: &Run, image: &str) -> Result<CheckResult, DockerError> {
    let network = run.network("doctor", true).await?;
    let listener = match TcpListener::bind((network.gateway, 0)).await {
        Ok(listener) => listener,
        Err(error) => {
            return Ok(CheckResult::bad(
                NAME,
                format!("{} is not an address of this machine: {error}", network.gateway),
                "the engine must run on this machine, not in a virtual machine of its own or elsewhere",
            ));
        }
    };
    let port = listener
        .local_addr()
        .map(|address| address.port())
        .unwrap_or_default();
    let limit = run.engine().time_factor().limit(LIMIT);
    let called = tokio::spawn(async move {
        timeout(limit, listener.accept())
            .await
            .is_ok_and(|call| call.is_ok())
    });
    let (code, said) = call(run.engine(), image, &network, port).await?;
    let answered = called.await.unwrap_or(false);
    Ok(match (code, answered) {
        (0, true) => CheckResult::ok(
            NAME,
            format!("a container on an internal network reaches {}", network.gateway),
        ),
        _ => CheckResult::bad(
            NAME,
            format!(
                "a container on an internal network does not reach {}:{port}: {}",
                network.gateway,
                said.trim()
            ),
            REMEDY,
        ),
    })
}

async fn call(
    engine: &Engine,
    image: &str,
    network: &RunNetwork,
    port: u16,
) -> Result<(i64, String), DockerError> {
    let command = format!("exec 3<> /dev/tcp/{}/{port}", network.gateway);
    // Shorter than the whole, so that the shell's own word is seen.
    let seconds = engine.time_factor().limit(CALL).as_secs().to_string();
    let host = HostConfig {
        network_mode: Some(network.name.clone()),
        ..HostConfig::default()
    };
    Probe::of(image)
        .with_host(host)
        .with_command(&["timeout", &seconds, "bash", "-c", &command])
        .run(engine)
        .await
}
