//! A node from an image that lacks programs of the harness: the toolbox has them.

use bollard::models::{ContainerConfig, ContainerCreateBody};
use bollard::query_parameters::{
    CommitContainerOptions, CreateContainerOptions, RemoveImageOptions, StartContainerOptions,
    WaitContainerOptions,
};
use futures::StreamExt as _;
use nodejoin_core::plan::ImagePlan;
use nodejoin_docker::{ImageSettings, Images};

use super::bench::{Bench, ask, plan, until, user_data_is_over};

/// Connections are refused by rules in the node's network, which the image has no program for.
const REFUSED: &str = r#"name: refused
user_data: |
  #!/bin/bash
  for program in iptables iptables-restore iptables-save xtables-nft-multi xtables-legacy-multi nft; do
    if command -v "$program"; then echo "the image has $program"; fi
  done
  request() { code=0; curl --silent --output /dev/null "https://$1.{{ instance.region }}.amazonaws.com/" || code=$?; echo "$1 $code"; }
  for service in sts sts sts sts eks eks; do request "$service"; done
faults:
  - { service: sts, effect: refuse, after: 1, times: 2 }
  - { service: eks, effect: refuse, from_seconds: 0.1 }
expect: { phase: booted }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_refused_on_an_image_without_iptables() {
    let mut bench = Bench::new().await;
    let name = without_iptables(&bench).await;
    let settings = ImageSettings::from_lookup(|name| std::env::var(name).ok());
    let images = Images::new(bench.run.engine().clone(), settings, std::sync::Arc::new(|_| ()));
    bench.image = images.of_plan(&ImagePlan::named(&name)).await.unwrap();
    let plan = plan(REFUSED);
    let (node, _events) = bench.boot(&plan, None).await;
    until(&node, user_data_is_over).await;
    let collected = node.collect(&ask(&[], &[], &plan, &bench.aws.ca_pem)).await;
    let output = collected.unwrap().user_data.unwrap().output;
    assert!(!output.contains("the image has"), "{output}");
    // 7 is curl's code for a refused connection.
    let codes = "sts 0\nsts 7\nsts 7\nsts 0\neks 7\neks 7\n";
    assert!(output.contains(codes), "{output}");
    let refused = node.refused().await.unwrap();
    let mut refused: Vec<_> = refused
        .iter()
        .map(|seen| (seen.service.word(), seen.total))
        .collect();
    refused.sort_unstable();
    assert_eq!(refused, [("eks", 2), ("sts", 2)]);
    let docker = bench.run.engine().docker().clone();
    let imported = bench.image.name.clone();
    bench.end().await;
    for image in [imported, name] {
        docker
            .remove_image(&image, None::<RemoveImageOptions>, None)
            .await
            .unwrap();
    }
}

/// The image of the bench without the programs that set rules, under a name of its own.
async fn without_iptables(bench: &Bench) -> String {
    let (repository, tag) = ("nodejoin-test-without-iptables", bench.run.id().to_string());
    let docker = bench.run.engine().docker();
    let remove = "rm --force /usr/sbin/*tables* /usr/bin/*tables* /usr/sbin/nft /usr/sbin/xtables* /etc/alternatives/*tables*";
    let body = ContainerCreateBody {
        image: Some(bench.image.name.clone()),
        entrypoint: Some(["sh", "-c", remove].map(str::to_owned).to_vec()),
        labels: Some(bench.run.labels("node")),
        ..ContainerCreateBody::default()
    };
    let created = docker
        .create_container(None::<CreateContainerOptions>, body)
        .await
        .unwrap();
    docker
        .start_container(&created.id, None::<StartContainerOptions>)
        .await
        .unwrap();
    let _ended = docker
        .wait_container(&created.id, None::<WaitContainerOptions>)
        .next()
        .await;
    let options = CommitContainerOptions {
        container: Some(created.id),
        repo: Some(repository.to_owned()),
        tag: Some(tag.clone()),
        changes: Some("ENTRYPOINT []\n".to_owned()),
        ..CommitContainerOptions::default()
    };
    docker
        .commit_container(options, ContainerConfig::default())
        .await
        .unwrap();
    format!("{repository}:{tag}")
}
