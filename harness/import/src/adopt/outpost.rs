//! The Outpost of a local cluster.

use nodejoin_core::plan::region::Region;

use super::report::{AdoptionKind, AdoptionLine, line};
use super::stated::Stated;
use super::yaml_text::YamlText;

/// The ARN of an Outpost appears in answers of the EKS API, and nothing of a node depends on it.
const REGION: &str = "eu-west-1";
const ACCOUNT: &str = "111122223333";
const OUTPOST_ID: &str = "op-0d4579457ff2dc345";
/// For user data that does not state the id, which nodeadm and bootstrap.sh refuse.
const CLUSTER_ID: &str = "2ff0c5d8-6a5e-4d0b-9f0a-3c1d0b6c3a11";

/// `cluster.eks.outpost` of the scenario.
pub(crate) fn outpost(
    stated: &Stated,
    region: Option<&Region>,
    account: Option<&str>,
    report: &mut Vec<AdoptionLine>,
) -> Option<YamlText> {
    if !stated.is_on_outpost {
        if let Some(id) = &stated.cluster_id {
            let text = format!(
                "the cluster's id {id} has no effect: the user data does not state a local cluster on an Outpost"
            );
            line(report, AdoptionKind::Note, text);
        }
        return None;
    }
    let partition = region.map_or("aws", Region::partition);
    let name = region.map_or(REGION, Region::as_str);
    let arn = format!(
        "arn:{partition}:outposts:{name}:{}:outpost/{OUTPOST_ID}",
        account.unwrap_or(ACCOUNT)
    );
    if let Some(id) = &stated.cluster_id {
        line(
            report,
            AdoptionKind::Adopted,
            format!("local cluster {id} on an Outpost"),
        );
    }
    line(
        report,
        AdoptionKind::Chosen,
        format!("the Outpost {arn}: user data does not name it"),
    );
    Some(YamlText::map([
        ("arn", Some(YamlText::text(&arn))),
        (
            "cluster_id",
            Some(YamlText::text(stated.cluster_id.as_deref().unwrap_or(CLUSTER_ID))),
        ),
    ]))
}
