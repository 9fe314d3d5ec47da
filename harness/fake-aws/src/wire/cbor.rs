//! CBOR (RFC 8949), as far as responses need it: maps of texts.

const TEXT: u8 = 3 << 5;
const MAP: u8 = 5 << 5;

/// Encodes a map with texts as keys and values.
pub(crate) fn text_map(members: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    head(&mut out, MAP, members.len());
    for word in members.iter().flat_map(|(key, value)| [key, value]) {
        head(&mut out, TEXT, word.len());
        out.extend_from_slice(word.as_bytes());
    }
    out
}

/// Writes the major type and the length in as few bytes as the length needs.
fn head(out: &mut Vec<u8>, major: u8, length: usize) {
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..24), _) => out.push(major | short),
        (Ok(byte), _) => out.extend([major | 24, byte]),
        (_, Ok(word)) => out.extend([&[major | 25][..], &word.to_be_bytes()].concat()),
        _ => out.extend([&[major | 27][..], &(length as u64).to_be_bytes()].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_few_bytes_as_they_need() {
        assert_eq!(text_map(&[("a", "b")]), b"\xa1\x61a\x61b");
        let long = "x".repeat(300);
        let encoded = text_map(&[("k", &long)]);
        assert_eq!(encoded[..6], *b"\xa1\x61k\x79\x01\x2c");
        let middle = "x".repeat(24);
        assert_eq!(text_map(&[("k", &middle)])[3..5], [0x78, 24]);
    }
}
