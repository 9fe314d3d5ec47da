//! Compares the table with the facts of each release.

use super::*;

fn all() -> impl Iterator<Item = Minor> {
    (Minor::OLDEST.number()..=Minor::NEWEST.number()).map(Minor::new)
}

/// The values of each version, one line per version, so that a wrong row shows in its version.
#[test]
fn values_of_each_version() {
    let expected = [
        // minor, exec, credential providers, certificates, token review, kubeadm, etcd
        (
            20,
            "v1alpha1 v1beta1",
            "v1alpha1",
            "v1beta1 v1",
            "v1beta1 v1",
            "v1beta2",
            "3.4",
        ),
        (
            21,
            "v1alpha1 v1beta1",
            "v1alpha1",
            "v1beta1 v1",
            "v1beta1 v1",
            "v1beta2",
            "3.4",
        ),
        (
            22,
            "v1alpha1 v1beta1 v1",
            "v1alpha1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            23,
            "v1alpha1 v1beta1 v1",
            "v1alpha1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (24, "v1beta1 v1", "v1alpha1 v1beta1", "v1", "v1", "v1beta3", "3.5"),
        (25, "v1beta1 v1", "v1alpha1 v1beta1", "v1", "v1", "v1beta3", "3.5"),
        (
            26,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            27,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            28,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            29,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            30,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta3",
            "3.5",
        ),
        (
            31,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.5",
        ),
        (
            32,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.5",
        ),
        (
            33,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.5",
        ),
        (
            34,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.6",
        ),
        (
            35,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.6",
        ),
        (
            36,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.6",
        ),
        (
            37,
            "v1beta1 v1",
            "v1alpha1 v1beta1 v1",
            "v1",
            "v1",
            "v1beta4",
            "3.6",
        ),
    ];
    assert_eq!(
        expected.map(|line| line.0).to_vec(),
        all().map(Minor::number).collect::<Vec<_>>()
    );
    for (number, exec, providers, certificates, review, kubeadm, etcd) in expected {
        let minor = Minor::new(number);
        assert_eq!(exec_credential_versions(minor).join(" "), exec, "{minor}");
        assert_eq!(
            credential_provider_versions(minor).join(" "),
            providers,
            "{minor}"
        );
        assert_eq!(certificates_api(minor).join(" "), certificates, "{minor}");
        assert_eq!(token_review_api(minor).join(" "), review, "{minor}");
        assert_eq!(kubeadm_api(minor), kubeadm, "{minor}");
        assert_eq!(etcd_of(minor), etcd, "{minor}");
    }
}

/// Flags of the kubelet units in EKS' AMIs, each with the last version that supports it.
#[test]
fn flags_are_known_up_to_their_last_version() {
    let last = [
        ("--allow-privileged=true", 14),
        ("--network-plugin", 23),
        ("--cni-bin-dir=/opt/cni/bin", 23),
        ("--docker-endpoint", 23),
        ("--container-runtime", 26),
        ("--cloud-config", 33),
        ("--pod-infra-container-image=eks/pause:3.5", 34),
    ];
    for (flag, last) in last {
        for minor in all() {
            assert_eq!(
                kubelet_knows_flag(flag, minor),
                minor.number() <= last,
                "{flag} in {minor}"
            );
        }
    }
    for flag in [
        "--node-labels",
        "--register-with-taints",
        "--cloud-provider",
        "--hostname-override",
        "--bootstrap-kubeconfig",
    ] {
        assert!(all().all(|minor| kubelet_knows_flag(flag, minor)), "{flag}");
    }
}

#[test]
fn behaviours_change_once() {
    let first = |is: fn(Minor) -> bool| all().find(|minor| is(*minor)).map(Minor::number);
    let last = |is: fn(Minor) -> bool| all().filter(|minor| is(*minor)).last().map(Minor::number);
    assert_eq!(
        (first(refuses_cgroup_v1), last(refuses_cgroup_v1)),
        (Some(35), Some(37))
    );
    assert_eq!(
        (first(has_dockershim), last(has_dockershim)),
        (Some(20), Some(23))
    );
    assert_eq!(
        (first(has_in_tree_aws), last(has_in_tree_aws)),
        (Some(20), Some(26))
    );
    assert_eq!((first(looks_again), last(looks_again)), (Some(22), Some(37)));
    assert_eq!(
        (first(takes_config_dir), last(takes_config_dir)),
        (Some(30), Some(37))
    );
    assert_eq!(kubelet_config_map(Minor::new(23)), "kubelet-config-1.23");
    assert_eq!(kubelet_config_map(Minor::new(24)), "kubelet-config");
}

/// A kubelet that refuses cgroup v1 has a setting that allows it; without it the harness could only skip.
#[test]
fn kubelets_that_refuse_cgroup_v1_have_a_field_that_allows_it() {
    for minor in all().filter(|minor| refuses_cgroup_v1(*minor)) {
        assert!(kubelet_reads("failCgroupV1", minor), "{minor}");
        assert!(takes_config_dir(minor), "{minor}");
    }
    assert!(!kubelet_reads("failCgroupV1", Minor::new(30)));
}

#[test]
fn every_row_has_a_source_and_is_unique() {
    for (index, row) in differences().iter().enumerate() {
        assert!(!row.source.is_empty(), "{}", row.name);
        assert!(
            row.since
                .zip(row.until)
                .is_none_or(|(since, until)| since <= until),
            "{}",
            row.name
        );
        let same = |other: &&Difference| (other.what, other.name) == (row.what, row.name);
        assert_eq!(
            differences().iter().position(|other| same(&other)),
            Some(index),
            "{} occurs twice",
            row.name
        );
    }
    let range = |name| difference(DifferenceKind::KubeletFlag, name).unwrap().range();
    assert_eq!(range("--container-runtime"), "up to 1.26");
    assert_eq!(range("--config-dir"), "from 1.28 on");
}
