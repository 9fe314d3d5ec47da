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
    for (text, labels_left, flag, after) in [
        (
            "--node-labels=team=pay ments --max-pods=5",
            "",
            "--node-labels=team=pay",
            "ments",
        ),
        (
            "--node-labels team=pay, a=b --max-pods 5",
            "",
            "--node-labels=team=pay,",
            "a=b",
        ),
        (
            "--node-labels=a=b --register-with-taints=t=x :NoSchedule --max-pods=5",
            "a=b",
            "--register-with-taints=t=x",
            ":NoSchedule",
        ),
    ] {
        let flags = read(text);
        assert_eq!(
            (labels(&flags).as_str(), flags.max_pods),
            (labels_left, Some(5)),
            "{text}"
        );
        assert!(flags.taints.is_empty() && flags.unclear.is_empty(), "{text}");
        assert!(flags.has_cut_value(), "{text}");
        assert_eq!(
            flags.mistakes(&|word| format!(" [{word}]")),
            [format!(
                "the value of `{flag} {after}` [{flag}] has a blank: the kubelet takes `{after}` for a command and exits"
            )]
        );
    }
    // Only a run shows what `$X` is.
    let flags = read("--node-labels=team=$X ments --max-pods=5");
    assert_eq!((labels(&flags).as_str(), flags.max_pods), ("", Some(5)));
    assert_eq!(flags.unclear.len(), 1, "{:?}", flags.unclear);
    assert!(
        flags.unclear[0].contains("the value has a blank"),
        "{:?}",
        flags.unclear
    );
    assert!(!flags.has_cut_value());
}

#[test]
fn systemd_removes_quotes_anywhere_in_a_word() {
    for text in [
        "--node-labels=\"a=b\",\"c=d\" --register-with-taints=\"x=y:NoSchedule\",'z:NoExecute'",
        "\"--node-labels=a=b,c=d\" --register-with-taints 'x=y:NoSchedule,z:NoExecute'",
        "--node-labels=\"a=b, c=d\" --register-with-taints=x=\"y\":NoSchedule,z:\"NoExecute\"",
    ] {
        let flags = read(text);
        assert_eq!(labels(&flags), "a=b,c=d", "{text}");
        let taints: Vec<_> = flags.taints.iter().map(Taint::to_string).collect();
        assert_eq!(taints, ["x=y:NoSchedule", "z=:NoExecute"], "{text}");
        assert_eq!(flags.mistakes(&|_| String::new()), [""; 0], "{text}");
        assert!(flags.unclear.is_empty(), "{text}");
    }
    for (text, label) in [
        ("'--node-labels=a=b --max-pods=20'", "a=b --max-pods=20"),
        ("--node-labels=\"team=pay ments\"", "team=pay ments"),
    ] {
        let flags = read(text);
        assert_eq!((labels(&flags).as_str(), flags.max_pods), ("", None), "{text}");
        let expected = format!(
            "the label `{label}` is not valid: a kubelet exits at it, or the API server refuses its Node"
        );
        assert_eq!(flags.mistakes(&|_| String::new()), [expected], "{text}");
    }
}

#[test]
fn a_label_without_an_equals_sign_has_an_empty_value() {
    let flags = read("--node-labels=spot,team=web");
    assert_eq!(labels(&flags), "spot=,team=web");
    assert!(flags.unclear.is_empty() && flags.mistakes(&|_| String::new()).is_empty());
}

#[test]
fn what_cannot_be_read_is_left_out_and_named() {
    let text = format!(
        "--node-labels=id={UNKNOWN},team=web,sp@ce=x,d=-x,e=x_ --max-pods={UNKNOWN} --register-with-taints=t {UNKNOWN}"
    );
    let flags = read(&text);
    assert_eq!((labels(&flags).as_str(), flags.max_pods), ("team=web", None));
    assert_eq!(
        flags.unclear,
        [
            "the label `id=...`",
            "`--max-pods=...`",
            "flags of the kubelet that only a run of the script shows"
        ]
    );
}

#[test]
fn labels_and_taints_that_are_not_valid_are_mistakes() {
    let flags = read(
        "--node-labels=team=web,o_,sp@ce=x,d=-x,e=x_,$ODD \
         --register-with-taints=t,a=b,c=d:NoSchedule:x,c=d:x:NoSchedule,c=d=x:NoSchedule,gone-,out:NoSchedule-,f=g:NoExecute",
    );
    assert_eq!((labels(&flags).as_str(), flags.taints.len()), ("team=web", 1));
    let label = |label: &str| {
        format!("the label `{label}` is not valid: a kubelet exits at it, or the API server refuses its Node")
    };
    let taint = |taint: &str| {
        format!(
            "the taint `{taint}` is not `KEY=VALUE:EFFECT`: a kubelet exits at it, or the API server refuses its Node"
        )
    };
    assert_eq!(
        flags.mistakes(&|_| String::new()),
        [
            label("o_"),
            label("sp@ce=x"),
            label("d=-x"),
            label("e=x_"),
            taint("t"),
            taint("a=b"),
            "a kubelet exits at the taint `c=d:NoSchedule:x`: its effect is neither `NoSchedule` nor `PreferNoSchedule` nor `NoExecute`"
                .to_owned(),
            taint("c=d:x:NoSchedule"),
            taint("c=d=x:NoSchedule"),
        ]
    );
    assert_eq!(
        flags.unclear,
        [
            "the label `$ODD`",
            "the taint `gone-`",
            "the taint `out:NoSchedule-`"
        ]
    );
}

#[test]
fn an_empty_taint_is_named() {
    for value in ["x=y:NoSchedule,", ",x=y:NoSchedule"] {
        let flags = read(&format!("--register-with-taints={value}"));
        assert_eq!((flags.taints.len(), flags.unclear.len()), (1, 0));
        assert_eq!(
            flags.mistakes(&|_| String::new()),
            [format!(
                "a kubelet exits at the taints `{value}`: one of them is empty; remove the comma"
            )]
        );
    }
    for value in ["", "x=y:NoSchedule,$MORE", "x=y:NoSchedule,a=b:NoExecute"] {
        let flags = read(&format!("--register-with-taints={value}"));
        assert_eq!(flags.mistakes(&|_| String::new()), [""; 0], "{value}");
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
    assert_eq!(
        mistakes("-max-pods=20 --shutdown-grace-period=30s --no-such-flag=1 --feature-gates=MyOwnGate=true"),
        [
            "the kubelet takes the letters of `-max-pods=20` [-max-pods=20] for flags and exits; write `--max-pods=20`",
            "kubelets from 1.20 to 1.36 have no flag `--shutdown-grace-period` [--shutdown-grace-period] and exit at it; \
             set the field `shutdownGracePeriod` of their configuration",
            "kubelets from 1.20 to 1.36 have no flag `--no-such-flag` [--no-such-flag] and exit at it",
            "nodejoin knows no feature gate `MyOwnGate` [MyOwnGate] of kubelets up to 1.36: a kubelet exits at a gate that it does not have",
        ]
    );
    assert_eq!(read("-max-pods=20").lost_flags(), ["--max-pods=20"]);
    // Kubelets of some versions, another spelling of a flag, and values.
    for text in [
        "--network-plugin=cni --allow-privileged=true --v=2 -v 2",
        "--node_labels=a=b --cloud-provider external --register-node",
        "--node-labels=max-pods=20 --feature-gates=NodeSwap=true,AllAlpha=false",
        "--housekeeping-interval 10s --containerd=/run/x.sock --oom-score-adj -999 --eviction-hard=memory.available<5%",
        "--feature-gates=CSIMigrationAWS=true,ImageVolum$X=true",
        "--register-with-taints=b=c:NoExecute,d:$EFFECT,e=f:<effect>",
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
