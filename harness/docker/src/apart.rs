//! Work on the engine from where nothing can be awaited: on a thread with a runtime and a connection of its own.

use std::future::Future;

use bollard::Docker;

/// Does the work and blocks until it is done; `None` when the engine cannot be reached.
///
/// The connection must be its own, too: one that is shared is driven by the runtime whose thread this blocks.
pub(crate) fn block_on<T, F>(work: impl FnOnce(Docker) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let apart = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(async {
            let docker = Docker::connect_with_defaults()
                .ok()?
                .negotiate_version()
                .await
                .ok()?;
            Some(work(docker).await)
        })
    };
    std::thread::spawn(apart).join().ok().flatten()
}
