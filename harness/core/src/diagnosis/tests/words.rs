//! What a diagnosis names, and when there is none.

use super::*;

#[test]
fn a_join_that_reached_everything_has_no_diagnosis() {
    let mut whats = join();
    // What went wrong on the way is over.
    whats.insert(5, refused(Refusal::NotMapped, "not mapped"));
    assert_eq!(diagnose(&plan(), &observed(whats)), None);
}

#[test]
fn what_was_mended_is_no_cause() {
    let mut whats = started();
    whats.extend([refused(Refusal::NotMapped, "not mapped"), accepted(), node(false)]);
    assert_eq!(find(&plan(), &observed(whats)), None);
    let mut whats = started();
    whats.truncate(2);
    whats.extend([
        call(Service::Eks, "DescribeCluster", 429, "ThrottlingException"),
        call(Service::Eks, "DescribeCluster", 200, ""),
    ]);
    assert_eq!(find(&plan(), &observed(whats)), None);
}

#[test]
fn a_role_that_is_almost_mapped_is_named_first() {
    let mut plan = plan();
    let row = |arn: &str| crate::plan::RoleMapping {
        rolearn: arn.into(),
        ..Default::default()
    };
    let refusal = || {
        let mut whats = started();
        whats.push(refused(Refusal::NotMapped, "not mapped"));
        whats
    };
    plan.cluster.aws_auth = vec![
        row("arn:aws:iam::1:role/other"),
        row("arn:aws:iam::1:role/demo-roel"),
    ];
    assert!(
        told(&plan, refusal())
            .remedy
            .ends_with("to one of: demo-roel, other")
    );
    plan.cluster.aws_auth = vec![row("arn:aws:iam::111122223333:role/path/demo-role")];
    assert!(told(&plan, refusal()).because.contains("has the role's path"));
    plan.cluster.aws_auth = vec![];
    assert!(told(&plan, refusal()).remedy.contains("which has none"));
}

/// The mode, whether the role has an entry, what the authenticator says, and what is told.
#[test]
fn access_entries_that_do_not_help_are_named() {
    use crate::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType};
    use crate::aws::AuthenticationMode as Mode;
    let former = format!("{}: x", crate::observation::OTHER_PRINCIPAL);
    let table = [
        (
            Mode::ConfigMap,
            true,
            "x",
            "has an access entry (EC2_LINUX), which counts for nothing",
            "authenticationMode=API_AND_CONFIG_MAP",
        ),
        (
            Mode::ConfigMap,
            false,
            "x",
            "is in no mapRoles row",
            "add a row for",
        ),
        (
            Mode::Api,
            false,
            "x",
            "has a row in kube-system/aws-auth, which counts for nothing",
            "--type EC2_LINUX",
        ),
        (
            Mode::ApiAndConfigMap,
            false,
            "x",
            "has no access entry, and is in no mapRoles row",
            "create-access-entry",
        ),
        (
            Mode::Api,
            true,
            former.as_str(),
            "of a role of the same name that was deleted",
            "delete-access-entry",
        ),
    ];
    for (mode, has_entry, reason, because, remedy) in table {
        let mut plan = plan();
        let file = AccessEntryFile {
            role: Some("demo-role".into()),
            entry_type: AccessEntryType::Ec2Linux,
            ..Default::default()
        };
        let entry = has_entry.then(|| AccessEntry::of(file, &plan.account, &plan.region));
        plan.cluster.access_entries = entry.into_iter().collect();
        plan.cluster.authentication_mode = mode;
        if mode != Mode::Api {
            plan.cluster.aws_auth = vec![];
        }
        let mut whats = started();
        whats.push(refused(Refusal::NotMapped, reason));
        let diagnosis = told(&plan, whats);
        assert!(
            diagnosis.because.contains(because),
            "{mode:?}: {}",
            diagnosis.because
        );
        assert!(
            diagnosis.remedy.contains(remedy),
            "{mode:?}: {}",
            diagnosis.remedy
        );
    }
}

#[test]
fn a_node_that_was_deleted_is_told_with_who_did_it() {
    let mut whats = started();
    whats.push(node(true));
    whats.push(audit("delete", "nodes", 200, "kubernetes-admin", ""));
    whats.push(What::Node(crate::observation::NodeChange {
        name: NAME.into(),
        exists: false,
        ready: false,
    }));
    // It was ready before, which is past: a step looks at what comes after it.
    whats.remove(5);
    let diagnosis = told(&plan(), whats.clone());
    assert_eq!(diagnosis.cause, Cause::NodeDeleted);
    assert!(
        diagnosis.because.contains("was deleted, by kubernetes-admin"),
        "{}",
        diagnosis.because
    );
    whats.push(node(false));
    assert_ne!(told(&plan(), whats).cause, Cause::NodeDeleted, "it came back");
}

#[test]
fn a_node_of_another_instance_is_no_success() {
    let mut seen = observed(join());
    seen.node =
        Some(json!({ "metadata": { "name": NAME }, "spec": { "providerID": "aws:///eu-west-1a/i-1" } }));
    let diagnosis = diagnose(&plan(), &seen).unwrap();
    assert_eq!(
        (diagnosis.cause, diagnosis.phase),
        (Cause::ProviderIdOfAnotherInstance, Some(Phase::Ready))
    );
    assert!(
        diagnosis.because.contains("made by instance i-1"),
        "{}",
        diagnosis.because
    );
    seen.node = Some(json!({ "spec": { "providerID": "aws:///eu-west-1a/i-0b22a22eec53b9321" } }));
    assert_eq!(diagnose(&plan(), &seen), None);
}

#[test]
fn a_limit_of_the_host_is_no_fault_of_the_node() {
    let mut whats = started();
    let said = "failed to create CRI service: failed to create fsnotify watcher: too many open files";
    whats.push(What::Isolated);
    whats.push(journal("containerd.service", "containerd", said));
    let seen = observed(whats);
    let diagnosis = diagnose(&plan(), &seen).unwrap();
    assert_eq!(diagnosis.cause, Cause::HostLimit);
    assert!(
        words(&diagnosis).contains("fs.inotify.max_user_instances"),
        "{}",
        words(&diagnosis)
    );
    let verdict = crate::judge::judge(&plan(), &seen);
    let crate::verdict::Outcome::Errored(reason) = verdict.outcome else {
        panic!("{:?}", verdict.outcome)
    };
    assert!(reason.contains("too many open files"), "{reason}");
}

#[test]
fn an_api_server_that_gives_up_is_the_hosts_until_the_node_is_there() {
    let mut whats = started();
    whats.push(What::Isolated);
    whats.push(kubelet(
        "E1121 23:27:37.010037     408 kubelet_node_status.go:93] Unable to register node \"ip-192-168-40-16\" with API server: the \
         server was unable to return a response in the time allotted, but may still be processing the request (post nodes)",
    ));
    let seen = observed(whats.clone());
    let found = find(&plan(), &seen).unwrap();
    assert!(!found.is_final, "a busy host may yet get better");
    assert!(
        words(&found.diagnosis).contains("too busy"),
        "{}",
        words(&found.diagnosis)
    );
    let verdict = crate::judge::judge(&plan(), &seen);
    assert!(
        matches!(&verdict.outcome, crate::verdict::Outcome::Errored(reason) if reason.contains("--jobs 1")),
        "{:?}",
        verdict.outcome
    );
    whats.extend([accepted(), node(false)]);
    let diagnosis = diagnose(&plan(), &observed(whats)).unwrap();
    assert_ne!(diagnosis.cause, Cause::HostLimit);
}

#[test]
fn an_aws_auth_that_cannot_be_read_is_told_with_what_is_wrong_in_it() {
    let mut whats = started();
    let unread = "mapRoles: did not find expected ',' or ']' at line 3 column 1";
    let reason = format!("ARN is not mapped: x{}{unread}", crate::observation::UNREADABLE);
    whats.push(refused(Refusal::NotMapped, &reason));
    let diagnosis = told(&plan(), whats);
    assert_eq!(diagnosis.cause, Cause::RoleNotMapped);
    assert!(diagnosis.because.ends_with(unread), "{}", diagnosis.because);
    assert!(diagnosis.remedy.contains("mend the YAML"), "{}", diagnosis.remedy);
}

#[test]
fn a_row_that_makes_no_node_is_told_with_how_many_there_are() {
    let mut plan = plan();
    let accepted = |groups: &[&str]| {
        What::Authentication(Authentication {
            accepted: true,
            arn: None,
            canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
            username: Some("builder".into()),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            refusal: None,
            reason: None,
        })
    };
    let mut whats = started();
    whats.push(accepted(&["builders"]));
    whats.push(audit("create", "nodes", 403, "builder", "nodes is forbidden"));
    let diagnosis = told(&plan, whats.clone());
    assert_eq!(diagnosis.cause, Cause::GroupsMissing);
    assert_eq!(
        words(&diagnosis),
        "the row of arn:aws:iam::111122223333:role/demo-role in kube-system/aws-auth gives builder the groups builders, and not \
         system:nodes | audit log, 6.0 s: create nodes as builder: 403 nodes is forbidden | give the row of \
         arn:aws:iam::111122223333:role/demo-role the groups system:bootstrappers and system:nodes"
    );
    plan.cluster.aws_auth.push(plan.cluster.aws_auth[0].clone());
    let diagnosis = told(&plan, whats.clone());
    assert!(
        diagnosis.because.contains("has 2 rows for"),
        "{}",
        diagnosis.because
    );
    assert!(
        diagnosis.remedy.starts_with("leave one row"),
        "{}",
        diagnosis.remedy
    );
    whats.push(accepted(&["system:nodes"]));
    assert_ne!(told(&plan, whats).cause, Cause::GroupsMissing);
}

#[test]
fn the_other_cluster_is_named_from_the_user_data() {
    let mut whats = started();
    whats.push(refused(Refusal::Signature, "403"));
    for user_data in [
        "#!/bin/bash\n/etc/eks/bootstrap.sh other --x y\n",
        "#!/bin/bash\nCLUSTER_NAME=other\nx\n",
        "#!/bin/bash\n/etc/eks/bootstrap.sh \\\n  'other'\n",
    ] {
        let diagnosis = told(&plan_with(user_data), whats.clone());
        assert_eq!(
            diagnosis.because, "the token was made for the cluster `other`, and this one is `demo`",
            "{user_data}"
        );
    }
}

#[test]
fn a_name_that_aws_auth_fixes_is_told_with_its_row() {
    let mut plan = plan();
    plan.cluster.aws_auth[0].username = "system:node:other".into();
    let mut whats = started();
    whats.extend([accepted(), kubelet(&format!("E1121 x] Unable to register node \"{NAME}\" with API server: nodes \"{NAME}\" is forbidden: node \"other\" is not allowed to modify node \"{NAME}\""))]);
    let diagnosis = told(&plan, whats);
    assert_eq!(
        diagnosis.because,
        format!("the kubelet registers as {NAME}, and to the API server it is system:node:other")
    );
    assert_eq!(
        diagnosis.remedy,
        "write `system:node:{{EC2PrivateDNSName}}` as username in the aws-auth row of `demo-role`"
    );
}

#[test]
fn a_node_without_network_is_told_from_its_condition() {
    let mut plan = plan();
    plan.cni = Cni::None;
    let mut observation = observed(join().into_iter().take(8));
    observation.node = Some(json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "message": "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni config uninitialized"}
    ]}}));
    let diagnosis = diagnose(&plan, &observation).unwrap();
    assert_eq!(
        (diagnosis.cause, diagnosis.phase),
        (Cause::CniNotReady, Some(Phase::Certified))
    );
}

#[test]
fn user_data_tells_what_the_journal_does_not() {
    let with = |user_data: &str| {
        (
            plan_with(user_data),
            vec![
                systemd("init.scope", "x"),
                systemd(
                    "nodejoin-user-data.service",
                    "nodejoin-user-data.service: Failed with result 'exit-code'.",
                ),
            ],
        )
    };
    let (plan, whats) = with(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\nset -ex\n--B--\n",
    );
    let diagnosis = told(&plan, whats);
    assert_eq!(diagnosis.cause, Cause::MissingShebang);
    assert!(
        diagnosis
            .seen
            .contains("part-001: a script must begin with `#!`, and it begins with `set -ex`"),
        "{}",
        diagnosis.seen
    );
    let (plan, whats) = with(&STANDARD.encode("#!/bin/bash\necho hello\n"));
    let diagnosis = told(&plan, whats);
    assert_eq!(diagnosis.cause, Cause::UserDataNeverRan);
    assert!(diagnosis.because.contains("base64 twice"));
}

#[test]
fn a_script_that_speaks_imdsv1_is_told_by_the_401_and_not_by_what_it_makes_of_it() {
    let refused = |path: &str| {
        What::Aws(AwsCall {
            authorization: Some("v1".into()),
            ..aws(Service::Imds, path, 401)
        })
    };
    let whats = vec![
        systemd("init.scope", "x"),
        What::Aws(aws(Service::Imds, "user-data", 200)),
        refused("meta-data/placement/availability-zone"),
        cloud("Provided region_name '<?xml version=\"1.0\"' doesn't match a supported format."),
        cloud("Exited with error on line 147"),
        cloud("Runparts: 1 failures (part-001) in 1 attempted commands"),
        done("DataSourceEc2"),
    ];
    let diagnosis = told(&plan(), whats.clone());
    assert_eq!(diagnosis.cause, Cause::MetadataTokenMissing);
    assert!(
        words(&diagnosis)
            .contains("the first for `meta-data/placement/availability-zone`: this instance takes only"),
        "{diagnosis:#?}"
    );
    // Also where nothing else ever asked, as without cloud-init.
    let alone = whats[..1].iter().chain(&whats[2..]).cloned().collect();
    assert_eq!(told(&plan(), alone).cause, Cause::MetadataTokenMissing);
    // A client that came back with a token is none.
    let mut mended = whats;
    mended.insert(
        3,
        What::Aws(aws(Service::Imds, "meta-data/placement/availability-zone", 200)),
    );
    let diagnosis = told(&plan(), mended);
    assert_eq!(diagnosis.cause, Cause::ScriptFailed);
    // Where a trap ends the script, the reason stands before it.
    assert!(
        diagnosis
            .because
            .ends_with("a supported format. (Exited with error on line 147)"),
        "{diagnosis:#?}"
    );
    assert!(diagnosis.seen.contains("Provided region_name"), "{diagnosis:#?}");
    assert!(
        diagnosis.remedy.contains("line 147 of the script"),
        "{diagnosis:#?}"
    );
}

#[test]
fn a_kubelet_that_was_started_without_metadata_may_yet_join() {
    let mut whats = started();
    whats.push(What::Aws(AwsCall {
        authorization: Some("v1".into()),
        ..aws(Service::Imds, "meta-data/local-ipv4", 401)
    }));
    let found = find(&plan(), &observed(whats)).unwrap();
    assert_eq!(
        (found.diagnosis.cause, found.is_final),
        (Cause::MetadataTokenMissing, false)
    );
}

#[test]
fn what_was_collected_tells_what_the_journal_does_not() {
    let collected = |result: UserDataResult| Observation {
        collected: Some(Collected {
            user_data: Some(result),
            ..Collected::default()
        }),
        ..observed([
            systemd("init.scope", "x"),
            What::Aws(aws(Service::Imds, "user-data", 200)),
        ])
    };
    let failed = UserDataResult {
        ran: true,
        exit_codes: [("part-001".to_owned(), 3)].into(),
        output: "a\nno such cluster\n\n".into(),
        ..UserDataResult::default()
    };
    let diagnosis = diagnose(&plan(), &collected(failed)).unwrap();
    assert_eq!(diagnosis.cause, Cause::ScriptFailed);
    assert!(
        words(&diagnosis).contains("part-001 with 3") && diagnosis.seen.ends_with("no such cluster"),
        "{diagnosis:#?}"
    );
    let never = UserDataResult {
        ran: false,
        data_source: Some("DataSourceNone".into()),
        status: Some("done".into()),
        ..UserDataResult::default()
    };
    assert_eq!(
        diagnose(&plan(), &collected(never)).unwrap().cause,
        Cause::UserDataNeverRan
    );
}

#[test]
fn the_kubelets_last_word_counts_also_where_systemd_was_faster() {
    let exit = || {
        systemd(
            "kubelet.service",
            "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
        )
    };
    let fatal = || kubelet("F1121 11:27:03.227158     281 server.go:156] unknown flag: --allow-privileged");
    let usage = kubelet("      --address ip      failed to see why this is a flag");
    let mut whats = started();
    whats.extend([usage, exit(), fatal()]);
    let finding = find(&plan(), &observed(whats.clone())).unwrap();
    assert_eq!(
        finding.diagnosis.because,
        "the kubelet ended with 255, once so far: unknown flag: --allow-privileged"
    );
    assert!(!finding.is_final);
    whats.extend([fatal(), exit(), fatal(), exit()]);
    let finding = find(&plan(), &observed(whats)).unwrap();
    assert!(finding.is_final, "the third time");
    assert_eq!(finding.at, 7000, "since its first end");
}

#[test]
fn what_a_kubelet_ends_of_has_its_own_way_out() {
    let cases = [
        (
            "failed to run Kubelet: failed to get docker version: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. \
             Is the docker daemon running?",
            "--container-runtime=remote",
        ),
        (
            "unable to load client CA file /etc/kubernetes/pki/ca.crt: error creating pool from /etc/kubernetes/pki/ca.crt: data \
             does not contain any valid RSA or ECDSA certificates",
            "as PEM into /etc/kubernetes/pki/ca.crt:",
        ),
        ("unknown flag: --allow-privileged", "take the flag out"),
    ];
    for (said, way_out) in cases {
        let mut whats = started();
        whats.push(kubelet(&format!(
            "F1121 12:16:44.524652     495 server.go:269] {said}"
        )));
        whats.push(systemd(
            "kubelet.service",
            "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION",
        ));
        let diagnosis = told(&plan(), whats);
        assert_eq!(diagnosis.cause, Cause::KubeletExits);
        assert!(diagnosis.because.contains(said), "{diagnosis:#?}");
        assert!(diagnosis.remedy.contains(way_out), "{diagnosis:#?}");
    }
}

#[test]
fn a_call_that_aws_denies_is_no_401_of_the_api_server() {
    let mut whats = started();
    let denied = "F1121 11:23:05.288171     280 server.go:269] failed to run Kubelet: could not init cloud provider \"aws\": \
        error listing AWS instances: \"UnauthorizedOperation: You are not authorized to perform this operation.\"";
    whats.extend([
        call(Service::Ec2, "DescribeInstances", 403, "UnauthorizedOperation"),
        kubelet(denied),
    ]);
    assert_eq!(told(&plan(), whats).cause, Cause::AccessDenied);
}

#[test]
fn a_refused_node_is_told_by_the_kubelet_where_the_audit_log_has_no_reason() {
    let mut whats = started();
    let What::Audit(audit) = audit("create", "nodes", 422, "system:node:x", "") else {
        unreachable!("it is an audit event")
    };
    let bare = What::Audit(Audit {
        message: None,
        ..audit
    });
    whats.extend([accepted(), bare]);
    assert!(
        told(&plan(), whats.clone())
            .because
            .ends_with("422, without a reason")
    );
    whats.push(kubelet(&format!(
        "E1121 11:27:33.888033     282 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: \
         Node \"{NAME}\" is invalid: metadata.labels: Invalid value: \"has/slash\": a valid label must be (e.g. 'MyValue')"
    )));
    let diagnosis = told(&plan(), whats);
    assert_eq!(
        diagnosis.because,
        "the API server refuses the Node object: metadata.labels: Invalid value: \"has/slash\": a valid label must be"
    );
    assert!(diagnosis.remedy.contains("--node-labels"));
}

#[test]
fn a_metadata_service_that_came_too_late_for_cloud_init_is_final() {
    let boot = systemd("init.scope", "systemd 252 running in system mode");
    let refused = call(Service::Imds, "api/token", 503, "InternalFailure");
    let finding = |whats: Vec<What>| find(&plan(), &observed(whats)).unwrap();
    let waiting = finding(vec![boot.clone(), refused.clone()]);
    assert_eq!(
        (waiting.diagnosis.because.as_str(), waiting.is_final),
        (
            "the metadata service at 169.254.169.254 answered 503 to the only request",
            false
        )
    );
    let over = finding(vec![boot, refused, done("DataSourceNone")]);
    assert_eq!(
        (over.diagnosis.cause, over.is_final),
        (Cause::MetadataUnreachable, true)
    );
    assert!(over.diagnosis.because.ends_with("without running any user data"));
}
