//! Tests of user data and its parts.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn kinds(bytes: &[u8]) -> Vec<FaultKind> {
    parse(bytes).faults.into_iter().map(|fault| fault.kind).collect()
}

#[test]
fn one_script_is_one_part_compressed_or_not() {
    let script = b"#!/bin/bash\necho\n".to_vec();
    for bytes in [script.clone(), gzip(&script)] {
        let parsed = parse(&bytes);
        let part = Part {
            name: "part-001".into(),
            mime: SHELL.into(),
            content: script.clone(),
            is_nested: false,
        };
        assert_eq!(
            parsed,
            Parsed {
                parts: vec![part],
                faults: vec![]
            }
        );
    }
}

#[test]
fn mime_messages_are_split_as_in_python() {
    let inner = STANDARD.encode(gzip(b"#!/bin/sh\ninner\n"));
    let text = format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary=\"//\"\r\n\r\npreamble\r\n--//\r\n\
         Content-Type: text/x-shellscript\r\nContent-Type: charset=\"us-ascii\"\r\n\r\n#!/bin/bash\r\nset -ex\r\n\r\n--//\r\n\
         Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"b.sh\"\r\n\r\n{inner}\r\n--//\r\n\
         Content-Type: text/cloud-config\r\n#cloud-config\r\nruncmd: [a]\r\n--//--\r\nepilogue\r\n"
    );
    let parsed = parse(text.as_bytes());
    let parts: Vec<(&str, &str)> = parsed
        .parts
        .iter()
        .map(|p| (p.name.as_str(), p.mime.as_str()))
        .collect();
    assert_eq!(
        parts,
        [("part-001", SHELL), ("b.sh", SHELL), ("part-003", CLOUD_CONFIG)]
    );
    assert_eq!(parsed.faults, []);
    let scripts = parsed.scripts();
    let names: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(names, ["b.sh", "part-001", "runcmd"]);
    assert_eq!(scripts[0].content, b"#!/bin/sh\ninner\n");
    assert_eq!(scripts[1].content, b"#!/bin/bash\nset -ex\n");
}

#[test]
fn line_ends_of_a_script_are_converted_if_those_of_its_first_line_are_crlf() {
    for (script, expected) in [
        ("#!/bin/sh\r\na \\\r\nb\n", "#!/bin/sh\na \\\nb\n"),
        ("#!/bin/sh\na \\\r\nb\r\n", "#!/bin/sh\na \\\r\nb\r\n"),
        ("#!/bin/sh\n", "#!/bin/sh\n"),
    ] {
        let scripts = parse(script.as_bytes()).scripts();
        assert_eq!(String::from_utf8_lossy(&scripts[0].content), expected, "{script}");
    }
}

#[test]
fn parts_of_an_inner_message_are_nested() {
    let message = |boundary: &str, parts: &str| {
        let header = format!("Content-Type: multipart/mixed; boundary={boundary}");
        format!("{header}\n\n--{boundary}\n{parts}\n--{boundary}--\n")
    };
    let script = "Content-Type: text/x-shellscript\n\n#!/bin/sh\n";
    let inner = message("IN", script);
    let text = format!(
        "MIME-Version: 1.0\n{}",
        message("OUT", &format!("{script}--OUT\n{inner}"))
    );
    let nested = |text: &str| {
        let parts = parse(text.as_bytes()).parts.into_iter();
        parts.map(|part| (part.name, part.is_nested)).collect::<Vec<_>>()
    };
    assert_eq!(
        nested(&text),
        [("part-001".to_owned(), false), ("part-002".to_owned(), true)]
    );
    assert_eq!(nested("#!/bin/sh\n"), [("part-001".to_owned(), false)]);
}

#[test]
fn a_type_that_cloud_init_does_not_handle_is_a_fault() {
    let faults = |mime: &str| {
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: {mime}\n\necho\n--B--\n"
        );
        let faults = parse(text.as_bytes()).faults.into_iter();
        faults.map(|fault| (fault.kind, fault.what)).collect::<Vec<_>>()
    };
    for handled in HANDLED
        .iter()
        .filter(|handled| ![SHELL, CLOUD_CONFIG, BOOTHOOK].contains(*handled))
    {
        assert_eq!(faults(handled), [], "{handled}");
    }
    for unknown in [
        "text/x-shellscript-per-node",
        "text/html",
        "text/plain",
        "application/octet-stream",
    ] {
        let what = format!("cloud-init does not handle the type `{unknown}`");
        let found = faults(unknown);
        assert_eq!((found.len(), found[0].0), (1, FaultKind::UnknownType));
        assert!(found[0].1.starts_with(&what), "{found:?}");
    }
    let of_header = |header: &str| {
        let text = format!("MIME-Version: 1.0\n{header}\n\n#!/bin/sh\n");
        parse(text.as_bytes()).parts[0].mime.clone()
    };
    for detected in ["shellscript", "text/plain", "text/x-shellscript/v1"] {
        assert_eq!(of_header(&format!("Content-Type: {detected}")), SHELL);
    }
    assert_eq!(
        of_header("Content-Type: application/octet-stream"),
        "application/octet-stream"
    );
    let [(_, misspelt)] = &faults("text/x-shelscript")[..] else {
        panic!("one fault is found");
    };
    assert!(
        misspelt.ends_with("did you mean `text/x-shellscript`?"),
        "{misspelt}"
    );
}

#[test]
fn a_header_without_an_empty_line_after_it_is_accepted() {
    let parsed = parse(b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n#!/bin/bash\nx\n--B--\n");
    assert_eq!(parsed.parts[0].content, b"#!/bin/bash\nx");
    assert_eq!(parsed.faults, []);
}

#[test]
fn quoted_printable_is_decoded() {
    let text = "MIME-Version: 1.0\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: quoted-printable\n\n#!/bin/sh\na=3Db =\nc =E2=82=AC\n";
    assert_eq!(
        parse(text.as_bytes()).parts[0].content,
        "#!/bin/sh\na=b c \u{20ac}\n".as_bytes()
    );
}

#[test]
fn faults_of_user_data_are_reported() {
    let mime = |part: &str| {
        format!("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\n{part}\n--B--\n")
    };
    for (bytes, kind) in [
        (
            mime("Content-Type: text/x-shellscript\n\nset -ex"),
            FaultKind::MissingShebang,
        ),
        ("\n#!/bin/sh\n".to_owned(), FaultKind::MissingShebang),
        (
            mime("Content-Type: text/cloud-boothook\n\n#cloud-boothook\nset -ex"),
            FaultKind::MissingShebang,
        ),
        ("set -ex\n".to_owned(), FaultKind::Unhandled),
        (STANDARD.encode("#!/bin/bash\necho hello\n"), FaultKind::Base64),
        (
            "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx\n".to_owned(),
            FaultKind::Damaged,
        ),
        (
            mime("Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n%%%"),
            FaultKind::Damaged,
        ),
        ("#cloud-config\nruncmd: x\n".to_owned(), FaultKind::CloudConfig),
        (
            "#cloud-config\nruncmd: []\nruncmd: [x]\n".to_owned(),
            FaultKind::CloudConfigEntry,
        ),
    ] {
        assert_eq!(kinds(bytes.as_bytes()), [kind], "{bytes}");
    }
    assert_eq!(kinds(&GZIP), [FaultKind::Damaged]);
    assert_eq!(kinds(b""), []);
    let node_config = mime("Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1");
    assert_eq!(
        kinds(node_config.as_bytes()),
        [],
        "nodeadm reads it, cloud-init leaves it alone"
    );
}

#[test]
fn composed_messages_parse_again() {
    let part = super::super::MimePart {
        mime: SHELL.into(),
        filename: Some("x.sh".into()),
        content: b"#!/bin/sh\n".to_vec(),
    };
    let parsed = parse(&super::super::message(&[part]));
    assert_eq!(
        (parsed.parts[0].name.as_str(), parsed.parts[0].content.as_slice()),
        ("x.sh", &b"#!/bin/sh\n"[..])
    );
}
