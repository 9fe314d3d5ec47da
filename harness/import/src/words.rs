//! Words of AWS and Kubernetes as types, and mappings that every format spells alike.

use std::collections::BTreeMap;

use nodejoin_core::plan::aws::AuthenticationMode;

use crate::machine::{AmiFamily, CapacityType, STAND_IN_AMI, StandIn, Taint, TaintEffect};
use crate::tree::Tree;

/// Names in `{{ }}` that aws-iam-authenticator fills in, in rows of `aws-auth`.
pub(crate) const OF_AUTHENTICATOR: [&str; 5] = [
    "AccessKeyID",
    "AccountID",
    "EC2PrivateDNSName",
    "SessionName",
    "SessionNameRaw",
];

/// How tags name a cluster.
pub(crate) const CLUSTER_TAG: &str = "kubernetes.io/cluster/";

/// Values of a run, which fills them in itself.
const AUTHORITY: &str = "{{ cluster.certificate_authority }}";
const ENDPOINT: &str = "{{ cluster.endpoint }}";

/// What to give for a name with `--set`: the run knows its own endpoint and certificate authority.
pub(crate) fn value_to_set(name: &str) -> &'static str {
    if name.starts_with("LS0t") {
        return AUTHORITY;
    }
    if name.starts_with("https://") {
        return ENDPOINT;
    }
    // The attribute of a resource says more than the name of the resource.
    let attribute = name.rsplit('.').next().unwrap_or(name);
    let mut values = [attribute, name].into_iter().filter_map(value_of_words);
    values.next().unwrap_or("VALUE")
}

/// The value of the run that the words of a name ask for. The last one decides: `ClusterEndpointCA` is an authority.
fn value_of_words(name: &str) -> Option<&'static str> {
    const OF_AUTHORITY: [&str; 5] = ["cert", "authority", "clusterca", "b64", "auth_base64"];
    const OF_ENDPOINT: [&str; 3] = ["endpoint", "apiserver", "api_server"];
    let lower = name.to_ascii_lowercase();
    let last = |words: &[&str]| {
        let ends = |word: &&str| Some(lower.rfind(*word)? + word.len());
        words.iter().filter_map(ends).max()
    };
    let authority = last(&OF_AUTHORITY).max(end_of_ca(name));
    let endpoint = last(&OF_ENDPOINT);
    // No word is less than any.
    if authority > endpoint {
        return Some(AUTHORITY);
    }
    endpoint.map(|_| ENDPOINT)
}

/// Where the last word `CA` of a name ends. It can be a part of a name in camel case, such as `CAData` or `clusterCa`.
fn end_of_ca(name: &str) -> Option<usize> {
    const WORD: &str = "ca";
    let at = |index: usize| name.as_bytes().get(index).copied().unwrap_or(b' ');
    let begins = |start: usize| {
        let before = start.checked_sub(1).map_or(b' ', at);
        let is_inside = before.is_ascii_alphanumeric();
        !is_inside || (!before.is_ascii_uppercase() && at(start).is_ascii_uppercase())
    };
    let ends = |end: usize| {
        let (last, next) = (at(end - 1), at(end));
        let is_next_word = last.is_ascii_lowercase() || at(end + 1).is_ascii_lowercase();
        !next.is_ascii_alphanumeric() || (next.is_ascii_uppercase() && is_next_word)
    };
    let lower = name.to_ascii_lowercase();
    let mut found = lower
        .rmatch_indices(WORD)
        .map(|(start, _)| (start, start + WORD.len()));
    let (_, end) = found.find(|(start, end)| begins(*start) && ends(*end))?;
    Some(end)
}

/// The option of the command line that gives a name its value.
pub(crate) fn set_option(name: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match (value_to_set(name), name.bytes().all(is_word)) {
        ("VALUE", true) => format!("--set {name}=VALUE"),
        (value, _) => format!("--set '{name}={value}'"),
    }
}

/// Letters of a longer word, such as a certificate, in a message.
const SHOWN: usize = 60;

/// A text for a message, without the ends of its long words.
pub(crate) fn shortened(text: &str) -> String {
    let short = |word: &str| match word.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// The effect of a taint, as Kubernetes or the API of EKS writes it.
pub(crate) fn effect(word: &str) -> Option<TaintEffect> {
    match word {
        "NoSchedule" | "NO_SCHEDULE" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" | "PREFER_NO_SCHEDULE" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" | "NO_EXECUTE" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

/// A taint as a mapping, in lower case or as CloudFormation writes it.
pub(crate) fn taint(tree: &Tree) -> Option<Taint> {
    let field = |lower: &str, upper: &str| tree.text_at(&[lower]).or_else(|| tree.text_at(&[upper]));
    Some(Taint {
        key: field("key", "Key")?,
        value: field("value", "Value").unwrap_or_default(),
        effect: effect(&field("effect", "Effect")?)?,
    })
}

/// The value of an argument of the kubelet in the `nodeRegistration` of kubeadm: of a mapping, or of a list from
/// kubeadm's v1beta4 on.
pub(crate) fn kubelet_argument(node: &Tree, name: &str) -> Option<String> {
    let arguments = node.get("kubeletExtraArgs")?;
    let of_list = || {
        let mut found = arguments.items().iter();
        let found = found.find(|argument| argument.text_at(&["name"]).as_deref() == Some(name))?;
        found.text_at(&["value"])
    };
    arguments.text_at(&[name]).or_else(of_list)
}

/// A taint as text: `KEY=VALUE:EFFECT` or `KEY:EFFECT`.
pub(crate) fn taint_of_text(text: &str) -> Option<Taint> {
    let (rest, word) = text.rsplit_once(':')?;
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    Some(Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect(word)?,
    })
}

/// The family of an `amiType` of the API of EKS. `CUSTOM` tells nothing about it.
pub(crate) fn family_of_ami_type(word: &str) -> Option<AmiFamily> {
    let begins = [
        ("AL2023_", AmiFamily::Al2023),
        ("AL2_", AmiFamily::Al2),
        ("BOTTLEROCKET_", AmiFamily::Bottlerocket),
        ("WINDOWS_", AmiFamily::Windows),
    ];
    let (_, family) = begins.iter().find(|(begin, _)| word.starts_with(begin))?;
    Some(*family)
}

/// The family of an AMI by its name, such as `amazon-eks-node-al2023-x86_64-standard-1.33-v20250920`, or by its
/// parameter of SSM, such as
/// `resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id`. A name
/// with wildcards counts if only one family has such names.
pub(crate) fn family_of_image(image: &str) -> Option<AmiFamily> {
    let words = [
        ("amazon-linux-2023", AmiFamily::Al2023),
        ("amazon-linux-2", AmiFamily::Al2),
        ("amazon-eks-node-al2023-", AmiFamily::Al2023),
        ("amazon-eks-node-1.", AmiFamily::Al2),
        ("amazon-eks-gpu-node-1.", AmiFamily::Al2),
        ("amazon-eks-arm64-node-1.", AmiFamily::Al2),
        ("bottlerocket", AmiFamily::Bottlerocket),
        ("windows", AmiFamily::Windows),
        ("ubuntu", AmiFamily::Ubuntu),
    ];
    let image = image.to_ascii_lowercase();
    let (_, family) = words.iter().find(|(word, _)| image.contains(word))?;
    Some(*family)
}

/// The Kubernetes version in the name of an AMI, such as `amazon-eks-node-1.31-v20250920`, or in its parameter of SSM.
pub(crate) fn version_of_image(image: &str) -> Option<String> {
    if !["eks", "bottlerocket", "kubernetes"]
        .iter()
        .any(|word| image.contains(word))
    {
        return None;
    }
    let is_minor = |word: &&str| {
        let minor = word.strip_prefix("1.").unwrap_or_default();
        minor.len() == 2 && minor.bytes().all(|byte| byte.is_ascii_digit())
    };
    image.split(['/', '-', ':']).find(is_minor).map(str::to_owned)
}

/// Whether an AMI is named by a parameter of SSM.
fn is_parameter(image: &str) -> bool {
    image.contains('/') || image.starts_with("resolve:")
}

/// What the report says of an AMI whose id only AWS knows.
pub(crate) fn stand_in_ami() -> (String, StandIn) {
    (format!("AMI id {STAND_IN_AMI}"), StandIn::OnlyInAws)
}

/// The stand-in for the AMI of an image, if a parameter of SSM names it.
pub(crate) fn stand_ins_of_image(image: Option<&str>) -> BTreeMap<String, StandIn> {
    image
        .filter(|image| is_parameter(image))
        .map(|_| stand_in_ami())
        .into_iter()
        .collect()
}

/// The id of an AMI; a stand-in for a parameter of SSM, whose value only AWS knows.
pub(crate) fn ami_id(image: &str) -> String {
    match is_parameter(image) {
        true => STAND_IN_AMI.to_owned(),
        false => image.to_owned(),
    }
}

pub(crate) fn capacity_type(word: &str) -> Option<CapacityType> {
    match word {
        "ON_DEMAND" => Some(CapacityType::OnDemand),
        "SPOT" => Some(CapacityType::Spot),
        "CAPACITY_BLOCK" => Some(CapacityType::CapacityBlock),
        _ => None,
    }
}

pub(crate) fn authentication_mode(word: &str) -> Option<AuthenticationMode> {
    match word {
        "API" => Some(AuthenticationMode::Api),
        "API_AND_CONFIG_MAP" => Some(AuthenticationMode::ApiAndConfigMap),
        "CONFIG_MAP" => Some(AuthenticationMode::ConfigMap),
        _ => None,
    }
}

/// A mapping of texts, such as labels or tags. Values that are not text are left out.
pub(crate) fn texts(tree: Option<&Tree>) -> BTreeMap<String, String> {
    let entries = tree.map(Tree::entries).unwrap_or_default();
    entries
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.text()?.to_owned())))
        .collect()
}

/// The texts of a list.
pub(crate) fn list(items: &[Tree]) -> Vec<String> {
    items.iter().filter_map(Tree::text).map(str::to_owned).collect()
}

/// Labels as `--node-labels` takes them.
pub(crate) fn joined_labels(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    pairs.join(",")
}

/// Taints as `--register-with-taints` takes them.
pub(crate) fn joined_taints(taints: &[Taint]) -> String {
    let text = |taint: &Taint| match taint.value.as_str() {
        "" => format!("{}:{}", taint.key, taint.effect),
        _ => taint.to_string(),
    };
    taints.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Region and account of an ARN; either may be empty in it.
pub(crate) fn arn_parts(arn: &str) -> (Option<String>, Option<String>) {
    let mut parts = arn.split(':');
    if parts.next() != Some("arn") {
        return (None, None);
    }
    let mut part = |index| {
        parts
            .nth(index)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
    };
    (part(2), part(0))
}

/// The address that EKS gives the cluster's DNS service: the tenth of the service network.
pub(crate) fn dns_ip(service_cidr: &str) -> Option<String> {
    let (address, _) = service_cidr.split_once('/')?;
    if address.contains(':') {
        return Some(format!("{}::a", address.trim_end_matches(':')));
    }
    let (network, _) = address.rsplit_once('.')?;
    Some(format!("{network}.10"))
}

/// Networks that EKS gives the services of a cluster.
const EKS_NETWORKS: [&str; 2] = ["10.100.0.0/16", "172.20.0.0/16"];

/// The network that EKS gave the services of a cluster whose DNS service has this address.
pub(crate) fn service_network(dns: &str) -> Option<&'static str> {
    EKS_NETWORKS
        .into_iter()
        .find(|network| dns_ip(network).as_deref() == Some(dns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_has_a_region_and_an_account() {
        let cluster = "arn:aws:eks:eu-west-1:111122223333:cluster/demo";
        assert_eq!(
            arn_parts(cluster),
            (Some("eu-west-1".into()), Some("111122223333".into()))
        );
        assert_eq!(
            arn_parts("arn:aws:iam::111122223333:role/nodes"),
            (None, Some("111122223333".into()))
        );
        assert_eq!(arn_parts("nodes"), (None, None));
    }

    #[test]
    fn a_hint_gives_what_the_name_of_a_value_asks_for() {
        let (authority, endpoint) = ("{{ cluster.certificate_authority }}", "{{ cluster.endpoint }}");
        for (name, value) in [
            ("cluster_auth_base64_cert", authority),
            ("B64_CLUSTER_CA", authority),
            ("ca", authority),
            ("cluster_auth_base64", authority),
            ("eks.clusterCA", authority),
            ("cluster_endpoint", endpoint),
            ("API_SERVER_URL", endpoint),
            ("apiServer", endpoint),
            ("ClusterCaData", authority),
            ("CAData", authority),
            ("EksCertAuthority", authority),
            ("ClusterEndpointCA", authority),
            ("GetClusterEndpoint.CaData", authority),
            ("endpoint_ca", authority),
            ("module.eks.certificate_authority[0].data", authority),
            ("LS0tLS1CRUdJTi", authority),
            ("ClusterCAEndpoint", endpoint),
            ("ClusterCert.Endpoint", endpoint),
            (
                "https://0123456789ABCDEF.gr7.ca-central-1.eks.amazonaws.com",
                endpoint,
            ),
            ("capacity", "VALUE"),
            ("CAPACITY", "VALUE"),
            ("VPCAddress", "VALUE"),
            ("cluster_name", "VALUE"),
        ] {
            assert_eq!(value_to_set(name), value, "{name}");
        }
    }

    #[test]
    fn the_dns_service_has_the_tenth_address() {
        assert_eq!(dns_ip("172.20.0.0/16").unwrap(), "172.20.0.10");
        assert_eq!(dns_ip("fd30:1c53:5f8a::/108").unwrap(), "fd30:1c53:5f8a::a");
        assert_eq!(dns_ip("172.20.0.0"), None);
        for (address, network) in [
            ("172.20.0.10", Some("172.20.0.0/16")),
            ("10.100.0.10", Some("10.100.0.0/16")),
            ("10.100.0.11", None),
            ("169.254.20.10", None),
            ("fd30:1c53:5f8a::a", None),
        ] {
            assert_eq!(service_network(address), network, "{address}");
        }
    }

    #[test]
    fn a_parameter_of_ssm_tells_the_family() {
        let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id";
        assert_eq!(family_of_image(image), Some(AmiFamily::Al2023));
        for (name, family) in [
            (
                "amazon-eks-node-al2023-arm64-standard-1.33-v20250920",
                Some(AmiFamily::Al2023),
            ),
            ("amazon-eks-node-1.31-v20250123", Some(AmiFamily::Al2)),
            ("amazon-eks-gpu-node-1.29-*", Some(AmiFamily::Al2)),
            (
                "bottlerocket-aws-k8s-1.33-x86_64-v1.44.0",
                Some(AmiFamily::Bottlerocket),
            ),
            (
                "Windows_Server-2022-English-Core-EKS_Optimized-1.33",
                Some(AmiFamily::Windows),
            ),
            ("ubuntu-eks/k8s_1.33/images/hvm-ssd/x", Some(AmiFamily::Ubuntu)),
            ("amazon-eks-node-*", None),
        ] {
            assert_eq!(family_of_image(name), family, "{name}");
        }
        assert_eq!(ami_id(image), STAND_IN_AMI);
        assert_eq!(version_of_image(image).as_deref(), Some("1.33"));
        let name = "amazon-eks-node-al2023-x86_64-standard-1.31-v20250920";
        assert_eq!(version_of_image(name).as_deref(), Some("1.31"));
        assert_eq!(version_of_image("golden-1.2-2024"), None);
        assert_eq!(
            (family_of_image("ami-1"), ami_id("ami-1").as_str()),
            (None, "ami-1")
        );
    }

    #[test]
    fn taints_are_read_from_text() {
        assert_eq!(
            taint_of_text("a=b:NoExecute").unwrap().to_string(),
            "a=b:NoExecute"
        );
        assert_eq!(
            taint_of_text("a:NoSchedule").unwrap().to_string(),
            "a=:NoSchedule"
        );
        assert_eq!(taint_of_text("a=b"), None);
    }
}
