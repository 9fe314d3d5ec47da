//! Endpoints with mistakes, and regions that contradict each other.

use super::*;

const HOST: &str = "ABCDEF0123456789ABCDEF0123456789.gr7.us-east-1.eks.amazonaws.com";

fn trial(machine: &Machine) -> (String, String) {
    let trial = adopt(machine, &BTreeMap::new()).unwrap();
    let user_data = String::from_utf8(trial.user_data.unwrap()).unwrap();
    (shown(machine), user_data)
}

#[test]
fn an_endpoint_with_a_mistake_stays_as_it_is() {
    for (endpoint, what) in [
        (format!("htps://{HOST}"), "begins with `htps://`"),
        (format!("http://{HOST}"), "begins with `http://`"),
        (format!("https://{HOST}:6443"), "has the port 6443"),
        (format!("https://{HOST},"), "has `,` behind its host"),
    ] {
        let text = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint '{endpoint}'\n");
        let (report, user_data) = trial(&machine(&text));
        assert_has(
            &report,
            &[
                &format!("note: the endpoint `{endpoint}` in the user data {what}"),
                "adopted: region us-east-1\n",
                &format!("endpoint: \"https://{HOST}\"\n"),
            ],
        );
        assert!(user_data.contains(&endpoint), "{user_data}");
        assert!(!report.contains("replaced: the endpoint"), "{report}");
    }
    let other = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint htps://api.example.com\n";
    let (report, user_data) = trial(&machine(other));
    assert_has(
        &report,
        &["note: the endpoint `htps://api.example.com` in the user data begins with"],
    );
    assert!(user_data.contains("htps://api.example.com"), "{user_data}");
}

#[test]
fn an_endpoint_outside_of_eks_is_replaced() {
    for endpoint in ["https://10.0.0.1", "https://api.example.com:6443"] {
        let text = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint {endpoint}\n");
        let (report, user_data) = trial(&machine(&text));
        assert_has(&report, &[&format!("replaced: the endpoint `{endpoint}`")]);
        assert!(user_data.contains("{{ cluster.endpoint }}"), "{user_data}");
    }
}

#[test]
fn the_region_of_the_file_is_compared_with_that_of_the_endpoint() {
    let text = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo --apiserver-endpoint https://{HOST}\n");
    let note =
        "note: the file states the region eu-central-1, and the endpoint of the cluster is in us-east-1";
    let mut node = machine(&text);
    assert!(!shown(&node).contains("the file states the region"));
    node.traits.region = Some("us-east-1".to_owned());
    assert!(!shown(&node).contains("the file states the region"));
    node.traits.region = Some("eu-central-1".to_owned());
    assert_has(&shown(&node), &[note, "adopted: region us-east-1\n"]);
    // A command of the user data can be for another region.
    let mut other = machine(&text.replace("/etc/eks", "aws s3 ls --region eu-central-1\n/etc/eks"));
    other.traits.region = Some("eu-central-1".to_owned());
    assert!(!shown(&other).contains(note));
}

#[test]
fn the_region_of_a_command_about_the_cluster_is_compared_with_that_of_the_endpoint() {
    let report = |command: &str| {
        shown(&machine(&format!(
            "#!/bin/bash\n{command}\n/etc/eks/bootstrap.sh demo --apiserver-endpoint https://{HOST}\n"
        )))
    };
    let note = "note: `describe-cluster` of `aws eks` in the user data is about the cluster demo in eu-west-1, and the endpoint of the \
                cluster is in us-east-1: these are two clusters; the run is in us-east-1\n";
    for command in [
        "aws eks describe-cluster --name demo --region eu-west-1",
        "CA=$(aws --region eu-west-1 eks describe-cluster --name=demo --query cluster.certificateAuthority.data --output text)",
    ] {
        assert_has(&report(command), &[note, "adopted: region us-east-1\n"]);
    }
    for command in [
        "aws eks describe-cluster --name demo --region us-east-1",
        "aws eks describe-cluster --name demo --region $REGION",
        "aws eks describe-cluster --name hub --region eu-west-1",
        "aws eks describe-cluster --name demo",
        "export AWS_DEFAULT_REGION=eu-west-1",
        "aws s3 ls --region eu-west-1",
    ] {
        assert!(!report(command).contains("two clusters"), "{command}");
    }
}

#[test]
fn the_region_is_that_of_the_commands_about_the_cluster() {
    let text = "#!/bin/bash\nREGION=us-west-2\nctr image pull 1.dkr.ecr.eu-central-1.amazonaws.com/eks/pause:3.5\n\
                E=$(aws eks describe-cluster --region $REGION --name demo --query cluster.endpoint --output text)\n\
                /etc/eks/bootstrap.sh demo --apiserver-endpoint $E\n";
    assert_has(&shown(&machine(text)), &["adopted: region us-west-2\n"]);
}

#[test]
fn a_cluster_of_two_node_configs_is_the_one_of_the_later() {
    let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n\
                apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://a.b\n    \
                certificateAuthority: QUE=\n    cidr: 10.100.0.0/16\n\n--B\nContent-Type: application/node.eks.aws\n\n\
                apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: dmeo\n--B--\n";
    assert_has(
        &shown(&machine(text)),
        &[
            "note: `spec.cluster.name: demo` has no effect: a later NodeConfig sets dmeo\n",
            "adopted: cluster name dmeo\n",
        ],
    );
}

#[test]
fn names_of_a_script_that_differ_by_a_typing_error_are_named() {
    let text =
        "#!/bin/bash\naws eks wait cluster-active --name prod-cluster\n/etc/eks/bootstrap.sh prod-clsuter\n";
    assert_has(
        &shown(&machine(text)),
        &[
            "note: the node joins the cluster prod-clsuter, and",
            "names prod-cluster: one of the two names is mistyped",
        ],
    );
}
