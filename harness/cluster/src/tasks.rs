//! Joined tasks.

use tokio::task::JoinError;

/// Panics with the panic of a joined task, if it had one.
pub(crate) fn resume_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
