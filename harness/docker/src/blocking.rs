//! Runs engine requests from places that cannot await, such as `Drop`.

use std::future::Future;
use std::time::Duration;

use bollard::Docker;

/// Runs `work` on its own thread with its own runtime and blocks until it is done; `None` when the engine does not
/// respond.
///
/// The connection is new as well: the runtime that drives a shared one may be the runtime whose thread this call
/// blocks.
pub(crate) fn block_on<T, F>(
    request_timeout: Duration,
    work: impl FnOnce(Docker) -> F + Send + 'static,
) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let blocking = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(async {
            let docker = Docker::connect_with_defaults()
                .ok()?
                .with_timeout(request_timeout)
                .negotiate_version()
                .await
                .ok()?;
            Some(work(docker).await)
        })
    };
    std::thread::spawn(blocking).join().ok().flatten()
}
