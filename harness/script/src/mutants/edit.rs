//! Kinds of changes, and one change of a text.

use std::ops::Range;

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// A condition decides the other way round.
    Negate,
    /// A statement is missing.
    DropStatement,
    /// What follows `||` or `&&` is missing.
    DropAlternative,
    /// `&&` in place of `||`, or the reverse.
    SwapLogic,
    /// A loop ends after its first round.
    DropRetry,
    /// Another comparison, such as `-n` in place of `-z`.
    SwapComparison,
    /// Another number or an empty text.
    ChangeConstant,
    /// An argument of a command is missing, such as `--region`.
    DropArgument,
    /// A variable is not quoted.
    DropQuotes,
    /// A redirection is missing, or overwrites in place of appending.
    Redirection,
    /// Other permissions.
    Permission,
    /// Two statements run in the reverse order.
    SwapStatements,
}

impl Operator {
    /// All operators.
    pub const ALL: [Self; 12] = [
        Self::Negate,
        Self::DropStatement,
        Self::DropAlternative,
        Self::SwapLogic,
        Self::DropRetry,
        Self::SwapComparison,
        Self::ChangeConstant,
        Self::DropArgument,
        Self::DropQuotes,
        Self::Redirection,
        Self::Permission,
        Self::SwapStatements,
    ];

    /// The name in reports and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Negate => "negate",
            Self::DropStatement => "drop-statement",
            Self::DropAlternative => "drop-alternative",
            Self::SwapLogic => "swap-logic",
            Self::DropRetry => "drop-retry",
            Self::SwapComparison => "swap-comparison",
            Self::ChangeConstant => "change-constant",
            Self::DropArgument => "drop-argument",
            Self::DropQuotes => "drop-quotes",
            Self::Redirection => "redirection",
            Self::Permission => "permission",
            Self::SwapStatements => "swap-statements",
        }
    }
}

/// One replaced part of a script.
pub(crate) struct Edit {
    pub(crate) operator: Operator,
    pub(crate) bytes: Range<usize>,
    pub(crate) after: String,
}
