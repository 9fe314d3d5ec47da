//! Tags of the instance: which ones EC2 refuses, and a tag of the cluster that the instance does not get.

use nodejoin_core::kubernetes::Minor;

use super::report::{AdoptionKind, AdoptionLine, line};
use crate::machine::{Machine, StartedBy, Traits};
use crate::words::CLUSTER_TAG;

/// The first kubelet without the AWS provider, which needs the tag. Neither bootstrap.sh nor nodeadm reads it.
const WITHOUT_PROVIDER: Minor = Minor::new(27);

/// Names a tag of the cluster that Auto Scaling groups have and do not give to their instances, or do not have.
pub(super) fn check_cluster_tag(
    machine: &Machine,
    kubernetes: Option<Minor>,
    report: &mut Vec<AdoptionLine>,
) {
    let traits = &machine.traits;
    let is_of_cluster = |key: &&String| key.starts_with(CLUSTER_TAG);
    if traits.tags.keys().any(|key| is_of_cluster(&key)) {
        return;
    }
    let (problem, what) = match traits.lost_tags.keys().find(is_of_cluster) {
        Some(key) => (
            format!("the Auto Scaling group does not give its instances the tag `{key}`"),
            "let the group propagate it at launch",
        ),
        None if machine.started_by == StartedBy::ScalingGroups && !traits.has_unknown_tags => (
            format!(
                "neither the Auto Scaling group nor its launch template gives instances a tag `{CLUSTER_TAG}NAME`"
            ),
            "add it to the group, propagated at launch, with the value `owned`",
        ),
        None => return,
    };
    let kind = match kubernetes {
        Some(minor) if minor >= WITHOUT_PROVIDER => return,
        Some(_) => AdoptionKind::Problem,
        None => AdoptionKind::Note,
    };
    // Only then does a scenario add no tag of its cluster.
    let of_run = match traits.metadata_tags {
        Some(true) => "",
        _ => "; the instance of the run has the tag nevertheless",
    };
    let text = format!(
        "{problem}: a kubelet before {WITHOUT_PROVIDER} with the AWS provider ends without it; {what}{of_run}"
    );
    line(report, kind, text);
}

/// EC2 starts no instance with tags that its metadata cannot return.
pub(super) fn check_tags(traits: &Traits, report: &mut Vec<AdoptionLine>) {
    note_several_clusters(traits, report);
    let has_paths = traits.metadata_tags == Some(true);
    let is_refused = |key: &&String| key.contains(['/', ' ']);
    if let Some(key) = traits.tags.keys().find(is_refused).filter(|_| has_paths) {
        let text = format!(
            "EC2 starts no instance with the tag `{key}` while tags in the metadata are on (`InstanceMetadataTags`): their keys have \
             neither `/` nor blanks"
        );
        line(report, AdoptionKind::Problem, text);
    }
}

/// Auto Scaling groups of one launch template can give their instances tags of different clusters.
fn note_several_clusters(traits: &Traits, report: &mut Vec<AdoptionLine>) {
    let names = traits.tags.keys().filter_map(|key| key.strip_prefix(CLUSTER_TAG));
    let names: Vec<&str> = names.filter(|name| !name.contains(['$', '{', '<'])).collect();
    if names.len() > 1 {
        let text = format!(
            "tags name several clusters ({}), and an instance is a node of one: groups of different clusters need user data of their own",
            names.join(", ")
        );
        line(report, AdoptionKind::Note, text);
    }
}
