//! The client's side of a session: sends plans to a keeper one by one, and receives their results.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::RunId;
use parking_lot::Mutex;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::address::KeeperAddress;
use super::client::next;
use super::error::KeeperError;
use super::protocol::{
    KeeperReply, KeeperRequest, NumberedCall, SessionAnswer, SessionCall, SessionRequest, read_line,
    write_line,
};
use crate::events::Events;
use crate::probe::ProbeEnd;
use crate::trace_log::TraceLog;
use crate::verdict::verdict_without_observation;

const OTHER_ANSWER: &str = "the keeper sent the answer to another call";

/// A session in a keeper. Dropping it ends the session.
pub struct KeeperSession {
    pub(crate) run: RunId,
    calls: UnboundedSender<NumberedCall>,
    last: AtomicU64,
    waiting: Arc<Mutex<Waiting>>,
}

/// Calls without an answer.
#[derive(Default)]
struct Waiting {
    answers: HashMap<u64, oneshot::Sender<SessionAnswer>>,
    /// Why no further answer comes.
    ended: Option<String>,
}

/// Begins a session. Events of its scenarios go to `events`, and what traced plans run to `traces`.
///
/// # Errors
/// [`KeeperError::NotAccepted`] when the keeper was about to end: nothing has started.
pub async fn begin_session(
    address: &KeeperAddress,
    stream: UnixStream,
    request: SessionRequest,
    events: Events,
    traces: TraceLog,
) -> Result<KeeperSession, KeeperError> {
    let run = request.run.clone();
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    write_line(&mut write, &KeeperRequest::Session(Box::new(request)))
        .await
        .map_err(|_| KeeperError::NotAccepted)?;
    match read_line(&mut read).await {
        Ok(Some(KeeperReply::Accepted)) => {}
        _ => return Err(KeeperError::NotAccepted),
    }
    let (calls, to_send) = unbounded_channel();
    let waiting = Arc::<Mutex<Waiting>>::default();
    tokio::spawn(send(to_send, write));
    tokio::spawn(receive(
        address.clone(),
        read,
        Arc::clone(&waiting),
        events,
        traces,
    ));
    Ok(KeeperSession {
        run,
        calls,
        last: AtomicU64::new(0),
        waiting,
    })
}

impl KeeperSession {
    /// The end of a probe. Without a keeper it says why none ran.
    pub(crate) async fn probe(&self, plan: &Plan) -> ProbeEnd {
        match self.call(SessionCall::Probe(Box::new(plan.clone()))).await {
            Ok(SessionAnswer::Probed(end)) => end,
            Ok(SessionAnswer::Ran(_) | SessionAnswer::Ended(_)) => ProbeEnd::NotRun(OTHER_ANSWER.to_owned()),
            Err(why) => ProbeEnd::NotRun(why),
        }
    }

    /// The verdict of a scenario. Without a keeper it is an error of the harness.
    pub(crate) async fn run(&self, plan: &Plan) -> Verdict {
        let errored = |why| verdict_without_observation(Outcome::Errored(why));
        match self.call(SessionCall::Run(Box::new(plan.clone()))).await {
            Ok(SessionAnswer::Ran(verdict)) => *verdict,
            Ok(SessionAnswer::Probed(_) | SessionAnswer::Ended(_)) => errored(OTHER_ANSWER.to_owned()),
            Err(why) => errored(why),
        }
    }

    /// Ends the session. Returns what the keeper could not remove.
    pub(crate) async fn end(self) -> Vec<String> {
        match self.call(SessionCall::End).await {
            Ok(SessionAnswer::Ended(left)) => left,
            Ok(SessionAnswer::Probed(_) | SessionAnswer::Ran(_)) => Vec::new(),
            Err(why) => vec![format!("the objects of run {}: {why}", self.run)],
        }
    }

    async fn call(&self, call: SessionCall) -> Result<SessionAnswer, String> {
        let (sender, answer) = oneshot::channel();
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        {
            let mut waiting = self.waiting.lock();
            if let Some(why) = &waiting.ended {
                return Err(why.clone());
            }
            waiting.answers.insert(number, sender);
        }
        // Fails only when the connection has closed, which the receiving side notices as well.
        let _ = self.calls.send(NumberedCall { number, call });
        answer.await.map_err(|_| {
            let ended = self.waiting.lock().ended.clone();
            ended.unwrap_or_else(|| "the keeper sent no answer".to_owned())
        })
    }
}

/// Sends calls until the session is dropped. The end of the stream then ends it in the keeper as well.
async fn send(mut calls: UnboundedReceiver<NumberedCall>, mut write: OwnedWriteHalf) {
    while let Some(call) = calls.recv().await {
        if write_line(&mut write, &call).await.is_err() {
            return;
        }
    }
}

async fn receive(
    address: KeeperAddress,
    mut read: BufReader<OwnedReadHalf>,
    waiting: Arc<Mutex<Waiting>>,
    events: Events,
    traces: TraceLog,
) {
    let error = loop {
        match next(&address, &mut read).await {
            Ok(KeeperReply::Event(event)) => events.send(*event),
            Ok(KeeperReply::Answer(answer)) => {
                traces.extend(answer.traces);
                let caller = waiting.lock().answers.remove(&answer.number);
                // A cancelled call has no caller any more.
                if let Some(caller) = caller {
                    let _ = caller.send(answer.answer);
                }
            }
            Ok(KeeperReply::Traces(entries)) => traces.extend(entries),
            Ok(KeeperReply::Accepted | KeeperReply::Status(_) | KeeperReply::Stopping) => {}
            Err(error) => break error,
        }
    };
    let mut waiting = waiting.lock();
    waiting.ended = Some(format!("{error}; {}", error.hint()));
    waiting.answers.clear();
}

#[cfg(test)]
mod tests {
    use nodejoin_core::run::event::RunEvent;
    use nodejoin_docker::ImageSettings;

    use super::*;
    use crate::keeper::LeaseSettings;
    use crate::keeper::protocol::NumberedAnswer;
    use crate::settings::{Caller, Settings};
    use crate::testing::plan;

    fn request() -> SessionRequest {
        let settings = Settings {
            images: ImageSettings::from_lookup(|_| None),
            control_plane: None,
            require: Default::default(),
            external: Default::default(),
            artifacts: "/artifacts".into(),
            evidence: Default::default(),
            caller: Caller::default(),
            jobs: 2,
            keep: nodejoin_core::run::settings::KeepWhen::Never,
            hold: false,
            boot_ahead: false,
            bless: false,
            fail_fast: false,
            shard: None,
        };
        SessionRequest {
            run: "abcdefghij".parse().unwrap(),
            settings: LeaseSettings::of(&settings, &[]).unwrap(),
        }
    }

    fn address() -> KeeperAddress {
        let folder = std::env::temp_dir();
        KeeperAddress::of_this_process(&folder, Default::default(), |_| None).unwrap()
    }

    async fn answer(write: &mut OwnedWriteHalf, number: u64, answer: SessionAnswer) {
        let traces = vec![("a".parse().unwrap(), Default::default())];
        let answer = NumberedAnswer {
            number,
            answer,
            traces,
        };
        write_line(write, &KeeperReply::Answer(Box::new(answer)))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn answers_reach_their_callers_in_any_order_and_an_end_reaches_all() {
        let (client, keeper) = UnixStream::pair().unwrap();
        let (events, mut seen) = Events::stream();
        let traces = TraceLog::default();
        let keeper = async {
            let (read, mut write) = keeper.into_split();
            let mut read = BufReader::new(read);
            let first: KeeperRequest = read_line(&mut read).await.unwrap().unwrap();
            assert!(matches!(first, KeeperRequest::Session(_)));
            write_line(&mut write, &KeeperReply::Accepted).await.unwrap();
            let one: NumberedCall = read_line(&mut read).await.unwrap().unwrap();
            let two: NumberedCall = read_line(&mut read).await.unwrap().unwrap();
            let event = KeeperReply::Event(Box::new(RunEvent::Warning { text: "x".to_owned() }));
            write_line(&mut write, &event).await.unwrap();
            for call in [two, one] {
                let end = match call.call {
                    SessionCall::Probe(plan) => {
                        SessionAnswer::Probed(ProbeEnd::NotRun(format!("probe of {}", plan.name)))
                    }
                    SessionCall::Run(_) => {
                        let skipped = Outcome::Skipped("run".to_owned());
                        SessionAnswer::Ran(Box::new(verdict_without_observation(skipped)))
                    }
                    SessionCall::End => panic!("the session does not end yet"),
                };
                answer(&mut write, call.number, end).await;
            }
            // Ends in the middle of a third call.
            let _: NumberedCall = read_line(&mut read).await.unwrap().unwrap();
        };
        let calls = async {
            let address = address();
            let session = begin_session(&address, client, request(), events, traces.clone());
            let session = session.await.unwrap();
            let plan = plan("name: x\n");
            let (probed, ran) = tokio::join!(session.probe(&plan), session.run(&plan));
            assert!(matches!(probed, ProbeEnd::NotRun(why) if why == "probe of x"));
            assert_eq!(ran.outcome, Outcome::Skipped("run".to_owned()));
            for _ in 0..2 {
                let ProbeEnd::NotRun(why) = session.probe(&plan).await else {
                    panic!("there is no keeper")
                };
                assert!(why.contains("the keeper ended before the run did"), "{why}");
            }
            let left = session.end().await;
            assert!(left[0].contains("abcdefghij"), "{left:?}");
        };
        tokio::join!(keeper, calls);
        assert_eq!(traces.take().len(), 2);
        assert!(matches!(seen.recv().await, Some(RunEvent::Warning { .. })));
    }

    #[tokio::test]
    async fn a_keeper_that_ends_does_not_accept_a_session() {
        let (client, keeper) = UnixStream::pair().unwrap();
        drop(keeper);
        let (events, _seen) = Events::stream();
        let begun = begin_session(&address(), client, request(), events, TraceLog::default()).await;
        assert!(matches!(begun, Err(KeeperError::NotAccepted)));
    }
}
