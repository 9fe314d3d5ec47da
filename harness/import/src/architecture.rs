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

/// Whether a parameter of SSM names an AMI for arm64.
pub(crate) fn is_for_arm64(image: &str) -> bool {
    of_image(image) == Some("arm64")
}

/// Whether an AMI type of the API of EKS is one for arm64.
pub(crate) fn is_arm64_ami_type(ami_type: &str) -> bool {
    ami_type.contains("_ARM_64")
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

/// What is wrong with an AMI that a parameter of SSM names and an instance type.
pub(crate) fn mismatch(image: &str, instance_type: &str) -> Option<String> {
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
