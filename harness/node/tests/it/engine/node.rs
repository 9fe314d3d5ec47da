//! A node in a container engine, against the real fakes and without a control plane: everything up to a kubelet that
//! runs.

use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use nodejoin_core::observation::JournalLine;
use nodejoin_node::{DirectUserData, LaidFile, Node, NodeRequest, UserDataScript, boot};

use super::bench::{Bench, ask, plan, until, user_data_is_over};

/// Of a log that was followed to its first line, all others are missed, once.
async fn lines_that_were_not_followed_are_missed(node: &Node) {
    let log = node.log();
    let first = Box::pin(log.follow()).next().await;
    let missed = log.missed().await.unwrap();
    assert!(missed.len() > 2, "{missed:#?}");
    assert!(!missed.contains(&first.expect("the journal has lines")));
    let again = log.missed().await.unwrap();
    assert!(again.len() < missed.len(), "only new lines: {again:#?}");
    let mut followed = Box::pin(log.follow());
    while let Ok(Some(line)) = tokio::time::timeout(Duration::from_secs(2), followed.next()).await {
        assert!(!missed.contains(&line), "{line:?} is not new");
    }
}

/// A node that boots ahead of its scenario stops before the first unit that could read metadata, and goes on when its
/// address is registered.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_boots_ahead_waits_before_its_user_data() {
    let bench = Bench::new().await;
    let plan = plan(
        "name: waits\ninstance: { private_ip: 192.168.40.26 }\nuser_data: |\n  #!/bin/bash\n  echo ran > /root/ran\n",
    );
    let (node, mut events) = bench.start(&plan, None, true).await;
    // The unit of the gate starts before the journal does. This unit is the last that needs no gate.
    let is_at_gate = |line: &JournalLine| {
        line.by_systemd
            && line
                .message
                .starts_with("Finished systemd-tmpfiles-setup.service")
    };
    until(&node, is_at_gate).await;
    assert!(events.try_recv().is_err(), "it reads no metadata before");
    lines_that_were_not_followed_are_missed(&node).await;
    let opened = SystemTime::now();
    bench.aws.attach(node.ip, &plan.instance.id);
    let starts = |line: &JournalLine| line.message.starts_with("Cloud-init v.");
    assert!(until(&node, starts).await.0 > opened);
    until(&node, user_data_is_over).await;
    let collected = node
        .collect(&ask(&["/root/ran"], &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    assert_eq!(collected.files["/root/ran"].text.trim(), "ran");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_starts_a_kubelet_with_what_the_instance_is() {
    let bench = Bench::new().await;
    let plan = plan(
        "name: a kubelet runs\ninstance: { private_ip: 192.168.40.16 }\nuser_data:\n  parts:\n    - type: shell\n      inline: |\n        #!/bin/bash\n        echo first; exit 3\n    - type: shell\n      inline: |\n        #!/bin/bash\n        set -ex\n        /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd --kubelet-extra-args '--node-labels=a=b --max-pods=29'\n    - type: shell\n      inline: |\n        echo no interpreter\nexpect: { phase: kubelet-started }\n",
    );
    let (node, _events) = bench.boot(&plan, None).await;
    let (at, _) = until(&node, user_data_is_over).await;
    let took = at.duration_since(node.started).unwrap();
    println!("user data was through after {took:?}");

    let files = [
        "/etc/kubernetes/pki/ca.crt",
        "/etc/kubernetes/kubelet/kubelet-config.json",
        "/nothing/here",
        "/etc/hostname",
    ];
    let collected = node
        .collect(&ask(
            &files,
            &["kubelet.service", "docker.service"],
            &plan,
            &bench.aws.ca_pem,
        ))
        .await
        .unwrap();
    let argv = collected.kubelet_argv.expect("a kubelet runs");
    for expected in ["--node-ip=192.168.40.16", "--node-labels=a=b", "--max-pods=29"] {
        assert!(argv.iter().any(|word| word == expected), "{expected}: {argv:?}");
    }
    assert_eq!(collected.units["kubelet.service"], "active");
    assert_eq!(collected.units["docker.service"], "inactive");
    assert_eq!(collected.files["/etc/kubernetes/pki/ca.crt"].mode, 0o644);
    assert_eq!(
        collected.files["/etc/kubernetes/pki/ca.crt"].text,
        bench.aws.ca_pem
    );
    assert!(!collected.files["/nothing/here"].exists);
    assert_eq!(
        collected.files["/etc/hostname"].text.trim(),
        plan.instance.host_name
    );
    let user_data = collected.user_data.unwrap();
    assert!(user_data.ran);
    assert_eq!(user_data.data_source.as_deref(), Some("DataSourceEc2"));
    assert_eq!(user_data.status.as_deref(), Some("error"));
    assert_eq!(user_data.exit_codes["part-001"], 3);
    assert_eq!(user_data.exit_codes["part-002"], 0, "{}", user_data.output);
    // AL2 runs a part without an interpreter with bash.
    assert_eq!(user_data.exit_codes["part-003"], 0, "{}", user_data.output);
    assert!(user_data.output.contains("first"));
    assert!(
        user_data.output.contains("\nno interpreter\n"),
        "{}",
        user_data.output
    );
    let served = collected.served.unwrap();
    assert!(!served.verified, "{served:?}");

    let folder = tempfile::tempdir().unwrap();
    let errors = node
        .evidence(folder.path(), &|text| text.replace("eu-west-1", "REGION"))
        .await;
    assert!(errors.is_empty(), "{errors:?}");
    for file in [
        "journal.log",
        "kubelet.log",
        "kubelet-argv.txt",
        "cloud-init.log",
        "network.txt",
        "mounts.txt",
        "processes.txt",
        "files/etc/kubernetes/kubelet/kubelet-config.json",
        "files/etc/systemd/system/kubelet.service.d/10-kubelet-args.conf",
    ] {
        let text =
            std::fs::read_to_string(folder.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(!text.is_empty() && !text.contains("eu-west-1"), "{file}");
    }
    assert!(node.deviations.iter().any(|d| d.name == "cloud-init-data-source"));
    node.remove().await.unwrap();
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_and_the_world_are_out_of_reach() {
    let bench = Bench::new().await;
    let plan = plan(HERMETIC);
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node
        .collect(&ask(&[], &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    let output = collected.user_data.unwrap().output;
    // Inspected, not tried: a wrong setting would change the host of the tests.
    for line in [
        "kernel settings: tmpfs tmpfs tmpfs",
        "set kernel.panic = 10",
        "sysrq: harmless",
        "clock: 0, modules: 0, of every process",
        "sys: ro",
        "169.254.171.2   deb.debian.org",
        "no such name",
        "out of reach",
    ] {
        assert!(output.lines().any(|l| l == line), "{line}: {output}");
    }
    assert!(
        output.contains(&format!(
            "{} {}",
            plan.instance.private_ip, plan.instance.private_dns_name
        )),
        "{output}"
    );
    assert_eq!(collected.kubelet_argv, None);
    bench.end().await;
}

/// Says what the node could do to its host, and does nothing of it.
const HERMETIC: &str = r#"name: hermetic
user_data: |
  #!/bin/bash
  echo "kernel settings: $(stat --file-system --format %T /proc/sys/kernel /proc/sys/vm /proc/sys/fs | xargs)"
  echo "set $(sysctl kernel.panic)"
  if [[ ! -e /proc/sysrq-trigger || -c /proc/sysrq-trigger ]]; then echo "sysrq: harmless"; fi
  clock=0 modules=0
  for status in /proc/[0-9]*/status; do
    bounding=$(sed -n 's/^CapBnd:[[:space:]]*//p' "$status" 2>/dev/null)
    (( 0x${bounding:-0} >> 25 & 1 )) && clock=1
    (( 0x${bounding:-0} >> 16 & 1 )) && modules=1
  done
  echo "clock: $clock, modules: $modules, of every process"
  echo "sys: $(findmnt --noheadings --output OPTIONS /sys | cut -d, -f1)"
  getent hosts deb.debian.org
  getent hosts db.corp.internal || echo no such name
  getent hosts {{ instance.private_dns_name }}
  timeout 5 bash -c 'exec 3<>/dev/tcp/1.1.1.1/53' 2>/dev/null || echo out of reach
expect: { phase: booted }
"#;

/// With `AMAZON_EKS_AMI` set to a checkout of awslabs/amazon-eks-ami at v20220824.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a checkout of awslabs/amazon-eks-ami"]
async fn the_script_of_amazon_starts_a_kubelet_unmodified() {
    let bench = Bench::new().await;
    let mut plan = plan(OF_AMAZON);
    let manifest = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/overlays/amazon-eks-ami-2022/overlay.yaml"
    );
    let files = nodejoin_core::input::files::Disk::with_variables(std::env::vars());
    plan.image.overlay = nodejoin_core::scenario::overlay::load(std::path::Path::new(manifest), &files)
        .unwrap()
        .files;
    let (node, mut events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let files = ["/etc/eks/bootstrap.sh", "/var/lib/kubelet/kubeconfig"];
    let collected = node
        .collect(&ask(&files, &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    let user_data = collected.user_data.unwrap();
    while let Ok(event) = events.try_recv() {
        println!("{:?}", event.what);
    }
    println!("{}", user_data.output);
    assert_eq!(user_data.exit_codes["part-001"], 0);
    let theirs = plan
        .image
        .overlay
        .iter()
        .find(|f| f.to == "/etc/eks/bootstrap.sh")
        .unwrap();
    let script = &collected.files["/etc/eks/bootstrap.sh"];
    assert_eq!(
        (script.mode, &script.text),
        (0o755, &std::fs::read_to_string(&theirs.from).unwrap())
    );
    let argv = collected.kubelet_argv.expect("a kubelet runs");
    assert!(argv.iter().any(|word| word == "--node-labels=a=b"), "{argv:?}");
    bench.end().await;
}

const OF_AMAZON: &str = r#"name: of Amazon
user_data: |
  #!/bin/bash
  set -ex
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd --kubelet-extra-args '--node-labels=a=b'
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_direct_engine_runs_the_same_parts() {
    let bench = Bench::new().await;
    let plan = plan(
        "name: direct\nuser_data:\n  engine: direct\n  inline: |\n    #!/bin/bash\n    true\nexpect: { phase: booted }\n",
    );
    let script = |name: &str, text: &str| UserDataScript {
        name: name.to_owned(),
        content: text.as_bytes().to_vec(),
    };
    let direct = DirectUserData {
        files: vec![LaidFile {
            path: "/etc/eksctl/kubelet.env".to_owned(),
            mode: 0o600,
            content: b"A=b\n".to_vec(),
        }],
        scripts: vec![
            script("part-001", "#!/bin/bash\necho one; exit 4\n"),
            script("part-002", "echo none\n"),
            script("runcmd", "#!/bin/sh\necho three\n"),
        ],
    };
    let (node, _events) = bench.boot(&plan, Some(direct)).await;
    until(&node, |line| {
        line.by_systemd
            && line.unit.as_deref() == Some("nodejoin-user-data.service")
            && line.message.contains("Failed")
    })
    .await;
    let collected = node
        .collect(&ask(&["/etc/eksctl/kubelet.env"], &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    assert_eq!(collected.files["/etc/eksctl/kubelet.env"].mode, 0o600);
    let user_data = collected.user_data.unwrap();
    assert_eq!(
        (
            user_data.exit_codes["part-001"],
            user_data.exit_codes["part-002"],
            user_data.exit_codes["runcmd"]
        ),
        (4, 0, 0)
    );
    assert_eq!(user_data.status.as_deref(), Some("error"));
    assert!(user_data.output.contains("three"));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_run_never_starts() {
    let bench = Bench::new().await;
    let mut plan = plan("name: lost\nexpect: { phase: booted }\n");
    plan.user_data = None;
    let ask = NodeRequest {
        image: bench.image.clone(),
        plan: &plan,
        network: bench.network.clone(),
        // Nothing answers here as a metadata service of this run would.
        metadata: bench.aws.tls,
        metadata_id: bench.run.id().clone(),
        tls: bench.aws.tls,
        api_server: Some("192.0.2.1:443".parse().unwrap()),
        labels: Default::default(),
        dns: bench.aws.dns,
        aws_ca_pem: bench.aws.ca_pem.clone(),
        direct: None,
        is_ahead: false,
    };
    let node = boot(&bench.run, &ask).await.unwrap();
    // The node asks a fixed number of times, which takes as long as the host is busy.
    let exit = tokio::time::timeout(Duration::from_secs(300), node.exited())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(exit.code, 97, "{exit:?}");
    assert!(
        exit.lines
            .iter()
            .any(|line| line.contains("no user data is run here")),
        "{exit:?}"
    );
    bench.end().await;
}

/// A kubelet that only prints its arguments.
const TELLING: &str = "#!/bin/bash\nprintf 'told:'; printf ' <%s>' \"$@\"; echo\n";

/// A kubelet that only prints its arguments, in place of one that exits on control groups of version 1.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_refuses_cgroup_v1_is_told_that_it_will_do() {
    let mut bench = Bench::new().await;
    bench.image.kubernetes = "v1.36.0".to_owned();
    let output = output_with(&bench, "kubelet --version 'a b'", &[("kubelet", TELLING)]).await;
    let expected = match bench.run.engine().facts().cgroup_version {
        1 => "told: <--version> <a b> <--fail-cgroupv1=false>\n",
        _ => "told: <--version> <a b>\n",
    };
    assert!(output.contains(expected), "{output}");
    bench.end().await;
}

/// `stat` reports a nearly full disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_on_a_full_disk_starts_without_thresholds_for_it() {
    let bench = Bench::new().await;
    let programs = [("kubelet", TELLING), ("stat", "#!/bin/sh\necho 8 100\n")];
    let output = output_with(&bench, "kubelet a", &programs).await;
    for expected in [
        "nodejoin-settings disk 8\n",
        "told: <a> <--eviction-hard=memory.available<100Mi,nodefs.available<0%,",
    ] {
        assert!(output.contains(expected), "`{expected}` is missing in:\n{output}");
    }
    bench.end().await;
}

/// What a command in user data prints, with these programs in /usr/bin instead of the image's.
async fn output_with(bench: &Bench, command: &str, programs: &[(&str, &str)]) -> String {
    let mut plan = plan(&format!(
        "name: told\nuser_data: |\n  #!/bin/bash\n  timeout 10 {command}\nexpect: {{ phase: booted }}\n"
    ));
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = "files:\n".to_owned();
    for (name, text) in programs {
        std::fs::write(folder.path().join(name), text).unwrap();
        overlay += &format!("  - {{ from: {name}, to: /usr/bin/{name}, mode: \"0755\" }}\n");
    }
    let manifest = folder.path().join("overlay.yaml");
    std::fs::write(&manifest, overlay).unwrap();
    let files = nodejoin_core::input::files::Disk::default();
    plan.image.overlay = nodejoin_core::scenario::overlay::load(&manifest, &files)
        .unwrap()
        .files;
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node
        .collect(&ask(&[], &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    collected.user_data.unwrap().output
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_provider_has_a_password_for_ecr_and_for_nobody_else() {
    let bench = Bench::new().await;
    let plan = plan(PROVIDER);
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node
        .collect(&ask(&[], &[], &plan, &bench.aws.ca_pem))
        .await
        .unwrap();
    let output = collected.user_data.unwrap().output;
    for expected in [
        r#"{"apiVersion":"credentialprovider.kubelet.k8s.io/v1","auth":{"111122223333.dkr.ecr.eu-west-1.amazonaws.com":{"password":true,"username":"AWS"}},"cacheDuration":"6h","cacheKeyType":"Registry","kind":"CredentialProviderResponse"}"#,
        "'registry.example.com' is no registry of ECR",
        "the other one ended with 1",
    ] {
        assert!(output.contains(expected), "`{expected}` is missing in:\n{output}");
    }
    bench.end().await;
}

/// Asks the program of the node image's configuration as a kubelet does; of the password, only whether there is one is
/// printed.
const PROVIDER: &str = r#"name: provider
user_data: |
  #!/bin/bash
  folder=/etc/eks/image-credential-provider
  ask() {
    jq --null-input --arg image "$1" '{kind: "CredentialProviderRequest", apiVersion: "credentialprovider.kubelet.k8s.io/v1", $image}' \
      | "$folder/$(jq --raw-output '.providers[0].name' $folder/config.json)"
  }
  ask 111122223333.dkr.ecr.eu-west-1.amazonaws.com/nodejoin/echo:latest | jq --compact-output --sort-keys '.auth[].password |= (length > 3)'
  ask registry.example.com/echo || echo "the other one ended with $?"
expect: { phase: booted }
"#;
