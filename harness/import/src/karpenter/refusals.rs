//! Values that the API server refuses by the rules of Karpenter's CRDs, from those of Karpenter 0.37 to 1.14.

use super::fields::check_kubelet_numbers;
use super::node_class::NodeClass;
use super::node_pool::NodePool;
use crate::error::ImportError;
use crate::known_fields::{check_taint, check_text, check_texts};
use crate::tree::{Tree, TreeValue};
use crate::words::set_option;

/// What becomes of a value that the CRDs do not allow.
const REFUSED: &str = "the API server refuses it";

/// Fields of a class that allow some words only.
const WORDS: [(&[&str], &[&str]); 4] = [
    (&["spec", "instanceStorePolicy"], &["RAID0"]),
    (
        &["spec", "metadataOptions", "httpTokens"],
        &["required", "optional"],
    ),
    (
        &["spec", "metadataOptions", "httpEndpoint"],
        &["enabled", "disabled"],
    ),
    (
        &["spec", "metadataOptions", "httpProtocolIPv6"],
        &["enabled", "disabled"],
    ),
];
const FAMILIES_OF_ALIASES: [&str; 6] = [
    "al2",
    "al2023",
    "bottlerocket",
    "windows2019",
    "windows2022",
    "windows2025",
];
/// What a term with an alias cannot have besides.
const OF_OTHER_TERMS: [&str; 4] = ["id", "tags", "name", "owner"];
/// Operators of requirements. The last two came with Karpenter 1.9.
const OPERATORS: [&str; 8] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"];
/// The key of Karpenter's own domain that a pool can have.
const ALLOWED: &str = "karpenter.sh/capacity-type";
/// The key of Kubernetes that a pool cannot have.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Checks the values of a class. Those of an AWSNodeTemplate are not checked: nothing serves it any more.
///
/// # Errors
/// The API server refuses the class.
pub(super) fn check_class_values(class: &NodeClass<'_>, is_converted: bool) -> Result<(), ImportError> {
    if class.kind != "EC2NodeClass" {
        return Ok(());
    }
    let document = class.document;
    if !is_converted {
        check_texts(document.at(&["spec", "tags"]), "the tag", REFUSED)?;
        check_kubelet_numbers(document.at(&["spec", "kubelet"]))?;
        check_hops(document.at(&["spec", "metadataOptions", "httpPutResponseHopLimit"]))?;
    }
    check_kubelet_pairs(document.at(&["spec", "kubelet"]))?;
    for (path, words) in WORDS {
        if let Some(tree) = document.at(path) {
            check_word(tree, path.last().copied().unwrap_or_default(), words)?;
        }
    }
    let [role, profile] = ["role", "instanceProfile"].map(|key| document.at(&["spec", key]));
    if let Some(profile) = profile.filter(|_| role.is_some()) {
        return Err(refused(
            profile,
            format!("an EC2NodeClass has both `role` and `instanceProfile`: {REFUSED}"),
            "remove one of them",
        ));
    }
    match class.is_v1() {
        true if is_converted => check_alias(class),
        true => check_terms(class).and_then(|()| check_alias(class)),
        false => Ok(()),
    }
}

/// The limit of hops is a number from 1 to 64.
fn check_hops(limit: Option<&Tree>) -> Result<(), ImportError> {
    let Some(tree) = limit else { return Ok(()) };
    let TreeValue::Scalar { text, is_plain } = &tree.value else {
        return Ok(());
    };
    let is_valid = *is_plain && text.parse::<u32>().is_ok_and(|hops| (1..=64).contains(&hops));
    if is_valid || open_name(text).is_some() {
        return Ok(());
    }
    Err(refused(
        tree,
        format!("`httpPutResponseHopLimit` is `{text}`, and not a whole number from 1 to 64: {REFUSED}"),
        "write a number without quotes, such as `2`",
    ))
}

/// A soft threshold and its period come together, and images are removed from a higher percentage down to a lower one.
fn check_kubelet_pairs(kubelet: Option<&Tree>) -> Result<(), ImportError> {
    let Some(kubelet) = kubelet else {
        return Ok(());
    };
    for [one, other] in [
        ["evictionSoft", "evictionSoftGracePeriod"],
        ["evictionSoftGracePeriod", "evictionSoft"],
    ] {
        let signals = kubelet.get(one).map(Tree::entries).unwrap_or_default();
        let is_alone = |(signal, _): &&(String, Tree)| kubelet.at(&[other, signal]).is_none();
        if let Some((signal, tree)) = signals.iter().find(is_alone) {
            return Err(refused(
                tree,
                format!("`kubelet.{one}` has `{signal}`, and `{other}` does not: {REFUSED}"),
                &format!("add `{signal}` to `{other}`"),
            ));
        }
    }
    let [high, low] = ["High", "Low"].map(|which| kubelet.get(&format!("imageGC{which}ThresholdPercent")));
    let percent = |tree: Option<&Tree>| tree?.text()?.parse::<u32>().ok();
    match (high, percent(high), percent(low)) {
        (Some(tree), Some(high), Some(low)) if high <= low => Err(refused(
            tree,
            format!(
                "`kubelet.imageGCHighThresholdPercent` {high} is not above `imageGCLowThresholdPercent` {low}: {REFUSED}"
            ),
            "state a higher value",
        )),
        _ => Ok(()),
    }
}

/// The alias of an AMI names a family and a version, and is the only term; `amiFamily` must not contradict it.
fn check_alias(class: &NodeClass<'_>) -> Result<(), ImportError> {
    let terms = class.document.items_at(&["spec", "amiSelectorTerms"]);
    let of_alias = terms.iter().find_map(|term| Some((term, term.get("alias")?)));
    let Some((term, tree)) = of_alias else {
        return Ok(());
    };
    let is_alone = terms.len() == 1
        && !term
            .entries()
            .iter()
            .any(|(key, _)| OF_OTHER_TERMS.contains(&key.as_str()));
    if !is_alone {
        return Err(refused(
            tree,
            format!("`amiSelectorTerms` has an alias beside other terms: {REFUSED}"),
            "write the alias alone, or no alias",
        ));
    }
    let alias = tree.text().unwrap_or_default();
    // A version that is not filled in, as in `al2023@${VERSION}`, does not change the family.
    if let Some(name) = open_name(alias.split('@').next().unwrap_or_default()) {
        return Err(refused(
            tree,
            format!("`alias` of `amiSelectorTerms` is `{alias}`, which is not filled in"),
            &format!(
                "render the file with its tool, or give the value: `{}`",
                set_option(name)
            ),
        ));
    }
    let Some((family, _)) = alias.split_once('@').filter(|(_, version)| !version.is_empty()) else {
        return Err(refused(
            tree,
            format!("the alias `{alias}` names no version of the AMI: {REFUSED}"),
            &format!(
                "write `{}@latest`, or a version in place of `latest`",
                alias.trim_end_matches('@')
            ),
        ));
    };
    let lower = family.to_ascii_lowercase();
    if lower != family && FAMILIES_OF_ALIASES.contains(&lower.as_str()) {
        return Err(refused(
            tree,
            format!("the alias `{alias}` names the family in capitals: {REFUSED}"),
            &format!("write `{}`", alias.replacen(family, &lower, 1)),
        ));
    }
    let stated = class.text("amiFamily").unwrap_or_else(|| family.to_owned());
    if stated == "Custom" || stated.eq_ignore_ascii_case(family) {
        return Ok(());
    }
    Err(refused(
        class.document.at(&["spec", "amiFamily"]).unwrap_or(tree),
        format!("`amiFamily: {stated}` contradicts the alias `{alias}`: {REFUSED}"),
        "remove `amiFamily`, or name its family in the alias",
    ))
}

/// The name in a text that a person or a tool fills in, such as `${NAME}`.
fn open_name(text: &str) -> Option<&str> {
    const MARKS: [(&str, &str); 3] = [("${", "}"), ("{{", "}}"), ("<", ">")];
    MARKS.into_iter().find_map(|(begin, end)| {
        let (_, rest) = text.split_once(begin)?;
        let (name, _) = rest.split_once(end)?;
        Some(name.trim())
    })
}

/// A class of v1 must select its AMIs, also if it names their family.
fn check_terms(class: &NodeClass<'_>) -> Result<(), ImportError> {
    let spec = class.document.get("spec").unwrap_or(class.document);
    let Some(problem) = missing_terms(class) else {
        return Ok(());
    };
    let family = class.text("amiFamily").unwrap_or_else(|| "al2023".to_owned());
    let term = match family.to_ascii_lowercase().as_str() {
        "custom" | "ubuntu" => "id: AMI".to_owned(),
        family => format!("alias: {family}@latest"),
    };
    Err(refused(
        spec.get("amiSelectorTerms").unwrap_or(spec),
        format!("{problem}: {REFUSED}"),
        &format!("add `amiSelectorTerms: [{{ {term} }}]`"),
    ))
}

/// Why the AMIs of a class of v1 are not selected.
fn missing_terms(class: &NodeClass<'_>) -> Option<&'static str> {
    match class
        .document
        .at(&["spec", "amiSelectorTerms"])
        .map(|tree| &tree.value)
    {
        None => Some("an EC2NodeClass of karpenter.k8s.aws/v1 has no `spec.amiSelectorTerms`"),
        Some(TreeValue::List(terms)) if terms.is_empty() => Some("`spec.amiSelectorTerms` is empty"),
        Some(_) => None,
    }
}

/// The problem of a class that another tool applies: the file may leave out what only that tool knows.
pub(super) fn unstated_terms(class: &NodeClass<'_>) -> Option<String> {
    let problem = missing_terms(class).filter(|_| class.kind == "EC2NodeClass" && class.is_v1())?;
    Some(format!(
        "{problem}: {REFUSED}, unless the tool that applies it adds them"
    ))
}

/// What a class of v1 lacks that the API server demands.
pub(super) fn missing_fields(class: &NodeClass<'_>) -> Vec<String> {
    if class.kind != "EC2NodeClass" || !class.is_v1() {
        return Vec::new();
    }
    let field = |key: &str| class.document.at(&["spec", key]).map(|tree| &tree.value);
    let mut problems = Vec::new();
    if field("role").is_none() && field("instanceProfile").is_none() {
        problems.push(format!(
            "an EC2NodeClass has neither `role` nor `instanceProfile`: {REFUSED}"
        ));
    }
    for key in ["subnetSelectorTerms", "securityGroupSelectorTerms"] {
        let is_missing = match field(key) {
            None => true,
            Some(TreeValue::List(terms)) => terms.is_empty(),
            Some(_) => false,
        };
        if is_missing {
            problems.push(format!(
                "an EC2NodeClass of karpenter.k8s.aws/v1 has no terms in `spec.{key}`: {REFUSED}"
            ));
        }
    }
    problems
}

/// Checks the values of a pool. Those of a Provisioner are not checked.
///
/// # Errors
/// The API server refuses the pool.
pub(super) fn check_pool_values(pool: &NodePool<'_>, is_converted: bool) -> Result<(), ImportError> {
    if pool.document.text_at(&["kind"]).as_deref() != Some("NodePool") {
        return Ok(());
    }
    check_class_ref(pool)?;
    check_consolidation(pool)?;
    let labels = pool.document.at(&["spec", "template", "metadata", "labels"]);
    if !is_converted {
        check_kubelet_numbers(pool.template.get("kubelet"))?;
        check_texts(labels, "the label", REFUSED)?;
    }
    check_kubelet_pairs(pool.template.get("kubelet"))?;
    for (key, value) in labels.map(Tree::entries).unwrap_or_default() {
        check_key(value, key)?;
    }
    for key in ["taints", "startupTaints"] {
        for taint in pool.template.items_at(&[key]) {
            check_taint(taint, REFUSED)?;
        }
    }
    let requirements = pool.template.items_at(&["requirements"]);
    requirements
        .iter()
        .try_for_each(|requirement| check_requirement(requirement, is_converted))
}

fn is_v1(pool: &NodePool<'_>) -> bool {
    pool.document.text_at(&["apiVersion"]).as_deref() == Some("karpenter.sh/v1")
}

/// The policy that v1 has under another name.
fn check_consolidation(pool: &NodePool<'_>) -> Result<(), ImportError> {
    let policy = pool.document.at(&["spec", "disruption", "consolidationPolicy"]);
    match policy.filter(|tree| is_v1(pool) && tree.text() == Some("WhenUnderutilized")) {
        None => Ok(()),
        Some(tree) => Err(refused(
            tree,
            format!(
                "`consolidationPolicy` of a NodePool of karpenter.sh/v1 is `WhenUnderutilized`, which v1beta1 has: {REFUSED}"
            ),
            "write `WhenEmptyOrUnderutilized`",
        )),
    }
}

fn check_class_ref(pool: &NodePool<'_>) -> Result<(), ImportError> {
    let Some(class) = pool.template.get("nodeClassRef").filter(|_| is_v1(pool)) else {
        return Ok(());
    };
    match ["group", "kind"]
        .iter()
        .find(|key| class.text_at(&[key]).is_none())
    {
        None => Ok(()),
        Some(key) => Err(refused(
            class,
            format!("`nodeClassRef` of a NodePool of karpenter.sh/v1 has no `{key}`: {REFUSED}"),
            "add `group: karpenter.k8s.aws` and `kind: EC2NodeClass`",
        )),
    }
}

fn check_requirement(requirement: &Tree, is_converted: bool) -> Result<(), ImportError> {
    if let Some(key) = requirement.get("key") {
        check_key(key, key.text().unwrap_or_default())?;
    }
    if let Some(operator) = requirement.get("operator") {
        check_word(operator, "operator", &OPERATORS)?;
    }
    let values = requirement.items_at(&["values"]).iter();
    values
        .filter(|_| !is_converted)
        .try_for_each(|value| check_text(value, "a requirement", REFUSED))
}

/// Checks the key of a label or requirement.
fn check_key(place: &Tree, key: &str) -> Result<(), ImportError> {
    let domain = key.split('/').next().unwrap_or_default();
    let is_own = domain.ends_with("karpenter.sh") && key != ALLOWED;
    if !is_own && key != HOSTNAME {
        return Ok(());
    }
    Err(refused(
        place,
        format!("a NodePool cannot have the label or requirement `{key}`: {REFUSED}"),
        "remove it, or use a key of your own domain",
    ))
}

fn check_word(tree: &Tree, field: &str, words: &[&str]) -> Result<(), ImportError> {
    let word = tree.text().unwrap_or_default();
    if words.contains(&word) {
        return Ok(());
    }
    Err(refused(
        tree,
        format!("`{field}` has the value `{word}`, which Karpenter does not know: {REFUSED}"),
        &format!("write {}", words.join(" or ")),
    ))
}

fn refused(place: &Tree, problem: String, hint: &str) -> ImportError {
    ImportError::Invalid {
        line: place.line(),
        column: None,
        problem,
        hint: hint.to_owned(),
    }
}
