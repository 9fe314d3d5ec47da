//! Values of other clusters, and misspelt names, in the user data.

use super::*;

const OTHER: &str = "FEDCBA9876543210FEDCBA9876543210.yl4.eu-west-1.eks.amazonaws.com";

fn unregistered(host: &str, error: &str) -> ObservedEvent {
    kubelet(&format!(
        "E1121 10:00:00.000001     321 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: Post \
         \"https://{host}/api/v1/nodes\": {error}"
    ))
}

fn distrust() -> ObservedEvent {
    unregistered(HOST, "x509: certificate signed by unknown authority")
}

fn with_argument(case: Case, argument: &str) -> Case {
    case.user_data(&format!(
        "#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh demo {argument}\n"
    ))
}

/// A CA in base64, as a file of user data has it.
fn authority() -> String {
    STANDARD.encode("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
}

/// The kubelet starts again after this many events of a complete join.
fn second_run(events: usize) -> Vec<ObservedEvent> {
    let again = [
        systemd("kubelet.service", "Started Kubernetes Kubelet."),
        distrust(),
    ];
    join().into_iter().take(events).chain(again).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let no_host = || unregistered(OTHER, "dial tcp: lookup x: no such host");
    let with_authority = format!("--b64-cluster-ca {}", authority());
    let missing = |line: &str| after_boot([cloud(line), done("DataSourceEc2Local")]);
    vec![
        with_argument(
            Case::new("endpoint of another cluster in the user data", after_start([no_host()])),
            &format!("--apiserver-endpoint https://{OTHER}"),
        ),
        with_argument(
            Case::new("CA of another cluster in the user data", after_start([distrust()])),
            &with_authority,
        ),
        with_argument(
            Case::new("CA of another cluster that the run replaces", after_start([distrust()])),
            &with_authority,
        )
        .plan(|plan| plan.user_data.as_mut().unwrap().replace = Some(crate::plan::Replacement::Cluster)),
        Case::new("second run with another CA before the node registers", second_run(6)),
        Case::new("second run with another CA after the join", second_run(9)).seen(|seen| {
            seen.collected = Some(Collected {
                kubelet_argv: Some(["kubelet", "--kubeconfig", "/etc/kubelet.conf"].map(String::from).to_vec()),
                ..Collected::default()
            });
        }),
        Case::new(
            "misspelt path of the bootstrap script",
            missing("/var/lib/cloud/instance/scripts/part-001: line 2: /etc/eks/boostrap.sh: No such file or directory"),
        ),
        Case::new(
            "missing path that is like no other",
            missing("/var/lib/cloud/instance/scripts/part-001: line 2: /opt/acme/run: No such file or directory"),
        ),
        Case::new(
            "misspelt flag of the kubelet",
            after_start([
                kubelet("F1121 11:27:03.227158     281 server.go:156] unknown flag: --node-label"),
                systemd("kubelet.service", "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION"),
            ]),
        )
        .seen(|seen| seen.kubelet = "v1.20.2".into()),
        Case::new(
            "label with a key that begins with a dash",
            after_token([audit(
                "create",
                "nodes",
                422,
                "system:node:x",
                "Node \"x\" is invalid: metadata.labels: Invalid value: \"-team\": name part must consist of alphanumeric \
                 characters, '-', '_' or '.' (e.g. 'MyName')",
            )]),
        ),
        Case::new(
            "label with a value that the kubelet refuses",
            after_start([kubelet(
                "E0101 10:00:00.000001     321 run.go:74] \"command failed\" err=\"failed to validate kubelet flags: invalid node \
                 labels: 'iron/man' - a valid label must be an empty string or consist of alphanumeric characters (e.g. 'x')\"",
            )]),
        )
        .user_data("#!/bin/bash\nkubelet --node-labels=team=iron/man\n"),
    ]
}
