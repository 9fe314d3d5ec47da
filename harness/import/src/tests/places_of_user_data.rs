//! Where user data is in files whose tool, resource or command nodejoin does not read.

use super::{base64, machine, read_with, refused, user_data};
use crate::FileFormat;

const CALL: &str = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";

#[test]
fn the_input_of_a_command_can_be_yaml() {
    let template = format!(
        "LaunchTemplateName: w\nLaunchTemplateData:\n  ImageId: ami-0123456789abcdef0\n  InstanceType: c5.large\n  UserData: {}\n",
        base64(CALL)
    );
    let imported = read_with("input.yaml", template.as_bytes(), &[]).unwrap();
    assert_eq!(imported.format, FileFormat::LaunchTemplateData);
    let read = machine(&template);
    assert_eq!((read.name.as_str(), user_data(&read).as_str()), ("w", CALL));
    assert_eq!(read.traits.instance_type.as_deref(), Some("c5.large"));
    assert_eq!(read.traits.ami_id.as_deref(), Some("ami-0123456789abcdef0"));
    for key in [
        "\"IamInstanceProfile\": {\"Name\": \"x\"}",
        "\"BlockDeviceMappings\": []",
    ] {
        let data = format!("{{\"UserData\": \"{}\", {key}}}", base64(CALL));
        assert_eq!(user_data(&machine(&data)), CALL, "{key}");
    }
}

#[test]
fn user_data_of_a_resource_that_is_not_read_is_named_with_its_path() {
    let fleet = |user_data: &str| {
        format!(
            "Resources:\n  Fleet:\n    Type: AWS::EC2::SpotFleet\n    Properties:\n      SpotFleetRequestConfigData:\n        \
             LaunchSpecifications:\n        - UserData:\n            {user_data}\n"
        )
    };
    let text = "\"#!/bin/bash\\n/etc/eks/bootstrap.sh demo\"";
    let path = ".Resources.Fleet.Properties.SpotFleetRequestConfigData.LaunchSpecifications[0].UserData";
    let error = refused("t.yaml", &fleet(&format!("Fn::Base64: {text}")));
    assert!(
        error.contains(&format!(
            "a text like user data is at `{path}[\"Fn::Base64\"]` (line 8)"
        )) && error
            .ends_with("give that text as a file of its own, with values in place of names of the template"),
        "{error}"
    );
    let plain = refused("t.yaml", &fleet(&base64(CALL)));
    assert!(
        plain.contains(&format!("`yq -r '{path}' t.yaml | nodejoin try -`")),
        "{plain}"
    );
    let stack = serde_json::json!({ "deployment": { "resources": [{
        "urn": "urn:pulumi:dev::p::aws-native:ec2:LaunchTemplate::w", "type": "aws-native:ec2:LaunchTemplate",
        "outputs": { "launchTemplateData": { "userData": base64(CALL) } },
    }] } });
    let ocean = serde_json::json!({ "format_version": "1.2", "planned_values": { "root_module": { "resources": [{
        "address": "spotinst_ocean_aws.a", "mode": "managed", "type": "spotinst_ocean_aws", "name": "a",
        "values": { "user_data": CALL },
    }] } } });
    for (document, path) in [
        (
            stack,
            ".deployment.resources[0].outputs.launchTemplateData.userData",
        ),
        (ocean, ".planned_values.root_module.resources[0].values.user_data"),
    ] {
        let error = refused("f.json", &document.to_string());
        assert!(
            error.contains(&format!("a text like user data is at `{path}`"))
                && error.contains(&format!("{path}' f.json | nodejoin try -`")),
            "{error}"
        );
    }
}

#[test]
fn the_text_between_commands_of_a_workflow_is_the_user_data() {
    let step = |commands: &str| {
        let indented: Vec<String> = commands.lines().map(|line| format!("        {line}\n")).collect();
        format!("jobs:\n  a:\n    steps:\n    - run: |\n{}", indented.concat())
    };
    let write = format!("cat > ud.sh <<'EOF'\n{CALL}EOF\n");
    let error = refused(
        "w.yml",
        &step(&format!(
            "{write}aws ec2 run-instances --user-data file://ud.sh\n"
        )),
    );
    assert!(
        error.contains(
            "the user data of the commands at `.jobs.a.steps[0].run` is in their here-document up to `EOF`"
        ) && error.ends_with("hint: give what stands between `<<EOF` and `EOF`"),
        "{error}"
    );
    // These commands run on the node.
    for commands in [
        format!("exec > /var/log/user-data.log\n{write}bash ud.sh\n"),
        format!("{write}/etc/eks/bootstrap.sh demo # --user-data\n"),
    ] {
        let error = refused("w.yml", &step(&commands));
        assert!(error.contains("give that text alone"), "{error}");
    }
}

#[test]
fn user_data_of_cloud_formation_without_its_template_is_unwrapped() {
    let script = "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=a=b'\n";
    let indented =
        |indent: &str| -> String { script.lines().map(|line| format!("{indent}{line}\n")).collect() };
    let join = serde_json::json!({ "UserData": { "Fn::Base64": { "Fn::Join": ["\n", script.lines().chain([""]).collect::<Vec<_>>()] } } });
    for text in [
        format!("UserData:\n  Fn::Base64: |\n{}", indented("    ")),
        format!("UserData:\n  Fn::Base64: !Sub |\n{}", indented("    ")),
        format!(
            "      UserData: !Base64\n        Fn::Sub: |\n{}",
            indented("          ")
        ),
        format!(
            "Properties:\n  UserData:\n    Fn::Base64: !Sub |\n{}",
            indented("      ")
        ),
        format!(
            "LaunchTemplateData:\n  UserData:\n    Fn::Base64: |\n{}",
            indented("      ")
        ),
        join.to_string(),
    ] {
        let imported = read_with("part.yaml", text.as_bytes(), &[]).unwrap();
        assert_eq!(imported.format, FileFormat::ShellScript, "{text}");
        assert_eq!(user_data(&imported.machines[0]), script, "{text}");
        assert!(imported.notes[0].contains("without its template"), "{text}");
    }
}

#[test]
fn names_of_a_template_that_is_not_in_the_file_need_values() {
    let text = "UserData:\n  Fn::Base64: !Sub\n    - |\n      #!/bin/bash\n      A=${!HOME}\n      /etc/eks/bootstrap.sh ${Cluster} ${Flags} \
                ${!A}\n    - Flags: !Join [' ', [--use-max-pods, !Ref Max]]\n";
    let machine = machine(text);
    assert_eq!(
        user_data(&machine),
        "#!/bin/bash\nA=${HOME}\n/etc/eks/bootstrap.sh ${Cluster} --use-max-pods ${Max} ${A}\n"
    );
    let open = crate::adopt(&machine, &std::collections::BTreeMap::new())
        .unwrap_err()
        .to_string();
    assert!(
        open.contains("line 6 `${Cluster}`") && open.contains("`${Max}`") && !open.contains("`${A}`"),
        "{open}"
    );
    let error = refused(
        "part.yaml",
        "UserData:\n  Fn::Base64:\n    Fn::If: [A, \"#!/bin/bash\", \"\"]\n",
    );
    assert!(
        error.contains(
            "a fragment of CloudFormation whose user data has `Fn::If`: only a whole template shows the value"
        ),
        "{error}"
    );
}

#[test]
fn an_instance_without_user_data_has_an_empty_attribute() {
    for text in [
        "{\"InstanceId\": \"i-1\", \"UserData\": {}}".to_owned(),
        format!(
            "{{\"InstanceId\": \"i-1\", \"UserData\": {{\"Value\": \"{}\"}}}}",
            base64(CALL)
        ),
    ] {
        let imported = read_with("attribute.json", text.as_bytes(), &[]).unwrap();
        assert_eq!(imported.format, FileFormat::InstanceAttribute, "{text}");
    }
    let other = refused("x.json", "{\"UserData\": {\"text\": \"#!/bin/bash\\necho\"}}");
    assert!(other.contains("user data at `.UserData.text`"), "{other}");
}
