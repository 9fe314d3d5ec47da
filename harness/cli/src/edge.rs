//! The edge of the process: its environment, signals, and the one place where errors are printed.

use std::error::Error;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use nodejoin_core::input::files::Disk;
use nodejoin_core::kubernetes::Matrix;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{Engine, ImageSettings};
use tokio_util::sync::CancellationToken;

use crate::args::ImageArgs;

/// Our own warnings go to standard error; `RUST_LOG` asks for more. The client of the API server tells every refused try of a
/// control plane that is still starting.
pub(crate) fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("nodejoin=warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}

/// A line of data on standard output, as `println!` writes it.
macro_rules! out {
    ($($piece:tt)*) => { $crate::edge::print(format_args!($($piece)*)) };
}

/// What `out!` does: a reader that went away (`| head`) wants no more, and is no error.
pub(crate) fn print(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Files below this folder, with this process' environment for manifests.
pub(crate) fn disk() -> Disk {
    Disk::with_variables(std::env::vars())
}

/// Settings of images from the environment. Versions are each scenario's own.
pub(crate) fn image_settings() -> ImageSettings {
    ImageSettings::from_lookup(|name| std::env::var(name).ok())
}

/// The versions of flags and environment, or the exit code of those that are none or do not go together.
pub(crate) fn matrix(args: &ImageArgs) -> Result<Matrix, ExitCode> {
    Matrix::read(&args.kubernetes, &args.kubelet).map_err(|error| {
        complain("these versions cannot be run", &error, Some(error.hint()));
        ExitCode::Usage
    })
}

/// The container engine, or the exit code of a host without one.
pub(crate) async fn engine(factor: TimeFactor) -> Result<Engine, ExitCode> {
    let cache = ImageSettings::from_lookup(|name| std::env::var(name).ok()).cache;
    Engine::connect_with(cache, factor).await.map_err(|error| {
        complain("the container engine cannot be used", &error, error.hint());
        ExitCode::Host
    })
}

/// Prints an error with its causes, and the way out below it.
pub(crate) fn complain(what: &str, error: &dyn Error, hint: Option<String>) {
    eprintln!("error: {what}: {}", chain(error));
    if let Some(hint) = hint {
        eprintln!("  do: {hint}");
    }
}

/// An error of the host before anything could be done.
pub(crate) fn host_error(what: &str, error: &dyn Error) -> std::process::ExitCode {
    complain(what, error, None);
    std::process::ExitCode::from(ExitCode::Host.code())
}

/// Cancels the token at the first signal that asks for an end, and leaves the process at the second.
///
/// The first gives the run its grace: everything is removed. Whoever asks twice wants out; `nodejoin sweep` removes the rest.
pub(crate) fn cancel_on_signals() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let token = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let cancelled = token.clone();
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            if cancelled.is_cancelled() {
                eprintln!("left at once: `nodejoin sweep` removes what is still there");
                std::process::exit(ExitCode::Cancelled.code().into());
            }
            cancelled.cancel();
        }
    });
    Ok(token)
}

/// A path as it is shown, and as the loader wants it.
pub(crate) fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}
