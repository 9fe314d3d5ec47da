//! Outputs of the AWS CLI.

use nodejoin_core::plan::Tokens;

use super::{SCRIPT, base64, machine, read, refused, user_data};
use crate::FileFormat;

fn versions(data: &str) -> String {
    format!(
        "{{\n  \"LaunchTemplateVersions\": [{{\n    \"LaunchTemplateName\": \"workers\",\n    \"VersionNumber\": 3,\n    \
         \"LaunchTemplateData\": {data}\n  }}]\n}}"
    )
}

#[test]
fn a_launch_template_version_states_traits() {
    let data = format!(
        r#"{{"UserData": "{}", "ImageId": "ami-1", "InstanceType": "m5.large",
        "IamInstanceProfile": {{"Arn": "arn:aws:iam::111122223333:instance-profile/nodes"}},
        "MetadataOptions": {{"HttpTokens": "required", "HttpPutResponseHopLimit": 2, "HttpEndpoint": "enabled"}},
        "TagSpecifications": [{{"ResourceType": "volume", "Tags": [{{"Key": "v", "Value": "1"}}]}},
                              {{"ResourceType": "instance", "Tags": [{{"Key": "Name", "Value": "x"}}]}}]}}"#,
        base64(SCRIPT)
    );
    let machine = machine(&versions(&data));
    assert_eq!(machine.name, "workers/3");
    assert_eq!(machine.line, Some(5));
    assert_eq!(user_data(&machine), SCRIPT);
    assert_eq!(machine.managed, None);
    let traits = &machine.traits;
    assert_eq!(traits.ami_id.as_deref(), Some("ami-1"));
    assert_eq!(traits.http_tokens, Some(Tokens::Required));
    assert_eq!(traits.hop_limit, Some(2));
    assert_eq!(traits.http_endpoint, Some(true));
    assert_eq!(traits.account.as_deref(), Some("111122223333"));
    assert_eq!(traits.tags.len(), 1);
    assert_eq!(traits.tags["Name"], "x");
}

#[test]
fn a_launch_template_without_ami_is_bootstrapped_by_eks() {
    let machine = machine(&versions(
        r#"{"TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "eks:nodegroup-name", "Value": "ng"}]}]}"#,
    ));
    assert_eq!(machine.user_data, None);
    assert_eq!(machine.managed.unwrap().name.as_deref(), Some("ng"));
}

#[test]
fn the_template_of_a_managed_node_group_is_known() {
    let machine = machine(
        r#"{"LaunchTemplateId": "lt-0a20a0a4b58b2e7ee", "VersionNumber": 3, "LaunchTemplateData": {"InstanceType": "m5.large"}}"#,
    );
    let template = machine.managed.unwrap().launch_template.unwrap();
    assert_eq!(
        (template.id.as_str(), template.number.as_str()),
        ("lt-0a20a0a4b58b2e7ee", "3")
    );
}

#[test]
fn lists_single_versions_and_yaml_are_read() {
    let one = format!(
        "{{\"LaunchTemplateId\": \"lt-1\", \"LaunchTemplateData\": {{\"ImageId\": \"ami-1\", \"UserData\": \"{}\"}}}}",
        base64(SCRIPT)
    );
    let yaml = format!(
        "LaunchTemplateVersions:\n- LaunchTemplateId: lt-1\n  LaunchTemplateData:\n    UserData: {}\n",
        base64(SCRIPT)
    );
    for text in [one.clone(), format!("[{one}]"), yaml] {
        let imported = read(&text);
        assert_eq!(imported.format, FileFormat::LaunchTemplateVersions);
        assert_eq!(user_data(&imported.machines[0]), SCRIPT);
    }
}

#[test]
fn a_placeholder_version_is_refused_and_others_are_read() {
    let placeholder = versions(&format!("{{\"UserData\": \"{}\"}}", base64("placeholder\n")));
    insta::assert_snapshot!(refused("lt.json", &placeholder));
    let both = format!(
        "[{{\"LaunchTemplateName\": \"a\", \"LaunchTemplateData\": {{\"UserData\": \"{}\"}}}}, {{\"LaunchTemplateName\": \"a\", \
         \"LaunchTemplateData\": {{\"UserData\": \"{}\"}}}}]",
        base64("placeholder\n"),
        base64(SCRIPT)
    );
    let both = read(&both);
    assert_eq!(both.machines[0].name, "a#2");
    assert_eq!(both.unread[0].name, "a");
}

#[test]
fn the_name_of_a_file_is_not_user_data() {
    insta::assert_snapshot!(refused(
        "lt.json",
        &versions("{\"UserData\": \"bootstrap_user_data\"}")
    ));
    let text = machine(&versions(&format!("{{\"UserData\": \"{}\"}}", base64("hello"))));
    assert!(
        text.notes.iter().any(|note| note.contains("begins with `hello`")),
        "{:?}",
        text.notes
    );
}

#[test]
fn an_instance_attribute_is_read() {
    let text = format!(
        "{{\"InstanceId\": \"i-1\", \"UserData\": {{\"Value\": \"{}\"}}}}",
        base64(SCRIPT)
    );
    let machine = machine(&text);
    assert_eq!(
        (machine.name.as_str(), user_data(&machine).as_str()),
        ("i-1", SCRIPT)
    );
    assert_eq!(machine.managed, None);
    let none = read("{\"InstanceId\": \"i-1\", \"UserData\": {}}");
    assert_eq!(none.machines[0].user_data, None);
}

#[test]
fn launch_configurations_are_read() {
    let text = format!(
        "{{\"LaunchConfigurations\": [{{\"LaunchConfigurationName\": \"lc\", \"ImageId\": \"ami-1\", \
         \"IamInstanceProfile\": \"nodes\", \"UserData\": \"{}\"}}]}}",
        base64(SCRIPT)
    );
    let machine = machine(&text);
    assert_eq!(
        (machine.name.as_str(), user_data(&machine).as_str()),
        ("lc", SCRIPT)
    );
    assert_eq!(machine.traits.instance_profile.as_deref(), Some("nodes"));
}

#[test]
fn empty_lists_are_refused() {
    for text in [
        "{\"LaunchTemplateVersions\": []}",
        "{\"LaunchConfigurations\": []}",
    ] {
        assert!(refused("x", text).contains("the list is empty"), "{text}");
    }
}

#[test]
fn data_of_a_launch_template_stands_alone() {
    let data = format!(
        r#"{{"ImageId": "ami-0123456789abcdef0", "UserData": "{}"}}"#,
        base64(SCRIPT)
    );
    assert_eq!(read(&data).format, FileFormat::LaunchTemplateData);
    assert_eq!(user_data(&machine(&data)), SCRIPT);
}

#[test]
fn run_instances_encodes_user_data_itself() {
    let input = |text: &str| {
        format!(
            r#"{{"ImageId": "ami-0123456789abcdef0", "MinCount": 1, "MaxCount": 1, "UserData": {}}}"#,
            serde_json::Value::from(text)
        )
    };
    let machine_of = |text: &str| machine(&input(text));
    assert_eq!(read(&input(SCRIPT)).format, FileFormat::RunInstances);
    assert_eq!(user_data(&machine_of(SCRIPT)), SCRIPT);
    let encoded = machine_of(&base64(SCRIPT));
    assert_eq!(user_data(&encoded), base64(SCRIPT));
    assert!(
        encoded.notes.iter().any(|note| note.contains("base64 of base64")),
        "{:?}",
        encoded.notes
    );
}

#[test]
fn create_launch_configuration_encodes_user_data_itself() {
    let input = format!(
        r#"{{"LaunchConfigurationName": "lc", "ImageId": "ami-1", "IamInstanceProfile": "nodes", "UserData": {}}}"#,
        serde_json::Value::from(SCRIPT)
    );
    assert_eq!(read(&input).format, FileFormat::CreateLaunchConfiguration);
    let created = machine(&input);
    assert_eq!(
        (created.name.as_str(), user_data(&created).as_str()),
        ("lc", SCRIPT)
    );
    assert_eq!(created.traits.instance_profile.as_deref(), Some("nodes"));
    assert_eq!(created.managed, None);
    let existing = format!(
        r#"{{"LaunchConfigurationName": "lc", "LaunchConfigurationARN": "x", "ImageId": "ami-1", "UserData": "{}"}}"#,
        base64(SCRIPT)
    );
    for text in [existing.clone(), format!("[{existing}]")] {
        let imported = read(&text);
        assert_eq!(imported.format, FileFormat::LaunchConfigurations);
        assert_eq!(user_data(&imported.machines[0]), SCRIPT);
    }
}

#[test]
fn the_data_of_launch_templates_has_several_forms() {
    let data = format!(r#"{{"ImageId": "ami-1", "UserData": "{}"}}"#, base64(SCRIPT));
    for (text, names) in [
        (
            format!("{{\"LaunchTemplateData\": {data}}}"),
            &["launch-template"][..],
        ),
        (
            format!("{{\"LaunchTemplateName\": \"demo\", \"LaunchTemplateData\": {data}}}"),
            &["demo"],
        ),
        (
            format!("[{data}, {data}, {{\"ImageId\": \"ami-2\"}}]"),
            &["launch-template", "launch-template#2", "launch-template#3"],
        ),
    ] {
        let imported = read(&text);
        assert_eq!(imported.format, FileFormat::LaunchTemplateData, "{text}");
        let found: Vec<&str> = imported
            .machines
            .iter()
            .map(|machine| machine.name.as_str())
            .collect();
        assert_eq!(found, names, "{text}");
        assert_eq!(user_data(&imported.machines[0]), SCRIPT);
    }
}

#[test]
fn an_ami_of_another_architecture_is_noted() {
    let of = |instance_type: &str| {
        let image = "resolve:ssm:/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/recommended/image_id";
        machine(&versions(&format!(
            r#"{{"ImageId": "{image}", "InstanceType": "{instance_type}", "UserData": "{}"}}"#,
            base64(SCRIPT)
        )))
    };
    assert_eq!(of("m6g.large").problems, [""; 0]);
    let problems = of("m5.large").problems;
    assert!(
        problems[0].contains("is one for arm64, and the instance type m5.large has x86_64"),
        "{problems:?}"
    );
}

#[test]
fn an_ami_for_arm64_has_a_stand_in_of_its_architecture() {
    let types = |architecture: &str, more: &str| {
        let image = format!("/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/{architecture}/standard");
        let machine = machine(&versions(&format!(
            r#"{{"ImageId": "resolve:ssm:{image}/recommended/image_id", {more} "UserData": "{}"}}"#,
            base64(SCRIPT)
        )));
        let trial = crate::adopt(&machine, &std::collections::BTreeMap::new()).unwrap();
        let texts = trial.report.into_iter().map(|line| line.text);
        texts
            .filter(|text| text.starts_with("instance type "))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        types("arm64", ""),
        ["instance type m6g.large, a stand-in: the file states none"]
    );
    assert_eq!(
        types("arm64", r#""InstanceType": "m7g.large","#),
        ["instance type m7g.large"]
    );
    let other = types("x86_64", "");
    assert!(
        other[0].starts_with("instance type m5.large, as the file states none"),
        "{other:?}"
    );
}
