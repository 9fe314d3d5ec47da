//! The process: its environment, its signals, and the only place that prints errors.

use std::error::Error;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nodejoin_core::input::files::Disk;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{DockerError, Engine, ImageSettings};
use nodejoin_import::ImportDisk;
use tokio_util::sync::CancellationToken;

use crate::run_args::ImageArgs;

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

/// Stack of each thread. A debug build uses 1.5 MiB for a scenario, and some threads of a system have 2.
const STACK: usize = 8 << 20;

/// The runtime of a process.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()
}

/// Prints a line of data on standard output.
macro_rules! out {
    ($($piece:tt)*) => { $crate::process::print(format_args!($($piece)*)) };
}

/// Prints a line for people on standard error.
macro_rules! note {
    ($($piece:tt)*) => { $crate::process::print_note(format_args!($($piece)*)) };
}

/// Prints for `note!`. Nothing is left to report to if standard error is closed or full.
pub(crate) fn print_note(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints for `out!`. Ignores a closed pipe, such as that of `| head`.
pub(crate) fn print(line: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The file system, with this process' environment for variables in manifests.
pub(crate) fn disk() -> ImportDisk {
    ImportDisk::new(Disk::with_variables(std::env::vars()))
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
    try_engine(factor).await.map_err(|error| {
        report_error("the container engine is not available", &error, error.hint());
        match error {
            DockerError::UnsupportedHost { .. } => ExitCode::Usage,
            _ => ExitCode::Host,
        }
    })
}

/// Connects to the container engine, without a message if there is none.
pub(crate) async fn try_engine(factor: TimeFactor) -> Result<Engine, DockerError> {
    Engine::connect_with(image_settings().cache, factor).await
}

/// Prints an error with its causes, and the hint below it.
pub(crate) fn report_error(what: &str, error: &dyn Error, hint: Option<String>) {
    note!("error: {what}: {}", chain(error));
    if let Some(hint) = hint {
        note!("  do: {hint}");
    }
}

/// Reports an error of the host at the start of the process.
pub(crate) fn host_error(what: &str, error: &dyn Error) -> std::process::ExitCode {
    report_error(what, error, None);
    std::process::ExitCode::from(ExitCode::Host.code())
}

/// Signals within this time of the first belong to it: `timeout` and a closing terminal send two at once.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// What the process does at a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// Cancels the run, which then removes everything that it created.
    Cancel,
    /// Nothing: the signal repeats the first.
    Ignore,
    /// Exits at once; `nodejoin sweep` has to remove the rest.
    Exit,
}

/// The reaction to a signal this long after the first, `None` for the first.
fn reaction(since_first: Option<Duration>) -> Reaction {
    match since_first {
        None => Reaction::Cancel,
        Some(since) if since < SAME_REQUEST => Reaction::Ignore,
        Some(_) => Reaction::Exit,
    }
}

/// Cancels the token at the first interrupt, termination or hang-up, and exits the process at a later one.
pub(crate) fn cancel_on_signals() -> std::io::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let token = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let cancelled = token.clone();
    tokio::spawn(async move {
        let mut first: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            match reaction(first.map(|first| first.elapsed())) {
                Reaction::Cancel => cancelled.cancel(),
                Reaction::Ignore => {}
                Reaction::Exit => {
                    note!("exited at once: run `nodejoin sweep` to remove what remains");
                    std::process::exit(ExitCode::Cancelled.code().into());
                }
            }
            first.get_or_insert_with(Instant::now);
        }
    });
    Ok(token)
}

/// The working folder; `.` when it was removed.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_signals_at_once_are_one_request() {
        let reactions = [
            None,
            Some(Duration::ZERO),
            Some(SAME_REQUEST / 2),
            Some(SAME_REQUEST),
        ]
        .map(reaction);
        let expected = [
            Reaction::Cancel,
            Reaction::Ignore,
            Reaction::Ignore,
            Reaction::Exit,
        ];
        assert_eq!(reactions, expected);
    }
}
