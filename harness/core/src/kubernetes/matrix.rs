//! Scenarios on several versions: each runs on each, under an id of its own.

use serde::{Deserialize, Serialize};

use super::skew::{SkewError, check_skew};
use super::version::{InvalidVersion, Version, VersionAsk};
use crate::plan::{Plan, is_within};

/// The versions that a run is asked for. They go together: [`Matrix::new`] refuses those that do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    kubernetes: Vec<VersionAsk>,
    kubelet: Option<VersionAsk>,
}

/// Versions that nothing can be run on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// One is none.
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    /// Upstream does not support two of them together.
    #[error(transparent)]
    Skew(#[from] SkewError),
}

impl MatrixError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Version(error) => error.hint().to_owned(),
            Self::Skew(error) => error.hint(),
        }
    }
}

/// The versions that one plan is asked to run on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedVersions {
    /// Of the control plane; what can be had without asking where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<VersionAsk>,
    /// Of the kubelet; the control plane's where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<VersionAsk>,
}

impl RequestedVersions {
    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What the node's kubelet shall be.
    #[must_use]
    pub fn of_kubelet(&self) -> Option<&VersionAsk> {
        self.kubelet.as_ref().or(self.kubernetes.as_ref())
    }
}

impl Matrix {
    /// Versions of control planes, where any are asked for, and one of all kubelets, where they are not to be the control plane's.
    ///
    /// # Errors
    /// Where upstream does not support the kubelet with one of the control planes.
    pub fn new(kubernetes: Vec<VersionAsk>, kubelet: Option<VersionAsk>) -> Result<Self, SkewError> {
        let mut once = Vec::new();
        for version in kubernetes {
            if !once.contains(&version) {
                once.push(version);
            }
        }
        for version in &once {
            if let Some(kubelet) = &kubelet {
                check_skew(version.minor(), kubelet.minor())?;
            }
        }
        Ok(Self {
            kubernetes: once,
            kubelet,
        })
    }

    /// The same from texts, the first with commas. An empty one is as good as none: that is how CI leaves a variable out.
    ///
    /// # Errors
    /// Where a text is no version, or they do not go together.
    pub fn read(kubernetes: &str, kubelet: &str) -> Result<Self, MatrixError> {
        let given = |text: &&str| !text.is_empty();
        let kubernetes = kubernetes.split(',').map(str::trim).filter(given);
        let kubernetes = kubernetes.map(str::parse).collect::<Result<_, _>>()?;
        let kubelet = Some(kubelet.trim()).filter(given).map(str::parse).transpose()?;
        Ok(Self::new(kubernetes, kubelet)?)
    }

    /// What each plan is asked to run on, one for each version of the control plane.
    #[must_use]
    pub fn each(&self) -> Vec<RequestedVersions> {
        let asked = |kubernetes: Option<&VersionAsk>| RequestedVersions {
            kubernetes: kubernetes.cloned(),
            kubelet: self.kubelet.clone(),
        };
        match self.kubernetes.is_empty() {
            true => vec![asked(None)],
            false => self
                .kubernetes
                .iter()
                .map(|version| asked(Some(version)))
                .collect(),
        }
    }

    /// Each plan on each version, one version after the other. The ids of several versions end with `@` and the version.
    #[must_use]
    pub fn spread(&self, plans: &[Plan]) -> Vec<Plan> {
        let each = self.each();
        let is_one = each.len() == 1;
        let on = |asked: RequestedVersions| {
            let plans = plans.iter().cloned();
            plans.map(move |plan| on_version(plan, is_one, &asked))
        };
        each.into_iter().flat_map(on).collect()
    }
}

fn on_version(plan: Plan, is_one: bool, asked: &RequestedVersions) -> Plan {
    let named = asked.kubernetes.as_ref().filter(|_| !is_one);
    let id = named.and_then(|version| format!("{}@{version}", plan.id).parse().ok());
    Plan {
        id: id.unwrap_or(plan.id),
        asked: asked.clone(),
        ..plan
    }
}

/// Why a plan is not for this machine, or for the versions that it is asked to run on, as far as that can be told before they
/// are there.
#[must_use]
pub fn not_for_asked(plan: &Plan) -> Option<String> {
    if let Some(name) = plan.unset.first() {
        return Some(format!(
            "the scenario is for machines with {name}, which is not set here"
        ));
    }
    let kubelet = not_for_ask("kubelet", plan.kubelet.as_ref(), plan.asked.of_kubelet());
    kubelet.or_else(|| {
        not_for_ask(
            "Kubernetes",
            plan.kubernetes.as_ref(),
            plan.asked.kubernetes.as_ref(),
        )
    })
}

/// Why a version is outside of what a scenario is for.
#[must_use]
pub fn not_for(what: &str, wanted: Option<&semver::VersionReq>, version: &str) -> Option<String> {
    let wanted = wanted?;
    (!is_within(wanted, version)).then(|| reason(what, wanted, version))
}

fn not_for_ask(
    what: &str,
    wanted: Option<&semver::VersionReq>,
    asked: Option<&VersionAsk>,
) -> Option<String> {
    let (wanted, asked) = (wanted?, asked?);
    // Of a minor version any release may come: only where neither its first nor its last would do, none does.
    let possible = match asked {
        VersionAsk::Exact(version) => vec![version.clone()],
        VersionAsk::Minor(minor) => [0, LAST_PATCH]
            .iter()
            .filter_map(|patch| release(*minor, *patch))
            .collect(),
    };
    let is_out = !possible
        .iter()
        .any(|version| is_within(wanted, &version.to_string()));
    is_out.then(|| reason(what, wanted, &asked.to_string()))
}

fn release(minor: super::Minor, patch: u32) -> Option<Version> {
    format!("v{minor}.{patch}").parse().ok()
}

/// No minor version has had as many releases.
const LAST_PATCH: u32 = 999;

fn reason(what: &str, wanted: &semver::VersionReq, version: &str) -> String {
    format!("the scenario is for {what} {wanted}, and this is {version}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    fn ask(text: &str) -> VersionAsk {
        text.parse().unwrap()
    }

    fn ids(kubernetes: &str) -> Vec<String> {
        let plans = Matrix::read(kubernetes, "").unwrap().spread(&[plan()]);
        plans.iter().map(|plan| plan.id.to_string()).collect()
    }

    #[test]
    fn each_plan_runs_on_each_version_and_one_version_is_not_named() {
        assert_eq!(ids("1.20, 1.32,1.20"), ["demo@1.20", "demo@1.32"]);
        assert_eq!(ids("v1.32.1"), ["demo"]);
        assert_eq!(ids(""), ["demo"]);
        let plan = &Matrix::read("1.32.1", "").unwrap().spread(&[plan()])[0];
        assert_eq!(plan.asked.of_kubelet(), Some(&ask("1.32.1")));
    }

    #[test]
    fn a_kubelet_of_its_own_must_go_with_every_control_plane() {
        assert!(Matrix::read("1.32,1.36", "1.33").is_err(), "newer than 1.32");
        let older = Matrix::read("1.32,1.36", "1.32").unwrap_err();
        assert!(older.hint().contains("version-skew-policy"), "{older}");
        let plans = Matrix::read("1.35,1.36", "1.33").unwrap().spread(&[plan()]);
        assert_eq!(plans[1].asked.of_kubelet(), Some(&ask("1.33")));
        assert_eq!(
            Matrix::read("1.32,latest", "").unwrap_err().to_string(),
            "`latest` is not a version of Kubernetes"
        );
    }

    #[test]
    fn a_variable_that_is_not_set_is_a_reason() {
        let named = Plan {
            unset: vec!["NODEADM".to_owned()],
            ..plan()
        };
        assert_eq!(
            not_for_asked(&named).unwrap(),
            "the scenario is for machines with NODEADM, which is not set here"
        );
    }

    #[test]
    fn what_is_asked_for_tells_before_it_is_there_that_a_plan_is_not_for_it() {
        let mut old = plan();
        old.kubelet = Some("<1.24".parse().unwrap());
        old.asked.kubernetes = Some(ask("1.32"));
        assert_eq!(
            not_for_asked(&old).unwrap(),
            "the scenario is for kubelet <1.24, and this is 1.32"
        );
        old.asked.kubelet = Some(ask("1.23"));
        assert_eq!(
            not_for_asked(&old),
            None,
            "the kubelet may be older than the control plane"
        );
        let mut patch = plan();
        patch.kubernetes = Some(">=1.32.5".parse().unwrap());
        patch.asked.kubernetes = Some(ask("1.32"));
        assert_eq!(
            not_for_asked(&patch),
            None,
            "the newest of 1.32 may be such a one"
        );
        patch.asked.kubernetes = Some(ask("1.32.4"));
        assert!(
            not_for_asked(&patch)
                .unwrap()
                .starts_with("the scenario is for Kubernetes >=1.32.5")
        );
    }

    #[test]
    fn a_version_outside_of_the_range_is_a_reason_to_skip() {
        let wanted = ">=1.24".parse().unwrap();
        let reason = not_for("Kubernetes", Some(&wanted), "v1.20.2").unwrap();
        assert_eq!(
            reason,
            "the scenario is for Kubernetes >=1.24, and this is v1.20.2"
        );
        assert_eq!(not_for("Kubernetes", Some(&wanted), "v1.24.3"), None);
        assert_eq!(not_for("Kubernetes", None, "v1.20.2"), None);
    }
}
