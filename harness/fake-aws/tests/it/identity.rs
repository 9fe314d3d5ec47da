//! openssl verifies the signatures of the identity document with the commands of EC2's user guide, and rejects other
//! certificates.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::Fakes;
use crate::support::clients::curl;
use nodejoin_core::plan::Tokens;
use nodejoin_fake_aws::identity::{self, IdentityCertificates};

fn openssl(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("these tests need openssl on PATH")
}

/// A directory with the document, its signatures and the certificates.
async fn fetched() -> (tempfile::TempDir, IdentityCertificates) {
    let fakes = Fakes::start(|world| world.instance.metadata.tokens = Tokens::Optional);
    let folder = tempfile::tempdir().unwrap();
    for name in ["document", "signature", "pkcs7", "rsa2048"] {
        let path = format!("/latest/dynamic/instance-identity/{name}");
        let response = curl(&["--max-time", "120", &fakes.metadata(&path)]).await;
        assert_eq!(response.status, 200, "{name}");
        let text = match name {
            "pkcs7" | "rsa2048" => format!(
                "-----BEGIN PKCS7-----\n{}\n-----END PKCS7-----\n",
                response.text()
            ),
            _ => response.text(),
        };
        fs::write(folder.path().join(name), text).unwrap();
    }
    let certificates = identity::certificates();
    for (name, pem) in [
        ("rsa.pem", &certificates.rsa),
        ("dsa.pem", &certificates.dsa),
        ("rsa2048.pem", &certificates.rsa2048),
    ] {
        fs::write(folder.path().join(name), pem).unwrap();
    }
    fakes.end().await;
    (folder, certificates)
}

/// EC2 user guide, "Verify the instance identity document": one row per signature.
#[tokio::test(flavor = "multi_thread")]
async fn openssl_verifies_every_signature() {
    let (folder, _) = fetched().await;
    let document = fs::read(folder.path().join("document")).unwrap();
    for (name, certificate, bits) in [
        ("pkcs7", "dsa.pem", "1024 bit"),
        ("rsa2048", "rsa2048.pem", "2048 bit"),
    ] {
        let verify = ["smime", "-verify", "-inform", "PEM", "-noverify"];
        let verified = openssl(
            folder.path(),
            &[&verify[..], &["-in", name, "-certfile", certificate]].concat(),
        );
        let output = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(output.contains("Verification successful"), "{name}: {output}");
        assert_eq!(verified.stdout, document, "{name} holds the document itself");
        let text = openssl(folder.path(), &["x509", "-in", certificate, "-noout", "-text"]);
        assert!(
            String::from_utf8_lossy(&text.stdout).contains(bits),
            "{certificate}"
        );
        // The certificate of another key does not verify the signature.
        let other = if certificate == "dsa.pem" {
            "rsa2048.pem"
        } else {
            "dsa.pem"
        };
        let refused = openssl(
            folder.path(),
            &[&verify[..], &["-in", name, "-certfile", other]].concat(),
        );
        assert!(!refused.status.success(), "{name} by {other}");
    }
    assert!(verified_bare(folder.path(), "document"));
    let tampered = String::from_utf8(document)
        .unwrap()
        .replace("m5.large", "m5.metal");
    fs::write(folder.path().join("tampered"), tampered).unwrap();
    assert!(!verified_bare(folder.path(), "tampered"));
}

/// Verifies `signature` with the certificate's public key and SHA-256.
fn verified_bare(folder: &Path, document: &str) -> bool {
    let key = openssl(folder, &["x509", "-pubkey", "-noout", "-in", "rsa.pem"]);
    fs::write(folder.join("key"), key.stdout).unwrap();
    let decode = ["base64", "-d", "-in", "signature", "-out", "signature.bin"];
    assert!(openssl(folder, &decode).status.success());
    let verify = ["dgst", "-sha256", "-verify", "key", "-signature", "signature.bin"];
    openssl(folder, &[&verify[..], &[document]].concat())
        .status
        .success()
}
