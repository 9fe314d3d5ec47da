//! Quantities of Kubernetes, such as `20Gi`.

/// The number that a quantity stands for; `None` if it is not a quantity.
pub(crate) fn amount(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 12] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("", 1.0),
    ];
    let (digits, factor) = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))?;
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn suffixes_are_those_of_kubernetes() {
        assert_eq!(amount("20Gi"), Some(21_474_836_480.0));
        assert_eq!(amount("123m"), Some(0.123));
        assert_eq!(amount("4"), Some(4.0));
        assert_eq!(amount("20GiB"), None);
    }
}
