//! All causes of a stopped join, one row each. Nothing about a cause is written anywhere else.
//!
//! | key | content |
//! | --- | --- |
//! | the comment | what the cause means, for the page of diagnoses |
//! | the word | its name in scenarios and reports |
//! | `rules` | the joins that its rules look at (`RuleScope`), and its rules: order and function in `diagnosis` |
//! | `phases` | the first and the last phase at which a join can stop for it |
//! | `permanence` | whether joins that succeed can show it for a while |
//! | `blames` | the line of user data or scripts that it blames |
//! | `evidence` | where the evidence is read from |
//! | `remedy` | what to change in general |
//! | `proof` | the scenario that expects it, or why no scenario can |
//!
//! Rules apply in their order, the smallest first, and may rely on the rules before them having found nothing. A rule
//! that finds several causes stands in the row of each. A row without a rule, a phase or a proof does not compile.

/// Passes all rows to the macro `$rows`: `cause.rs` makes the enum of them, and `diagnosis/rules.rs` the rules.
#[rustfmt::skip]
macro_rules! cause_table {
    ($rows:ident) => { $rows! {
    /// The metadata service did not respond to any request of the node.
    MetadataUnreachable = "metadata-unreachable" {
        rules: Stopped { 60: instance::metadata_unreachable },
        phases: Booted..=Booted, permanence: Lasts, blames: LastOfScript,
        evidence: "requests to 169.254.169.254",
        remedy: "Enable the instance's metadata service, and remove routes, proxies and firewalls in front of 169.254.169.254.",
        proof: Scenario("refused/metadata-down"),
    }
    /// Requests to the metadata service go to an HTTP proxy, which does not reach the link-local address of the
    /// instance.
    MetadataByProxy = "metadata-by-proxy" {
        rules: Stopped { 65: instance::metadata_by_proxy },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "requests to the HTTP proxy",
        remedy: "Add 169.254.169.254 to `NO_PROXY`, also to that of the units.",
        proof: Scenario("mistakes/metadata-by-proxy"),
    }
    /// The instance requires IMDSv2, and the script sends requests without a session token.
    MetadataTokenMissing = "metadata-token-missing" {
        rules: Stopped { 270: instance::metadata_token_missing },
        phases: Booted..=Authenticated, permanence: Lasts, blames: LastOfScript,
        evidence: "requests to 169.254.169.254",
        remedy: "Request a session token (PUT /latest/api/token) and send it with each request.",
        proof: Scenario("eksctl-2019/tokens-required"),
    }
    /// cloud-init finished without running any user data.
    UserDataNeverRan = "user-data-never-ran" {
        rules: Stopped {
            227: user_data_start::message_without_header, 240: user_data_start::user_data_is_base64,
            260: user_data_start::user_data_never_ran
        },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "cloud-init's log and status",
        remedy: "Pass user data that is encoded once, and make sure that the metadata service responds to every path that it lists.",
        proof: Scenario("refused/user-data-never-ran"),
    }
    /// A script part of the user data does not begin with `#!`, so the kernel cannot start it.
    MissingShebang = "missing-shebang" {
        rules: Stopped { 250: user_data_start::missing_shebang },
        phases: Booted..=Described, permanence: Lasts, blames: PartWithoutInterpreter,
        evidence: "cloud-init's log, the user data",
        remedy: "Begin the part with `#!/bin/bash`.",
        proof: Scenario("refused/script-without-shebang"),
    }
    /// A script part of the user data begins with a byte order mark, so the kernel does not find its `#!`.
    ByteOrderMark = "byte-order-mark" {
        rules: Stopped { 245: user_data_start::byte_order_mark },
        phases: Booted..=Described, permanence: Lasts, blames: PartWithoutInterpreter,
        evidence: "cloud-init's log, the user data",
        remedy: "Save the part as UTF-8 without a byte order mark.",
        proof: Scenario("mistakes/byte-order-mark"),
    }
    /// The user data rebooted the instance before it started the kubelet, or reboots it without end. nodejoin boots the
    /// instance again, as EC2 does, and cloud-init does not run scripts of the user data a second time.
    InstanceRebooted = "instance-rebooted" {
        rules: Stopped { 12: power::reboots, 13: power::cut_off },
        phases: Booted..=Certified, permanence: Lasts, blames: LastOfScript,
        evidence: "systemd's log, the end of the container",
        remedy: "Call the bootstrap script before the reboot, and enable the kubelet's unit.",
        proof: Scenario("mistakes/reboots-before-bootstrap"),
    }
    /// The user data shut the instance down.
    InstanceShutDown = "instance-shut-down" {
        rules: Stopped { 14: power::shut_down },
        phases: Booted..=Certified, permanence: Lasts, blames: LastOfScript,
        evidence: "systemd's log, the end of the container",
        remedy: "Remove the command that shuts the instance down.",
        proof: Scenario("mistakes/shuts-down"),
    }
    /// The script requests a metadata path again and again that the instance does not have.
    MetadataPathMissing = "metadata-path-missing" {
        rules: Stopped { 325: metadata_path::missing },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "requests to 169.254.169.254",
        remedy: "Request a path that the instance has, and stop after a 404: it does not change.",
        proof: Scenario("mistakes/waits-for-metadata"),
    }
    /// The script needs a name that does not resolve in the VPC either, or that `dns_faults` does not let resolve.
    NameNotResolved = "name-not-resolved" {
        rules: Stopped { 205: dns_fault::script_needs_name, 289: dns_fault::kubelet_needs_name, 324: unanswered::unresolved_name },
        phases: Booted..=Authenticated, permanence: Lasts, blames: LastOfScript,
        evidence: "calls to AWS, queries to the resolver, the output of the user data",
        remedy: "Correct the name, repeat a look-up that can fail for a moment, or let the script continue without it.",
        proof: Scenario("mistakes/waits-for-a-name"),
    }
    /// The script needs something that nodejoin does not have, such as an AWS service, a host outside or a command. The
    /// result says nothing about the script.
    HarnessLimit = "harness-limit" {
        rules: Stopped {
            203: outside::tls_proxy, 204: outside::missing_proxy, 229: nodeadm::unsupported, 275: kubelet::lacks_processors, 276: kubelet::needs_cgroup_v2,
            312: outside::untrusted_authority, 313: script::unsigned_download, 316: limits::stand_in, 317: outside::reported_request, 318: limits::missing_unit, 319: unanswered::reported_call,
            321: limits::missing_on_image, 322: limits::container, 323: limits::no_route,
            324: unanswered::unresolved_name, 326: unanswered::unreported_call, 327: stored_values::not_stored,
            329: outside::unreported_request
        },
        phases: Booted..=Authenticated, permanence: Lasts, blames: LastOfScript,
        evidence: "requests to hosts outside, queries to the resolver, the output of the user data",
        remedy: "Answer the request by `outside`, set `network: open`, add what is missing with an overlay, or replace the command by a stub.",
        proof: Scenario("limits/command"),
    }
    /// The instance's role may not call an AWS operation that the script or the kubelet needs.
    AccessDenied = "access-denied" {
        rules: Stopped { 210: script::access_denied },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "responses of AWS",
        remedy: "Allow the operation in the policy of the role.",
        proof: Scenario("minimal/denied"),
    }
    /// DescribeCluster failed for a reason other than permissions, or the cluster is not active.
    DescribeFailed = "describe-failed" {
        rules: Stopped { 220: script::describe_failed },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "responses of EKS",
        remedy: "Pass the right cluster name, wait until the cluster is active, and retry throttled requests.",
        proof: Scenario("minimal/never-active"),
    }
    /// The user data is for another AMI family than the node image: a NodeConfig on `al2`, or a call of
    /// /etc/eks/bootstrap.sh on `al2023`.
    WrongAmiFamily = "wrong-ami-family" {
        rules: Stopped { 228: ami_family::other },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "the user data, nodeadm's log",
        remedy: "Set `image: al2023` for a NodeConfig and `image: al2` for a call of bootstrap.sh, or add the program with an overlay.",
        proof: Scenario("al2023/bootstrap-script"),
    }
    /// nodeadm cannot use the NodeConfig in the user data.
    NodeConfigInvalid = "node-config-invalid" {
        rules: Stopped { 230: nodeadm::node_config_invalid },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "nodeadm's log",
        remedy: "Correct the NodeConfig; `nodeadm config check` in the node validates it.",
        proof: Scenario("nodeadm/misnamed-field"),
    }
    /// kubeadm pins the hash of another CA than the cluster's.
    CaCertHashMismatch = "ca-cert-hash-mismatch" {
        rules: Stopped { 80: kubeadm::ca_cert_hash_mismatch },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "kubeadm's output",
        remedy: "Pass the hash of the cluster's CA to kubeadm.",
        proof: Scenario("kubeadm/wrong-hash"),
    }
    /// The cluster does not have the bootstrap token, or does not have it any more.
    BootstrapTokenUnknown = "bootstrap-token-unknown" {
        rules: Stopped { 100: kubeadm::token_unknown },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "the API server's audit log",
        remedy: "Create a token with `kubeadm token create --print-join-command`.",
        proof: Scenario("kubeadm/used-token"),
    }
    /// The bootstrap token has expired.
    BootstrapTokenExpired = "bootstrap-token-expired" {
        rules: Stopped { 90: kubeadm::token_refused, 100: kubeadm::token_unknown },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "the API server's audit log",
        remedy: "Create a token with `kubeadm token create --print-join-command`.",
        proof: Scenario("kubeadm/expired-token"),
    }
    /// The API server does not accept the bootstrap token.
    BootstrapTokenRefused = "bootstrap-token-refused" {
        rules: Stopped { 90: kubeadm::token_refused },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "the API server's audit log",
        remedy: "Create the token with both usages, and start the API server with --enable-bootstrap-token-auth.",
        proof: Scenario("kubeadm/token-without-authentication"),
    }
    /// The user data, a script that it calls, or nodeadm ended with an error.
    ScriptFailed = "script-failed" {
        rules: Stopped { 13: power::cut_off, 268: script::bootstrap_refuses, 320: nodeadm::failed, 327: stored_values::not_stored, 328: paths::misspelt, 330: script::failed, 340: user_data_end::error_is_hidden },
        phases: Booted..=Described, permanence: Lasts, blames: LastOfScript,
        evidence: "the output of the user data, nodeadm's log",
        remedy: "Run the failed line in the node; `nodejoin run --hold` holds it.",
        proof: Scenario("mistakes/output-through-logger"),
    }
    /// The container runtime does not start, or starts without what a kubelet calls, because of its configuration.
    ContainerRuntimeFails = "container-runtime-fails" {
        rules: Stopped { 278: container_runtime::lacks_kubernetes, 314: container_runtime::fails },
        phases: Booted..=KubeletStarted, permanence: Lasts, blames: NoLine,
        evidence: "the journal of the runtime's unit",
        remedy: "Correct the configuration of the runtime that the user data writes.",
        proof: Scenario("nodeadm/containerd-configuration-invalid"),
    }
    /// The image of the pause container could not be pulled, and the kubelet's unit requires it.
    SandboxImageNotPulled = "sandbox-image-not-pulled" {
        rules: Stopped { 315: sandbox_image::not_pulled },
        phases: Booted..=Configured, permanence: Lasts, blames: NoLine,
        evidence: "the journal of sandbox-image.service",
        remedy: "Name an image with its tag, in a registry of the node's region that the node's role can read.",
        proof: Scenario("mistakes/pause-image-without-tag"),
    }
    /// The user data was still running at the timeout.
    UserDataNotDone = "user-data-not-done" {
        rules: AtTheEnd { 370: user_data_end::is_not_done },
        phases: Booted..=Configured, permanence: Lasts, blames: LastOfScript,
        evidence: "the output of the user data, requests to AWS",
        remedy: "Find out what the script waits for; if it only needs more time, increase `limits.join_seconds`.",
        proof: Scenario("mistakes/never-ends"),
    }
    /// The user data is done, and systemd did not start the kubelet.
    KubeletNeverStarted = "kubelet-never-started" {
        rules: Stopped { 310: user_data_end::unit_is_refused, 350: never_started::kubelet_never_started },
        phases: Booted..=Configured, permanence: Lasts, blames: NoLine,
        evidence: "systemd's log",
        remedy: "Call the bootstrap script in the user data, and correct failed units that the kubelet requires.",
        proof: Scenario("mistakes/open-here-document"),
    }
    /// The kubelet refuses a label on its command line.
    LabelRefused = "label-refused" {
        rules: Stopped { 120: kubelet::label_refused },
        phases: KubeletStarted..=KubeletStarted, permanence: Lasts, blames: KubeletFlag("--node-labels"),
        evidence: "the kubelet's log",
        remedy: "Use a label domain that a kubelet may set; set other labels with `kubectl label node`.",
        proof: Scenario("refused/node-role-label"),
    }
    /// The kubelet cannot parse a taint on its command line.
    TaintInvalid = "taint-invalid" {
        rules: Stopped { 130: kubelet::taint_invalid },
        phases: KubeletStarted..=KubeletStarted, permanence: Lasts, blames: KubeletFlag("--register-with-taints"),
        evidence: "the kubelet's log",
        remedy: "Write the taint as `key=value:Effect`.",
        proof: Scenario("refused/taint-without-effect"),
    }
    /// The kubelet exits by itself for another reason.
    KubeletExits = "kubelet-exits" {
        rules: Stopped { 269: kubelet_program::cannot_start, 280: kubelet::exits },
        phases: Configured..=Certified, permanence: MayPass, blames: NoLine,
        evidence: "the kubelet's log, systemd's log",
        remedy: "Correct the flag, file or setting that the kubelet names in its last line.",
        proof: Scenario("mistakes/flag-of-the-kubelet"),
    }
    /// The kubelet does not trust the API server's certificate, or does not trust it any more.
    WrongCertificateAuthority = "wrong-certificate-authority" {
        rules: Stopped { 190: api_server::wrong_certificate_authority, 192: api_server::authority_changed },
        phases: KubeletStarted..=Certified, permanence: Lasts, blames: NoLine,
        evidence: "the kubelet's log",
        remedy: "Pass the CA that DescribeCluster returns for this cluster.",
        proof: Scenario("refused/ca-of-another-cluster"),
    }
    /// The kubelet cannot connect to the API server.
    EndpointUnreachable = "endpoint-unreachable" {
        rules: Stopped { 290: api_server::endpoint_unreachable },
        phases: KubeletStarted..=KubeletStarted, permanence: MayPass, blames: NoLine,
        evidence: "the kubelet's log",
        remedy: "Pass the endpoint that DescribeCluster returns for this cluster.",
        proof: Scenario("al2/endpoint-of-no-host"),
    }
    /// The node's clock is too far from AWS' time for its signatures.
    ClockSkew = "clock-skew" {
        rules: Stopped { 110: clock::clock_skew },
        phases: Metadata..=KubeletStarted, permanence: Lasts, blames: LastOfScript,
        evidence: "the authenticator, responses of AWS",
        remedy: "Synchronize the clock (chronyd with 169.254.169.123) before anything signs requests.",
        proof: Scenario("clock/ahead-10-minutes"),
    }
    /// The token was signed for the name of another cluster.
    TokenForAnotherCluster = "token-for-another-cluster" {
        rules: Stopped { 180: identity::token_for_another_cluster },
        phases: KubeletStarted..=KubeletStarted, permanence: Lasts, blames: NoLine,
        evidence: "the authenticator",
        remedy: "Pass this cluster's name to the script: each token contains it.",
        proof: Scenario("refused/token-for-another-cluster"),
    }
    /// The node's role has neither a row in `aws-auth` nor an access entry with an effect.
    RoleNotMapped = "role-not-mapped" {
        rules: Stopped { 170: identity::role_not_mapped },
        phases: KubeletStarted..=KubeletStarted, permanence: Lasts, blames: NoLine,
        evidence: "the authenticator",
        remedy: "Add a row for the role to `aws-auth`, or create an access entry of type EC2_LINUX.",
        proof: Scenario("refused/role-not-in-aws-auth"),
    }
    /// The API server responds with 401 for another reason.
    Unauthorized = "unauthorized" {
        rules: Stopped { 200: identity::unauthorized },
        phases: KubeletStarted..=KubeletStarted, permanence: MayPass, blames: NoLine,
        evidence: "the authenticator, the kubelet's log",
        remedy: "Run the `exec` command of the kubelet's kubeconfig in the node, and correct what it reports.",
        proof: Scenario("clock/credentials-have-expired"),
    }
    /// The role is mapped without the group `system:nodes`.
    GroupsMissing = "groups-missing" {
        rules: Stopped { 140: identity::groups_missing },
        phases: Authenticated..=Authenticated, permanence: Lasts, blames: NoLine,
        evidence: "the authenticator, the API server's audit log",
        remedy: "Map the role to the groups system:bootstrappers and system:nodes.",
        proof: Scenario("aws-auth/duplicate-row"),
    }
    /// The API server does not allow the kubelet to register under this node name.
    NodeNameRefused = "node-name-refused" {
        rules: Stopped { 150: identity::node_name_refused },
        phases: KubeletStarted..=Authenticated, permanence: Lasts, blames: NoLine,
        evidence: "the API server's audit log, the kubelet's log",
        remedy: "Let the kubelet register under the name that the mapping of its role gives it.",
        proof: Scenario("refused/wrong-node-name"),
    }
    /// The API server rejects the Node object as invalid.
    NodeInvalid = "node-invalid" {
        rules: Stopped { 160: cluster::node_invalid },
        phases: KubeletStarted..=Authenticated, permanence: Lasts, blames: NoLine,
        evidence: "the API server's audit log, the kubelet's log",
        remedy: "Correct the labels and taints that the kubelet registers with.",
        proof: Scenario("labels/value-refused"),
    }
    /// The client certificate that the kubelet requests before it registers was not approved.
    ClientCertificateNotApproved = "client-certificate-not-approved" {
        rules: Stopped { 70: certificates::client_certificate_not_approved },
        phases: Authenticated..=Authenticated, permanence: MayPass, blames: NoLine,
        evidence: "certificate signing requests",
        remedy: "Let kube-controller-manager approve client certificates of nodes, or run `kubectl certificate approve`.",
        proof: Scenario("outposts/never-approved"),
    }
    /// The serving certificate was not approved.
    ServingCertificateNotApproved = "serving-certificate-not-approved" {
        rules: Stopped { 40: certificates::serving_certificate_not_approved },
        phases: Authenticated..=Registered, permanence: MayPass, blames: NoLine,
        evidence: "certificate signing requests",
        remedy: "Run an approver of kubelet-serving requests, or run `kubectl certificate approve`.",
        proof: Scenario("refused/serving-certificate-never-approved"),
    }
    /// The serving certificate was denied.
    ServingCertificateDenied = "serving-certificate-denied" {
        rules: Stopped { 30: certificates::serving_certificate_denied },
        phases: Authenticated..=Registered, permanence: Lasts, blames: NoLine,
        evidence: "certificate signing requests",
        remedy: "Let the kubelet request only the names and addresses of its instance.",
        proof: UnitTest("the approver denies only names that the API server refuses at registration"),
    }
    /// The container runtime has no network configuration.
    CniNotReady = "cni-not-ready" {
        rules: Stopped { 50: cluster::cni_not_ready },
        phases: Registered..=Certified, permanence: MayPass, blames: NoLine,
        evidence: "the Node's Ready condition",
        remedy: "Install the VPC CNI; in a scenario set `cni: bridge`.",
        proof: Scenario("mistakes/without-cni"),
    }
    /// The Node was deleted, and its kubelet does not create it again.
    NodeDeleted = "node-deleted" {
        rules: Stopped { 20: cluster::node_deleted },
        phases: Booted..=Certified, permanence: Lasts, blames: LastOfScript,
        evidence: "the watch of the Node, the API server's audit log",
        remedy: "Restart the kubelet, or replace the instance.",
        proof: Scenario("again/deleted"),
    }
    /// The node was ready and is not any more: its Node was deleted or is NotReady, or its kubelet ended.
    NodeLost = "node-lost" {
        rules: Ready {
            354: lost::authority_changed, 355: lost::node_deleted, 356: lost::kubelet_ended,
            357: lost::not_ready
        },
        phases: Ready..=Ready, permanence: Lasts, blames: NoLine,
        evidence: "the Node, the kubelet's log, systemd's log",
        remedy: "Find the command that runs after the join and changes the kubelet, the container runtime or the Node.",
        proof: Scenario("mistakes/loses-its-kubelet"),
    }
    /// The Node belongs to an instance that had the same name before.
    ProviderIdOfAnotherInstance = "provider-id-of-another-instance" {
        rules: Ready { 360: cluster::of_another_instance },
        phases: Ready..=Ready, permanence: Lasts, blames: NoLine,
        evidence: "the Node",
        remedy: "Delete the Node before the kubelet of the new instance starts.",
        proof: Scenario("again/replaced"),
    }
    /// The node is ready, and has other labels, taints or pods than the scenario expects.
    NodeDiffers = "node-differs" {
        rules: ReadyAtTheEnd { 362: registration::differs },
        phases: Ready..=Ready, permanence: Lasts, blames: NoLine,
        evidence: "the Node, the arguments and the configuration of the kubelet",
        remedy: "Pass what is missing to the kubelet, and look for quotes, flags and drop-ins that lose it.",
        proof: UnitTest("a scenario that expects what its node lacks fails"),
    }
    /// The node is ready, and the scenario's pod does not answer: its pause container, its network or its image.
    PodNotAnswering = "pod-not-answering" {
        rules: ReadyAtTheEnd { 364: pod::does_not_answer },
        phases: Ready..=Ready, permanence: Lasts, blames: NoLine,
        evidence: "the status and the events of the pod",
        remedy: "Name an image of the pause container that the node can pull, and a network plugin that it has.",
        proof: Scenario("mistakes/pause-image-without-credentials"),
    }
    /// The host that runs nodejoin lacks something that the node needs. The result says nothing about the node.
    HostLimit = "host-limit" {
        rules: Stopped { 10: instance::host_limit, 15: instance::metadata_too_slow, 300: api_server::api_server_times_out },
        phases: Booted..=Certified, permanence: Lasts, blames: NoLine,
        evidence: "the node's journal",
        remedy: "Run fewer nodes at once, or raise the limit of the host; `nodejoin doctor` lists what is missing.",
        proof: UnitTest("a limit of the host cannot be set for one scenario"),
    }
    /// The node has as many processes and threads as it can have, such as by a script that starts itself. The harness
    /// ends the programs of the node, so that its host remains usable.
    TooManyProcesses = "too-many-processes" {
        rules: Stopped { 8: exhausted::processes },
        phases: Booted..=Certified, permanence: Lasts, blames: LastOfScript,
        evidence: "the control groups of the node",
        remedy: "Let the script start each process once, or raise `limits.processes`.",
        proof: Scenario("mistakes/forks-without-end"),
    }
    /// The node has written more than its disk holds. The harness ends the programs of the node, so that its host
    /// remains usable.
    DiskFull = "disk-full" {
        rules: Stopped { 9: exhausted::disk },
        phases: Booted..=Certified, permanence: Lasts, blames: LastOfScript,
        evidence: "the files of the node that are newer than its start",
        remedy: "Write less to the disk, or raise `limits.disk`.",
        proof: Scenario("mistakes/fills-the-disk"),
    }
    /// None of the other causes was found.
    Unknown = "unknown" {
        rules: AtTheEnd { 380: unknown::unknown },
        phases: Booted..=Certified, permanence: MayPass, blames: LastOfScript,
        evidence: "the last line of the journal that reports a failure",
        remedy: "Read the evidence folder: journals, AWS calls, timeline.",
        proof: UnitTest("a join that a scenario can stop has a cause"),
    }
    } };
}

pub(crate) use cause_table;
