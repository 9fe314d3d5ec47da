//! The log of the kubelet: flags that it refuses, an API server that it does not trust or reach, and its exit.

use super::*;
use crate::observation::DnsQuery;
use crate::plan::CaChoice;

/// A fatal line of the kubelet, and its end.
fn ends_of(message: &str) -> Vec<ObservedEvent> {
    let fatal = format!("F1121 10:00:00.000001     321 server.go:269] {message}");
    after_start([kubelet(&fatal), ended()])
}

const NODE_CONFIG: &str =
    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: { maxPods: 20 }\n";

const LITERAL: &str = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--v=2 --node-labels=id=$(curl -s http://x/id)'\n";

/// A kubelet before 1.28 that nodeadm started.
fn config_dir() -> Vec<ObservedEvent> {
    let nodeadm = journal(
        "nodeadm-config.service",
        "nodeadm",
        "info init/init.go:215 Configured daemon",
    );
    let refused = "failed to parse kubelet flag: unknown flag: --config-dir";
    std::iter::once(nodeadm).chain(ends_of(refused)).collect()
}

fn ended() -> ObservedEvent {
    systemd(
        "kubelet.service",
        "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
    )
}

fn says(message: &str) -> Vec<ObservedEvent> {
    after_start([kubelet(message)])
}

fn unregistered(error: &str) -> Vec<ObservedEvent> {
    says(&format!(
        "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post {error}"
    ))
}

fn swap() -> Vec<ObservedEvent> {
    let message = "E1121 10:00:00.000001     321 run.go:72] \"command failed\" err=\"failed to run Kubelet: swap feature is \
                   enabled and LimitedSwap but it is only supported with cgroupv2\"";
    after_start([kubelet(message), ended()])
}

pub(super) fn cases() -> Vec<Case> {
    let distrust = || {
        unregistered(&format!(
            "\"https://{HOST}/api/v1/nodes\": x509: certificate signed by unknown authority"
        ))
    };
    let message =
        "failed to run Kubelet: could not init cloud provider \"aws\": AWS cloud failed to find ClusterID";
    let unknown_flag =
        || kubelet("F1121 11:27:03.227158     281 server.go:156] unknown flag: --allow-privileged");
    let reserved = "F1127 07:51:51.792518     554 kubelet.go:1350] Failed to start ContainerManager invalid Node Allocatable \
                    configuration. Resource \"memory\" has an allocatable of {{11559501824 0} {<nil>}  BinarySI}, capacity of \
                    {{-3423223808 0} {<nil>}  BinarySI}";
    let newer_reserved = "E1127 09:41:43.495335     513 kubelet.go:1839] \"Failed to start ContainerManager\" err=\"invalid Node \
                          Allocatable configuration. Resource \\\"memory\\\" has a reservation of {{9542041600 0} {<nil>}  BinarySI}\"";
    let driver = "F1127 07:51:51.792518     554 server.go:269] failed to run Kubelet: misconfiguration: kubelet cgroup driver: \
                  \"systemd\" is different from docker cgroup driver: \"cgroupfs\"";
    let no_program = |path: &str, reason: &str| {
        journal(
            "kubelet.service",
            "(kubelet)",
            &format!("kubelet.service: Failed at step EXEC spawning {path}: {reason}"),
        )
    };
    vec![
        Case::new(
            "a program that is missing",
            after_start([no_program("/usr/local/bin/kubelet", "No such file or directory"), ended()]),
        ),
        Case::new("a program that is missing, after requests without a token", {
            let refused = ObservedEvent::Aws(AwsCall {
                authorization: Some("v1".into()),
                ..aws(Service::Imds, "meta-data/instance-id", 401)
            });
            after_start([
                refused,
                no_program("/usr/local/bin/kubelet", "No such file or directory"),
                ended(),
            ])
        }),
        Case::new("more reserved than the machine has", after_start([kubelet(reserved), ended()])),
        Case::new(
            "more reserved than the machine has, by a newer kubelet",
            after_start([
                kubelet(newer_reserved),
                kubelet("BrokenPipeError: [Errno 32] Broken pipe"),
                ended(),
            ]),
        ),
        Case::new("another cgroup driver than docker", after_start([kubelet(driver), ended()])),
        Case::new(
            "label of kubernetes.io",
            says(
                "F1121 10:00:00.000001     321 server.go:158] unknown 'kubernetes.io' or 'k8s.io' labels specified with \
                 --node-labels: [node-role.kubernetes.io/worker]\n--node-labels in the 'kubernetes.io' namespace must begin with \
                 an allowed prefix",
            ),
        )
        .user_data("#!/bin/bash\nkubelet --node-labels=node-role.kubernetes.io/worker=\n"),
        Case::new("label that is not named", says("invalid node labels")),
        Case::new(
            "taint without an effect",
            says(
                "F1121 10:00:00.000001     321 server.go:155] invalid argument \"taint1=true\" for \"--register-with-taints\" flag: \
                 invalid taint spec: taint1=true",
            ),
        ),
        Case::new("taint with an unknown effect", says("unsupported taint effect, invalid taint spec: a=b:Never")),
        Case::new(
            "processors that the host lacks",
            after_start([
                kubelet(
                    "E1121 10:00:00.000001     321 kubelet.go:1839] \"Failed to start ContainerManager\" err=\"failed to write \\\"0-31\\\": \
                     write /sys/fs/cgroup/kubepods.slice/cpuset.cpus: numerical result out of range\"",
                ),
                ended(),
            ]),
        ),
        Case::new("control groups of version 2", swap())
            .plan(|plan| plan.image.name = "al2023".to_owned()),
        Case::new("control groups of version 2 on AL2", swap()),
        Case::new("certificate authority of another cluster", distrust())
            .plan(|plan| plan.cluster.certificate_authority = CaChoice::Other),
        Case::new("wrong certificate authority", distrust()),
        Case::new(
            "endpoint of another cluster",
            unregistered("\"https://nope.example/api/v1/nodes\": dial tcp: lookup nope.example: no such host"),
        ),
        Case::new(
            "placeholder in the kubeconfig",
            unregistered("\"http://MASTER_ENDPOIN/api/v1/nodes\": dial tcp: lookup MASTER_ENDPOIN: no such host"),
        ),
        Case::new(
            "endpoint at a name outside",
            unregistered("\"https://api.example.com/api/v1/nodes\": x509: certificate signed by unknown authority")
                .into_iter()
                .chain([ObservedEvent::Dns(DnsQuery {
                    name: "api.example.com".to_owned(),
                    record: "A".to_owned(),
                    answered: false,
        fault: None,
                })]),
        ),
        Case::new(
            "endpoint of this cluster",
            unregistered(&format!("\"https://{HOST}/api/v1/nodes\": dial tcp: i/o timeout")),
        ),
        Case::new(
            "endpoint without a scheme",
            unregistered(&format!("\"http://{HOST}/api/v1/nodes\": dial tcp 198.18.7.2:80: connect: connection refused")),
        ),
        Case::new("kubelet that says nothing", after_start([ended(), kubelet("x")])),
        Case::new("kubelet that ended three times after it registered", {
            let events = [node(false), ended(), unknown_flag(), ended(), ended(), unknown_flag()];
            after_token(events)
        }),
        Case::new("kubelet that ended three times", {
            let events = [ended(), unknown_flag(), unknown_flag(), ended(), unknown_flag(), ended()];
            after_start(events)
        }),
        Case::new("instance without a cluster tag", ends_of(message)),
        Case::new("instance with tags in its metadata and without a cluster tag", ends_of(message))
            .plan(|plan| plan.instance.metadata.instance_tags = true),
        Case::new("instance with two cluster tags", ends_of("multiple cluster tags found")).plan(|plan| {
            let tags = ["a", "b"].map(|name| (format!("kubernetes.io/cluster/{name}"), "owned".to_owned()));
            plan.instance.tags.extend(tags);
        }),
        Case::new("setting with a value of another type", {
            ends_of(
                "failed to load kubelet config file, path: /etc/kubernetes/kubelet/config.json, error: failed to decode: json: \
                 cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
            )
        }),
        Case::new("setting with a value of another type, older kubelet", {
            ends_of(
                "failed to load Kubelet config file /etc/kubernetes/kubelet/config.json, error failed to decode: \
                 v1beta1.KubeletConfiguration.ClusterDNS: []string: decode slice: expect [ or n, but found \", error found in #10 byte",
            )
        }),
        Case::new("kubelet without docker", {
            ends_of(
                "failed to run Kubelet: failed to get docker version: Cannot connect to the Docker daemon at \
                 unix:///var/run/docker.sock. Is the docker daemon running?",
            )
        }),
        Case::new("certificate authority that was not decoded", {
            ends_of(
                "unable to load client CA file /etc/kubernetes/pki/ca.crt: error creating pool from /etc/kubernetes/pki/ca.crt: \
                 data does not contain any valid RSA or ECDSA certificates",
            )
        }),
        Case::new(
            "kernel flags",
            ends_of("failed to run Kubelet: invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0"),
        ),
        Case::new("flag of older versions", ends_of("failed to parse kubelet flag: unknown flag: --network-plugin"))
            .seen(|seen| seen.kubelet = "v1.36.3".into()),
        Case::new("flag of newer versions that nodeadm writes", config_dir())
            .seen(|seen| seen.kubelet = "v1.27.1".into())
            .user_data(NODE_CONFIG),
        Case::new("flag of newer versions that the user data has", config_dir())
            .seen(|seen| seen.kubelet = "v1.27.1".into())
            .user_data(&format!("{NODE_CONFIG}    flags: [--config-dir=/etc/kubelet.d]\n")),
        Case::new("flag of no version", ends_of("unknown flag: --no-such")),
        Case::new("label with a blank", ends_of("unknown command: ments"))
            .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=pay ments'\n"),
        Case::new("value with a blank", ends_of("unknown command: b"))
            .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--root-dir=/a b'\n"),
        Case::new("command between single quotes, with a flag", ends_of("unknown shorthand flag: 's' in -s"))
            .user_data(LITERAL),
        Case::new(
            "configuration that its own reader emptied",
            ends_of("failed to load Kubelet config file /etc/x.json, error failed to decode: Object 'Kind' is missing in ''"),
        )
        .user_data("#!/bin/bash\njq '.maxPods=20' /etc/x.json > /etc/x.json\n/etc/eks/bootstrap.sh demo\n"),
        Case::new("command between single quotes, with a word", ends_of("unknown command: http://x/id)"))
            .user_data(LITERAL),
        Case::new(
            "command between single quotes as a label",
            ends_of(
                "failed to validate kubelet flags: invalid node labels: '$(hostname)' - a valid label must be an empty string (e.g. 'x')",
            ),
        )
        .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=host=$(hostname)'\n"),
        Case::new("word that the user data does not have", ends_of("unknown command: ments")),
        Case::new(
            "feature gate of older versions",
            ends_of("failed to set feature gates from initial flags-based config: unrecognized feature gate: DisableCloudProviders"),
        )
        .seen(|seen| seen.kubelet = "v1.36.3".into()),
        Case::new(
            "exec plugin of an older API",
            ends_of("exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\""),
        )
        .seen(|seen| seen.kubelet = "v1.36.3".into()),
        Case::new(
            "cgroup v1",
            ends_of("kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode"),
        )
        .seen(|seen| seen.kubelet = "v1.36.3".into()),
        Case::new("kubelet that ended for another reason", ends_of("failed to run Kubelet: something else")),
    ]
}
