//! Evaluates `maxPodsExpression` of a NodeConfig, an expression of CEL, as far as it computes with numbers.
//!
//! nodeadm has the standard library of CEL without extensions: it never mixes numbers of two types, and it has no
//! functions `min` and `max`. It checks all types first, also those of a branch that is not taken. The stand-in for
//! nodeadm reads the same expressions; one table has the cases of both.

use super::cel::{CelType, NoPods};
use super::max_pods_tokens::{Token, tokens};

/// Operators of two values, those that bind weakest first.
const LEVELS: [&[&str]; 5] = [&["||"], &["&&"], COMPARED, &["+", "-"], &["*", "/", "%"]];
const COMPARED: &[&str] = &["<", "<=", ">=", ">", "==", "!="];
const LARGEST: i128 = i32::MAX as i128;
/// Limits of the stand-in.
const LONGEST: usize = 1000;
const DEEPEST: usize = 100;

/// What the expression computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interfaces {
    /// The interfaces of the default network card.
    pub(super) interfaces: u32,
    /// The IPv4 addresses of an interface.
    pub(super) addresses: u32,
}

impl Interfaces {
    /// The pods without an expression.
    pub(super) fn standard(self) -> i64 {
        i64::from(self.interfaces) * (i64::from(self.addresses) - 1) + 2
    }

    fn variable(self, name: &str) -> Option<i64> {
        match name {
            "default_enis" => Some(self.interfaces.into()),
            "ips_per_eni" => Some(self.addresses.into()),
            "max_pods" => Some(self.standard()),
            _ => None,
        }
    }
}

/// The pods of an instance by an expression.
pub(super) fn evaluated(expression: &str, of: Interfaces) -> Result<u32, NoPods> {
    if expression.chars().count() > LONGEST {
        return Err(NoPods::NotEvaluated(format!("more than {LONGEST} characters")));
    }
    let mut reader = CelReader {
        tokens: tokens(expression)?.into_iter().peekable(),
        of,
        depth: 0,
    };
    let term = reader.expression()?;
    if reader.tokens.peek().is_some() {
        return Err(reader.unexpected());
    }
    if term.kind == CelType::Bool {
        let text = "could not interpret the result as an integer: type conversion error from 'bool' to 'int'";
        return Err(rejected(text));
    }
    let Value::Whole(pods) = converted(CelType::Int, (term.value)()?)? else {
        return Err(rejected("integer overflow"));
    };
    let in_range = u32::try_from(pods).ok().filter(|pods| *pods > 0);
    in_range.filter(|_| pods <= LARGEST).ok_or_else(|| {
        rejected(format!(
            "max pods value {pods} is invalid: value must be a positive integer less than {LARGEST}"
        ))
    })
}

fn rejected(why: impl Into<String>) -> NoPods {
    NoPods::Rejected(why.into())
}

#[derive(Debug, Clone, Copy)]
enum Value {
    /// Of an `int` or a `uint`, both of which it contains.
    Whole(i128),
    Double(f64),
    Bool(bool),
}

/// A part of the expression: the type of its value, and what computes it.
struct CelTerm {
    kind: CelType,
    value: Box<dyn Fn() -> Result<Value, NoPods>>,
}

impl CelTerm {
    fn new(kind: CelType, value: impl Fn() -> Result<Value, NoPods> + 'static) -> Self {
        Self {
            kind,
            value: Box::new(value),
        }
    }

    fn constant(kind: CelType, value: Value) -> Self {
        Self::new(kind, move || Ok(value))
    }

    /// The value of a term whose type is `bool`.
    fn holds(&self) -> Result<bool, NoPods> {
        Ok(matches!((self.value)()?, Value::Bool(true)))
    }
}

struct CelReader {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    of: Interfaces,
    depth: usize,
}

impl CelReader {
    /// Takes the next token if it is one of these signs.
    fn takes(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let found = signs
            .iter()
            .copied()
            .find(|sign| self.tokens.peek() == Some(&Token::Sign(sign)))?;
        self.tokens.next();
        Some(found)
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), NoPods> {
        self.takes(&[sign]).map(|_| ()).ok_or_else(|| self.unexpected())
    }

    fn unexpected(&mut self) -> NoPods {
        match self.tokens.peek() {
            Some(Token::Other(text)) => NoPods::NotEvaluated(format!("`{text}`")),
            Some(token) => rejected(format!("Syntax error: unexpected '{token}'")),
            None => rejected("Syntax error: unexpected '<EOF>'"),
        }
    }

    fn expression(&mut self) -> Result<CelTerm, NoPods> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NoPods::NotEvaluated(format!("more than {DEEPEST} nested parts")));
        }
        let first = self.binary(0)?;
        let term = match self.takes(&["?"]) {
            Some(_) => self.choice(first)?,
            None => first,
        };
        self.depth -= 1;
        Ok(term)
    }

    fn choice(&mut self, condition: CelTerm) -> Result<CelTerm, NoPods> {
        let yes = self.binary(0)?;
        self.expect(":")?;
        let no = self.expression()?;
        if condition.kind != CelType::Bool || yes.kind != no.kind {
            return Err(no_overload("_?_:_", &[&condition, &yes, &no]));
        }
        Ok(CelTerm::new(yes.kind, move || match condition.holds()? {
            true => (yes.value)(),
            false => (no.value)(),
        }))
    }

    /// Operators of this level and those that bind more.
    fn binary(&mut self, level: usize) -> Result<CelTerm, NoPods> {
        let mut left = self.unary()?;
        loop {
            let found = (level..).zip(&LEVELS[level.min(LEVELS.len())..]);
            let found = found
                .filter_map(|(found, signs)| Some((found, self.takes(signs)?)))
                .next();
            let Some((found, sign)) = found else {
                return Ok(left);
            };
            left = operation(sign, left, self.binary(found + 1)?)?;
        }
    }

    fn unary(&mut self) -> Result<CelTerm, NoPods> {
        let Some(sign) = self.takes(&["!", "-"]) else {
            return self.primary();
        };
        let mut is_odd = true;
        while self.takes(&[sign]).is_some() {
            is_odd = !is_odd;
        }
        let inner = self.primary()?;
        let is_applicable = match sign {
            "!" => inner.kind == CelType::Bool,
            _ => [CelType::Int, CelType::Double].contains(&inner.kind),
        };
        if !is_applicable {
            return Err(no_overload(&format!("{sign}_"), &[&inner]));
        }
        if !is_odd {
            return Ok(inner);
        }
        let kind = inner.kind;
        Ok(CelTerm::new(kind, move || match (inner.value)()? {
            Value::Whole(number) => in_range(kind, -number),
            Value::Double(number) => Ok(Value::Double(-number)),
            Value::Bool(holds) => Ok(Value::Bool(!holds)),
        }))
    }

    fn primary(&mut self) -> Result<CelTerm, NoPods> {
        if self.takes(&["("]).is_some() {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self
            .tokens
            .next_if(|token| !matches!(token, Token::Sign(_) | Token::Other(_)))
        {
            Some(Token::Name(name)) => self.named(&name),
            Some(Token::Whole(kind, number)) => Ok(CelTerm::constant(kind, in_range(kind, number)?)),
            Some(Token::Double(number)) => Ok(CelTerm::constant(CelType::Double, Value::Double(number))),
            Some(Token::Sign(_) | Token::Other(_)) | None => Err(self.unexpected()),
        }
    }

    fn named(&mut self, name: &str) -> Result<CelTerm, NoPods> {
        if let "true" | "false" = name {
            return Ok(CelTerm::constant(CelType::Bool, Value::Bool(name == "true")));
        }
        if self.takes(&["("]).is_some() {
            return self.call(name);
        }
        let undeclared = || rejected(format!("undeclared reference to '{name}'"));
        let number = self.of.variable(name).ok_or_else(undeclared)?;
        Ok(CelTerm::constant(CelType::Int, Value::Whole(number.into())))
    }

    fn call(&mut self, name: &str) -> Result<CelTerm, NoPods> {
        let kind = match name {
            "int" => CelType::Int,
            "uint" => CelType::Uint,
            "double" => CelType::Double,
            _ => return Err(rejected(format!("undeclared reference to '{name}'"))),
        };
        let inner = self.expression()?;
        if self.tokens.peek() == Some(&Token::Sign(",")) || inner.kind == CelType::Bool {
            return Err(no_overload(name, &[&inner]));
        }
        self.expect(")")?;
        Ok(CelTerm::new(kind, move || converted(kind, (inner.value)()?)))
    }
}

fn operation(sign: &'static str, left: CelTerm, right: CelTerm) -> Result<CelTerm, NoPods> {
    let kind = left.kind;
    let is_logical = ["&&", "||"].contains(&sign);
    let is_applicable = match kind {
        CelType::Bool => is_logical || COMPARED.contains(&sign),
        CelType::Double => !is_logical && sign != "%",
        CelType::Int | CelType::Uint => !is_logical,
    };
    if kind != right.kind || !is_applicable {
        return Err(no_overload(&format!("_{sign}_"), &[&left, &right]));
    }
    if is_logical {
        return Ok(CelTerm::new(kind, move || {
            let decides = sign == "||";
            let left = left.holds()?;
            Ok(Value::Bool(if left == decides { left } else { right.holds()? }))
        }));
    }
    if COMPARED.contains(&sign) {
        return Ok(CelTerm::new(CelType::Bool, move || {
            Ok(Value::Bool(compared(sign, (left.value)()?, (right.value)()?)))
        }));
    }
    Ok(CelTerm::new(kind, move || {
        match ((left.value)()?, (right.value)()?) {
            (Value::Double(left), Value::Double(right)) => Ok(Value::Double(match sign {
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                _ => left / right,
            })),
            (Value::Whole(left), Value::Whole(right)) => in_range(kind, computed(sign, left, right)?),
            _ => Err(rejected("integer overflow")),
        }
    }))
}

fn compared(sign: &str, left: Value, right: Value) -> bool {
    let order = match (left, right) {
        (Value::Whole(left), Value::Whole(right)) => Some(left.cmp(&right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(&right),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(&right)),
        _ => None,
    };
    match sign {
        "<" => order.is_some_and(std::cmp::Ordering::is_lt),
        "<=" => order.is_some_and(std::cmp::Ordering::is_le),
        ">" => order.is_some_and(std::cmp::Ordering::is_gt),
        ">=" => order.is_some_and(std::cmp::Ordering::is_ge),
        "==" => order.is_some_and(std::cmp::Ordering::is_eq),
        _ => order.is_none_or(std::cmp::Ordering::is_ne),
    }
}

/// The result of an operation on whole numbers of 64 bits, which 128 bits contain.
fn computed(sign: &str, left: i128, right: i128) -> Result<i128, NoPods> {
    match sign {
        "+" => Ok(left + right),
        "-" => Ok(left - right),
        "*" => left
            .checked_mul(right)
            .ok_or_else(|| rejected("integer overflow")),
        "/" => left
            .checked_div(right)
            .ok_or_else(|| rejected("division by zero")),
        _ => left.checked_rem(right).ok_or_else(|| rejected("modulus by zero")),
    }
}

fn converted(kind: CelType, value: Value) -> Result<Value, NoPods> {
    match (kind, value) {
        (CelType::Double, Value::Whole(number)) => Ok(Value::Double(number as f64)),
        (CelType::Int | CelType::Uint, Value::Double(number)) if number.is_finite() => {
            in_range(kind, number as i128)
        }
        (CelType::Int | CelType::Uint, Value::Double(_)) => Err(rejected("integer overflow")),
        (_, Value::Whole(number)) => in_range(kind, number),
        (_, value) => Ok(value),
    }
}

fn in_range(kind: CelType, number: i128) -> Result<Value, NoPods> {
    let is_in = match kind {
        CelType::Uint => u64::try_from(number).is_ok(),
        _ => i64::try_from(number).is_ok(),
    };
    match is_in {
        true => Ok(Value::Whole(number)),
        false => Err(rejected("integer overflow")),
    }
}

fn no_overload(name: &str, terms: &[&CelTerm]) -> NoPods {
    let kinds: Vec<String> = terms.iter().map(|term| term.kind.to_string()).collect();
    rejected(format!(
        "found no matching overload for '{name}' applied to '({})'",
        kinds.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the stand-in's tests.
    const CASES: &str = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/max-pods-expressions.tsv"
    ));

    #[test]
    fn expressions_have_the_pods_of_nodeadm() {
        let cases = CASES.lines().filter(|line| !line.starts_with('#'));
        for case in cases {
            let columns: Vec<&str> = case.split('\t').collect();
            let &[interfaces, addresses, expression, expected] = columns.as_slice() else {
                panic!("{case}");
            };
            let of = Interfaces {
                interfaces: interfaces.parse().unwrap(),
                addresses: addresses.parse().unwrap(),
            };
            let found = match evaluated(expression, of) {
                Ok(pods) => pods.to_string(),
                Err(NoPods::Rejected(why)) => format!("rejected: {why}"),
                Err(NoPods::NotEvaluated(what)) => format!("not evaluated: {what}"),
            };
            assert_eq!(found, expected, "{expression}");
        }
    }
}
