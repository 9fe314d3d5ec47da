//! User data for another AMI family than that of the node image.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::observation::phases::is_of_nodeadm;
use crate::user_data::OtherFamily;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// nodeadm finds no NodeConfig on `al2023`, or cloud-init ends on `al2`, where nothing reads the NodeConfig.
pub(super) fn other(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let of_nodeadm = facts
        .journal()
        .find(|(_, line)| is_of_nodeadm(line) && !line.by_systemd && line.message.contains("Command failed"));
    // Parse the user data only if it can matter: the rules run after every event.
    let at = of_nodeadm.map(|(at, _)| at).or(facts.user_data_done)?;
    let (other, evidence) = match (OtherFamily::of(facts.plan)?, of_nodeadm) {
        (other @ OtherFamily::BootstrapScriptOnAl2023, Some((at, line))) => {
            (other, Evidence::journal(at, line))
        }
        (other @ OtherFamily::NodeConfigOnAl2, None) => {
            let ended = "cloud-init ended without a script, and no unit of nodeadm wrote a line".to_owned();
            (other, Evidence::new("user data", at, ended))
        }
        (OtherFamily::BootstrapScriptOnAl2023, None) | (OtherFamily::NodeConfigOnAl2, Some(_)) => {
            return None;
        }
    };
    let remedy = other.remedy(facts.plan);
    facts.final_(Cause::WrongAmiFamily, other.what().to_owned(), &evidence, remedy)
}
