//! Names in functions of CloudFormation that the template does not have.

use super::refused;

#[test]
fn a_misspelt_parameter_is_told_from_a_variable_of_the_shell() {
    let with = |name: &str| {
        let text = format!(
            "Parameters:\n  Cluster: {{ Type: String, Default: demo }}\nResources:\n  Nodes:\n    Type: AWS::EC2::LaunchTemplate\n    \
             Properties:\n      LaunchTemplateData:\n        ImageId: ami-1\n        UserData:\n          Fn::Base64: !Sub |\n            \
             #!/bin/bash\n            /etc/eks/bootstrap.sh ${{{name}}}\n"
        );
        refused("t.yaml", &text)
    };
    for (name, hint) in [
        (
            "Clsuter",
            "write `Cluster`; a variable of the shell in `Fn::Sub` is `${!Clsuter}`",
        ),
        (
            "AWS::Regoin",
            "write `AWS::Region`; a variable of the shell in `Fn::Sub` is `${!AWS::Regoin}`",
        ),
        ("TEAM", "a shell variable in `Fn::Sub` is written `${!NAME}`"),
    ] {
        let error = with(name);
        assert!(
            error.contains(&format!("no parameter or resource `{name}`")) && error.ends_with(hint),
            "{error}"
        );
    }
}
