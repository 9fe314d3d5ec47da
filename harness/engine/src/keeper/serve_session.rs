//! The keeper's side of a session: answers the calls of one client, several at a time.

use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use nodejoin_core::run::event::RunEvent;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::protocol::{
    KeeperReply, NumberedAnswer, NumberedCall, SessionAnswer, SessionCall, read_line, write_line,
};
use crate::runner::Runner;
use crate::trace_log::TraceLog;

/// Answers calls until the client ends the session or closes its connection. Then cancels what runs, and removes it.
pub(super) async fn serve_session(
    runner: Runner,
    events: UnboundedReceiver<RunEvent>,
    read: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
    cancel: &CancellationToken,
) {
    let traces = TraceLog::default();
    let runner = runner.with_traces(traces.clone());
    let (calls, received) = unbounded_channel();
    let (answers, answered) = unbounded_channel();
    let (runtime, token) = (Handle::current(), cancel.clone());
    // On a thread of its own: a run stays on one thread.
    let run = tokio::task::spawn_blocking(move || {
        runtime.block_on(answer_calls(runner, &traces, received, &answers, &token));
    });
    let work = async {
        let (run, ()) = tokio::join!(run, forward(events, answered, write, cancel));
        if let Err(error) = run {
            tracing::error!(%error, "a session ended early");
        }
    };
    tokio::select! {
        () = work => {}
        never = receive(read, &calls, cancel) => match never {},
    }
}

/// Passes calls on. Cancels the session once the client has closed its side, also by its death.
async fn receive(
    mut read: BufReader<OwnedReadHalf>,
    calls: &UnboundedSender<NumberedCall>,
    cancel: &CancellationToken,
) -> std::convert::Infallible {
    while let Ok(Some(call)) = read_line(&mut read).await {
        let _ = calls.send(call);
    }
    cancel.cancel();
    std::future::pending().await
}

/// Runs the plans of calls beside each other, and ends after the call that says so, or when `cancel` fires.
async fn answer_calls(
    runner: Runner,
    traces: &TraceLog,
    mut calls: UnboundedReceiver<NumberedCall>,
    answers: &UnboundedSender<NumberedAnswer>,
    cancel: &CancellationToken,
) {
    let send = |number, answer| {
        let traces = traces.take();
        // Without a client, what runs is cancelled by the end of the connection.
        let _ = answers.send(NumberedAnswer {
            number,
            answer,
            traces,
        });
    };
    let mut running = FuturesUnordered::new();
    let mut end = None;
    while end.is_none() {
        tokio::select! {
            Some((number, answer)) = running.next(), if !running.is_empty() => send(number, answer),
            () = cancel.cancelled() => break,
            Some(NumberedCall { number, call }) = calls.recv() => match call {
                SessionCall::Probe(plan) => {
                    let (runner, cancel) = (&runner, cancel.clone());
                    running.push(
                        async move {
                            (number, SessionAnswer::Probed(runner.probe(&plan, &cancel).await))
                        }
                        .boxed_local(),
                    );
                }
                SessionCall::Run(plan) => {
                    let (runner, cancel) = (&runner, cancel.clone());
                    running.push(
                        async move {
                            (number, SessionAnswer::Ran(Box::new(runner.run(&plan, &cancel).await)))
                        }
                        .boxed_local(),
                    );
                }
                SessionCall::End => end = Some(number),
            },
        }
    }
    cancel.cancel();
    while let Some((number, answer)) = running.next().await {
        send(number, answer);
    }
    drop(running);
    let left = runner.tear_down().await.left;
    if let Some(number) = end {
        send(number, SessionAnswer::Ended(left));
    }
}

/// Sends events and answers to the client, in the order in which they came, until the session has ended. Cancels a
/// session whose client is gone.
async fn forward(
    mut events: UnboundedReceiver<RunEvent>,
    mut answers: UnboundedReceiver<NumberedAnswer>,
    mut write: OwnedWriteHalf,
    cancel: &CancellationToken,
) {
    loop {
        let reply = tokio::select! {
            // Events first: those of a scenario precede its verdict.
            biased;
            Some(event) = events.recv() => KeeperReply::Event(Box::new(event)),
            answer = answers.recv() => match answer {
                Some(answer) => KeeperReply::Answer(Box::new(answer)),
                None => return,
            },
        };
        if write_line(&mut write, &reply).await.is_err() {
            cancel.cancel();
            return;
        }
    }
}
