//! The words and signs of an expression of CEL.

use std::fmt;

use super::cel::{CelType, NoPods};

/// Signs, of which those with two characters come before their beginnings.
const SIGNS: [&str; 19] = [
    "&&", "||", "==", "!=", "<=", ">=", "-", "+", "*", "/", "%", "<", ">", "!", "?", ":", "(", ")", ",",
];
/// What CEL has besides, and nodejoin does not evaluate.
const OTHER_WORDS: [&str; 12] = [
    "bool",
    "bytes",
    "duration",
    "dyn",
    "has",
    "matches",
    "size",
    "string",
    "timestamp",
    "type",
    "in",
    "null",
];
const OTHER_SIGNS: [&str; 8] = [".", "\"", "'", "[", "]", "{", "}", "`"];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Whole(CelType, i128),
    Double(f64),
    Sign(&'static str),
    /// A part of CEL that nodejoin does not evaluate.
    Other(String),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Other(text) => f.write_str(text),
            Self::Whole(_, number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

/// The tokens up to the first that nodejoin does not evaluate: what follows can be the inside of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, NoPods> {
    let mut tokens = Vec::new();
    let mut rest = without_blanks(text);
    while !rest.is_empty() {
        let (token, length) = token(rest)?;
        rest = without_blanks(&rest[length..]);
        let is_last = matches!(token, Token::Other(_));
        tokens.push(token);
        if is_last {
            break;
        }
    }
    Ok(tokens)
}

/// A text without the blanks and comments at its start.
fn without_blanks(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("//") {
        Some(comment) => without_blanks(comment.split_once('\n').map_or("", |(_, rest)| rest)),
        None => text,
    }
}

fn token(text: &str) -> Result<(Token, usize), NoPods> {
    let length = |is_part: fn(char) -> bool| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let name = length(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if is_number(text) || text.strip_prefix('.').is_some_and(is_number) {
        return number(text);
    }
    if name > 0 {
        let word = text[..name].to_owned();
        let token = match OTHER_WORDS.contains(&word.as_str()) {
            true => Token::Other(word),
            false => Token::Name(word),
        };
        return Ok((token, name));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| text.starts_with(*sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    if let Some(sign) = OTHER_SIGNS.iter().find(|sign| text.starts_with(*sign)) {
        return Ok((Token::Other((*sign).to_owned()), sign.len()));
    }
    let first: String = text.chars().take(1).collect();
    Err(NoPods::Rejected(format!(
        "Syntax error: token recognition error at: '{first}'"
    )))
}

fn number(text: &str) -> Result<(Token, usize), NoPods> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let overflow = || NoPods::Rejected("integer overflow".to_owned());
    let (start, radix, length) = match text.strip_prefix("0x") {
        Some(hex) => (2, 16, hex.bytes().take_while(u8::is_ascii_hexdigit).count()),
        None => (0, 10, digits(text)),
    };
    let mut end = start + length;
    let fraction = text[end..]
        .strip_prefix('.')
        .map(digits)
        .filter(|count| *count > 0);
    let with_fraction = end + fraction.map_or(0, |count| count + 1);
    let exponent = exponent(&text[with_fraction..]);
    if radix == 10 && (fraction.is_some() || exponent > 0) {
        end = with_fraction + exponent;
        let number = text[..end].parse().map_err(|_| overflow())?;
        return Ok((Token::Double(number), end));
    }
    let whole = i128::from_str_radix(&text[start..end], radix).map_err(|_| overflow())?;
    Ok(match text[end..].starts_with(['u', 'U']) {
        true => (Token::Whole(CelType::Uint, whole), end + 1),
        false => (Token::Whole(CelType::Int, whole), end),
    })
}

/// The length of the exponent at the start of a text.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        0 => 0,
        count => text.len() - digits.len() + count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_signs_are_told_apart() {
        let words = |text: &str| {
            let words = tokens(text).unwrap().into_iter();
            words
                .map(|token| format!("{token:?}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            words("a<=0x1F//b\n-2u*.5e-1"),
            "Name(\"a\") Sign(\"<=\") Whole(Int, 31) Sign(\"-\") Whole(Uint, 2) Sign(\"*\") Double(0.05)"
        );
        assert_eq!(words("'é' + 1"), "Other(\"'\")");
        for text in ["1 & 2", "é", "99999999999999999999999999999999999999999999"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
