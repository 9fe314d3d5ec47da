//! The end of the tasks of a server.

use tokio::task::JoinSet;

/// Waits for stopped tasks and raises their first panic.
pub(super) async fn join_all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}
