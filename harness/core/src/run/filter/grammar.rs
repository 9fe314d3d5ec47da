//! The grammar: `or` binds weaker than `and`, and that weaker than `not`.
//!
//! ```text
//! any   = all ("or" all)*
//! all   = not ("and" not)*
//! not   = "not" not | "(" any ")" | term
//! term  = KEY "(" value ")" | words
//! words = quoted text | words without parentheses, other than and, or, not
//! ```

use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, delimited, eof, not, peek, preceded, repeat, separated, terminated};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::token::{one_of, take_while};

/// An expression over terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression<T> {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Term(T),
}

/// A term as written: its key, if any, and its value.
pub(super) type WrittenTerm = (Option<String>, String);

impl<T> Expression<T> {
    /// Replaces all terms; the first error ends it.
    pub(super) fn try_map<U, E>(self, replace: &impl Fn(T) -> Result<U, E>) -> Result<Expression<U>, E> {
        let each = |parts: Vec<Self>| {
            let parts = parts.into_iter().map(|part| part.try_map(replace));
            parts.collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Self::Any(parts) => Expression::Any(each(parts)?),
            Self::All(parts) => Expression::All(each(parts)?),
            Self::Not(part) => Expression::Not(Box::new(part.try_map(replace)?)),
            Self::Term(term) => Expression::Term(replace(term)?),
        })
    }
}

/// Parses an expression. The error is the reason with its column.
pub(super) fn parse(text: &str) -> Result<Expression<WrittenTerm>, String> {
    let mut whole = terminated(any, cut_err(eof).context(expected("`and`, `or` or the end")));
    whole.parse(text).map_err(|error| {
        let column = text.get(..error.offset()).unwrap_or(text).chars().count() + 1;
        format!("column {column}: {}", describe(error.inner()))
    })
}

fn describe(error: &ContextError) -> String {
    let expectation = error.context().find_map(|context| match context {
        StrContext::Expected(value) => Some(value.to_string()),
        _ => None,
    });
    format!("expected {}", expectation.unwrap_or_else(|| "a term".to_owned()))
}

fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn any(input: &mut &str) -> ModalResult<Expression<WrittenTerm>> {
    let parts: Vec<_> = separated(1.., all, keyword("or")).parse_next(input)?;
    Ok(one_or(parts, Expression::Any))
}

fn all(input: &mut &str) -> ModalResult<Expression<WrittenTerm>> {
    let parts: Vec<_> = separated(1.., negation, keyword("and")).parse_next(input)?;
    Ok(one_or(parts, Expression::All))
}

/// A list of one is its element.
fn one_or<T>(mut parts: Vec<T>, many: impl Fn(Vec<T>) -> T) -> T {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            many(parts)
        }
    }
}

fn negation(input: &mut &str) -> ModalResult<Expression<WrittenTerm>> {
    let group = delimited('(', any, cut_err(spaced(')')).context(expected("`)`")));
    let negated = preceded(keyword("not"), cut_err(negation)).map(|part| Expression::Not(Box::new(part)));
    let parsed = preceded(multispace0, alt((negated, group, term.map(Expression::Term))))
        .context(expected("a term, such as `joins` or `flow(al2)`"));
    terminated(parsed, multispace0).parse_next(input)
}

fn term(input: &mut &str) -> ModalResult<WrittenTerm> {
    alt((
        keyed,
        quoted.map(|text| (None, text)),
        words.map(|text| (None, text)),
    ))
    .parse_next(input)
}

fn keyed(input: &mut &str) -> ModalResult<WrittenTerm> {
    let key = terminated(take_while(1.., ('a'..='z', '_')), '(').parse_next(input)?;
    let value = alt((quoted, plain)).context(expected("a value in the parentheses"));
    let value =
        terminated(cut_err(value), cut_err(spaced(')')).context(expected("`)`"))).parse_next(input)?;
    Ok((Some(key.to_owned()), value))
}

fn plain(input: &mut &str) -> ModalResult<String> {
    let text = take_while(1.., |c| !matches!(c, '(' | ')' | '"'));
    text.map(|text: &str| text.trim().to_owned())
        .verify(|text: &String| !text.is_empty())
        .parse_next(input)
}

fn quoted(input: &mut &str) -> ModalResult<String> {
    let text = take_while(0.., |c| c != '"').map(str::to_owned);
    delimited(
        '"',
        text,
        cut_err('"').context(expected("`\"` at the end of the text")),
    )
    .parse_next(input)
}

/// Words up to the next keyword or parenthesis.
fn words(input: &mut &str) -> ModalResult<String> {
    let word = terminated(preceded(not(reserved), bare_word), multispace0);
    let words: Vec<&str> = repeat(1.., word).parse_next(input)?;
    Ok(words.join(" "))
}

fn bare_word<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    let word = take_while(1.., |c: char| !c.is_whitespace() && !matches!(c, '(' | ')' | '"'));
    terminated(word, peek(not('('))).parse_next(input)
}

fn reserved(input: &mut &str) -> ModalResult<()> {
    alt((keyword("and"), keyword("or"), keyword("not"))).parse_next(input)
}

/// A word of the grammar, followed by something that is not part of a word.
fn keyword<'a>(word: &'static str) -> impl ModalParser<&'a str, (), ContextError> {
    let end = peek(alt((
        eof.void(),
        one_of([' ', '\t', '\n', '\r', '(', '"']).void(),
    )));
    (multispace0, word, end, multispace0).void()
}

fn spaced<'a>(character: char) -> impl ModalParser<&'a str, char, ContextError> {
    preceded(multispace0::<&str, ErrMode<ContextError>>, character)
}
