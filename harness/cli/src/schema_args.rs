//! The arguments of `nodejoin schema`.

use clap::builder::PossibleValue;
use clap::{Args as ClapArgs, ValueEnum};
use nodejoin_core::run::format::JsonFormat;

/// `nodejoin schema`
#[derive(Debug, ClapArgs)]
pub struct SchemaArgs {
    /// The file format
    #[arg(default_value = "scenario")]
    pub of: SchemaOf,
}

/// A file format with a schema.
#[derive(Debug, Clone, Copy)]
pub enum SchemaOf {
    /// What users write.
    Scenario,
    /// What nodejoin writes.
    Format(JsonFormat),
}

impl ValueEnum for SchemaOf {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [SchemaOf; 6] = [
            SchemaOf::Scenario,
            SchemaOf::Format(JsonFormat::Event),
            SchemaOf::Format(JsonFormat::Verdict),
            SchemaOf::Format(JsonFormat::Plan),
            SchemaOf::Format(JsonFormat::EvidenceIndex),
            SchemaOf::Format(JsonFormat::RunRecord),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Scenario => PossibleValue::new("scenario").help("A scenario file"),
            Self::Format(format) => PossibleValue::new(format.name()).help(format.what()),
        })
    }
}
