//! User data in a test of Rust.

use nodejoin::{Cause, Nodejoin};

const USER_DATA: &str = "#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd \\\n  \
                         --kubelet-extra-args --node-labels=tier=web\n";

#[tokio::test]
async fn a_web_node_has_its_label() -> Result<(), nodejoin::LibraryError> {
    let nodejoin = Nodejoin::builder().start().await?;
    nodejoin
        .user_data(USER_DATA)
        .key("expect", "{ phase: ready, node: { labels: { tier: web } } }")
        .run()
        .await?
        .assert_joined();
    nodejoin
        .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd \\\n  --kubelet-extra-args --node-labels=kubernetes.io/tier=web\n")
        .run()
        .await?
        .assert_cause(Cause::LabelRefused);
    Ok(())
}
