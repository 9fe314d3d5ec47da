//! Permission bits of files, as users write them.

/// Parses permission bits in octal, at most four digits.
pub(crate) fn octal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o7777 && !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_bits_are_octal_and_at_most_four_digits() {
        for (text, mode) in [
            ("0755", Some(0o755)),
            ("644", Some(0o644)),
            ("7777", Some(0o7777)),
            ("10000", None),
            ("+755", None),
            ("9", None),
            ("", None),
        ] {
            assert_eq!(octal(text), mode, "{text}");
        }
    }
}
