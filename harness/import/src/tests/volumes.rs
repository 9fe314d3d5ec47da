//! EBS volumes besides the root volume.

use super::{SCRIPT, base64, machine};

#[test]
fn every_format_states_its_volumes() {
    let data = format!(
        r#"{{"LaunchTemplateVersions": [{{"LaunchTemplateName": "a", "VersionNumber": 1, "LaunchTemplateData": {{
            "ImageId": "ami-1", "UserData": "{}", "BlockDeviceMappings": [
            {{"DeviceName": "/dev/xvda", "Ebs": {{"VolumeSize": 20}}}},
            {{"DeviceName": "/dev/sdb", "Ebs": {{"VolumeSize": 100}}}},
            {{"DeviceName": "/dev/sdc", "NoDevice": ""}}]}}}}]}}"#,
        base64(SCRIPT)
    );
    let plan = format!(
        r#"{{"format_version": "1.0", "values": {{"root_module": {{"resources": [{{
            "address": "aws_launch_template.a", "type": "aws_launch_template", "name": "a", "values": {{
            "image_id": "ami-1", "user_data": "{}", "block_device_mappings": [
            {{"device_name": "/dev/sdb", "ebs": [{{"volume_size": 100}}]}}]}}}}]}}}}}}"#,
        base64(SCRIPT)
    );
    let stack = format!(
        "Resources:\n  A:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData:\n        ImageId: ami-1\n        \
         UserData: {}\n        BlockDeviceMappings:\n        - {{ DeviceName: /dev/sdb, Ebs: {{ VolumeSize: 100 }} }}\n",
        base64(SCRIPT)
    );
    let class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: { name: a }\nspec:\n  amiSelectorTerms: [{ alias: al2023@latest }]\n  \
                 blockDeviceMappings:\n  - { deviceName: /dev/sdb, ebs: { volumeSize: 100Gi } }\n";
    let group = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: { name: a, version: \"1.33\" }\nnodeGroups:\n\
                 - name: b\n  additionalVolumes:\n  - { volumeName: /dev/sdb, volumeSize: 100 }\n";
    for text in [&data, &plan, &stack, class, group] {
        let volumes = machine(text).traits.volumes;
        let volumes: Vec<_> = volumes
            .iter()
            .map(|(device, gib)| (device.as_str(), *gib))
            .collect();
        assert_eq!(volumes, [("/dev/sdb", 100)], "{text}");
    }
}
