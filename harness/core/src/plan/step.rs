//! What is done to a node after it joined: it is rebooted, replaced, forgotten, set up again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::plan::InstancePlan;
use crate::plan::expect::{Expect, NodeExpect, UserDataExpect};

/// What is done to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Its system is rebooted: systemd stops everything and starts again. cloud-init does not run user data a second time.
    Reboot,
    /// The scripts of its user data are run once more, as root, in their order.
    RunUserDataAgain,
    /// The instance is terminated, and another one boots with its private address, and so with its name. The Node stays.
    ReplaceInstance,
    /// The Node is deleted, and the instance goes on.
    DeleteNode,
    /// The kubelet is restarted.
    RestartKubelet,
}

impl Action {
    /// The word that stands in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::RunUserDataAgain => "run-user-data-again",
            Self::ReplaceInstance => "replace-instance",
            Self::DeleteNode => "delete-node",
            Self::RestartKubelet => "restart-kubelet",
        }
    }

    /// Whether a system boots, which asks the metadata address whose it is.
    #[must_use]
    pub fn boots(self) -> bool {
        matches!(self, Self::Reboot | Self::ReplaceInstance)
    }

    /// Whether cloud-init or the harness runs user data, or at least looks at it.
    #[must_use]
    pub fn minds_user_data(self) -> bool {
        self.boots() || self == Self::RunUserDataAgain
    }

    /// What must be seen after it where a scenario does not say.
    #[must_use]
    pub fn expected(self) -> Expect {
        let node = |same, booted_again| NodeExpect {
            same: Some(same),
            booted_again,
            ready: Some(true),
            ..NodeExpect::default()
        };
        let mut expect = Expect::default();
        match self {
            Self::Reboot => {
                expect.phase = Some(Phase::Ready);
                expect.node = Some(node(true, Some(true)));
            }
            Self::RunUserDataAgain => {
                expect.node = Some(node(true, None));
                expect.user_data = Some(UserDataExpect {
                    succeeded: Some(true),
                    ..UserDataExpect::default()
                });
            }
            Self::ReplaceInstance => expect.phase = Some(Phase::Ready),
            Self::DeleteNode => expect.diagnosis = Some(Cause::NodeDeleted),
            Self::RestartKubelet => {
                expect.phase = Some(Phase::Ready);
                expect.node = Some(NodeExpect {
                    ready: Some(true),
                    ..NodeExpect::default()
                });
            }
        }
        expect
    }
}

/// A step of a scenario, after everything before it was seen as it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepPlan {
    /// What is done.
    pub action: Action,
    /// The instance from then on.
    pub instance: InstancePlan,
    /// What must be seen after it.
    pub expect: Expect,
}
