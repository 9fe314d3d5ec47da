//! Files of a folder of the CDK that user data downloads.

use std::collections::BTreeMap;

use crate::{ClusterTraits, Import, import};

#[test]
fn a_file_that_user_data_downloads_from_the_bucket_of_the_cdk_is_named() {
    let folder = std::env::temp_dir().join(format!("nodejoin-import-assets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = r#"{"files": {
        "a": {"source": {"path": "asset.a.sh", "packaging": "file"}, "destinations": {"x": {"bucketName": "b", "objectKey": "a.sh"}}},
        "t": {"source": {"path": "S.template.json"}, "destinations": {"x": {"bucketName": "b", "objectKey": "t.json"}}}
    }}"#;
    std::fs::write(folder.join("S.assets.json"), manifest).unwrap();
    let template = r##"{"Resources": {"LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {
        "ImageId": "ami-0123456789abcdef0",
        "UserData": {"Fn::Base64": "#!/bin/bash\nmkdir -p $(dirname '/tmp/a.sh')\naws s3 cp 's3://cdk-x-assets-111122223333-eu-west-1/a.sh' '/tmp/a.sh'\n'/tmp/a.sh' demo\n"}
    }}}}}"##;
    std::fs::write(folder.join("S.template.json"), template).unwrap();
    let imported = import(&Import {
        name: "cdk.out",
        bytes: b"",
        folder: Some(&folder),
        set: &BTreeMap::new(),
        cluster: &ClusterTraits::default(),
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let imported = imported.unwrap();
    let [note] = &imported.machines[0].not_checked[..] else {
        panic!("{imported:?}")
    };
    for piece in [
        "the object `a.sh` of the bucket `cdk-x-assets-111122223333-eu-west-1`, which is `asset.a.sh` in the folder",
        "copy it to `assets/a.sh`",
        "buckets: { cdk-x-assets-111122223333-eu-west-1: { folder: assets } }",
    ] {
        assert!(note.contains(piece), "{note}");
    }
}
