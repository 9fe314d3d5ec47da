//! Labels, taints and pods in flags, and words at which a kubelet exits.

use super::*;

fn read(text: &str) -> KubeletFlags {
    let mut flags = KubeletFlags::default();
    flags.add(text);
    flags
}

fn labels(flags: &KubeletFlags) -> String {
    let pairs = flags.labels.iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}

#[test]
fn labels_of_a_run_are_not_a_label() {
    let flags = read(&format!(
        "--node-labels={UNKNOWN} --register-with-taints={UNKNOWN}"
    ));
    let only_a_run = "that only a run of the script shows";
    assert_eq!(
        flags.unclear,
        [
            format!("labels in `--node-labels` {only_a_run}"),
            format!("taints in `--register-with-taints` {only_a_run}")
        ]
    );
}

#[test]
fn values_follow_an_equals_sign_or_a_blank() {
    for text in [
        "--node-labels=a.b/c=d,e= --max-pods=58 --register-with-taints=x=y:NoSchedule,z:NoExecute",
        "--v=2 --node-labels \"a.b/c=d,e=\" --max-pods 58 --register-with-taints='x=y:NoSchedule,z:NoExecute'",
    ] {
        let flags = read(text);
        assert_eq!(labels(&flags), "a.b/c=d,e=", "{text}");
        assert_eq!(flags.max_pods, Some(58));
        let taints: Vec<_> = flags.taints.iter().map(Taint::to_string).collect();
        assert_eq!(taints, ["x=y:NoSchedule", "z=:NoExecute"]);
        assert!(flags.unclear.is_empty());
    }
}

#[test]
fn later_flags_add_labels_and_replace_values() {
    let mut flags = read("--node-labels=a=1,b=2 --max-pods=1");
    flags.add("--node-labels=b=3 --max-pods=2");
    assert_eq!((labels(&flags).as_str(), flags.max_pods), ("a=1,b=3", Some(2)));
    let expected =
        "`--max-pods=1` has no effect: of several, the kubelet takes the last one, which is `--max-pods=2`";
    let replaced = |flags: &KubeletFlags| flags.replaced(&|_| String::new());
    assert_eq!(replaced(&flags), [expected]);
    flags.add("--max-pods=2");
    assert_eq!(replaced(&flags), [expected]);
    flags.add(&format!("--max-pods={UNKNOWN}"));
    assert_eq!((flags.max_pods, replaced(&flags).len()), (None, 2));
}

#[test]
fn the_last_number_of_pods_per_core_counts() {
    let read = |text: &str| read(text).pods_per_core;
    assert_eq!(
        read("--pods-per-core=3 --pods-per-core 2"),
        Some(PodsPerCore::Number(2))
    );
    assert_eq!(
        read(&format!("--pods-per-core={UNKNOWN}")),
        Some(PodsPerCore::Unknown)
    );
    assert_eq!(read("--max-pods=2"), None);
}

#[test]
fn a_value_that_a_blank_cuts_states_nothing() {
    for (text, labels_left, unclear) in [
        (
            "--node-labels=team=pay ments --max-pods=5",
            "",
            "`--node-labels=team=pay ments`",
        ),
        (
            "--node-labels=\"team=pay ments\" --max-pods=5",
            "",
            "`--node-labels=team=pay ments`",
        ),
        (
            "--node-labels team=pay, a=b --max-pods 5",
            "",
            "`--node-labels=team=pay, a=b`",
        ),
        (
            "--node-labels=a=b --register-with-taints=t=x :NoSchedule --max-pods=5",
            "a=b",
            "`--register-with-taints=t=x :NoSchedule`",
        ),
    ] {
        let flags = read(text);
        assert_eq!(
            (labels(&flags).as_str(), flags.max_pods),
            (labels_left, Some(5)),
            "{text}"
        );
        assert!(flags.taints.is_empty(), "{text}");
        assert_eq!(flags.unclear.len(), 1, "{text}: {:?}", flags.unclear);
        assert!(flags.unclear[0].starts_with(unclear), "{:?}", flags.unclear);
    }
}

#[test]
fn what_cannot_be_read_is_left_out_and_named() {
    let text = format!(
        "--node-labels=id={UNKNOWN},team=web,odd,sp@ce=x,d=-x,e=x_ --max-pods={UNKNOWN} --register-with-taints=t {UNKNOWN}"
    );
    let flags = read(&text);
    assert_eq!((labels(&flags).as_str(), flags.max_pods), ("team=web", None));
    assert_eq!(
        flags.unclear,
        [
            "the label `id=...`",
            "the label `odd`: it is not valid, and a kubelet that gets it exits",
            "the label `sp@ce=x`: it is not valid, and a kubelet that gets it exits",
            "the label `d=-x`: it is not valid, and a kubelet that gets it exits",
            "the label `e=x_`: it is not valid, and a kubelet that gets it exits",
            "`--max-pods=...`",
            "the taint `t`: it is not `KEY=VALUE:EFFECT`, and a kubelet that gets it exits",
            "flags of the kubelet that only a run of the script shows"
        ]
    );
}

#[test]
fn an_empty_taint_is_named() {
    for value in ["x=y:NoSchedule,", ",x=y:NoSchedule"] {
        let flags = read(&format!("--register-with-taints={value}"));
        assert_eq!(flags.taints.len(), 1);
        assert_eq!(
            flags.unclear,
            [format!(
                "the taints `{value}`: one of them is empty, and a kubelet that gets them exits; remove the comma"
            )]
        );
    }
    for value in ["", "x=y:NoSchedule,$MORE", "x=y:NoSchedule,a=b:NoExecute"] {
        let flags = read(&format!("--register-with-taints={value}"));
        assert!(!flags.unclear.iter().any(|one| one.contains("empty")), "{value}");
    }
}

#[test]
fn words_at_which_a_kubelet_exits_are_named() {
    let mistakes = |text: &str| read(text).mistakes(&|word| format!(" [{word}]"));
    assert_eq!(
        mistakes("--node-label=a=b --max-pod 20 --regiser-with-taints=c=d:NoSchedule --max-pod 20"),
        [
            "the kubelet has no flag `--node-label` [--node-label] and exits at it; did you mean `--node-labels`?",
            "the kubelet has no flag `--max-pod` [--max-pod] and exits at it; did you mean `--max-pods`?",
            "the kubelet has no flag `--regiser-with-taints` [--regiser-with-taints] and exits at it; did you mean \
             `--register-with-taints`?",
        ]
    );
    let without = read("max-pods=20 --node-labels=a=b max-pods=30 --v=2");
    assert_eq!((labels(&without).as_str(), without.max_pods), ("a=b", None));
    assert!(without.unclear.is_empty());
    assert_eq!(without.lost_flags(), ["--max-pods=20", "--max-pods=30"]);
    assert_eq!(
        without.mistakes(&|_| String::new())[0],
        "the kubelet takes `max-pods=20` for a command and exits; write `--max-pods=20`"
    );
    let label = mistakes(
        "--node-labels=node-role.kubernetes.io/web=,node.kubernetes.io/a=b,kubernetes.io/os=linux,c=d",
    );
    assert!(
        label.len() == 1
            && label[0].starts_with("a kubelet may not set the label `node-role.kubernetes.io/web=`"),
        "{label:?}"
    );
    let taint = "--register-with-taints=a=b:NoSchedule,c=d:NoSchedul,e=f:";
    assert_eq!(
        mistakes(taint),
        [
            "a kubelet exits at the taint `c=d:NoSchedul` [c=d:NoSchedul]: its effect is neither `NoSchedule` nor `PreferNoSchedule` \
             nor `NoExecute`",
            "a kubelet exits at the taint `e=f:` [e=f:]: its effect is neither `NoSchedule` nor `PreferNoSchedule` nor `NoExecute`",
        ]
    );
    assert_eq!((read(taint).taints.len(), read(taint).unclear.len()), (1, 0));
    assert_eq!(
        mistakes("--feature-gates=ImageVolume=true,RotateKubeletServerCertificat=true"),
        [
            "the kubelet has no feature gate `RotateKubeletServerCertificat` [RotateKubeletServerCertificat] and exits at it; did you mean \
             `RotateKubeletServerCertificate`?"
        ]
    );
    // Kubelets of some versions, another spelling of a flag, and values.
    for text in [
        "--network-plugin=cni --allow-privileged=true --v=2 -v 2",
        "--node_labels=a=b --cloud-provider external --register-node",
        "--node-labels=max-pods=20 --feature-gates=A=true,B=false",
        "--feature-gates=CSIMigrationAWS=true,ImageVolum$X=true",
        "--register-with-taints=a,b=c:NoExecute,d:$EFFECT,e=f:<effect>",
    ] {
        assert_eq!(mistakes(text), [""; 0], "{text}");
    }
}

#[test]
fn taints_of_an_earlier_flag_are_lost() {
    let flags =
        read("--register-with-taints=a=b:NoSchedule,c=d:NoExecute --register-with-taints=c=d:NoExecute");
    assert_eq!(
        flags.replaced(&|_| String::new()),
        [
            "the taints `a=b:NoSchedule` have no effect: the kubelet takes those of the last `--register-with-taints` only; write all into \
             one"
        ]
    );
    assert_eq!(flags.lost_flags(), ["--register-with-taints=a=b:NoSchedule"]);
    assert!(flags.unclear.is_empty());
    let twice = read("--register-with-taints=a=b:NoSchedule --register-with-taints=a=b:NoSchedule");
    assert_eq!(twice.replaced(&|_| String::new()), [""; 0]);
}
