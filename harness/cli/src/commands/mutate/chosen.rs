//! The changes of a script that run, each with its id.

use std::collections::BTreeMap;

use nodejoin_core::mutation::mutant_id;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_script::{Mutant, mutants};

use super::changed_lines;
use super::target::TargetScript;
use crate::mutate_args::MutateArgs;

/// A change with its id.
pub(super) struct NamedMutant {
    pub(super) id: String,
    pub(super) mutant: Mutant,
}

/// The changes that the command line selects.
pub(super) fn chosen(args: &MutateArgs, target: &TargetScript) -> Result<Vec<NamedMutant>, ExitCode> {
    let lines = match &args.in_diff {
        Some(revision) => Some(changed_lines::since(revision, &args.script)?),
        None => None,
    };
    let mut earlier: BTreeMap<String, usize> = BTreeMap::new();
    let named = mutants(&target.text).into_iter().map(|mutant| {
        let line = target.line(mutant.line);
        let key = format!(
            "{}\n{}\n{}\n{line}",
            mutant.operator.name(),
            mutant.before,
            mutant.after
        );
        let count = earlier.entry(key).or_default();
        let id = mutant_id(
            mutant.operator.name(),
            &mutant.before,
            &mutant.after,
            line,
            *count,
        );
        *count += 1;
        NamedMutant { id, mutant }
    });
    let is_chosen = |one: &NamedMutant| {
        let operator = args.operator.is_empty() || args.operator.contains(&one.mutant.operator);
        let named = args.mutant.is_empty() || args.mutant.contains(&one.id);
        let shard = args.shard.is_none_or(|shard| shard.holds(&one.id));
        let changed = lines
            .as_ref()
            .is_none_or(|lines| lines.contains(&one.mutant.line));
        operator && named && shard && changed
    };
    Ok(named.filter(is_chosen).collect())
}
