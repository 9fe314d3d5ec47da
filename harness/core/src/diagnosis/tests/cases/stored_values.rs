//! Values that only an account has: parameters, and metadata of stacks.

use super::*;
use crate::plan::aws::StackPlan;

/// Its output goes through other programs, so that no line of it has a location.
const READS_PARAMETER: &str = "#!/bin/bash
exec > >(tee /var/log/user-data.log | logger -t user-data) 2>&1
# aws ssm get-parameter is explained elsewhere
NAME=$(aws ssm  get-parameter --name /demo/name --query Parameter.Value)
/etc/eks/bootstrap.sh $NAME
";

fn missing_parameter() -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: Some("ParameterNotFound".to_owned()),
        subject: Some("/demo/name".to_owned()),
        ..aws(Service::Ssm, "GetParameter", 400)
    })
}

fn missing_parameter_at(host: &str) -> ObservedEvent {
    match missing_parameter() {
        ObservedEvent::Aws(call) => ObservedEvent::Aws(AwsCall {
            host: host.to_owned(),
            ..call
        }),
        other => other,
    }
}

fn missing_stack() -> ObservedEvent {
    ObservedEvent::Aws(AwsCall {
        error: Some("ValidationError".to_owned()),
        subject: Some("nodes/NodeGroup".to_owned()),
        ..aws(Service::Cloudformation, "DescribeStackResource", 400)
    })
}

/// A stack with a resource that is named almost as the one of [`missing_stack`].
fn stack_of_nodes() -> StackPlan {
    let text = r#"{ "name": "nodes", "resources": { "NodesGroup": { "type": "AWS::EC2::Instance" } } }"#;
    serde_json::from_str(text).unwrap()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(
            "script that ends without its parameter",
            after_boot([
                missing_parameter(),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        ),
        Case::new(
            "script that reads a parameter in another region",
            after_boot([
                missing_parameter_at("ssm.us-east-1.amazonaws.com"),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        )
        .plan(|plan| {
            let aws = serde_json::json!({ "parameters": { "/demo/name": "demo" } });
            plan.aws = serde_json::from_value(aws).unwrap();
        }),
        Case::new(
            "trial that ends without a parameter of the account",
            after_boot([
                missing_parameter(),
                cloud("An error occurred (ParameterNotFound) when calling the GetParameter operation:"),
                failed_part(),
            ]),
        )
        .user_data(READS_PARAMETER)
        .plan(|plan| plan.is_trial = true),
        Case::new(
            "trial whose cfn-init reads a stack of the account, and whose cfn-signal succeeds",
            after_boot([
                missing_stack(),
                cloud("cfn-init: ValidationError: Stack 'nodes' does not exist"),
                done("DataSourceEc2"),
            ]),
        )
        .plan(|plan| plan.is_trial = true),
        Case::new(
            "trial whose cfn-init misspells a resource of its template",
            after_boot([
                missing_stack(),
                cloud("cfn-init: ValidationError: Resource NodeGroup does not exist for stack nodes"),
                done("DataSourceEc2"),
            ]),
        )
        .plan(|plan| {
            plan.is_trial = true;
            plan.aws.stacks = vec![stack_of_nodes()];
        }),
        Case::new(
            "trial that ends for its own reason after a parameter of the account",
            after_boot([
                missing_parameter(),
                cloud("/var/lib/cloud/instance/scripts/part-001: line 9: nope: command not found"),
                failed_part(),
            ]),
        )
        .user_data(READS_PARAMETER)
        .plan(|plan| plan.is_trial = true),
    ]
}
