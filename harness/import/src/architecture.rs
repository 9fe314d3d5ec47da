//! The architecture of an AMI, and whether its instance type has it.

use nodejoin_core::vocabulary::ec2_type::ec2_type;

use crate::machine::{StandIn, Traits};

/// Parts of a parameter of SSM that name an architecture.
const ARCHITECTURES: [(&str, &str); 4] = [
    ("/arm64/", "arm64"),
    ("/amazon-linux-2-arm64/", "arm64"),
    ("/x86_64/", "x86_64"),
    ("/amazon-linux-2/", "x86_64"),
];
/// Beginnings of the public parameters of AWS.
const PARAMETERS: [&str; 2] = ["/aws/service/eks/", "/aws/service/bottlerocket/"];

/// The type of a machine for arm64 whose file states none.
const ARM64_TYPE: &str = "m6g.large";
/// The instance type of a managed node group that states none, by the API reference of EKS (CreateNodegroup).
pub(crate) const GROUP_INSTANCE_TYPE: &str = "t3.medium";

/// Whether a parameter of SSM names an AMI for arm64.
pub(crate) fn is_for_arm64(image: &str) -> bool {
    of_image(image) == Some("arm64")
}

/// Whether an AMI type of the API of EKS is one for arm64.
pub(crate) fn is_arm64_ami_type(ami_type: &str) -> bool {
    ami_type.contains("_ARM_64")
}

/// What EKS refuses of a new node group with this AMI type for which nothing states an instance type: the type of its
/// default has another architecture.
pub(crate) fn missing_type(ami_type: &str) -> Option<String> {
    is_arm64_ami_type(ami_type).then(|| {
        format!(
            "EKS refuses the node group: neither it nor a launch template states an instance type, and the default {GROUP_INSTANCE_TYPE} \
             has x86_64, which the AMI type {ami_type} does not allow; state one for arm64, such as {ARM64_TYPE}"
        )
    })
}

/// Gives a machine for arm64 a type that has it, if the file states none.
pub(crate) fn add_arm64_type(traits: &mut Traits) {
    if traits.instance_type.is_some() {
        return;
    }
    traits.instance_type = Some(ARM64_TYPE.to_owned());
    let text = format!("instance type {ARM64_TYPE}");
    traits.stand_ins.insert(text, StandIn::NotStated);
}

/// What is wrong with the AMI and the instance type of a machine.
pub(crate) fn mismatch_of(traits: &Traits) -> Option<String> {
    mismatch(traits.image_name.as_deref()?, traits.instance_type.as_deref()?)
}

/// What is wrong with an AMI that a parameter of SSM names and an instance type.
fn mismatch(image: &str, instance_type: &str) -> Option<String> {
    let of_image = of_image(image)?;
    let of_type = &ec2_type(instance_type)?.architectures;
    (!of_type.iter().any(|one| one == of_image)).then(|| {
        format!(
            "the AMI of `{image}` is one for {of_image}, and the instance type {instance_type} has {}: EC2 does not start the instance",
            of_type.join(" and ")
        )
    })
}

/// The architecture that a parameter of SSM names.
fn of_image(image: &str) -> Option<&'static str> {
    let is_of_aws = PARAMETERS.iter().any(|parameter| image.contains(parameter));
    let (_, architecture) = ARCHITECTURES
        .iter()
        .find(|(part, _)| is_of_aws && image.contains(part))?;
    Some(*architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_type_of_a_node_group_is_not_for_arm64() {
        let architectures = &ec2_type(GROUP_INSTANCE_TYPE).unwrap().architectures;
        assert!(!architectures.iter().any(|one| one == "arm64"));
        for ami_type in ["AL2_ARM_64", "AL2023_ARM_64_STANDARD", "BOTTLEROCKET_ARM_64"] {
            let problem = missing_type(ami_type).unwrap();
            assert!(problem.contains(ami_type), "{problem}");
        }
        assert_eq!(missing_type("AL2023_x86_64_STANDARD"), None);
    }

    #[test]
    fn an_instance_needs_an_ami_of_its_architecture() {
        let al2023 = |architecture: &str| {
            format!(
                "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/{architecture}/standard/recommended/image_id"
            )
        };
        let al2 = |name: &str| format!("/aws/service/eks/optimized-ami/1.31/{name}/recommended/image_id");
        let bottlerocket = "resolve:ssm:/aws/service/bottlerocket/aws-k8s-1.31/arm64/latest/image_id";
        for (image, instance_type) in [
            (&al2023("arm64"), "m5.large"),
            (&al2023("x86_64"), "m6g.large"),
            (&al2("amazon-linux-2"), "m6g.large"),
            (&al2("amazon-linux-2-arm64"), "m5.large"),
            (&bottlerocket.to_owned(), "m5.large"),
        ] {
            let problem = mismatch(image, instance_type).unwrap_or_default();
            assert!(
                problem.contains("EC2 does not start the instance"),
                "{image} {problem}"
            );
        }
        for (image, instance_type) in [
            (&al2023("arm64"), "m6g.large"),
            (&al2023("x86_64"), "m5.large"),
            (&al2("amazon-linux-2-gpu"), "m6g.large"),
            (&al2023("arm64"), "m99.large"),
            (&"/mine/arm64/image".to_owned(), "m5.large"),
            (&"ami-0123456789abcdef0".to_owned(), "m5.large"),
        ] {
            assert_eq!(mismatch(image, instance_type), None, "{image}");
        }
    }
}
