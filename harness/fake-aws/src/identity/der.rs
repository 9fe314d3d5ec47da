//! A writer of DER: the elements of certificates and PKCS 7 structures.

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTC_TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year repr:last_two][month][day][hour][minute][second]Z");

/// An element: tag, length and content.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut element = vec![tag];
    let length = content.len();
    match u8::try_from(length) {
        Ok(short @ ..=0x7f) => element.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let significant: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
            // At most eight bytes, so that the sum stays a byte.
            element.push(0x80 | significant.len() as u8);
            element.extend(significant);
        }
    }
    element.extend(content);
    element
}

/// `SEQUENCE` of elements.
pub(super) fn sequence(elements: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &elements.concat())
}

/// The content of `SET OF`: DER requires sorted elements.
pub(super) fn sorted(mut elements: Vec<Vec<u8>>) -> Vec<u8> {
    elements.sort();
    elements.concat()
}

/// `SET` of elements.
pub(super) fn set(elements: Vec<Vec<u8>>) -> Vec<u8> {
    element(SET, &sorted(elements))
}

/// `[number]` around an element.
pub(super) fn tagged(number: u8, content: &[u8]) -> Vec<u8> {
    element(0xa0 | number, content)
}

/// `INTEGER`, positive, from its bytes in big-endian order.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let sign: &[u8] = if negative { &[0] } else { &[] };
    element(0x02, &[sign, bytes].concat())
}

/// `OCTET STRING`.
pub(super) fn octets(bytes: &[u8]) -> Vec<u8> {
    element(0x04, bytes)
}

/// `BIT STRING` of whole bytes.
pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    element(0x03, &[&[0], bytes].concat())
}

/// `NULL`.
pub(super) fn null() -> Vec<u8> {
    element(0x05, &[])
}

/// `UTF8String`.
pub(super) fn text(text: &str) -> Vec<u8> {
    element(0x0c, text.as_bytes())
}

/// `UTCTime`.
pub(super) fn time(time: OffsetDateTime) -> Vec<u8> {
    let text = time
        .format(UTC_TIME)
        .unwrap_or_else(|_| "700101000000Z".to_owned());
    element(0x17, text.as_bytes())
}

/// `OBJECT IDENTIFIER`.
pub(super) fn oid(arcs: &[u32]) -> Vec<u8> {
    let [first, second, rest @ ..] = arcs else {
        return element(0x06, &[]);
    };
    let mut content = Vec::new();
    for arc in std::iter::once(first * 40 + second).chain(rest.iter().copied()) {
        let groups: Vec<u8> = (0..5)
            .rev()
            .map(|group| (arc >> (7 * group)) as u8 & 0x7f)
            .collect();
        let start = groups.iter().position(|group| *group != 0).unwrap_or(4);
        for (index, group) in groups.iter().enumerate().skip(start) {
            content.push(if index < 4 { group | 0x80 } else { *group });
        }
    }
    element(0x06, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings from X.690, and lengths at which the encoding changes.
    #[test]
    fn elements_have_their_der_encoding() {
        assert_eq!(
            oid(&[1, 2, 840, 113_549]),
            hex::decode("06062a864886f70d").unwrap()
        );
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[0x7f]), [2, 1, 0x7f]);
        assert_eq!(element(4, &[0; 127])[..2], [4, 127]);
        assert_eq!(element(4, &[0; 128])[..3], [4, 0x81, 128]);
        assert_eq!(element(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(
            set(vec![vec![2, 1, 9], vec![2, 1, 1]]),
            [0x31, 6, 2, 1, 1, 2, 1, 9]
        );
        let noon = OffsetDateTime::from_unix_timestamp(1_778_155_200).unwrap();
        assert_eq!(time(noon), b"\x17\x0d260507120000Z");
    }
}
