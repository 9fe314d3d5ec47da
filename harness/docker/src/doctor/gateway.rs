//! Checks that a container on an internal network reaches the harness at the network's gateway address, through the
//! firewall.

use std::time::Duration;

use bollard::models::HostConfig;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::doctor::check_result::{CheckResult, not_checked};
use crate::engine::Engine;
use crate::error::DockerError;
use crate::probe::Probe;
use crate::run::{Run, RunNetwork, new_run_id};

const NAME: &str = "connection to fakes";
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REMEDY: &str = "allow connections from Docker's bridges: `sudo ufw allow from 198.18.0.0/15`, \
    or `sudo firewall-cmd --permanent --zone=trusted --add-source=198.18.0.0/15 && sudo firewall-cmd --reload`, \
    or `sudo iptables -I INPUT -i br-+ -j ACCEPT`";

/// Runs the check with its own network and container, and removes them.
pub(crate) async fn check(engine: &Engine, image: Option<&str>) -> CheckResult {
    let Some(image) = image else {
        return not_checked(NAME);
    };
    let run = Run::begin(engine.clone(), new_run_id());
    let result = connect(&run, image).await;
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

async fn connect(run: &Run, image: &str) -> Result<CheckResult, DockerError> {
    let network = run.network("doctor", true).await?;
    let listener = match TcpListener::bind((network.gateway, 0)).await {
        Ok(listener) => listener,
        Err(error) => {
            return Ok(CheckResult::bad(
                NAME,
                format!("{} is not an address of this machine: {error}", network.gateway),
                "run the engine on this machine, not in a virtual machine or on another host",
            ));
        }
    };
    let port = listener
        .local_addr()
        .map(|address| address.port())
        .unwrap_or_default();
    let limit = run.engine().time_factor().scale(ACCEPT_TIMEOUT);
    let accepted = tokio::spawn(async move {
        timeout(limit, listener.accept())
            .await
            .is_ok_and(|call| call.is_ok())
    });
    let (code, output) = call(run.engine(), image, &network, port).await?;
    let accepted = accepted.await.unwrap_or(false);
    Ok(match (code, accepted) {
        (0, true) => CheckResult::ok(
            NAME,
            format!("a container on an internal network reaches {}", network.gateway),
        ),
        _ => CheckResult::bad(
            NAME,
            format!(
                "a container on an internal network does not reach {}:{port}: {}",
                network.gateway,
                output.trim()
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
    // Shorter than the timeout of the listener, so that the error of the shell is reported.
    let seconds = engine.time_factor().scale(CONNECT_TIMEOUT).as_secs().to_string();
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
