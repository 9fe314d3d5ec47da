//! The sources of events about a node, each converted to [`Incoming`]: the fakes, the control plane, and the node's
//! container.

use std::time::SystemTime;

use futures::stream::{self, BoxStream, StreamExt as _};
use nodejoin_cluster::{ClusterEvent, ClusterFact};
use nodejoin_core::observation::{JournalLine, ObservedEvent};
use nodejoin_fake_aws::{AwsEvent, AwsEventKind, Refusals};
use nodejoin_node::{Node, NodeError, NodeLog, NodeOutput};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::observer::Incoming;

/// Events of the fakes and of the control plane about one instance.
pub(crate) fn of_session(
    aws: UnboundedReceiver<AwsEvent>,
    cluster: UnboundedReceiver<ClusterEvent>,
) -> BoxStream<'static, Incoming> {
    let aws = UnboundedReceiverStream::new(aws).map(from_aws);
    let cluster = UnboundedReceiverStream::new(cluster).map(from_cluster);
    stream::select(aws, cluster).boxed()
}

/// Lines of the node's journal, and the end of its container. Refused connections go to the fakes: the events are
/// theirs.
pub(crate) fn of_node(node: &Node, log: &NodeLog, refusals: Refusals) -> BoxStream<'static, Incoming> {
    let journal = log.follow().filter_map(move |output| {
        let incoming = match output {
            NodeOutput::Journal(at, line) => Some(from_journal(at, line)),
            NodeOutput::Refused(seen) => {
                refusals.record(SystemTime::now(), seen.service, seen.total);
                None
            }
        };
        std::future::ready(incoming)
    });
    let exited = node.clone();
    let exit = stream::once(async move { exited.exited().await }).filter_map(async |exit| {
        let exit = exit.ok()?;
        let what = ObservedEvent::ContainerExited {
            code: exit.code,
            lines: exit.lines,
        };
        Some(Incoming {
            at: SystemTime::now(),
            what,
            node: None,
        })
    });
    stream::select(journal, exit).boxed()
}

/// Lines of the node's journal that following it has lost.
pub(crate) async fn missed(log: &NodeLog) -> Result<Vec<Incoming>, NodeError> {
    let missed = log.missed().await?.into_iter().filter_map(|output| match output {
        NodeOutput::Journal(at, line) => Some(from_journal(at, line)),
        // Their totals are read at the end of a join.
        NodeOutput::Refused(_) => None,
    });
    Ok(missed.collect())
}

fn from_journal(at: SystemTime, line: JournalLine) -> Incoming {
    Incoming {
        at,
        what: ObservedEvent::Journal(line),
        node: None,
    }
}

fn from_aws(event: AwsEvent) -> Incoming {
    let what = match event.what {
        AwsEventKind::Aws(call) => ObservedEvent::Aws(call),
        AwsEventKind::Dns(query) => ObservedEvent::Dns(query),
        AwsEventKind::Isolated => ObservedEvent::Isolated,
    };
    Incoming {
        at: event.at,
        what,
        node: None,
    }
}

fn from_cluster(event: ClusterEvent) -> Incoming {
    let (what, node) = match event.what {
        ClusterFact::Authentication(seen) => (ObservedEvent::Authentication(seen), None),
        ClusterFact::Audit(seen) => (ObservedEvent::Audit(seen), None),
        ClusterFact::Certificate(seen) => (ObservedEvent::Certificate(seen), None),
        ClusterFact::Mapping(seen) => (ObservedEvent::Mapping(seen), None),
        ClusterFact::Node { change, object } => (ObservedEvent::Node(change), object),
    };
    Incoming {
        at: event.at,
        what,
        node,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::testing::EPOCH;

    #[tokio::test]
    async fn a_session_ends_when_both_of_its_sources_have_ended() {
        let (to_aws, aws) = unbounded_channel();
        let (to_cluster, cluster) = unbounded_channel::<ClusterEvent>();
        let mut events = of_session(aws, cluster);
        drop(to_cluster);
        let isolated = AwsEvent {
            at: EPOCH,
            what: AwsEventKind::Isolated,
        };
        to_aws.send(isolated).unwrap();
        let event = events.next().await.unwrap();
        assert_eq!((event.at, &event.what), (EPOCH, &ObservedEvent::Isolated));
        drop(to_aws);
        assert!(events.next().await.is_none());
    }
}
