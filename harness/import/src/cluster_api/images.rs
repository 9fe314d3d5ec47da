//! The AMI that Cluster API finds for machines whose manifest names none.

use super::manifests::of_kind;
use crate::machine::AmiFamily;
use crate::tree::Tree;

/// Fields by which it searches for AMIs of other owners than EKS.
const OTHER_SEARCHES: [&str; 3] = ["imageLookupFormat", "imageLookupOrg", "imageLookupBaseOS"];

/// The family of the AMI of EKS that Cluster API looks up for the specification of a machine. `None`: the file names an
/// AMI, or the search is for another one.
pub(super) fn looked_up_family(documents: &[&Tree], spec: &Tree) -> Option<AmiFamily> {
    let control_plane = of_kind(documents, "AWSManagedControlPlane");
    let control_plane = control_plane.and_then(|plane| plane.get("spec"));
    let searches = |tree: &Tree| {
        let mut fields = OTHER_SEARCHES.into_iter();
        fields.any(|field| tree.text_at(&[field]).is_some())
    };
    let is_of_other = searches(spec) || control_plane.is_some_and(searches);
    if is_of_other || spec.text_at(&["ami", "id"]).is_some() {
        return None;
    }
    match spec.text_at(&["ami", "eksLookupType"]).as_deref() {
        Some("AmazonLinux2023" | "AmazonLinux2023GPU") => Some(AmiFamily::Al2023),
        Some("AmazonLinux" | "AmazonLinuxGPU") => Some(AmiFamily::Al2),
        // `eksAMILookup` takes the parameter of Amazon Linux 2 then.
        None => control_plane.map(|_| AmiFamily::Al2),
        Some(_) => None,
    }
}
