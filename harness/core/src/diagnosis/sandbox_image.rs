//! The image of the pause container, which the kubelet's unit can require before it starts.

use super::facts::{Evidence, Facts, between, reports_failure};
use super::types::Finding;
use crate::observation::{JournalLine, Millis};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The unit of AMIs that pulls the image.
const UNIT: &str = "sandbox-image.service";

pub(super) fn not_pulled(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let lines: Vec<(Millis, &JournalLine)> = facts
        .journal()
        .filter(|(_, line)| line.unit.as_deref() == Some(UNIT))
        .collect();
    let is_pulled = |line: &JournalLine| line.by_systemd && line.message.starts_with("Finished ");
    if lines.iter().any(|(_, line)| is_pulled(line)) {
        return None;
    }
    let mut of_programs = lines.into_iter().filter(|(_, line)| !line.by_systemd);
    // The first failure says why. Later ones are retries, and the last of them can be cut off by a timeout.
    let (at, line) =
        of_programs.find(|(_, line)| reports_failure(line) || line.message.contains("required"))?;
    let image = between(&line.message, "reference \"", &['"']);
    let image = image.map(|image| format!(" `{image}`")).unwrap_or_default();
    let because = format!(
        "{UNIT} cannot pull the image{image} of the pause container, and the kubelet's unit requires it"
    );
    let remedy = "name an image with its tag, in a registry of the node's region that the node's role can read, where \
                  the script writes `sandbox_image`"
        .to_owned();
    facts.final_(
        Cause::SandboxImageNotPulled,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}
