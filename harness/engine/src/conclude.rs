//! The end of a scenario, whatever its verdict: writes or removes the evidence, and keeps or removes the nodes.

use std::path::Path;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::observation::Observation;
use nodejoin_core::plan::Plan;
use nodejoin_core::redact::redact_lines;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen};
use nodejoin_node::Node;

use crate::context::RunContext;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::evidence::{self, EvidenceFolder};

/// A node's container, as the end of a scenario handles it.
pub(crate) trait NodeHandle {
    /// Writes what only the container knows. Returns a line for each failure.
    async fn write_evidence(&self, folder: &Path) -> Vec<String>;
    /// Keeps the container after the run. Returns the commands that lead into it.
    async fn keep(&self) -> Result<Vec<String>, EngineError>;
    async fn remove(&self) -> Result<(), EngineError>;
}

/// A node of the run's container engine.
pub(crate) struct ContainerHandle<'a> {
    pub(crate) context: &'a RunContext,
    pub(crate) environment: &'a Environment,
    pub(crate) node: Node,
}

impl NodeHandle for ContainerHandle<'_> {
    async fn write_evidence(&self, folder: &Path) -> Vec<String> {
        let errors = self.node.evidence(&folder.join("node"), &redact_lines).await;
        errors.iter().map(|error| chain(error)).collect()
    }

    async fn keep(&self) -> Result<Vec<String>, EngineError> {
        self.context.keep(self.environment, &self.node).await
    }

    async fn remove(&self) -> Result<(), EngineError> {
        Ok(self.node.remove().await?)
    }
}

/// A node that ran, and what is known of it. An errored scenario has nodes without verdict and observation.
pub(crate) struct FinishedNode<H> {
    pub(crate) plan: Plan,
    pub(crate) folder: EvidenceFolder,
    pub(crate) user_data: Option<Vec<u8>>,
    pub(crate) observed: Option<(Verdict, Observation)>,
    pub(crate) handle: H,
}

/// What scenarios leave behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leave {
    pub(crate) nodes: KeepWhen,
    pub(crate) evidence: EvidenceWhen,
}

impl Leave {
    fn has_evidence(self, passed: bool) -> bool {
        match self.evidence {
            EvidenceWhen::OnFailure => !passed || self.nodes.keeps(passed),
            EvidenceWhen::Always => true,
        }
    }
}

/// What remains of a scenario.
#[derive(Debug, Default)]
pub(crate) struct Conclusion {
    pub(crate) has_evidence: bool,
    /// Commands that lead into what was kept.
    pub(crate) kept: Vec<String>,
    /// A line for everything that failed. It does not change the verdict.
    pub(crate) problems: Vec<String>,
}

/// Writes the evidence, holds the nodes, then keeps or removes each of them.
pub(crate) async fn conclude<H: NodeHandle>(
    leave: Leave,
    plan: &Plan,
    verdict: &Verdict,
    folder: &EvidenceFolder,
    nodes: &[FinishedNode<H>],
    control_plane_log: impl AsyncFnOnce() -> String,
    hold: impl AsyncFnOnce(),
) -> Conclusion {
    let passed = verdict.outcome == Outcome::Passed;
    let is_kept = leave.nodes.keeps(passed);
    let mut conclusion = Conclusion {
        has_evidence: leave.has_evidence(passed),
        ..Conclusion::default()
    };
    if conclusion.has_evidence {
        let log = ("control-plane.log", control_plane_log().await);
        let files = evidence::of_verdict(plan, verdict, folder.age())
            .into_iter()
            .chain([log]);
        conclusion.problems.extend(folder.write(files));
    }
    for node in nodes {
        if conclusion.has_evidence {
            conclusion
                .problems
                .extend(write_node(node, node.folder.path != folder.path).await);
        }
    }
    hold().await;
    for node in nodes {
        if is_kept {
            match node.handle.keep().await {
                Ok(commands) => conclusion.kept.extend(commands),
                Err(error) => conclusion.problem("could not keep the node", &error),
            }
        } else if let Err(error) = node.handle.remove().await {
            // The end of the run removes it.
            conclusion.problem("could not remove the node", &error);
        }
    }
    if !conclusion.has_evidence {
        folder.remove();
    }
    conclusion
}

/// Writes the evidence of one node. Its verdict is that of the scenario unless it has a folder of its own.
async fn write_node<H: NodeHandle>(node: &FinishedNode<H>, has_own_folder: bool) -> Vec<String> {
    let user_data = node.user_data.as_deref().map(evidence::of_user_data);
    let mut problems = node.folder.write(user_data.unwrap_or_default());
    if let Some((verdict, observation)) = &node.observed {
        if has_own_folder {
            problems.extend(
                node.folder
                    .write(evidence::of_verdict(&node.plan, verdict, node.folder.age())),
            );
        }
        problems.extend(node.folder.write(evidence::of_observation(observation)));
    }
    problems.extend(node.handle.write_evidence(&node.folder.path).await);
    problems
}

impl Conclusion {
    fn problem(&mut self, what: &str, error: &EngineError) {
        self.problems.push(format!("{what}: {}", chain(error)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::io;

    use tempfile::TempDir;

    use super::*;
    use crate::testing::plan;
    use crate::verdict::verdict_without_observation;

    /// A container that records what happens to it.
    #[derive(Default)]
    struct Recorded {
        calls: RefCell<Vec<&'static str>>,
        fails: bool,
    }

    impl Recorded {
        fn call(&self, name: &'static str) -> Result<(), EngineError> {
            self.calls.borrow_mut().push(name);
            match self.fails {
                false => Ok(()),
                true => Err(EngineError::Write {
                    path: "/kubeconfig".into(),
                    source: io::Error::from(io::ErrorKind::StorageFull),
                }),
            }
        }
    }

    impl NodeHandle for Recorded {
        async fn write_evidence(&self, folder: &Path) -> Vec<String> {
            std::fs::create_dir_all(folder.join("node")).unwrap();
            std::fs::write(folder.join("node/journal.log"), "journal").unwrap();
            match self.call("evidence") {
                Ok(()) => Vec::new(),
                Err(error) => vec![error.to_string()],
            }
        }

        async fn keep(&self) -> Result<Vec<String>, EngineError> {
            self.call("keep")?;
            Ok(vec!["docker exec".to_owned()])
        }

        async fn remove(&self) -> Result<(), EngineError> {
            self.call("remove")
        }
    }

    struct Sample {
        _run: TempDir,
        folder: EvidenceFolder,
        plan: Plan,
        nodes: Vec<FinishedNode<Recorded>>,
        /// What had happened to the first node when it was held.
        held_after: Cell<Option<Vec<&'static str>>>,
    }

    impl Sample {
        fn new(names: &[&str], observed: bool, fails: bool) -> Self {
            let run = tempfile::tempdir().unwrap();
            let plan = plan("name: x\n");
            let folder = EvidenceFolder::create(run.path(), &plan).unwrap();
            let node = |name: &&str| FinishedNode {
                plan: plan.clone(),
                folder: match names.len() {
                    1 => folder.clone(),
                    _ => folder.create_for_node(name).unwrap(),
                },
                observed: observed.then(|| {
                    (
                        verdict_without_observation(Outcome::Failed),
                        Observation::default(),
                    )
                }),
                user_data: Some(b"#!/bin/sh\nfalse\n".to_vec()),
                handle: Recorded {
                    fails,
                    ..Recorded::default()
                },
            };
            let nodes = names.iter().map(node).collect();
            Self {
                _run: run,
                folder,
                plan,
                nodes,
                held_after: Cell::default(),
            }
        }

        async fn conclude(&self, nodes: KeepWhen, outcome: Outcome) -> Conclusion {
            let evidence = EvidenceWhen::OnFailure;
            self.conclude_with(Leave { nodes, evidence }, outcome).await
        }

        async fn conclude_with(&self, leave: Leave, outcome: Outcome) -> Conclusion {
            let verdict = verdict_without_observation(outcome);
            let log = async || "I1122 the API server's log".to_owned();
            let hold = async || {
                self.held_after
                    .set(self.nodes.first().map(|node| node.handle.calls.borrow().clone()))
            };
            conclude(leave, &self.plan, &verdict, &self.folder, &self.nodes, log, hold).await
        }

        fn has(&self, name: &str) -> bool {
            self.folder.path.join(name).is_file()
        }

        fn calls(&self, index: usize) -> Vec<&'static str> {
            self.nodes[index].handle.calls.borrow().clone()
        }
    }

    fn errored() -> Outcome {
        Outcome::Errored("the control plane ended while nodes joined".to_owned())
    }

    #[tokio::test]
    async fn an_errored_scenario_has_evidence_with_the_log_of_its_control_plane() {
        let sample = Sample::new(&["a"], false, false);
        let conclusion = sample.conclude(KeepWhen::Never, errored()).await;
        assert!(conclusion.has_evidence && conclusion.problems.is_empty());
        for name in [
            "explain.txt",
            "verdict.json",
            "plan.json",
            "control-plane.log",
            "node/journal.log",
            "user-data/user-data.txt",
            "user-data/parts/part-001",
        ] {
            assert!(sample.has(name), "{name}");
        }
        assert_eq!(sample.calls(0), ["evidence", "remove"]);
        let explanation = std::fs::read_to_string(sample.folder.path.join("explain.txt")).unwrap();
        assert!(
            explanation.contains("the control plane ended while nodes joined"),
            "{explanation}"
        );
    }

    #[tokio::test]
    async fn the_nodes_of_an_errored_scenario_are_kept_on_failure() {
        let sample = Sample::new(&["a"], false, false);
        let conclusion = sample.conclude(KeepWhen::OnFailure, errored()).await;
        assert_eq!(conclusion.kept, ["docker exec"]);
        let held_after = sample.held_after.take();
        assert_eq!(
            held_after.unwrap(),
            ["evidence"],
            "a node is held with its evidence written"
        );
        assert_eq!(sample.calls(0), ["evidence", "keep"]);
    }

    #[tokio::test]
    async fn a_scenario_that_errored_before_a_node_started_has_evidence_too() {
        let sample = Sample::new(&[], false, false);
        let conclusion = sample.conclude(KeepWhen::Never, errored()).await;
        assert!(conclusion.has_evidence && sample.has("control-plane.log"));
    }

    #[tokio::test]
    async fn a_passed_scenario_leaves_nothing() {
        let sample = Sample::new(&["a"], true, false);
        let conclusion = sample.conclude(KeepWhen::OnFailure, Outcome::Passed).await;
        assert!(!conclusion.has_evidence && conclusion.kept.is_empty());
        assert!(!sample.folder.path.exists());
        assert_eq!(sample.calls(0), ["remove"]);
    }

    #[tokio::test]
    async fn a_passed_scenario_is_kept_with_its_evidence_on_request() {
        let sample = Sample::new(&["a"], true, false);
        let conclusion = sample.conclude(KeepWhen::Always, Outcome::Passed).await;
        assert!(conclusion.has_evidence && sample.has("node.json"));
        assert_eq!(sample.calls(0), ["evidence", "keep"]);
    }

    #[tokio::test]
    async fn a_passed_scenario_leaves_evidence_and_no_node_on_request() {
        let sample = Sample::new(&["a"], true, false);
        let leave = Leave {
            nodes: KeepWhen::Never,
            evidence: EvidenceWhen::Always,
        };
        let conclusion = sample.conclude_with(leave, Outcome::Passed).await;
        assert!(conclusion.has_evidence && sample.has("node.json"));
        assert_eq!(sample.calls(0), ["evidence", "remove"]);
    }

    #[tokio::test]
    async fn what_fails_at_the_end_is_a_line_and_does_not_stop_the_rest() {
        let sample = Sample::new(&["a", "b"], true, true);
        let conclusion = sample.conclude(KeepWhen::Never, Outcome::Failed).await;
        assert_eq!(conclusion.problems.len(), 4, "{:?}", conclusion.problems);
        assert!(
            conclusion.problems[2].starts_with("could not remove the node: could not write `/kubeconfig`"),
            "{:?}",
            conclusion.problems
        );
        assert_eq!(sample.calls(1), ["evidence", "remove"]);
        for name in ["control-plane.log", "a/verdict.json", "b/node.json"] {
            assert!(sample.has(name), "{name}");
        }
        assert!(
            !sample.has("node.json"),
            "each of several nodes has its own folder"
        );
    }
}
