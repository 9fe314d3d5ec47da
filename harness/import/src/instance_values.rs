//! Values of launch templates and instances that EC2 refuses.

use crate::known_fields::meant;

/// The last minor release of Kubernetes for which EKS has AMIs of AL2.
pub(crate) const AL2_UNTIL: u32 = 32;
/// How parameters of SSM with AMIs of EKS and Bottlerocket begin.
const PARAMETERS: &str = "/aws/service/";
const PARAMETERS_OF_EKS: &str = "/aws/service/eks/optimized-ami/1.";
/// What stands before such a parameter in place of the id of an AMI.
pub(crate) const RESOLVE: &str = "resolve:ssm:";
const TOKENS: [&str; 2] = ["required", "optional"];
/// The words of sizes, without their numbers.
const SIZES: [&str; 8] = [
    "nano", "micro", "small", "medium", "large", "xlarge", "metal", "metal-xl",
];

/// What an instance states. Missing values are not checked.
#[derive(Debug, Default)]
pub(crate) struct InstanceValues<'a> {
    pub(crate) image: Option<&'a str>,
    pub(crate) instance_type: Option<&'a str>,
    pub(crate) http_tokens: Option<&'a str>,
    /// The instance profile in a field for its name.
    pub(crate) profile_name: Option<&'a str>,
}

impl InstanceValues<'_> {
    /// What is wrong with the values.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = [
            self.image.and_then(parameter_without_resolve),
            self.image.and_then(ended_al2),
            self.instance_type.and_then(misspelt_size),
            self.http_tokens.and_then(unknown_tokens),
            self.profile_name.and_then(arn_as_name),
        ];
        problems.into_iter().flatten().collect()
    }
}

fn parameter_without_resolve(image: &str) -> Option<String> {
    image.starts_with(PARAMETERS).then(|| {
        format!(
            "EC2 starts no instance: `{image}` is not the id of an AMI; write `{RESOLVE}{image}`, or the id"
        )
    })
}

fn ended_al2(image: &str) -> Option<String> {
    let (_, rest) = image.split_once(PARAMETERS_OF_EKS)?;
    let (minor, rest) = rest.split_once('/')?;
    let minor: u32 = minor.parse().ok()?;
    let is_al2 = rest.starts_with("amazon-linux-2/") || rest.starts_with("amazon-linux-2-");
    (is_al2 && minor > AL2_UNTIL).then(|| {
        format!(
            "EC2 starts no instance: EKS has no AMI of Amazon Linux 2 for 1.{minor}, and the last version with one is 1.{AL2_UNTIL}; \
             use one of Amazon Linux 2023"
        )
    })
}

/// A size that differs in its number alone can be newer.
pub(crate) fn misspelt_size(instance_type: &str) -> Option<String> {
    let (family, size) = instance_type.split_once('.')?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if family.is_empty() || !instance_type.replacen('.', "", 1).chars().all(is_plain) {
        return None;
    }
    let word = size.trim_start_matches(|c: char| c.is_ascii_digit());
    let letters = word.replace(|c: char| c.is_ascii_digit(), "");
    if SIZES.contains(&letters.as_str()) {
        return None;
    }
    let near = meant(&letters, SIZES.into_iter())?;
    let number = &size[..size.len() - word.len()];
    Some(format!(
        "EC2 starts no instance: it has no type `{instance_type}`; did you mean `{family}.{number}{near}`?"
    ))
}

fn unknown_tokens(tokens: &str) -> Option<String> {
    let is_word = tokens.chars().all(|c| c.is_ascii_alphabetic());
    (is_word && !TOKENS.contains(&tokens)).then(|| {
        format!("EC2 starts no instance: `{tokens}` is not a value for the tokens of the metadata; write `required` or `optional`")
    })
}

/// EC2 answers `Invalid IAM Instance Profile name`. A launch configuration takes an ARN in this field, too.
fn arn_as_name(profile: &str) -> Option<String> {
    (profile.starts_with("arn:") && profile.contains(":instance-profile/")).then(|| {
        format!("EC2 starts no instance: the name of the instance profile is an ARN, `{profile}`; write it as the ARN, or the name alone")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_ec2_refuses_are_named() {
        let of_image = |image: &str| {
            let values = InstanceValues {
                image: Some(image),
                ..InstanceValues::default()
            };
            values.problems().concat()
        };
        let al2 = |minor: u32| {
            format!("{RESOLVE}/aws/service/eks/optimized-ami/1.{minor}/amazon-linux-2/recommended/image_id")
        };
        assert!(of_image(&al2(33)).contains("EKS has no AMI of Amazon Linux 2 for 1.33"));
        assert!(of_image(&al2(33).replace("linux-2/", "linux-2-gpu/")).contains("for 1.33"));
        let bare = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id";
        assert!(of_image(bare).contains(&format!("write `resolve:ssm:{bare}`")));
        let al2023 = "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id";
        for image in [
            al2(32).as_str(),
            "ami-0123456789abcdef0",
            al2023,
            "resolve:ssm:/mine/1.33/amazon-linux-2/x",
        ] {
            assert_eq!(of_image(image), "", "{image}");
        }
    }

    #[test]
    fn a_misspelt_size_of_an_instance_type_is_named() {
        for (instance_type, right) in [
            ("m5.larg", "m5.large"),
            ("m5.2xlareg", "m5.2xlarge"),
            ("t3.mediun", "t3.medium"),
        ] {
            let problem = misspelt_size(instance_type).unwrap_or_default();
            assert!(
                problem.contains(&format!("did you mean `{right}`?")),
                "{instance_type} {problem}"
            );
        }
        for instance_type in [
            "m5.large",
            "u-6tb1.112xlarge",
            "m99.metal-72xl",
            "m7i-flex.large",
            "m5.huge",
            "${TYPE}",
            "m5",
        ] {
            assert_eq!(misspelt_size(instance_type), None, "{instance_type}");
        }
    }

    #[test]
    fn the_arn_of_an_instance_profile_is_not_its_name() {
        let arn = "arn:aws:iam::111122223333:instance-profile/nodes";
        let problem = arn_as_name(arn).unwrap_or_default();
        assert!(
            problem.contains(&format!("the name of the instance profile is an ARN, `{arn}`")),
            "{problem}"
        );
        for profile in ["nodes", "eks/nodes", "${PROFILE}"] {
            assert_eq!(arn_as_name(profile), None, "{profile}");
        }
    }

    #[test]
    fn the_word_for_tokens_has_small_letters() {
        assert!(unknown_tokens("Required").is_some());
        assert_eq!(unknown_tokens("required"), None);
        assert_eq!(unknown_tokens("${TOKENS}"), None);
    }
}
