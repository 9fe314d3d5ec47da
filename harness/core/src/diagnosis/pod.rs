//! A ready node on which the scenario's pod does not answer.

use super::facts::{Evidence, Facts, between, sentence};
use super::types::Finding;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

pub(super) fn does_not_answer(facts: &Facts<'_>) -> Option<Finding> {
    let pod = facts.observation.collected.as_ref()?.pod.as_ref();
    let detail = &pod.filter(|pod| !pod.answered)?.detail;
    // The events of the pod follow its status, the newest last.
    let last = detail.rsplit("; event ").next().unwrap_or(detail);
    let (why, remedy) = reason(last);
    let because = format!("the node is ready, but {why}");
    let evidence = Evidence::new("the pod", facts.since(Phase::Ready).unwrap_or(0), last);
    facts.found(Cause::PodNotAnswering, because, &evidence, remedy.to_owned())
}

/// Why the pod does not answer, and what to do.
fn reason(event: &str) -> (String, &'static str) {
    let image = between(event, "image \"", &['"']);
    let is_sandbox = event.starts_with("FailedCreatePodSandBox");
    // With a blank before them: EKS' account 602401143452 is in the names of its images.
    let is_denied = [
        " 401",
        " 403",
        "authorization failed",
        "no basic auth credentials",
    ]
    .iter()
    .any(|denied| event.contains(denied));
    if let Some(image) = image.filter(|_| is_sandbox) {
        let why = format!(
            "no pod starts on it: the container runtime cannot pull the image `{image}` of the pause container"
        );
        let remedy = match is_denied {
            true => {
                "pull the image before the kubelet starts, as `sandbox-image.service` of EKS AMIs does, or name one that \
                 anybody can read: the container runtime asks the registry for it without the credentials of the node"
            }
            false => {
                "name an image with its tag, in a registry that the node reaches: `sandbox_image` of containerd's \
                 configuration, or `--pod-infra-container-image` of a kubelet with docker"
            }
        };
        return (why, remedy);
    }
    if is_sandbox && event.contains("network") {
        return (
            "no pod starts on it: the network plugin cannot connect one".to_owned(),
            "install the program that the configuration in /etc/cni/net.d names into the folder of plugins, or start the \
             agent that the plugin asks",
        );
    }
    if let Some(image) = image.filter(|_| event.contains("pull")) {
        return (
            format!("the kubelet cannot pull the image `{image}` of the pod"),
            "check the name and the tag of the image, the rights of the node's role to read the registry, and the kubelet's \
             flags of credential providers",
        );
    }
    (
        format!("its pod does not answer: {}", sentence(event)),
        "read the journals of the kubelet and of the container runtime in the evidence",
    )
}
