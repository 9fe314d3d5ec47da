//! Layers around the text of a file: base64, gzip, and what Terraform prints around an output.

use crate::error::ImportError;
use crate::{nodeadm_base64, terraform, text};

/// Layers of gzip and base64 around a text.
const LAYERS: usize = 4;

/// Removes base64, and gzip around files that are not user data themselves.
pub(crate) fn unwrapped(bytes: &[u8]) -> Result<(Vec<u8>, Vec<String>), ImportError> {
    let mut bytes = bytes.to_vec();
    let mut notes = Vec::new();
    let mut is_decoded = false;
    if let Some(text) = printed_text(&bytes)? {
        let note =
            "the file is a text as `terraform output` prints it without `-raw`: what is inside is tried";
        notes.push(note.to_owned());
        bytes = text.into_bytes();
    } else if let Some(text) = unescaped(&bytes) {
        let note = "the file is one line with `\\n` in place of line ends, as a string of JSON has it: what it stands for is tried, and an \
                    instance that gets the file as it is runs nothing of it";
        notes.push(note.to_owned());
        bytes = text.into_bytes();
    }
    for _ in 0..LAYERS {
        if let Some(decoded) = text::decoded(&bytes).filter(|decoded| is_known(decoded)) {
            if is_decoded {
                bytes = of_nodeadm(&bytes).ok_or_else(encoded_twice)?;
                notes.push(nodeadm_base64::NOTE.to_owned());
                continue;
            }
            is_decoded = true;
            notes.push(
                "the file is base64: launch templates take user data so, but instances receive it decoded"
                    .to_owned(),
            );
            bytes = decoded;
        } else if text::is_gzip(&bytes) {
            let unpacked = text::unpacked(&bytes)?;
            if std::str::from_utf8(&unpacked).is_ok_and(|text| text::format(text).is_some()) {
                break;
            }
            notes.push("the file was compressed with gzip".to_owned());
            bytes = unpacked;
        } else {
            break;
        }
    }
    Ok((bytes, notes))
}

/// The text in the output of a command of Terraform.
fn printed_text(bytes: &[u8]) -> Result<Option<String>, ImportError> {
    match std::str::from_utf8(bytes) {
        Ok(output) => terraform::printed_text(output),
        Err(_) => Ok(None),
    }
}

/// The user data in a line with the escapes of JSON and without its quotes.
fn unescaped(bytes: &[u8]) -> Option<String> {
    const BEGINS: [&str; 4] = [
        "#!/",
        "#cloud-config\\n",
        "MIME-Version:",
        "Content-Type: multipart/",
    ];
    let text = std::str::from_utf8(bytes).ok()?.trim();
    let is_user_data = BEGINS.iter().any(|begin| text.starts_with(begin));
    if !is_user_data || text.contains('\n') || !text.contains("\\n") {
        return None;
    }
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter == '\\').then(|| letters.next()).flatten() {
            None => plain.push(letter),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some(escaped @ ('"' | '\\')) => plain.push(escaped),
            Some(other) => plain.extend([letter, other]),
        }
    }
    Some(plain)
}

/// What nodeadm reads in base64 of base64.
fn of_nodeadm(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    nodeadm_base64::node_configs(text).map(String::into_bytes)
}

fn encoded_twice() -> ImportError {
    ImportError::Invalid {
        line: None,
        column: None,
        problem: "the user data is encoded twice in base64: an instance receives it decoded once, and cloud-init runs nothing of \
                  what remains"
            .to_owned(),
        hint: "encode it once: some tools, such as Terraform's `user_data` of an instance, encode it themselves".to_owned(),
    }
}

/// Whether decoded base64 is something that an import reads: words of a text are base64 by chance.
fn is_known(decoded: &[u8]) -> bool {
    let is_text = |text: &str| {
        text::format(text).is_some()
            || text::decoded(text.as_bytes()).is_some()
            || text::is_bootstrap_script(text)
            || text.trim_start().starts_with('{')
            || text.contains("apiVersion:")
    };
    text::is_gzip(decoded) || std::str::from_utf8(decoded).is_ok_and(is_text)
}
