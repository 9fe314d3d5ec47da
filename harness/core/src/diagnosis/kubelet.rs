//! The log of the kubelet: flags and labels that it refuses, and its exit.

use std::ops::RangeInclusive;

use super::cut_value;
use super::facts::{Evidence, Facts, between, names, sentence};
use super::labels::{self, InvalidLabel};
use super::literal_command::LiteralCommand;
use super::script_remedy::emptied_file;
use super::types::Finding;
use super::versions;
use crate::observation::{JournalLine, Millis};
use crate::plan::ImagePlan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// The first line of the kubelet with one of these words.
pub(super) fn line_with<'a>(facts: &Facts<'a>, words: &[&str]) -> Option<(Millis, &'a JournalLine)> {
    facts
        .kubelet()
        .find(|(_, line)| words.iter().any(|word| line.message.contains(word)))
}

/// A label that a kubelet may not set itself, or that is invalid.
pub(super) fn label_refused(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let (at, line) = line_with(
        facts,
        &["labels specified with --node-labels", "invalid node labels"],
    )?;
    if let Some(label) = InvalidLabel::of_kubelet(&line.message) {
        let words = label.words(&facts.user_data_text().unwrap_or_default());
        let because = format!("the kubelet refuses its command line and exits, because of {words}");
        if let Some(command) = LiteralCommand::of_value(facts, label.text()) {
            let because = format!("{because}; {}", command.because());
            let evidence = Evidence::journal(at, line);
            return facts.final_(Cause::LabelRefused, because, &evidence, command.remedy());
        }
        let remedy = label.remedy().to_owned();
        return facts.final_(Cause::LabelRefused, because, &Evidence::journal(at, line), remedy);
    }
    let label = labels::of_other_domains(&line.message).unwrap_or_else(|| "a label".to_owned());
    let because = format!("the kubelet refuses {label} on its command line and exits");
    let remedy = format!(
        "remove {label} from --node-labels: use your own domain or `node.kubernetes.io/`, and set labels such as \
         node-role.kubernetes.io from the control plane (kubectl label node)"
    );
    facts.final_(Cause::LabelRefused, because, &Evidence::journal(at, line), remedy)
}

/// A taint that the kubelet cannot parse.
pub(super) fn taint_invalid(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let words = [
        "invalid taint spec",
        "unsupported taint effect",
        "invalid taint effect",
        "duplicated taints",
    ];
    let (at, line) = line_with(facts, &words)?;
    let spec = between(&line.message, "invalid taint spec: ", &['\n', ',', ' ']);
    let spec = spec
        .or_else(|| between(&line.message, "invalid argument \"", &['"']))
        .unwrap_or("in --register-with-taints");
    let because = format!("the kubelet cannot parse the taint {spec} and exits");
    let example = if spec.contains(':') || spec.contains(' ') {
        "key=value:NoSchedule".to_owned()
    } else {
        format!("{spec}:NoSchedule")
    };
    let remedy = format!(
        "write the taint with one of the effects NoSchedule, PreferNoSchedule and NoExecute, for example {example}"
    );
    facts.final_(Cause::TaintInvalid, because, &Evidence::journal(at, line), remedy)
}

/// The kubelet confines its pods to the processors of the instance type, and the host has fewer. Only control groups of
/// version 2 refuse it: in those of version 1 the harness puts a plain file in the place of the list. With version 2 a
/// kubelet finds processors of the host, unless this has fewer than a core of the type has threads.
pub(super) fn lacks_processors(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let is_refused = |line: &JournalLine| {
        line.message.contains("failed to write") && line.message.contains("/cpuset.cpus: ")
    };
    let (at, line) = facts.kubelet().find(|(_, line)| is_refused(line))?;
    let because = format!(
        "a limit of nodejoin, not an error of the script: this kubelet confines its pods to the processors of {}, and the \
         host has fewer",
        facts.plan.instance.instance_type
    );
    let remedy = "choose an instance type with at most as many processors as the host has, or run the scenario on a larger host"
        .to_owned();
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// Settings of the kubelet need control groups of version 2, which the AMI has and the host does not: a container has
/// those of its host. AL2 has version 1, where the same settings fail.
pub(super) fn needs_cgroup_v2(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) || facts.plan.image.name == ImagePlan::DEFAULT {
        return None;
    }
    let is_refused = |line: &JournalLine| {
        let message = line.message.to_ascii_lowercase();
        ["only supported with cgroupv2", "only supported with cgroup v2"]
            .iter()
            .any(|word| message.contains(word))
    };
    let (at, line) = facts.kubelet().find(|(_, line)| is_refused(line))?;
    let because =
        "a limit of nodejoin, not an error of the user data: settings of the kubelet need control groups of \
                   version 2 (cgroup v2), and this host has version 1"
            .to_owned();
    let remedy = "run it on a host with cgroup v2 (`stat -fc %T /sys/fs/cgroup` prints `cgroup2fs`), or without these settings"
        .to_owned();
    facts.final_(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// The kubelet exits by itself, and no rule before found a more specific cause.
pub(super) fn exits(facts: &Facts<'_>) -> Option<Finding> {
    /// The first exit can be caused by something that the kubelet needs and that comes later; the third cannot.
    const LOOPS: usize = 3;
    let exits = || {
        facts
            .systemd_of_kubelet()
            .filter(|(_, line)| line.message.contains("Main process exited"))
    };
    let count = exits().count();
    // A kubelet can register before it checks the rest of its machine.
    let is_loop = count >= LOOPS && facts.is_before(Phase::Ready);
    let (at, end) = exits()
        .next()
        .filter(|_| is_loop || facts.is_before(Phase::Registered))?;
    let status = between(&end.message, "status=", &['/', ' ', ',']).unwrap_or("an error");
    let last = last_error(facts, 0..=at);
    let evidence = last.map_or_else(
        || Evidence::journal(at, end),
        |(at, line)| Evidence::journal(at, line),
    );
    let error = last
        .map(|(_, line)| match reserved(facts, &line.message) {
            Some(error) => format!(": {error}"),
            None => format!(": {}", sentence(&line.message)),
        })
        .unwrap_or_default();
    let message = last.map(|(_, line)| line.message.as_str()).unwrap_or_default();
    let command = LiteralCommand::of_error(facts, message);
    let command = command.map_or_else(String::new, |command| format!("; {}", command.because()));
    let because = format!(
        "the kubelet exited with status {status}, {} so far{error}{command}",
        times(count)
    );
    let remedy = remedy_of(facts, message);
    let finding = facts.found(Cause::KubeletExits, because, &evidence, remedy)?;
    Some(Finding {
        is_final: count >= LOOPS,
        ..finding
    })
}

/// What a kubelet says that reserves more than its machine has.
const RESERVES_TOO_MUCH: &str = "invalid Node Allocatable configuration";

/// The kubelet prints the reserved amount and what is left of the machine in the form of its data structures.
fn reserved(facts: &Facts<'_>, message: &str) -> Option<String> {
    let (_, text) = message.split_once(RESERVES_TOO_MUCH)?;
    // Newer kubelets print it as a quoted value of another message.
    let text = text.replace('\\', "");
    let resource = between(&text, "Resource \"", &['"'])?;
    let machine = &facts.plan.instance.instance_type;
    Some(format!("it reserves more {resource} than {machine} has"))
}

/// A program that the kubelet started for a token finds out that the kubelet has ended.
fn is_orphaned(line: &JournalLine) -> bool {
    line.message.contains("BrokenPipeError")
}

/// The first fatal line, else the last error before the kubelet's exit. The journal can have systemd's line about the
/// exit before the kubelet's last line.
pub(super) fn last_error<'a>(
    facts: &Facts<'a>,
    range: RangeInclusive<Millis>,
) -> Option<(Millis, &'a JournalLine)> {
    let lines = || facts.kubelet().filter(|(at, _)| at >= range.start());
    let fatal = lines().find(|(_, line)| is_klog(line, &['F']));
    fatal.or_else(|| {
        lines()
            .filter(|(at, line)| at <= range.end() && is_error(line) && !is_orphaned(line))
            .last()
    })
}

pub(super) fn times(count: usize) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}

fn is_klog(line: &JournalLine, severities: &[char]) -> bool {
    let digits = line.message.strip_prefix(severities);
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the line is an error of klog or of a flag library, and not the usage text after it.
fn is_error(line: &JournalLine) -> bool {
    const WORDS: [&str; 4] = ["Error:", "unknown flag", "invalid argument", "failed to "];
    is_klog(line, &['E']) || WORDS.iter().any(|word| line.message.contains(word))
}

pub(super) fn remedy_of(facts: &Facts<'_>, message: &str) -> String {
    let tags: Vec<&String> = facts
        .plan
        .instance
        .tags
        .keys()
        .filter(|key| key.starts_with("kubernetes.io/cluster/"))
        .collect();
    if message.contains("multiple cluster tags") {
        return format!("remove all but one of the instance's tags {}", names(&tags));
    }
    if message.contains("failed to find ClusterID") {
        let tag = format!("kubernetes.io/cluster/{}=owned", facts.plan.cluster.name);
        // EC2 refuses the tag there.
        return match facts.plan.instance.metadata.instance_tags {
            true => format!(
                "turn tags in the metadata off (`InstanceMetadataTags`) and tag the instance with {tag}: EC2 does not have both, and the \
                 AWS provider in kubelets before 1.27 needs this tag; or test with `--kubernetes 1.27` or newer"
            ),
            false => format!("tag the instance with {tag}"),
        };
    }
    if let Some(command) = LiteralCommand::of_error(facts, message) {
        return command.remedy();
    }
    if let Some(remedy) = versions::remedy_of_nodeadm(facts, message) {
        return remedy;
    }
    if let Some(remedy) = versions::remedy(&facts.observation.kubelet, message) {
        return remedy;
    }
    if let Some(remedy) = cut_value::remedy(facts, message) {
        return remedy;
    }
    if let Some(remedy) = emptied_file(facts, message) {
        return remedy;
    }
    if message.contains("failed to get docker version") {
        return "start docker in the script, or pass `--container-runtime=remote` to the kubelet: before 1.24 it uses docker \
                regardless of `--container-runtime-endpoint`"
            .to_owned();
    }
    if message.contains("unable to load client CA file") {
        let file = between(message, "client CA file ", &[':', ' ']).unwrap_or("that file");
        return format!(
            "write the cluster's CA as PEM into {file}: a script receives it in base64 and has to decode it once, and \
             `certificateAuthority` of a NodeConfig is the PEM in base64"
        );
    }
    if let Some(field) = between(message, "Go struct field KubeletConfiguration.", &[' ']) {
        let given = between(message, "cannot unmarshal ", &[' ']).unwrap_or("a value");
        let needed = between(
            message,
            &format!("{field} of type "),
            &[' ', ',', '"', '\\', '\n'],
        )
        .unwrap_or("another type");
        return format!(
            "give `{field}` of the kubelet's configuration a value of type {needed}: it has a {given}"
        );
    }
    // Kubelets before 1.23.
    if let Some(field) = between(message, "v1beta1.KubeletConfiguration.", &[':']) {
        let field = json_name(field);
        let needed =
            between(message, ": []", &[':']).map_or("another type".to_owned(), |of| format!("type []{of}"));
        return format!("give `{field}` of the kubelet's configuration a value of {needed}");
    }
    if message.contains(RESERVES_TOO_MUCH) {
        let name = &facts.plan.instance.instance_type;
        let type_ = facts.plan.key_hint("instance: { type: TYPE }");
        return format!(
            "lower `--kube-reserved` and `--system-reserved` below what {name} has, or, if the user data is for larger \
             machines, {type_}"
        );
    }
    if message.contains("is different from docker cgroup driver") {
        return "give the kubelet and its container runtime the same cgroup driver: `cgroupDriver` in the kubelet's \
                configuration, and `exec-opts` in /etc/docker/daemon.json"
            .to_owned();
    }
    if message.contains("invalid kernel flag") {
        return "set the kernel parameters that `protectKernelDefaults` requires".to_owned();
    }
    "read the kubelet's journal and its arguments in the evidence folder".to_owned()
}

/// The name of a field in JSON, such as `tlsCertFile` for `TLSCertFile`.
fn json_name(field: &str) -> String {
    let capitals = field.chars().take_while(char::is_ascii_uppercase).count();
    let lowered = match capitals {
        0 | 1 => capitals,
        all if all == field.len() => all,
        // The last one begins the next word.
        more => more - 1,
    };
    let (start, rest) = field.split_at(lowered);
    format!("{}{rest}", start.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::json_name;

    #[test]
    fn fields_have_their_names_in_json() {
        let fields = ["MaxPods", "ClusterDNS", "TLSCertFile", "CPUManagerPolicy"].map(json_name);
        assert_eq!(
            fields,
            ["maxPods", "clusterDNS", "tlsCertFile", "cpuManagerPolicy"]
        );
    }
}
