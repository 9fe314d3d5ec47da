//! nodeadm's stand-in splits MIME messages as strictly as nodeadm.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const HEADER: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n";

/// Prints one line for the message on standard input: the media types of its parts with the length of their contents,
/// `none` without parts, or the error.
const PROGRAM: &str = "
import sys
import mime_parts
try:
    parts = mime_parts.read(sys.stdin.buffer.read())
    print('none' if parts is None else ' '.join(f'{name}:{len(content)}' for name, content in parts))
except mime_parts.Malformed as error:
    print('error:', error)
";

fn read(message: &str) -> String {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/images/nodes/al2023/rootfs/usr/lib/nodeadm");
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .env("PYTHONPATH", modules)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python
        .stdin
        .take()
        .unwrap()
        .write_all(message.as_bytes())
        .unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn message(parts: &str) -> String {
    read(&format!("{HEADER}{parts}"))
}

#[test]
fn well_formed_messages_are_split_at_their_boundaries() {
    let shell =
        "--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\nMIME-Version: 1.0\n\n#!/bin/sh\n\n";
    let config = "--//\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig\n--//--\n";
    assert_eq!(
        message(&format!("{shell}{config}")),
        "text/x-shellscript:10 application/node.eks.aws:16"
    );
    let with_crlf = format!("{HEADER}{shell}{config}").replace('\n', "\r\n");
    assert_eq!(
        read(&with_crlf),
        "text/x-shellscript:11 application/node.eks.aws:16"
    );
}

#[test]
fn headers_end_with_an_empty_line() {
    let rest = "\n--//\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig\n--//--\n";
    assert_eq!(
        message(&format!(
            "--//\nContent-Type: text/x-shellscript\n#!/bin/bash\necho{rest}"
        )),
        "error: malformed MIME header: missing colon: \"#!/bin/bash\""
    );
    assert_eq!(
        message(
            "--//\nContent-Type: application/node.eks.aws\napiVersion: x\nspec:\n  cluster: {}\n--//--\n"
        ),
        "error: malformed MIME header: missing colon: \"--//--\""
    );
}

#[test]
fn a_name_of_a_header_is_a_token() {
    assert_eq!(
        message("--//\nContent-Type: text/x-shellscript\n#!/bin/bash # see: below\n\n--//--\n"),
        "error: malformed MIME header line: #!/bin/bash # see: below"
    );
}

#[test]
fn the_last_boundary_is_required() {
    let config = "--//\nContent-Type: application/node.eks.aws\n\nkind: NodeConfig\n";
    assert_eq!(message(config), "error: unexpected EOF");
    assert_eq!(message(&format!("{config}--//--")), "application/node.eks.aws:16");
}

#[test]
fn the_boundary_is_the_one_of_the_first_header() {
    let other = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=BOUNDARY\n\n--//\n\nkind: NodeConfig\n--//--\n";
    assert_eq!(read(other), "error: multipart: NextPart: EOF");
    let none = "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\n--//\n\nkind: NodeConfig\n--//--\n";
    assert_eq!(read(none), "error: multipart: boundary is empty");
}

#[test]
fn other_data_is_no_message() {
    for data in [
        "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n",
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {}\n",
        "#!/bin/bash\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//--\n",
        "",
    ] {
        assert_eq!(read(data), "none", "{data}");
    }
}
