//! Certificate authorities that the programs of a node can decode, and others.

use super::*;

const NOT_WHOLE: &str =
    "note: the certificate authority in the user data is not the whole base64 of a PEM certificate";
const REPLACED: &str = "replaced: the certificate authority of the cluster";

/// A NodeConfig, and a call of the bootstrap script.
fn user_data(authority: &str) -> [String; 2] {
    let config = format!(
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: demo\n    apiServerEndpoint: https://test-cluster\n    \
         certificateAuthority: {authority}\n    cidr: 10.100.0.0/16\n"
    );
    let call = format!(
        "#!/bin/bash\n/etc/eks/bootstrap.sh demo --b64-cluster-ca {authority} --apiserver-endpoint https://a\n"
    );
    [config, call]
}

#[test]
fn a_certificate_authority_without_its_padding_stays() {
    let padded = ["", "\n"]
        .map(|end| STANDARD.encode(format!("{AUTHORITY}{end}")))
        .into_iter()
        .find(|text| text.ends_with('='))
        .unwrap();
    for text in user_data(&padded) {
        let shown = shown(&machine(&text));
        assert_has(&shown, &[REPLACED]);
        assert!(!shown.contains("not the whole base64"), "{shown}");
    }
    let without = padded.trim_end_matches('=');
    for cut in [without, &without[..without.len() - 1]] {
        for text in user_data(cut) {
            let shown = shown(&machine(&text));
            assert_has(&shown, &[NOT_WHOLE]);
            assert!(!shown.contains(REPLACED), "{shown}");
        }
    }
}

/// Go and `base64 -d` skip line breaks.
#[test]
fn a_certificate_authority_over_several_lines_is_whole() {
    let authority = STANDARD.encode(AUTHORITY);
    let lines = authority.as_bytes().chunks(76).map(String::from_utf8_lossy);
    let block: String = lines.map(|line| format!("\n      {line}")).collect();
    let [config, _] = user_data(&format!("|{block}"));
    let shown = shown(&machine(&config));
    assert_has(&shown, &[REPLACED]);
    assert!(!shown.contains("not the whole base64"), "{shown}");
}
