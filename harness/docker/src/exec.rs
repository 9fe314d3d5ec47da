//! Commands in running containers: to their end, or followed line by line.

use std::pin::Pin;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures::{Stream, StreamExt as _, stream};

use crate::engine::Engine;
use crate::error::DockerError;

/// A command's lines, as they come.
pub type Lines = Pin<Box<dyn Stream<Item = Result<String, DockerError>> + Send>>;

/// Longest piece of output that the client hands out at once.
const CAPACITY: usize = 64 * 1024;

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecOutput {
    /// Its exit code.
    pub code: i64,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
}

impl ExecOutput {
    /// Whether the command ended well.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == 0
    }
}

type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;

impl Engine {
    /// Runs a command in a container and waits for its end. An exit code other than 0 is no error.
    ///
    /// # Errors
    /// When the container does not run or the connection breaks.
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
            "ask for the exit code of a command in",
            container,
        ))?;
        // A container that is killed takes its commands along, and then there is no code.
        done.code = inspect.exit_code.unwrap_or(-1);
        Ok(done)
    }

    /// Starts a command in a container and hands out the lines of its standard output as they come. The stream ends with the
    /// command; dropping it earlier does not end the command, only the end of its container does.
    ///
    /// # Errors
    /// When the container does not run; a connection that breaks later is the stream's last item.
    pub async fn exec_lines(&self, container: &str, command: &[&str]) -> Result<Lines, DockerError> {
        let (_, output) = self.begin_exec(container, command).await?;
        Ok(lines(output, container.to_owned()))
    }

    async fn begin_exec(&self, container: &str, command: &[&str]) -> Result<(String, Output), DockerError> {
        let ask = CreateExecOptions {
            cmd: Some(command.to_vec()),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            ..CreateExecOptions::default()
        };
        let run = || DockerError::engine("run a command in", container);
        let exec = self.docker().create_exec(container, ask).await.map_err(run())?.id;
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
                object: format!("a command in `{container}`"),
                wrong: "was started without its output".to_owned(),
            }),
        }
    }
}

/// Puts pieces of output together to lines: the engine cuts them where it likes.
fn lines(output: Output, container: String) -> Lines {
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
    let whole = std::mem::replace(rest, tail);
    whole[..end]
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
    fn lines_are_whole_wherever_the_engine_cuts() {
        let pieces = [out("on"), out("e\ntwo\nth"), out("ree\n\nlast")];
        let lines = lines(Box::pin(stream::iter(pieces)), "c".to_owned());
        let lines: Vec<_> = futures::executor::block_on(lines.map(|line| line.unwrap()).collect());
        assert_eq!(lines, ["one", "two", "three", "", "last"]);
    }
}
