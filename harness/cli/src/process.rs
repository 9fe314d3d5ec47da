//! The process: its environment, its signals, and the only place that prints errors.

use std::error::Error;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use nodejoin_core::input::files::Disk;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{Engine, ImageSettings};
use tokio_util::sync::CancellationToken;

use crate::args::ImageArgs;

/// Logs the harness's warnings to standard error; `RUST_LOG` replaces the filter. Other crates are silent by default:
/// the Kubernetes client logs every failed attempt while a control plane starts.
pub(crate) fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("nodejoin=warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
}

/// Prints a line of data on standard output.
macro_rules! out {
    ($($piece:tt)*) => { $crate::process::print(format_args!($($piece)*)) };
}

/// Prints for `out!`. Ignores a closed pipe, such as that of `| head`.
pub(crate) fn print(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The file system, with this process' environment for variables in manifests.
pub(crate) fn disk() -> Disk {
    Disk::with_variables(std::env::vars())
}

/// Settings of images from the environment. Versions belong to scenarios.
pub(crate) fn image_settings() -> ImageSettings {
    ImageSettings::from_lookup(|name| std::env::var(name).ok())
}

/// The versions of flags and environment, or the exit code for invalid or incompatible ones.
pub(crate) fn matrix(args: &ImageArgs) -> Result<Matrix, ExitCode> {
    Matrix::read(&args.kubernetes, &args.kubelet).map_err(|error| {
        report_error("invalid versions", &error, Some(error.hint()));
        ExitCode::Usage
    })
}

/// Connects to the container engine, or returns the exit code of a host without one.
pub(crate) async fn engine(factor: TimeFactor) -> Result<Engine, ExitCode> {
    let cache = ImageSettings::from_lookup(|name| std::env::var(name).ok()).cache;
    Engine::connect_with(cache, factor).await.map_err(|error| {
        report_error("the container engine is not available", &error, error.hint());
        ExitCode::Host
    })
}

/// Prints an error with its causes, and the hint below it.
pub(crate) fn report_error(what: &str, error: &dyn Error, hint: Option<String>) {
    eprintln!("error: {what}: {}", chain(error));
    if let Some(hint) = hint {
        eprintln!("  do: {hint}");
    }
}

/// Reports an error of the host at the start of the process.
pub(crate) fn host_error(what: &str, error: &dyn Error) -> std::process::ExitCode {
    report_error(what, error, None);
    std::process::ExitCode::from(ExitCode::Host.code())
}

/// Cancels the token at the first interrupt, termination or hang-up, and exits the process at the second.
///
/// After the first signal the run removes everything that it created. After a second, `nodejoin sweep` has to remove
/// the rest.
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
                eprintln!("exited at once: run `nodejoin sweep` to remove what remains");
                std::process::exit(ExitCode::Cancelled.code().into());
            }
            cancelled.cancel();
        }
    });
    Ok(token)
}

/// The working folder; `.` when it was removed.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}
