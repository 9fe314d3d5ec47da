//! Which worlds a change is about, by the words of its lines.

use std::collections::{BTreeMap, BTreeSet};

use super::changed_places::ChangedPlace;
use super::worlds::{Dimension, LOCAL_ZONE, WorldChange};

/// Shorter words say nothing, and are parts of many others: up to the second length they have to be a whole topic.
const SHORTEST_WORD: usize = 3;
const SHORTEST_PART: usize = 4;
/// Words that say nothing about a change.
const OF_EVERY_SCRIPT: [&str; 12] = [
    "echo", "then", "else", "elif", "local", "true", "false", "null", "name", "names", "exit", "done",
];
/// What a word of a changed line counts, a part of such a word, and a word of a line around it.
const OF_CHANGE: f64 = 4.0;
const PART_OF_CHANGE: f64 = 1.0;
const AROUND: f64 = 1.0;
/// A minor version as the name of a world has it.
const MINOR: &str = "kubelet1.";
/// What a word counts that the name of a world does not contain.
const OF_TOPIC: f64 = 0.5;
/// What a world counts that shows what every change can break: later starts.
const OF_STEPS: f64 = 0.5;

/// The words of changed lines and of the lines around them, each with its weight.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangedWords {
    weights: BTreeMap<String, f64>,
}

impl ChangedWords {
    /// The words of places.
    #[must_use]
    pub fn of(places: &[ChangedPlace]) -> Self {
        let mut words = Self::default();
        for place in places {
            for line in &place.around {
                names(line).for_each(|name| words.add(plain(name), AROUND));
            }
            for name in place.lines.iter().flat_map(|line| names(line)) {
                name.split(['-', '_', '.'])
                    .for_each(|part| words.add(plain(part), PART_OF_CHANGE));
                words.add(plain(name), OF_CHANGE);
            }
        }
        words
    }

    fn add(&mut self, word: String, weight: f64) {
        if word.len() >= SHORTEST_WORD && !OF_EVERY_SCRIPT.contains(&word.as_str()) {
            let known = self.weights.entry(word).or_default();
            *known = known.max(weight);
        }
    }

    /// How much each of these worlds has to do with the change: the words that fit it, each divided by the number of
    /// worlds that it fits.
    pub(super) fn relevance(&self, worlds: &[WorldChange]) -> Vec<f64> {
        let names: Vec<String> = worlds.iter().map(|world| plain(&world.name)).collect();
        let topics: Vec<BTreeSet<String>> = worlds.iter().map(topics).collect();
        let of_start = |world: &WorldChange| match world.dimension {
            Dimension::Step => OF_STEPS,
            _ => 0.0,
        };
        let mut relevance: Vec<f64> = worlds.iter().map(of_start).collect();
        for (word, weight) in &self.weights {
            let all = || 0..worlds.len();
            let named: Vec<usize> = all()
                .filter(|index| fits(word, &names[*index]) || is_of_zone(word, &worlds[*index]))
                .collect();
            let is_topic = |index: &usize| topics[*index].iter().any(|topic| fits(word, topic));
            let others: Vec<usize> = all()
                .filter(|index| !named.contains(index) && is_topic(index))
                .collect();
            for (indexes, share) in [(named, 1.0), (others, OF_TOPIC)] {
                let each = share * weight / indexes.len().max(1) as f64;
                indexes.into_iter().for_each(|index| relevance[index] += each);
            }
        }
        relevance
    }
}

/// Whether a word is about where a script gets its region from, which differs where the zone does not have its name.
fn is_of_zone(word: &str, world: &WorldChange) -> bool {
    const WORDS: [&str; 6] = [
        "region",
        "awsregion",
        "awsdefaultregion",
        "placement",
        "zone",
        "availabilityzone",
    ];
    world.name == LOCAL_ZONE && WORDS.contains(&word)
}

/// Whether a word is the topic or a part of it. A version fits itself alone: 1.2 does not fit 1.27.
fn fits(word: &str, topic: &str) -> bool {
    match word.starts_with(MINOR) || word.len() < SHORTEST_PART {
        true => topic == word,
        false => topic.contains(word),
    }
}

/// Names and numbers of a line, such as `--dns-cluster-ip`, `DNS_CLUSTER_IP` and `1.27.0`.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
}

/// A name as all spellings of it have it: letters in lower case, digits and dots between them.
fn plain(name: &str) -> String {
    let letters = name.trim_matches('.').chars().filter(|c| !"-_".contains(*c));
    let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    // `1.27.0` and `v1.27` are one minor version.
    let mut numbers = letters.trim_start_matches('v').split('.');
    match (numbers.next(), numbers.next()) {
        (Some("1"), Some(minor)) if minor.parse::<u32>().is_ok() => format!("{MINOR}{minor}"),
        _ => letters,
    }
}

/// What a script says where it is about the dimension of a world.
fn topics(world: &WorldChange) -> BTreeSet<String> {
    let of_dimension: &[&str] = match world.dimension {
        Dimension::InstanceType => &[
            "instance-type",
            "max-pods",
            "eni-max-pods",
            "eni",
            "uname",
            "arch",
            "aarch64",
            "x86-64",
            "nproc",
            "cpu",
            "cores",
            "memory",
            "mem-total",
            "mebibytes",
            "gpu",
            "nvidia",
            "efa",
            "reserved",
            "kube-reserved",
            "eviction",
        ],
        Dimension::Region => &[
            "region",
            "aws-region",
            "aws-default-region",
            "partition",
            "services-domain",
            "amazonaws",
            "amazonaws.com.cn",
            "domain",
            "ecr-uri",
            "account",
            "account-id",
            "dkr",
            "availability-zone",
            "zone",
            "fips",
            "provider-id",
        ],
        Dimension::Network => &[
            "cidr",
            "service-ipv4-cidr",
            "service-ipv6-cidr",
            "service-cidr",
            "vpc",
            "vpc-cidr",
            "vpc-ipv4-cidr-blocks",
            "cluster-dns",
            "cluster-dns-ip",
            "dns-cluster-ip",
            "dns",
            "ip-family",
            "ipv4",
            "ipv6",
            "node-ip",
            "ten-range",
            "octet",
        ],
        Dimension::LifeCycle => &["spot", "lifecycle", "life-cycle", "instance-life-cycle"],
        Dimension::Tokens => &[
            "token",
            "imds-token",
            "x-aws-ec2-metadata-token",
            "imds",
            "http-tokens",
        ],
        Dimension::Name => &[
            "private-dns-name",
            "hostname",
            "local-hostname",
            "hostname-override",
            "node-name",
            "instance-id",
            "provider-id",
            "describe-instances",
            "resolv.conf",
            "dhcp",
        ],
        Dimension::Cluster => &[
            "cluster-active",
            "wait",
            "status",
            "creating",
            "active",
            "describe-cluster",
        ],
        Dimension::Interfaces => &[
            "mac",
            "macs",
            "interface",
            "interfaces",
            "network",
            "eth0",
            "primary",
        ],
        Dimension::Redirects => &["curl", "location", "redirect", "meta-data", "latest", "imds"],
        Dimension::Kubelet => &[
            "kubelet-version",
            "kube-version",
            "vercmp",
            "version",
            "feature-gates",
            "semver",
        ],
        Dimension::Fault => of_fault(&world.name),
        Dimension::Step => match world.name.as_str() {
            "reboot" => &[
                "reboot",
                "boot",
                "systemd",
                "systemctl",
                "enable",
                "daemon-reload",
                "tmpfiles",
                "wantedby",
                "after",
                "service",
                "socket",
                "mount",
                "fstab",
                "swapoff",
                "sysctl",
                "modprobe",
                "symlink",
                "multi-user.target",
                "oneshot",
            ],
            _ => &[
                "again",
                "mkdir",
                "exists",
                "restart",
                "start",
                "append",
                "idempotent",
                "useradd",
                "rmdir",
                "rename",
                "lock",
            ],
        },
        Dimension::Arguments => &[],
    };
    of_dimension.iter().copied().map(plain).collect()
}

/// What a script says where it makes the requests of a failure.
fn of_fault(name: &str) -> &'static [&'static str] {
    // An empty value is about its path, which the name has.
    if name.starts_with("empty-") {
        return &["empty"];
    }
    if name.contains("metadata") {
        return &[
            "imds",
            "metadata",
            "meta-data",
            "curl",
            "retry",
            "retries",
            "attempt",
            "attempts",
            "backoff",
            "sleep",
            "connect-timeout",
            "token",
            "latest",
            "169.254.169.254",
        ];
    }
    if name.contains("-ecr-") {
        return &[
            "get-login",
            "get-login-password",
            "ecr-password",
            "pull-image",
            "pull-sandbox-image",
            "sandbox-image",
            "pause",
            "crictl",
            "retry",
            "retries",
            "attempt",
            "attempts",
            "backoff",
            "sleep",
        ];
    }
    &[
        "retry",
        "retries",
        "attempt",
        "attempts",
        "max-attempts",
        "backoff",
        "sleep",
        "aws-max-attempts",
        "aws-retry-mode",
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::worlds::change;

    fn order(lines: &[&str], around: &[&str], worlds: &[(Dimension, &str)]) -> Vec<String> {
        let place = ChangedPlace::with_lines(lines, around);
        let worlds: Vec<WorldChange> = worlds
            .iter()
            .map(|(dimension, name)| change(*dimension, name, |_| {}))
            .collect();
        let relevance = ChangedWords::of(&[place]).relevance(&worlds);
        let mut found: Vec<(f64, String)> = relevance
            .into_iter()
            .zip(worlds)
            .map(|(one, world)| (one, world.name))
            .collect();
        found.retain(|(relevance, _)| *relevance > 0.0);
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.into_iter().map(|(_, name)| name).collect()
    }

    const WORLDS: [(Dimension, &str); 11] = [
        (Dimension::InstanceType, "t3.nano"),
        (Dimension::InstanceType, "f1.16xlarge"),
        (Dimension::Region, "cn-north-1"),
        (Dimension::Network, "services-10.100.0.0-16"),
        (Dimension::Arguments, "dns-cluster-ip"),
        (Dimension::Arguments, "enable-docker-bridge-true"),
        (Dimension::Kubelet, "kubelet-1.22"),
        (Dimension::Kubelet, "kubelet-1.27"),
        (Dimension::Fault, "denied-last-eks-describecluster"),
        (Dimension::Fault, "refused-metadata"),
        (Dimension::Step, "reboot"),
    ];

    #[test]
    fn a_change_is_about_the_worlds_that_its_words_name() {
        let first = |lines: &[&str]| order(lines, &[], &WORLDS).remove(0);
        assert_eq!(
            first(&["if [[ \"$ENABLE_DOCKER_BRIDGE\" = true ]]"]),
            "enable-docker-bridge-true"
        );
        assert_eq!(
            first(&["if vercmp \"$KUBELET_VERSION\" gteq \"1.27.0\"; then"]),
            "kubelet-1.27"
        );
        assert_eq!(
            first(&["aws eks describe-cluster --name $NAME || continue"]),
            "denied-last-eks-describecluster"
        );
        assert_eq!(first(&["  cn-north-1) ACCOUNT=1 ;;"]), "cn-north-1");
        assert_eq!(
            first(&["TOKEN=$(curl -X PUT http://169.254.169.254/latest/api/token)"]),
            "refused-metadata"
        );
        assert_eq!(first(&["systemctl enable ephemeral.mount"]), "reboot");
    }

    #[test]
    fn a_region_is_another_one_than_the_zone_says_in_a_local_zone() {
        let worlds = [
            (Dimension::Region, "cn-north-1"),
            (Dimension::Region, LOCAL_ZONE),
            (Dimension::InstanceType, "m6g.large"),
        ];
        let lines = ["aws ec2 describe-instances --region $REGION"];
        assert_eq!(order(&lines, &[], &worlds), [LOCAL_ZONE, "cn-north-1"]);
    }

    #[test]
    fn what_repeats_metadata_requests_is_not_about_their_values() {
        let worlds = [
            (Dimension::Fault, "empty-metadata-local-ipv4"),
            (Dimension::Fault, "refused-metadata"),
        ];
        assert_eq!(
            order(&["curl --retry 5 $IMDS"], &[], &worlds),
            ["refused-metadata"]
        );
        assert_eq!(
            order(&["IP=$(get local-ipv4)"], &[], &worlds),
            ["empty-metadata-local-ipv4"]
        );
    }

    #[test]
    fn a_short_word_is_a_topic_as_a_whole() {
        let worlds = [
            (Dimension::Interfaces, "two-interfaces"),
            (Dimension::Region, "machine-zone"),
        ];
        assert_eq!(order(&["MAC=$(get x)"], &[], &worlds), ["two-interfaces"]);
    }

    #[test]
    fn a_topic_stands_for_all_worlds_of_its_property() {
        let about_types = order(&["grep \"^$INSTANCE_TYPE\" $MAX_PODS_FILE"], &[], &WORLDS);
        assert_eq!(about_types[..2], ["t3.nano", "f1.16xlarge"], "{about_types:?}");
    }

    #[test]
    fn lines_around_a_change_count_less() {
        let found = order(
            &["DNS_CLUSTER_IP=10.1.0.10"],
            &["if [[ $REGION == cn-north-1 ]]; then"],
            &WORLDS,
        );
        assert_eq!(found[0], "dns-cluster-ip", "{found:?}");
        assert!(found.contains(&"cn-north-1".to_owned()), "{found:?}");
        assert!(!found.contains(&"kubelet-1.22".to_owned()), "{found:?}");
    }
}
