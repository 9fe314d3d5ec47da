//! Patterns with wildcards, as in EC2's filters and IAM's actions.

/// Matches a pattern: `*` for any text, `?` for one character, a backslash before a literal character.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // The position of the last `*` and of the text that it has consumed: enough to backtrack in constant memory.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some('\\') if pattern.get(p + 1) == Some(&text[t]) => (p, t) = (p + 2, t + 1),
            Some('?') => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, swallowed)) = star else { return false };
                star = Some((at, swallowed + 1));
                (p, t) = (at + 1, swallowed + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match() {
        let table = [
            ("ip-10-0-0-1.ec2.internal", "ip-10-0-0-1.ec2.internal", true),
            ("ip-*", "ip-10-0-0-1", true),
            ("*.internal", "ip-10.internal", true),
            ("i?-1", "ip-1", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
