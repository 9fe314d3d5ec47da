//! Actions on a node after its join: reboot, replace, delete, run user data again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::expect::objects::NodeExpect;
use crate::plan::expect::{Expect, UnitExpect, UserDataExpect};
use crate::plan::instance::InstancePlan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// An action on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Reboots the operating system: systemd stops all units and starts again. cloud-init does not run user data a
    /// second time.
    Reboot,
    /// Runs the scripts of the user data again, as root, in order.
    RunUserDataAgain,
    /// Terminates the instance and boots another one with the same private address and name. The Node stays.
    ReplaceInstance,
    /// Deletes the Node. The instance keeps running.
    DeleteNode,
    /// Restarts the kubelet.
    RestartKubelet,
    /// Restarts the systemd unit that `unit` names.
    RestartUnit,
    /// Stops the systemd unit that `unit` names.
    StopUnit,
}

impl Action {
    /// The name in scenarios and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::RunUserDataAgain => "run-user-data-again",
            Self::ReplaceInstance => "replace-instance",
            Self::DeleteNode => "delete-node",
            Self::RestartKubelet => "restart-kubelet",
            Self::RestartUnit => "restart-unit",
            Self::StopUnit => "stop-unit",
        }
    }

    /// Whether the action is about a unit that the step names.
    #[must_use]
    pub fn has_unit(self) -> bool {
        matches!(self, Self::RestartUnit | Self::StopUnit)
    }

    /// Whether the action boots an operating system, which then queries the metadata service.
    #[must_use]
    pub fn boots(self) -> bool {
        matches!(self, Self::Reboot | Self::ReplaceInstance)
    }

    /// Whether cloud-init or the harness reads user data during the action.
    #[must_use]
    pub fn minds_user_data(self) -> bool {
        self.boots() || self == Self::RunUserDataAgain
    }

    /// The default expectation after the action on a unit, if it has one.
    #[must_use]
    pub fn expected(self, unit: Option<&str>) -> Expect {
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
            Self::StopUnit => {
                let stopped = |unit: &str| (unit.to_owned(), UnitExpect::State("inactive".to_owned()));
                expect.units = unit.map(stopped).into_iter().collect();
            }
            Self::RestartKubelet | Self::RestartUnit => {
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

/// A step of a scenario. It starts after all earlier expectations hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPlan {
    /// The action.
    pub action: Action,
    /// The unit of `restart-unit` and `stop-unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Words that the scripts of `run-user-data-again` lose: they had them only the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// The instance after the action.
    pub instance: InstancePlan,
    /// The expected outcome.
    pub expect: Expect,
}
