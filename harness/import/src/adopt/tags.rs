//! Tags of the instance: which ones EC2 refuses, and a tag of the cluster that the instance does not get.

use nodejoin_core::kubernetes::Minor;

use super::trial::{AdoptionKind, AdoptionLine, line};
use crate::machine::Traits;

/// How tags name a cluster.
pub(super) const CLUSTER_TAG: &str = "kubernetes.io/cluster/";
/// The first kubelet without the AWS provider, which needs the tag. Neither bootstrap.sh nor nodeadm reads it.
const WITHOUT_PROVIDER: Minor = Minor::new(27);

/// Names a tag of the cluster that Auto Scaling groups have and do not give to their instances.
pub(super) fn check_cluster_tag(traits: &Traits, kubernetes: Option<Minor>, report: &mut Vec<AdoptionLine>) {
    let is_of_cluster = |key: &&String| key.starts_with(CLUSTER_TAG);
    let lost = traits.lost_tags.keys().find(is_of_cluster);
    let Some(key) = lost.filter(|_| !traits.tags.keys().any(|key| is_of_cluster(&key))) else {
        return;
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
        "the Auto Scaling group does not give its instances the tag `{key}`: a kubelet before {WITHOUT_PROVIDER} with the AWS provider \
         ends without it; let the group propagate it at launch{of_run}"
    );
    line(report, kind, text);
}

/// EC2 starts no instance with tags that its metadata cannot return.
pub(super) fn check_tags(traits: &Traits, report: &mut Vec<AdoptionLine>) {
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
