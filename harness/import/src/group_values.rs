//! What EKS refuses of the values of a managed node group, whichever tool states them: by the reference of its API
//! (CreateNodegroup), and by the answers of that API.

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::Minor;
use nodejoin_core::vocabulary::ec2_type::ec2_type;

use crate::instance_values::{AL2_UNTIL, misspelt_size};
use crate::known_fields::meant;
use crate::machine::AmiFamily;
use crate::tree::{Tree, TreeValue};
use crate::words::family_of_ami_type;

/// The effects of taints in the API of EKS.
const EFFECTS: [&str; 3] = ["NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"];
/// The capacity types of the API of EKS.
const CAPACITY_TYPES: [&str; 3] = ["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"];
/// The AMI types of the API of EKS.
const AMI_TYPES: [&str; 23] = [
    "AL2_x86_64",
    "AL2_x86_64_GPU",
    "AL2_ARM_64",
    "CUSTOM",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_ARM_64_FIPS",
    "BOTTLEROCKET_x86_64_FIPS",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA_FIPS",
    "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
    "WINDOWS_CORE_2019_x86_64",
    "WINDOWS_FULL_2019_x86_64",
    "WINDOWS_CORE_2022_x86_64",
    "WINDOWS_FULL_2022_x86_64",
    "WINDOWS_CORE_2025_x86_64",
    "WINDOWS_FULL_2025_x86_64",
    "AL2023_x86_64_STANDARD",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_NVIDIA",
];
/// How AMI types name an architecture, each with its name in EC2.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "x86_64"), ("ARM_64", "arm64")];
/// The architecture of the AMI type that EKS takes for a group that states none.
const DEFAULT_ARCHITECTURE: &str = "x86_64";
/// The longest value of a label.
const LABEL_LENGTH: usize = 63;
/// Properties of a group that are lists, in the words of the API.
pub(crate) const LISTS: [&str; 3] = ["instanceTypes", "subnets", "taints"];
/// Those that are mappings.
pub(crate) const MAPPINGS: [&str; 2] = ["labels", "tags"];

/// What a managed node group states. Missing values are not checked.
#[derive(Debug, Default)]
pub(crate) struct GroupValues {
    pub(crate) ami_type: Option<String>,
    /// Whether nothing states the AMI type or an AMI: EKS takes its default.
    pub(crate) has_default_ami: bool,
    pub(crate) capacity_type: Option<String>,
    /// The Kubernetes version of the group itself.
    pub(crate) version: Option<String>,
    /// That of its cluster, if the file defines it.
    pub(crate) cluster_version: Option<String>,
    pub(crate) instance_types: Vec<String>,
    /// The instance type of its launch template, if that names no AMI.
    pub(crate) type_of_template: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    /// The effects of its taints.
    pub(crate) effects: Vec<String>,
    pub(crate) role: Option<String>,
    /// Whether EKS has accepted the group: other values of it can have changed since.
    pub(crate) exists: bool,
}

impl GroupValues {
    /// What EKS refuses.
    pub(crate) fn problems(&self) -> Vec<String> {
        let effects = self.effects.iter().filter_map(|effect| unknown_effect(effect));
        let types = self.instance_types.iter().filter_map(|name| misspelt_size(name));
        let always = [
            self.unknown_ami_type(),
            self.unknown_capacity_type(),
            self.other_architecture(),
            self.not_a_role(),
        ];
        let labels = self.labels.iter();
        let labels = labels.filter_map(|(key, value)| invalid_label(key, value));
        let of_new = [self.ended_al2(), self.newer_version()].into_iter().flatten();
        let of_new = of_new.chain(labels).filter(|_| !self.exists);
        effects
            .chain(always.into_iter().flatten())
            .chain(types)
            .chain(of_new)
            .collect()
    }

    fn unknown_ami_type(&self) -> Option<String> {
        let stated = self.ami_type.as_deref().filter(|stated| !is_open(stated))?;
        if AMI_TYPES.contains(&stated) {
            return None;
        }
        let letters = |word: &str| word.replace(|c: char| c.is_ascii_digit(), "");
        match meant(stated, AMI_TYPES.into_iter()) {
            // One that differs in numbers alone can be newer.
            Some(near) if letters(near) == letters(stated) => None,
            Some(near) => Some(format!(
                "EKS refuses the AMI type `{stated}`: did you mean `{near}`?"
            )),
            None if architecture_of(stated).is_none() => Some(format!(
                "EKS refuses the AMI type `{stated}`: each of its types but CUSTOM has `x86_64` or `ARM_64` in its name, such as \
                 AL2023_x86_64_STANDARD"
            )),
            None => None,
        }
    }

    fn unknown_capacity_type(&self) -> Option<String> {
        let stated = self.capacity_type.as_deref()?;
        let near = meant(stated, CAPACITY_TYPES.into_iter()).filter(|near| *near != stated)?;
        Some(format!(
            "EKS refuses the capacity type `{stated}`: did you mean `{near}`?"
        ))
    }

    /// EKS answers `[t4g.medium] is not a valid instance type for requested amiType AL2023_x86_64_STANDARD`.
    fn other_architecture(&self) -> Option<String> {
        let (of_ami, types): (_, Vec<&String>) = match self.ami_type.as_deref() {
            Some(ami_type) => {
                let types = self.instance_types.iter().chain(&self.type_of_template);
                (architecture_of(ami_type)?, types.collect())
            }
            None if self.has_default_ami => (DEFAULT_ARCHITECTURE, self.instance_types.iter().collect()),
            None => return None,
        };
        let others = types.into_iter().filter_map(|name| {
            let known = &ec2_type(name)?.architectures;
            let has_other = !known.iter().any(|one| one == of_ami);
            has_other.then(|| format!("{name} has {}", known.join(" and ")))
        });
        let others: Vec<String> = others.collect();
        if others.is_empty() {
            return None;
        }
        let ami_type = match &self.ami_type {
            Some(ami_type) => format!("its AMI type {ami_type} is one for {of_ami}"),
            None => format!("it states no AMI type, and that of the default is one for {of_ami}"),
        };
        Some(format!(
            "EKS refuses the node group: {ami_type}, and the instance type {}",
            others.join(", ")
        ))
    }

    /// EKS reads the trust policy of the role, which it finds by its ARN.
    fn not_a_role(&self) -> Option<String> {
        let role = self.role.as_deref().filter(|role| !is_open(role))?;
        let what = match role.starts_with("arn:") {
            true if role.contains(":instance-profile/") => "the ARN of an instance profile",
            true => return None,
            false => "a name",
        };
        Some(format!(
            "EKS refuses the node group: `{role}`, which it states as the role of its nodes, is {what}; give the ARN of a role, such as \
             arn:aws:iam::111122223333:role/NAME"
        ))
    }

    /// EKS answers `AMI Type AL2_x86_64 is only supported for kubernetes versions 1.32 or earlier`. A group that exists
    /// can be older than its cluster.
    fn ended_al2(&self) -> Option<String> {
        let ami_type = self.ami_type.as_deref()?;
        let version = self.version.as_ref().or(self.cluster_version.as_ref());
        let minor = minor(version)?;
        let is_al2 = family_of_ami_type(ami_type) == Some(AmiFamily::Al2);
        (is_al2 && minor.number() > AL2_UNTIL).then(|| {
            format!(
                "EKS refuses the node group: its AMI type {ami_type} is for Kubernetes 1.{AL2_UNTIL} and earlier, and its version is \
                 {minor}; use one of Amazon Linux 2023, such as AL2023_x86_64_STANDARD"
            )
        })
    }

    /// A new group has the version of its cluster.
    fn newer_version(&self) -> Option<String> {
        let own = minor(self.version.as_ref())?;
        let cluster = minor(self.cluster_version.as_ref())?;
        (own > cluster).then(|| {
            format!(
                "EKS refuses the node group: its version {own} is newer than that of its cluster, {cluster}; state {cluster}, or none"
            )
        })
    }
}

/// The doubt about a node group that names another cluster than the only one of its file.
pub(crate) fn other_cluster(named: &str, only: &str) -> Option<String> {
    let is_doubtful = named != only && !is_open(named) && !is_open(only);
    is_doubtful.then(|| {
        format!(
            "the node group names the cluster `{named}`, and the only cluster of the file is `{only}`: EKS refuses the group if you have \
             no cluster of that name there"
        )
    })
}

/// The problem of a property that is text where a list belongs, or a list where a mapping belongs. `name`: as the file
/// writes it. A function in place of the value can return anything.
pub(crate) fn wrong_shape(name: &str, value: &Tree, is_list: bool) -> Option<String> {
    let (is, must_be) = match (&value.value, is_list) {
        (TreeValue::Scalar { text, .. }, true) if !value.is_null() && !is_open(text) => ("text", "a list"),
        (TreeValue::List(_), false) => ("a list", "a mapping of keys to values"),
        _ => return None,
    };
    let line = value.line().map(|line| format!(" (line {line})"));
    Some(format!(
        "the node group cannot be created: its `{name}` is {is}, and must be {must_be}{}",
        line.unwrap_or_default()
    ))
}

fn unknown_effect(effect: &str) -> Option<String> {
    (!EFFECTS.contains(&effect) && !is_open(effect)).then(|| {
        format!(
            "EKS refuses the effect `{effect}` of a taint: write {}",
            EFFECTS.join(", ")
        )
    })
}

/// EKS answers with the rule that Kubernetes has for values of labels.
fn invalid_label(key: &str, value: &str) -> Option<String> {
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| is_edge(c) || ['-', '_', '.'].contains(&c);
    let is_valid = value.len() <= LABEL_LENGTH
        && value.chars().all(is_inner)
        && value.starts_with(is_edge)
        && value.ends_with(is_edge);
    (!value.is_empty() && !is_valid && !is_open(value)).then(|| {
        format!(
            "EKS refuses the node group: its label `{key}` has the value `{value}`, and a value has at most {LABEL_LENGTH} letters, \
             digits, `-`, `_` and `.`, of which the first and the last are letters or digits"
        )
    })
}

/// The architecture that an AMI type names.
fn architecture_of(ami_type: &str) -> Option<&'static str> {
    let (_, architecture) = ARCHITECTURES.iter().find(|(word, _)| ami_type.contains(word))?;
    Some(*architecture)
}

fn minor(version: Option<&String>) -> Option<Minor> {
    version?.parse().ok()
}

/// Whether a text has a part that something fills in.
fn is_open(text: &str) -> bool {
    text.contains(['$', '{', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(change: impl FnOnce(&mut GroupValues)) -> String {
        let mut values = GroupValues::default();
        change(&mut values);
        values.problems().join("\n")
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn words_that_eks_does_not_know_are_named() {
        for (ami_type, problem) in [
            ("AL2023_x86_64_STANDRAD", "did you mean `AL2023_x86_64_STANDARD`?"),
            ("AL2023_X86_64", "such as AL2023_x86_64_STANDARD"),
            ("AL2023", "EKS refuses the AMI type `AL2023`"),
        ] {
            let found = of(|values| values.ami_type = text(ami_type));
            assert!(found.contains(problem), "{found}");
        }
        for ami_type in AMI_TYPES.into_iter().chain([
            "AL2027_x86_64_STANDARD",
            "FUTURE_ARM_64",
            "${TYPE}",
            "{{resolve:ssm:type}}",
        ]) {
            assert_eq!(of(|values| values.ami_type = text(ami_type)), "", "{ami_type}");
        }
        for (capacity, near) in [("Spot", "SPOT"), ("OnDemand", "ON_DEMAND")] {
            let found = of(|values| values.capacity_type = text(capacity));
            assert!(found.contains(&format!("did you mean `{near}`?")), "{found}");
        }
        for capacity in ["SPOT", "ON_DEMAND", "CAPACITY_BLOCK", "RESERVED_LATER"] {
            assert_eq!(
                of(|values| values.capacity_type = text(capacity)),
                "",
                "{capacity}"
            );
        }
        let effects = |effect: &str| of(|values| values.effects = vec![effect.to_owned()]);
        assert!(effects("NoSchedule").contains("EKS refuses the effect `NoSchedule` of a taint"));
        assert_eq!(effects("NO_SCHEDULE"), "");
        let types = |name: &str| of(|values| values.instance_types = vec![name.to_owned()]);
        assert!(types("m7i.lrage").contains("did you mean `m7i.large`?"));
        assert_eq!(types("m99i.large"), "");
    }

    #[test]
    fn an_ami_type_is_for_one_architecture() {
        let with = |ami_type: Option<&str>, types: &[&str]| {
            of(|values| {
                values.ami_type = ami_type.map(str::to_owned);
                values.has_default_ami = ami_type.is_none();
                values.instance_types = types.iter().map(|name| (*name).to_owned()).collect();
            })
        };
        assert_eq!(
            with(Some("AL2023_x86_64_STANDARD"), &["t3.medium", "m7g.medium"]),
            "EKS refuses the node group: its AMI type AL2023_x86_64_STANDARD is one for x86_64, and the instance type m7g.medium has arm64"
        );
        assert!(with(Some("BOTTLEROCKET_ARM_64"), &["g4dn.xlarge"]).contains("g4dn.xlarge has x86_64"));
        assert!(with(None, &["t4g.medium"]).contains("that of the default is one for x86_64"));
        for (ami_type, types) in [
            (Some("AL2023_x86_64_STANDARD"), ["t3.medium", "m99g.large"]),
            (Some("AL2023_ARM_64_STANDARD"), ["m7g.medium", "g5g.xlarge"]),
            (Some("CUSTOM"), ["m7g.medium", "t3.medium"]),
            (None, ["t3.medium", "g4dn.xlarge"]),
        ] {
            assert_eq!(with(ami_type, &types), "", "{ami_type:?}");
        }
        // A launch template can name the AMI.
        let of_template = |values: &mut GroupValues| values.type_of_template = text("m7g.large");
        assert_eq!(of(of_template), "");
        let both = of(|values| {
            of_template(values);
            values.ami_type = text("AL2_x86_64");
        });
        assert!(both.contains("m7g.large has arm64"), "{both}");
    }

    #[test]
    fn a_new_group_is_not_newer_than_its_cluster_and_its_ami_type() {
        let with = |ami_type: &str, own: &str, cluster: &str, exists: bool| {
            of(|values| {
                values.ami_type = text(ami_type);
                values.version = text(own).filter(|own| !own.is_empty());
                values.cluster_version = text(cluster).filter(|own| !own.is_empty());
                values.exists = exists;
            })
        };
        let (al2, al2023) = ("AL2_x86_64", "AL2023_x86_64_STANDARD");
        let ended = "its AMI type AL2_x86_64 is for Kubernetes 1.32 and earlier, and its version is 1.33";
        for (own, cluster) in [("1.33", ""), ("", "1.33")] {
            let found = with(al2, own, cluster, false);
            assert!(found.contains(ended), "{found}");
        }
        let newer = with(al2023, "1.33", "1.31", false);
        assert!(
            newer.contains("its version 1.33 is newer than that of its cluster, 1.31"),
            "{newer}"
        );
        for (ami_type, own, cluster, exists) in [
            (al2, "1.32", "1.33", false),
            (al2, "", "1.33", true),
            (al2023, "1.33", "1.33", false),
            (al2023, "1.33", "", false),
            (al2023, "latest", "1.31", false),
        ] {
            assert_eq!(
                with(ami_type, own, cluster, exists),
                "",
                "{ami_type} {own} {cluster}"
            );
        }
    }

    #[test]
    fn a_role_is_an_arn_and_a_label_follows_the_rule_of_kubernetes() {
        let role = |role: &str| of(|values| values.role = text(role));
        assert!(role("nodejoin-NodeRole").contains("`nodejoin-NodeRole`, which it states as the role"));
        assert!(
            role("arn:aws:iam::111122223333:instance-profile/nodes")
                .contains("the ARN of an instance profile")
        );
        for one in [
            "arn:aws:iam::111122223333:role/nodes",
            "arn:aws-cn:iam::111122223333:role/eks/nodes",
            "{{resolve:ssm:role}}",
            "${ROLE}",
        ] {
            assert_eq!(role(one), "", "{one}");
        }
        let label = |value: &str| {
            of(|values| {
                values.labels = BTreeMap::from([("team".to_owned(), value.to_owned())]);
            })
        };
        let long = "a".repeat(64);
        for value in ["a b", "-a", "a.", "a/b", long.as_str()] {
            assert!(
                label(value).contains("EKS refuses the node group: its label `team`"),
                "{value}"
            );
        }
        for value in ["a-b_c.d", "1", "", "true", "${TEAM}", &long[1..]] {
            assert_eq!(label(value), "", "{value}");
        }
    }
}
