//! AMIs of Amazon Linux that are not those of EKS.

/// How their parameters of SSM begin.
const PARAMETERS: [&str; 2] = [
    "/aws/service/ami-amazon-linux-latest/",
    "/aws/service/ecs/optimized-ami/amazon-linux",
];
/// How their names begin, also those with wildcards.
const NAMES: [&str; 11] = [
    "al2023-ami-*",
    "al2023-ami-2023",
    "al2023-ami-ecs-",
    "al2023-ami-kernel-",
    "al2023-ami-minimal-",
    "amzn-ami-",
    "amzn2-ami-*",
    "amzn2-ami-ecs-",
    "amzn2-ami-hvm-",
    "amzn2-ami-kernel-",
    "amzn2-ami-minimal-",
];

/// Whether the name of an AMI, or of its parameter of SSM, is one of Amazon Linux without the programs of EKS.
pub(crate) fn is_without_eks(image: &str) -> bool {
    let is_parameter = PARAMETERS.iter().any(|parameter| image.contains(parameter));
    is_parameter || NAMES.iter().any(|name| image.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amis_of_amazon_linux_are_not_those_of_eks() {
        for image in [
            "{{resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64}}",
            "/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2",
            "al2023-ami-2023.7.20250331.0-kernel-6.1-x86_64",
            "al2023-ami-2023*",
            "amzn2-ami-hvm-*-x86_64-gp2",
            "amzn2-ami-kernel-5.10-hvm-2.0.20250305.0-x86_64-gp2",
        ] {
            assert!(is_without_eks(image), "{image}");
        }
        for image in [
            "{{resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id}}",
            "amazon-eks-node-al2023-x86_64-standard-1.33-v20250920",
            "amazon-eks-node-1.29-v20240227",
            "ami-0123456789abcdef0",
            "golden-al2023-ami-2023",
            "ubuntu-eks/k8s_1.33/images/hvm-ssd/x",
        ] {
            assert!(!is_without_eks(image), "{image}");
        }
    }
}
