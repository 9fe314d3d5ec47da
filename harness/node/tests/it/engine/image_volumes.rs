//! Folders of the image that a node reads from volumes, on an engine with slow storage.

use super::bench::{Bench, ask, plan, until, user_data_is_over};
use super::machine::Seen;

/// Prints one `NAME VALUE` a line, and changes what the image has.
const CHANGES: &str = r#"name: changes
instance: { private_ip: ADDRESS }
user_data: |
  #!/bin/bash
  say() { echo "seen $1 $2"; }
  say changed "$(ls /usr/local/share/changed 2> /dev/null)"
  say removed "$(command -v bc || echo removed)"
  say configured "$(cat /etc/eks/changed 2> /dev/null)"
  say bash "$(ls /etc/bash.bashrc 2> /dev/null || echo removed)"
  for folder in usr etc var/log; do
    say "mount-of-$folder" "$(awk -v at="/$folder" '$5 == at { print $(NF - 2) }' /proc/self/mountinfo)"
    say "option-of-$folder" "$(awk -v at="/$folder" '$5 == at { print $6 }' /proc/self/mountinfo | cut -d , -f 1)"
  done
  say engine "$(awk '$5 ~ "^/etc/" { print $5 }' /proc/self/mountinfo)"
  say shared "$(find /opt/nodejoin/folders /opt/nodejoin/changes ! -type d 2> /dev/null | head -n 1)"
  touch /usr/local/share/changed
  echo changed > /etc/eks/changed
  rm -f /usr/bin/bc /etc/bash.bashrc
  mv /usr/bin/socat /usr/local/bin/
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_changes_its_own_programs_alone_and_keeps_the_changes() {
    let bench = Bench::new().await;
    let engine = bench.run.engine();
    let driver = &engine.facts().storage_driver;
    let has_volumes = !engine.image_volumes(&bench.image.name).await.is_empty();
    assert_eq!(has_volumes, driver == "fuse-overlayfs", "{driver}");
    let plans = ["192.168.40.41", "192.168.40.42"].map(|address| plan(&CHANGES.replace("ADDRESS", address)));
    let mut nodes = Vec::new();
    for plan in &plans {
        let (node, _events) = bench.boot(plan, None).await;
        until(&node, user_data_is_over).await;
        let collected = node.collect(&ask(&[], &[], plan, &bench.aws.ca_pem)).await;
        let seen = Seen::of(&collected.unwrap().user_data.unwrap().output);
        // The second node has none of the changes of the first one.
        seen.check(&[
            ("changed", ""),
            ("removed", "/usr/bin/bc"),
            ("configured", ""),
            ("bash", "/etc/bash.bashrc"),
            ("engine", ""),
            ("shared", ""),
        ]);
        let is_named = node.deviations.iter().any(|one| one.name == "mounted-folders");
        assert_eq!(is_named, has_volumes);
        let mount = if has_volumes { ["overlay", "rw"] } else { ["", ""] };
        for folder in ["usr", "etc", "var/log"] {
            seen.check(&[
                (&format!("mount-of-{folder}"), mount[0]),
                (&format!("option-of-{folder}"), mount[1]),
            ]);
        }
        nodes.push(node);
    }
    let node = nodes[0].reboot().await.unwrap();
    bench.aws.attach(node.ip, &plans[0].instance.id);
    until(&node, user_data_is_over).await;
    let files = [
        "/usr/local/share/changed",
        "/usr/bin/bc",
        "/usr/local/bin/socat",
        "/etc/eks/changed",
        "/etc/bash.bashrc",
    ];
    let collected = node
        .collect(&ask(&files, &[], &plans[0], &bench.aws.ca_pem))
        .await;
    let files = files.map(|path| collected.as_ref().unwrap().files[path].exists);
    assert_eq!(files, [true, false, true, true, false]);
    bench.end().await;
}
