//! Quantities and durations as the kubelet reads them.

/// Whether Kubernetes takes a text for a quantity, such as `100m`, `1.5Gi` or `129e6` (`resource.ParseQuantity`).
pub(super) fn is_quantity(text: &str) -> bool {
    const UNITS: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let unit = unit(text);
    let is_exponent = |digits: &str| {
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_unit = UNITS.contains(&unit) || unit.strip_prefix(['e', 'E']).is_some_and(is_exponent);
    !text.is_empty() && is_unit
}

/// Whether a quantity is above zero.
pub(super) fn is_positive(quantity: &str) -> bool {
    let number = &quantity[..quantity.len() - unit(quantity).len()];
    !number.starts_with('-') && number.contains(|c: char| ('1'..='9').contains(&c))
}

/// What follows the number of a quantity.
fn unit(text: &str) -> &str {
    let is_digit = |c: char| c.is_ascii_digit();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(is_digit);
    match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(is_digit),
        None => rest,
    }
}

/// Whether Go takes a text for a duration, such as `1h30m` or `1.5s` (`time.ParseDuration`).
pub(super) fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let behind = rest.trim_start_matches(is_of_number);
        let number = &rest[..rest.len() - behind.len()];
        rest = behind.trim_start_matches(|c: char| !is_of_number(c));
        let unit = &behind[..behind.len() - rest.len()];
        let is_number = number.contains(|c: char| c.is_ascii_digit()) && number.matches('.').count() < 2;
        if !is_number || !UNITS.contains(&unit) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for text in [
            "0", "100m", "1.5Gi", ".5", "1.", "+1k", "-2Mi", "1e3", "1E-3", "1E", "12u",
        ] {
            assert!(is_quantity(text), "{text}");
        }
        for text in [
            "", "100MB", "100Mb", "1KiB", "1K", "x", "1 Gi", "10%", "1e", "1.2.3", "ten",
        ] {
            assert!(!is_quantity(text), "{text}");
        }
        assert!(is_positive("100Mi") && is_positive("0.1"));
        for text in ["0", "0Mi", "-1Gi", "0e5"] {
            assert!(!is_positive(text), "{text}");
        }
    }

    #[test]
    fn durations_are_those_of_go() {
        for text in [
            "0", "30s", "1h30m", "1.5h", "-2m", ".5s", "5.s", "100ms", "1\u{b5}s", "1m1h",
        ] {
            assert!(is_duration(text), "{text}");
        }
        for text in ["", "30", "30 s", "1d", "s", "1.5", "1.2.3s", "+", "1m30"] {
            assert!(!is_duration(text), "{text}");
        }
    }
}
