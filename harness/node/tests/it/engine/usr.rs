//! The files of the image below /usr, on an engine with slow storage.

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
  say mount "$(awk '$5 == "/usr" { print $(NF - 2) }' /proc/self/mountinfo)"
  say option "$(awk '$5 == "/usr" { print $6 }' /proc/self/mountinfo | cut -d , -f 1)"
  say shared "$(ls /opt/nodejoin/usr/image 2> /dev/null | head -n 1)"
  touch /usr/local/share/changed
  rm -f /usr/bin/bc
  mv /usr/bin/socat /usr/local/bin/
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_node_changes_its_own_programs_alone_and_keeps_the_changes() {
    let bench = Bench::new().await;
    let engine = bench.run.engine();
    let driver = &engine.facts().storage_driver;
    let has_volume = engine.usr_volume(&bench.image.name).await.is_some();
    assert_eq!(has_volume, driver == "fuse-overlayfs", "{driver}");
    let plans = ["192.168.40.41", "192.168.40.42"].map(|address| plan(&CHANGES.replace("ADDRESS", address)));
    let mut nodes = Vec::new();
    for plan in &plans {
        let (node, _events) = bench.boot(plan, None).await;
        until(&node, user_data_is_over).await;
        let collected = node.collect(&ask(&[], &[], plan, &bench.aws.ca_pem)).await;
        let seen = Seen::of(&collected.unwrap().user_data.unwrap().output);
        // The second node has none of the changes of the first one.
        seen.check(&[("changed", ""), ("removed", "/usr/bin/bc"), ("shared", "")]);
        let is_named = node.deviations.iter().any(|one| one.name == "mounted-usr");
        assert_eq!(is_named, has_volume);
        match has_volume {
            true => seen.check(&[("mount", "overlay"), ("option", "rw")]),
            false => seen.check(&[("mount", ""), ("option", "")]),
        }
        nodes.push(node);
    }
    let node = nodes[0].reboot().await.unwrap();
    bench.aws.attach(node.ip, &plans[0].instance.id);
    until(&node, user_data_is_over).await;
    let files = ["/usr/local/share/changed", "/usr/bin/bc", "/usr/local/bin/socat"];
    let collected = node
        .collect(&ask(&files, &[], &plans[0], &bench.aws.ca_pem))
        .await;
    let files = files.map(|path| collected.as_ref().unwrap().files[path].exists);
    assert_eq!(files, [true, false, true]);
    bench.end().await;
}
