//! How many pods fit on an instance type whose pods get addresses of the VPC.

use nodejoin_core::vocabulary::ec2_type::{Ec2Type, ec2_type};

/// Pods of an instance type; `None`: an unknown type.
pub(crate) fn max_pods(instance_type: &str) -> Option<u32> {
    ec2_type(instance_type).and_then(Ec2Type::max_pods)
}

/// Pods of a managed node group whose nodes EKS bootstraps: those of its smallest type. `None` if a type is unknown.
pub(crate) fn least_max_pods_of_group(instance_types: &[String]) -> Option<u32> {
    let limits: Option<Vec<u32>> = instance_types
        .iter()
        .map(|name| max_pods_of_group(name))
        .collect();
    limits?.into_iter().min()
}

/// EKS gives the nodes of a managed node group no more pods than this, by their processors.
fn max_pods_of_group(instance_type: &str) -> Option<u32> {
    const MANY_PROCESSORS: u32 = 30;
    let known = ec2_type(instance_type)?;
    let most = if known.vcpus < MANY_PROCESSORS { 110 } else { 250 };
    Some(known.max_pods()?.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_eks() {
        assert_eq!(max_pods("m5.large"), Some(29));
        assert_eq!(max_pods("m5.huge"), None);
        let types = ["m5.large", "t3.medium"].map(str::to_owned);
        assert_eq!(least_max_pods_of_group(&types), Some(17));
        assert_eq!(least_max_pods_of_group(&[]), None);
        let most = |name: &str| least_max_pods_of_group(&[name.to_owned()]);
        assert_eq!(
            (max_pods("c6i.4xlarge"), most("c6i.4xlarge")),
            (Some(234), Some(110))
        );
        assert_eq!(
            (max_pods("c6i.32xlarge"), most("c6i.32xlarge")),
            (Some(737), Some(250))
        );
    }
}
