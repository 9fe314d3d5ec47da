//! Commands in running containers, run to completion or followed line by line.

use std::pin::Pin;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures::{Stream, StreamExt as _, stream};

use crate::engine::Engine;
use crate::error::DockerError;

/// Lines of the standard output of a command, as they arrive.
pub type OutputLines = Pin<Box<dyn Stream<Item = Result<String, DockerError>> + Send>>;

/// Size in bytes of the largest piece of output that the client delivers.
const CAPACITY: usize = 64 * 1024;

/// The result of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecOutput {
    /// Exit code; -1 if the container was killed during the command.
    pub code: i64,
    /// Content of standard output.
    pub stdout: Vec<u8>,
    /// Content of standard error.
    pub stderr: Vec<u8>,
}

impl ExecOutput {
    /// Whether the exit code is 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == 0
    }
}

type RawOutput = Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;

impl Engine {
    /// Runs a command in a container and waits for its end. An exit code other than 0 is not an error.
    ///
    /// # Errors
    /// When the container is not running, or the connection breaks.
    pub async fn exec(&self, container: &str, command: &[&str]) -> Result<ExecOutput, DockerError> {
        let (exec, mut output) = self.begin_exec(container, command).await?;
        let mut done = ExecOutput::default();
        while let Some(piece) = output.next().await {
            match piece.map_err(DockerError::engine("read the output of a command in", container))? {
                LogOutput::StdErr { message } => done.stderr.extend_from_slice(&message),
                LogOutput::StdOut { message } | LogOutput::Console { message } => {
                    done.stdout.extend_from_slice(&message);
                }
                LogOutput::StdIn { .. } => {}
            }
        }
        let inspect = self.docker().inspect_exec(&exec).await;
        let inspect = inspect.map_err(DockerError::engine(
            "read the exit code of a command in",
            container,
        ))?;
        // There is no exit code if the container was killed, because its commands are killed with it.
        done.code = inspect.exit_code.unwrap_or(-1);
        Ok(done)
    }

    /// Starts a command in a container and streams the lines of its standard output. The stream ends with the command.
    /// Dropping the stream does not end the command: only the end of its container does.
    ///
    /// # Errors
    /// When the container is not running. If the connection breaks later, the error is the last item of the stream.
    pub async fn exec_lines(&self, container: &str, command: &[&str]) -> Result<OutputLines, DockerError> {
        let (_, output) = self.begin_exec(container, command).await?;
        Ok(lines(output, container.to_owned()))
    }

    async fn begin_exec(
        &self,
        container: &str,
        command: &[&str],
    ) -> Result<(String, RawOutput), DockerError> {
        let request = CreateExecOptions {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..CreateExecOptions::default()
        };
        let run = || DockerError::engine("run a command in", container);
        let exec = self
            .docker()
            .create_exec(container, request)
            .await
            .map_err(run())?
            .id;
        let options = StartExecOptions {
            output_capacity: Some(CAPACITY),
            ..StartExecOptions::default()
        };
        match self
            .docker()
            .start_exec(&exec, Some(options))
            .await
            .map_err(run())?
        {
            StartExecResults::Attached { output, .. } => Ok((exec, output)),
            StartExecResults::Detached => Err(DockerError::Unexpected {
                object: format!("command in `{container}`"),
                problem: "was started without its output".to_owned(),
            }),
        }
    }
}

/// Joins pieces of output to lines: the engine splits output at any byte.
fn lines(output: RawOutput, container: String) -> OutputLines {
    let pieces = output.map(Some).chain(stream::iter([None]));
    let split = pieces.scan(Vec::new(), move |rest: &mut Vec<u8>, piece| {
        let lines = match piece {
            Some(Ok(LogOutput::StdOut { message } | LogOutput::Console { message })) => {
                take_lines(rest, &message)
            }
            Some(Ok(_)) => Vec::new(),
            Some(Err(error)) => vec![Err(
                DockerError::engine("follow a command in", container.clone())(error),
            )],
            None if rest.is_empty() => Vec::new(),
            None => vec![Ok(text(&std::mem::take(rest)))],
        };
        std::future::ready(Some(stream::iter(lines)))
    });
    Box::pin(split.flatten())
}

fn take_lines(rest: &mut Vec<u8>, message: &[u8]) -> Vec<Result<String, DockerError>> {
    rest.extend_from_slice(message);
    let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let tail = rest.split_off(end + 1);
    let complete = std::mem::replace(rest, tail);
    complete[..end]
        .split(|byte| *byte == b'\n')
        .map(|line| Ok(text(line)))
        .collect()
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(text: &'static str) -> Result<LogOutput, bollard::errors::Error> {
        Ok(LogOutput::StdOut { message: text.into() })
    }

    #[test]
    fn lines_are_complete_wherever_the_engine_splits_the_output() {
        let pieces = [out("on"), out("e\ntwo\nth"), out("ree\n\nlast")];
        let lines = lines(Box::pin(stream::iter(pieces)), "c".to_owned());
        let lines: Vec<_> = futures::executor::block_on(lines.map(|line| line.unwrap()).collect());
        assert_eq!(lines, ["one", "two", "three", "", "last"]);
    }
}
