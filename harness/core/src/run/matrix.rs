//! Runs scenarios on several versions of Kubernetes, each run with its own id.

use crate::kubernetes::{
    InvalidVersion, Minor, RequestedVersions, SkewError, Version, VersionRequest, check_skew,
    version_in_range,
};
use crate::plan::Plan;

/// Greater than the patch number of any release.
const LAST_PATCH: u32 = 999;

/// The versions of a run. [`Matrix::new`] refuses unsupported combinations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    kubernetes: Vec<VersionRequest>,
    kubelet: Option<VersionRequest>,
}

/// The requested versions cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    #[error(transparent)]
    Version(#[from] InvalidVersion),
    #[error(transparent)]
    Skew(#[from] SkewError),
}

impl MatrixError {
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Version(error) => error.hint().to_owned(),
            Self::Skew(error) => error.hint(),
        }
    }
}

impl Matrix {
    /// Combines versions of control planes with one optional version for all kubelets.
    ///
    /// # Errors
    /// Upstream does not support the kubelet with one of the control planes.
    pub fn new(kubernetes: Vec<VersionRequest>, kubelet: Option<VersionRequest>) -> Result<Self, SkewError> {
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

    /// Parses a comma-separated list of control planes and a kubelet version. Empty texts mean no request, because CI
    /// sets unused variables to empty.
    ///
    /// # Errors
    /// A version is invalid, or the combination is not supported.
    pub fn read(kubernetes: &str, kubelet: &str) -> Result<Self, MatrixError> {
        let given = |text: &&str| !text.is_empty();
        let kubernetes = kubernetes.split(',').map(str::trim).filter(given);
        let kubernetes = kubernetes.map(str::parse).collect::<Result<_, _>>()?;
        let kubelet = Some(kubelet.trim()).filter(given).map(str::parse).transpose()?;
        Ok(Self::new(kubernetes, kubelet)?)
    }

    /// The requested versions, one entry per version of the control plane.
    #[must_use]
    pub fn each(&self) -> Vec<RequestedVersions> {
        let request = |kubernetes: Option<&VersionRequest>| RequestedVersions {
            kubernetes: kubernetes.cloned(),
            kubelet: self.kubelet.clone(),
        };
        match self.kubernetes.is_empty() {
            true => vec![request(None)],
            false => self
                .kubernetes
                .iter()
                .map(|version| request(Some(version)))
                .collect(),
        }
    }

    /// Each plan on each version, grouped by version. With several versions the ids end with `@` and the version.
    #[must_use]
    pub fn spread(&self, plans: &[Plan]) -> Vec<Plan> {
        let each = self.each();
        let is_one = each.len() == 1;
        let on = |requested: RequestedVersions| {
            let plans = plans.iter().cloned();
            plans.map(move |plan| on_version(plan, is_one, &requested))
        };
        each.into_iter().flat_map(on).collect()
    }
}

fn on_version(plan: Plan, is_one: bool, requested: &RequestedVersions) -> Plan {
    let named = requested.kubernetes.as_ref().filter(|_| !is_one);
    let id = named.and_then(|version| format!("{}@{version}", plan.id).parse().ok());
    Plan {
        id: id.unwrap_or(plan.id),
        requested: requested.clone(),
        ..plan
    }
}

/// Why a plan does not apply to this machine or to the requested versions, as far as this is known before the images
/// exist.
#[must_use]
pub fn not_for_request(plan: &Plan) -> Option<String> {
    if let Some(name) = plan.unset.first() {
        return Some(format!(
            "the scenario requires the variable {name}, which is not set"
        ));
    }
    let requested = plan.requested.of_kubelet();
    let kubelet = kubelet_ranges(plan).find_map(|range| range.excluded_by_request(requested));
    kubelet.or_else(|| {
        let range = kubernetes_range(plan)?;
        range.excluded_by_request(plan.requested.kubernetes.as_ref())
    })
}

/// Whether a scenario applies to a version, of which both the control plane and the kubelet are.
#[must_use]
pub fn applies_to(plan: &Plan, version: &VersionRequest) -> bool {
    let mut ranges = kubernetes_range(plan).into_iter().chain(kubelet_ranges(plan));
    ranges.all(|range| range.excluded_by_request(Some(version)).is_none())
}

/// Why a plan does not apply to the kubelet of its image, of this version.
#[must_use]
pub fn not_for_kubelet(plan: &Plan, version: &str) -> Option<String> {
    let version = plan.probed_kubelet.as_deref().unwrap_or(version);
    kubelet_ranges(plan).find_map(|range| range.excluded_by(version))
}

/// Why a plan does not apply to the version of its control plane.
#[must_use]
pub fn not_for_kubernetes(plan: &Plan, version: &str) -> Option<String> {
    kubernetes_range(plan)?.excluded_by(version)
}

/// A range of versions, and what requires it.
struct RequiredRange<'a> {
    by: String,
    what: &'static str,
    wanted: &'a semver::VersionReq,
}

fn kubernetes_range(plan: &Plan) -> Option<RequiredRange<'_>> {
    Some(RequiredRange {
        by: "the scenario".to_owned(),
        what: "Kubernetes",
        wanted: plan.kubernetes.as_ref()?,
    })
}

fn kubelet_ranges(plan: &Plan) -> impl Iterator<Item = RequiredRange<'_>> {
    let of = |by: String, wanted| RequiredRange {
        by,
        what: "kubelet",
        wanted,
    };
    let own = plan.kubelet.iter();
    let of_overlays = plan.overlay_ranges.iter();
    own.map(move |wanted| of("the scenario".to_owned(), wanted))
        .chain(of_overlays.map(move |range| of(format!("the overlay `{}`", range.manifest), &range.kubelet)))
}

impl RequiredRange<'_> {
    fn excluded_by(&self, version: &str) -> Option<String> {
        (!version_in_range(self.wanted, version)).then(|| self.reason(version))
    }

    fn excluded_by_request(&self, requested: Option<&VersionRequest>) -> Option<String> {
        let requested = requested?;
        // Any release of a minor version can be chosen: it is out of range only if neither its first nor its last
        // release matches.
        let possible = match requested {
            VersionRequest::Exact(version) => vec![version.clone()],
            VersionRequest::Minor(minor) => [0, LAST_PATCH]
                .iter()
                .filter_map(|patch| release(*minor, *patch))
                .collect(),
        };
        let is_in = possible
            .iter()
            .any(|version| version_in_range(self.wanted, &version.to_string()));
        (!is_in).then(|| self.reason(&requested.to_string()))
    }

    fn reason(&self, version: &str) -> String {
        let Self { by, what, wanted } = self;
        format!("{by} requires {what} {wanted}, and this is {version}")
    }
}

fn release(minor: Minor, patch: u32) -> Option<Version> {
    format!("v{minor}.{patch}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Overlay, OverlayRange};
    use crate::testing::plan;

    fn request(text: &str) -> VersionRequest {
        text.parse().unwrap()
    }

    fn ids(kubernetes: &str) -> Vec<String> {
        let plans = Matrix::read(kubernetes, "").unwrap().spread(&[plan()]);
        plans.iter().map(|plan| plan.id.to_string()).collect()
    }

    #[test]
    fn each_plan_runs_on_each_version_and_a_single_version_is_not_in_the_id() {
        assert_eq!(ids("1.20, 1.32,1.20"), ["demo@1.20", "demo@1.32"]);
        assert_eq!(ids("v1.32.1"), ["demo"]);
        assert_eq!(ids(""), ["demo"]);
        let plan = &Matrix::read("1.32.1", "").unwrap().spread(&[plan()])[0];
        assert_eq!(plan.requested.of_kubelet(), Some(&request("1.32.1")));
    }

    #[test]
    fn a_kubelet_version_must_be_supported_by_every_control_plane() {
        assert!(Matrix::read("1.32,1.36", "1.33").is_err(), "newer than 1.32");
        let older = Matrix::read("1.32,1.36", "1.32").unwrap_err();
        assert!(older.hint().contains("version-skew-policy"), "{older}");
        let plans = Matrix::read("1.35,1.36", "1.33").unwrap().spread(&[plan()]);
        assert_eq!(plans[1].requested.of_kubelet(), Some(&request("1.33")));
        assert_eq!(
            Matrix::read("1.32,latest", "").unwrap_err().to_string(),
            "invalid Kubernetes version `latest`"
        );
    }

    #[test]
    fn a_variable_that_is_not_set_is_a_reason_to_skip() {
        let named = Plan {
            unset: vec!["NODEADM".to_owned()],
            ..plan()
        };
        assert_eq!(
            not_for_request(&named).unwrap(),
            "the scenario requires the variable NODEADM, which is not set"
        );
    }

    #[test]
    fn requested_versions_decide_before_images_exist() {
        let mut old = plan();
        old.kubelet = Some("<1.24".parse().unwrap());
        old.requested.kubernetes = Some(request("1.32"));
        assert_eq!(
            not_for_request(&old).unwrap(),
            "the scenario requires kubelet <1.24, and this is 1.32"
        );
        old.requested.kubelet = Some(request("1.23"));
        assert_eq!(
            not_for_request(&old),
            None,
            "the kubelet may be older than the control plane"
        );
        let mut patch = plan();
        patch.kubernetes = Some(">=1.32.5".parse().unwrap());
        patch.requested.kubernetes = Some(request("1.32"));
        assert_eq!(
            not_for_request(&patch),
            None,
            "the newest release of 1.32 can match"
        );
        patch.requested.kubernetes = Some(request("1.32.4"));
        assert!(
            not_for_request(&patch)
                .unwrap()
                .starts_with("the scenario requires Kubernetes >=1.32.5")
        );
    }

    #[test]
    fn a_version_outside_of_the_range_is_a_reason_to_skip() {
        let mut newer = plan();
        assert_eq!(not_for_kubernetes(&newer, "v1.20.2"), None);
        newer.kubernetes = Some(">=1.24".parse().unwrap());
        assert_eq!(
            not_for_kubernetes(&newer, "v1.20.2").unwrap(),
            "the scenario requires Kubernetes >=1.24, and this is v1.20.2"
        );
        assert_eq!(not_for_kubernetes(&newer, "v1.24.3"), None);
    }

    #[test]
    fn an_overlay_is_for_kubelets_of_its_range() {
        let mut over = plan();
        over.kubelet = Some(">=1.20".parse().unwrap());
        over.add_overlay(&Overlay {
            files: Vec::new(),
            ranges: vec![OverlayRange {
                manifest: "new/overlay.yaml".to_owned(),
                kubelet: ">=1.28".parse().unwrap(),
            }],
        });
        let reason = "the overlay `new/overlay.yaml` requires kubelet >=1.28, and this is";
        assert_eq!(
            not_for_kubelet(&over, "v1.27.9").unwrap(),
            format!("{reason} v1.27.9")
        );
        assert_eq!(not_for_kubelet(&over, "v1.28.0"), None);
        assert!(!applies_to(&over, &request("1.27")) && applies_to(&over, &request("1.28")));
        assert_eq!(not_for_request(&over), None, "the version is not known yet");
        over.requested.kubelet = Some(request("1.27"));
        assert_eq!(not_for_request(&over).unwrap(), format!("{reason} 1.27"));
    }
}
