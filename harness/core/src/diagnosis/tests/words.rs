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
fn a_node_that_was_deleted_is_told_with_who_did_it() {
    let mut whats = started();
    whats.push(node(true));
    whats.push(audit("delete", "nodes", 200, "kubernetes-admin", ""));
    whats.push(ObservedEvent::Node(crate::observation::NodeChange {
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
        ObservedEvent::Aws(AwsCall {
            authorization: Some("v1".into()),
            ..aws(Service::Imds, path, 401)
        })
    };
    let whats = vec![
        systemd("init.scope", "x"),
        ObservedEvent::Aws(aws(Service::Imds, "user-data", 200)),
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
        ObservedEvent::Aws(aws(Service::Imds, "meta-data/placement/availability-zone", 200)),
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
    whats.push(ObservedEvent::Aws(AwsCall {
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
            ObservedEvent::Aws(aws(Service::Imds, "user-data", 200)),
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
fn a_metadata_service_that_came_too_late_for_cloud_init_is_final() {
    let boot = systemd("init.scope", "systemd 252 running in system mode");
    let refused = call(Service::Imds, "api/token", 503, "InternalFailure");
    let finding = |whats: Vec<ObservedEvent>| find(&plan(), &observed(whats)).unwrap();
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
