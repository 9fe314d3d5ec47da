//! A control plane that is used again: whatever a tenant or another client changed is as before, or it is discarded.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::tenant::{MAPPED, Watched, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_control_plane_returns_to_its_objects_before_the_first_tenant() {
    let (run, plane) = start().await;
    let before = plane.baseline().await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(plane.client(), "kube-system");
    let aws_auth = maps.get("aws-auth").await.unwrap().data;
    let roles = Api::<ClusterRole>::all(plane.client());
    let view = roles.get("system:node").await.unwrap().rules;

    let _tenant = Watched::admit(&plane, MAPPED, true).await;
    let error = plane.restore(&before).await.unwrap_err();
    assert!(error.to_string().contains("tenants remain"), "{error}");
    plane.remove(&MAPPED.parse().unwrap()).await.unwrap();

    let mut node = Node::default();
    node.metadata.name = Some("stays".to_owned());
    let nodes = Api::<Node>::all(plane.client());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let mut space = Namespace::default();
    space.metadata.name = Some("new".to_owned());
    let spaces = Api::<Namespace>::all(plane.client());
    spaces.create(&PostParams::default(), &space).await.unwrap();
    roles
        .delete("system:node", &DeleteParams::default())
        .await
        .unwrap();
    let edited = Patch::Merge(json!({ "data": { "mapRoles": "[]", "mapUsers": "[]" } }));
    maps.patch("aws-auth", &PatchParams::default(), &edited)
        .await
        .unwrap();

    plane.restore(&before).await.unwrap();
    assert!(nodes.get_opt("stays").await.unwrap().is_none());
    assert!(spaces.get_opt("new").await.unwrap().is_none());
    assert_eq!(roles.get("system:node").await.unwrap().rules, view);
    assert_eq!(maps.get("aws-auth").await.unwrap().data, aws_auth);

    let container = plane.container_id().unwrap().to_owned();
    run.engine()
        .exec(&container, &["sh", "-c", "kill -STOP $(pidof kube-apiserver)"])
        .await
        .unwrap();
    assert!(
        plane.check().await.is_err(),
        "a stopped API server is not used again"
    );

    plane.shut_down().await;
    assert_eq!(run.tear_down().await.left, Vec::<String>::new());
}
