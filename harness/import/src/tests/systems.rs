//! Bottlerocket, Windows, and tools that do not use EKS.

use super::{all_refused, base64, machine, read_with, refused};
use crate::System;
use crate::adopt::adopt;

const SETTINGS: &str = "[settings.kubernetes]\napi-server = \"https://x\"\ncluster-certificate = \"Q0E=\"\ncluster-name = \"demo\"\n\
                        cluster-dns-ip = [\"10.100.0.10\"]\nmax-pods = 1_5\n[settings.kubernetes.node-labels]\na = \"b\"\n\
                        [settings.kubernetes.node-taints]\nk = [\"v:NoSchedule\", \"w:NoExecute\"]\nl = \":NoSchedule\"\n";

#[test]
fn settings_of_bottlerocket_state_node_and_cluster() {
    let machine = machine(SETTINGS);
    assert_eq!(machine.notes, [""; 0]);
    let traits = machine.traits;
    assert_eq!(traits.cluster.name.as_deref(), Some("demo"));
    assert_eq!((traits.max_pods, traits.labels["a"].as_str()), (Some(15), "b"));
    let taints: Vec<String> = traits.taints.iter().map(ToString::to_string).collect();
    assert_eq!(taints, ["k=v:NoSchedule", "k=w:NoExecute", "l=:NoSchedule"]);
}

#[test]
fn settings_that_bottlerocket_rejects_are_refused() {
    let files = [
        ("misspelled", SETTINGS.replace("cluster-name", "cluster_name")),
        (
            "section",
            SETTINGS.replace("[settings.kubernetes]", "[settings.kubernets]"),
        ),
        ("type", SETTINGS.replace("1_5", "\"15\"")),
        ("labels", SETTINGS.replace("a = \"b\"", "a = 1")),
        (
            "reserved",
            format!("{SETTINGS}[settings.kubernetes.kube-reserved]\ncpu = 1\n"),
        ),
        (
            "switch",
            SETTINGS.replace("max-pods", "seccomp-default = \"true\"\nmax-pods"),
        ),
        ("cluster", SETTINGS.replace("cluster-name = \"demo\"\n", "")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(all_refused(&files));
    let unknown = machine(&format!("{SETTINGS}[settings.zzz]\nq = 1\n"));
    assert!(
        unknown.problems[0].contains(
            "knows no setting `settings.zzz`: if your release of Bottlerocket has none either, it rejects"
        ),
        "{:?}",
        unknown.problems
    );
    let of_ecs = machine(&format!("{SETTINGS}[settings.ecs]\nq = 1\n"));
    assert_eq!(
        of_ecs.problems,
        [
            "`settings.ecs` exists in variants of Bottlerocket for ECS only: one for Kubernetes rejects all of its user data, and the node \
             does not join"
        ]
    );
    let newer =
        "container-log-max-workers = 2\nimage-maximum-gc-age = \"1h\"\nfail-cgroup-v1 = false\nmax-pods";
    let newer = format!(
        "{}[settings.kubelet-dra-drivers.nvidia]\nx = 1\n[settings.nvidia-container-runtime]\nx = true\n",
        SETTINGS.replace("max-pods", newer)
    );
    assert_eq!(machine(&newer).problems, [""; 0]);
    let newest = "[settings.container-runtime]\nconcurrent-download-chunk-size = \"64mb\"\nlog-level = \"debug\"\n\
                  concurrent-layer-fetch-buffer = 67108864\nmax-concurrent-unpacks = 3\n[settings.network]\ndisable-ipv6 = [\"eth0\"]\n\
                  [settings.kernel.hugepages.static]\nessential = true\n2Mi = { count = \"512\" }\n\
                  [settings.kernel.drivers.nvidia]\nbranch = \"lts\"\n[settings.ntp]\nlogging = [\"tracking\"]\n";
    for servers in [
        "time-servers = [\"169.254.169.123\"]\n",
        "[[settings.ntp.time-servers]]\naddress = \"169.254.169.123\"\ndirective = \"server\"\noptions = [\"iburst\"]\n",
        "[settings.ntp.time-servers.local]\naddress = \"169.254.169.123\"\n",
    ] {
        let problems = machine(&format!("{SETTINGS}{newest}{servers}")).problems;
        assert_eq!(problems, [""; 0], "{servers}");
    }
    for name in ["trailing-dash-", "under_score_", &"a".repeat(100)] {
        let named = machine(&SETTINGS.replace("demo", name));
        assert_eq!(named.traits.cluster.name.as_deref(), Some(name));
    }
    for (settings, problem) in [
        (
            "[settings.kernel.sysctl]\n\"vm.max_map_count\" = 262144\n",
            "line 13: invalid `settings.kernel.sysctl.vm.max_map_count`: expected text",
        ),
        (
            "[settings.pki.mine]\ndata = \"-----BEGIN CERTIFICATE-----\"\ntrusted = true\n",
            "invalid `settings.pki.mine.data`: expected base64 of certificates in PEM",
        ),
        (
            "[settings.pki.mine]\ntrusted = \"true\"\n",
            "line 13: invalid `settings.pki.mine.trusted`: expected true or false",
        ),
        (
            "[settings.host-containers.admin]\nenable = true\n",
            "unknown setting `settings.host-containers.admin.enable`; did you mean `enabled`?",
        ),
        (
            "[settings.bootstrap-containers.x]\nmode = \"sometimes\"\n",
            "expected one of off, once, always",
        ),
        (
            "[settings]\nnetwork = \"x\"\n",
            "invalid `settings.network`: expected a table",
        ),
        (
            "[settings.kubernetes.eviction-hard]\n\"memory.available\" = \"12%%\"\n",
            "line 13: invalid `settings.kubernetes.eviction-hard.memory.available`: expected a quantity of Kubernetes",
        ),
        (
            "[settings.kubernetes.eviction-hard]\n\"disk.free\" = \"5%\"\n",
            "line 13: invalid key `disk.free` of `settings.kubernetes.eviction-hard`: expected one of memory.available, ",
        ),
        (
            "[settings.kubernetes.kube-reserved]\ncpu = \"lots\"\n",
            "line 13: invalid `settings.kubernetes.kube-reserved.cpu`: expected a quantity of Kubernetes",
        ),
    ] {
        let refused = super::refused("file", &format!("{SETTINGS}{settings}"));
        assert!(refused.contains(problem), "{refused}");
    }
    for (setting, problem) in [
        (
            "max-pods = 9999999999",
            "max-pods`: expected a number from 0 to 4294967295",
        ),
        (
            "cluster-name = \"bad.\"",
            "cluster-name`: expected at most 100 letters",
        ),
        (
            "cluster-dns-ip = \"not-an-ip\"",
            "cluster-dns-ip`: expected an address",
        ),
        (
            "authentication-mode = \"iam\"",
            "authentication-mode`: expected one of aws, tls",
        ),
        (
            "cpu-manager-policy = \"dynamic\"",
            "cpu-manager-policy`: expected one of none, static",
        ),
        (
            "image-gc-high-threshold-percent = \"150\"",
            "image-gc-high-threshold-percent`: expected a number from 0 to 100",
        ),
        (
            "container-log-max-size = \"20Megs\"",
            "container-log-max-size`: expected a quantity",
        ),
        (
            "node-labels = { good = \"bad value!\" }",
            "node-labels.good`: expected at most 63 letters",
        ),
        (
            "node-taints = { good = \"bad\" }",
            "node-taints.good`: expected `VALUE:EFFECT`",
        ),
    ] {
        let refused = super::refused("file", &format!("[settings.kubernetes]\n{setting}\n"));
        assert!(
            refused.contains(&format!("line 2: invalid `settings.kubernetes.{problem}")),
            "{refused}"
        );
    }
    for settings in [
        "image-gc-high-threshold-percent = \"90\"\nhostname-override-source = \"instance-id\"\nshutdown-grace-period = \"30s\"",
        "cluster-dns-ip = \"${dns}\"\nnode-labels = { \"a.b/c\" = \"\", d = \"{{ x }}\" }\nnode-taints = { a = \":NoSchedule\" }",
        "node-labels = { \"%s\" = \"%s\" }\neviction-hard = { \"memory.available\" = \"12%%\" }",
    ] {
        assert_eq!(
            machine(&format!("[settings.kubernetes]\n{settings}\n")).problems,
            [""; 0],
            "{settings}"
        );
    }
    let filled_in =
        "[settings.pki.mine]\ndata = \"${ca}\"\n[settings.host-containers.admin]\nuser-data = \"{{ x }}\"\n";
    assert_eq!(machine(&format!("{SETTINGS}{filled_in}")).problems, [""; 0]);
    let part = machine("[settings.host-containers.admin]\nenabled = true\n");
    assert_eq!(
        part.problems, [""; 0],
        "EKS adds the cluster in a managed node group"
    );
}

#[test]
fn parameters_for_windows_are_checked() {
    let script = |call: &str| {
        format!("<powershell>\n[string]$EKSBootstrapScriptFile = \"x\"\n{call}\n</powershell>\n")
    };
    let good = machine(&script(
        "& $EKSBootstrapScriptFile -eksClusterName \"demo\" `\n  -KubeletExtraArgs \"--node-labels=a=b\" -Service 10.0.0.0/16",
    ));
    assert_eq!(
        (good.traits.cluster.name.as_deref(), good.notes.len()),
        (Some("demo"), 0)
    );
    let other = machine(&script("Write-Host hi"));
    assert!(
        other.notes[0].contains("does not call Start-EKSBootstrap.ps1"),
        "{:?}",
        other.notes
    );
    let part = read_with("pre.ps1", b"[string]$x = \"y\"\n", &[]).unwrap();
    assert_eq!(part.machines[0].system, System::Windows);
    assert!(
        part.machines[0].notes[0].contains("no tag `<powershell>`"),
        "{part:?}"
    );
    let calls = [
        (
            "misspelled",
            script("& $EKSBootstrapScriptFile -EKSClusterName demo -APIServerEndpont x"),
        ),
        (
            "no-name",
            script("& $EKSBootstrapScriptFile -DNSClusterIP 10.0.0.10"),
        ),
    ];
    let files: Vec<_> = calls.iter().map(|(name, text)| (*name, text.as_str())).collect();
    insta::assert_snapshot!(all_refused(&files));
}

#[test]
fn tools_without_eks_are_out_of_scope() {
    let files = [
        (
            "ig.yaml",
            "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\n",
        ),
        ("nodeup", "#!/bin/bash\nNODEUP_URL_AMD64=https://x\n"),
        (
            "worker.yaml",
            "apiVersion: extensions.gardener.cloud/v1alpha1\nkind: Worker\n",
        ),
        (
            "hybrid.yaml",
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  hybrid:\n    ssm: {}\n",
        ),
        (
            "hybrid-by-cloud-config",
            "#cloud-config\nwrite_files:\n- path: /tmp/node.yaml\n  content: |\n    apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig\n    spec:\n      hybrid:\n        ssm: {}\nruncmd:\n- nodeadm init -c file:///tmp/node.yaml\n",
        ),
    ];
    insta::assert_snapshot!(all_refused(&files));
    assert!(
        refused(
            "class.yaml",
            "apiVersion: eks.amazonaws.com/v1\nkind: NodeClass\n"
        )
        .contains("EKS Auto Mode")
    );
}

#[test]
fn eks_adds_missing_settings_in_a_managed_node_group() {
    let text = format!(
        "Resources:\n  Lt:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData: {{ UserData: {} }}\n  Ng:\n    \
         Type: AWS::EKS::Nodegroup\n    Properties:\n      ClusterName: prod\n      NodegroupName: b\n      \
         AmiType: BOTTLEROCKET_x86_64\n      NodeRole: arn:aws:iam::111122223333:role/n\n      Subnets: [subnet-1]\n      \
         LaunchTemplate: {{ Id: !Ref Lt }}\n",
        base64("[settings.kubernetes]\ncluster-name = \"staging\"\ncluster-dns-ip = \"169.254.20.10\"\n")
    );
    let found = machine(&text);
    let complete = crate::complete_user_data(&found, &crate::ClusterTraits::default());
    let complete = String::from_utf8(complete.unwrap().unwrap()).unwrap();
    for setting in [
        "api-server = \"https://",
        // Those of the user data override EKS' own.
        "cluster-name = \"staging\"",
        "cluster-dns-ip = \"169.254.20.10\"",
    ] {
        assert!(complete.contains(setting), "{complete}");
    }
    let report = adopt(&found, &std::collections::BTreeMap::new()).unwrap().report;
    let problem = "the user data names the cluster staging, the rest of the file prod";
    assert!(
        report.iter().any(|line| line.text.starts_with(problem)),
        "{report:?}"
    );
}
