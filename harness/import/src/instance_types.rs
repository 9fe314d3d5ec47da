//! How many pods fit on an instance type whose pods get addresses of the VPC.

use nodejoin_core::vocabulary::ec2_type::{Ec2Type, ec2_type};

/// Pods of an instance type; `None`: an unknown type.
pub(crate) fn max_pods(instance_type: &str) -> Option<u32> {
    ec2_type(instance_type).and_then(Ec2Type::max_pods)
}

/// Pods of a group: those of its smallest type. `None` if a type is unknown.
pub(crate) fn least_max_pods(instance_types: &[String]) -> Option<u32> {
    let limits: Option<Vec<u32>> = instance_types.iter().map(|name| max_pods(name)).collect();
    limits?.into_iter().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_eks() {
        assert_eq!(max_pods("m5.large"), Some(29));
        assert_eq!(max_pods("m5.huge"), None);
        let types = ["m5.large", "t3.medium"].map(str::to_owned);
        assert_eq!(least_max_pods(&types), Some(17));
        assert_eq!(least_max_pods(&[]), None);
    }
}
