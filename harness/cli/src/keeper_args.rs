//! The arguments about keepers.

use clap::{Args as ClapArgs, Subcommand};
use nodejoin_core::run::env;

/// Whether a run uses a keeper.
#[derive(Debug, Clone, Copy, Default, ClapArgs)]
pub struct KeeperChoice {
    /// Run in a keeper, which keeps control planes for later runs; starts one if none runs [env: NODEJOIN_KEEPER]
    #[arg(long, overrides_with = "no_keeper")]
    pub keeper: bool,
    /// Run without a keeper, the default except for `watch`, also if `nodejoin.yaml` or NODEJOIN_KEEPER choose one
    #[arg(long, overrides_with = "keeper")]
    pub no_keeper: bool,
}

impl KeeperChoice {
    /// The choice. Flags take precedence over the variables, and those over the settings file. `CI` excludes a keeper
    /// that no flag requests: nothing there would use it again.
    #[must_use]
    pub fn is_on(self, file: Option<bool>, lookup: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        if self.keeper || self.no_keeper {
            return self.keeper;
        }
        if set(env::CI.name).is_some_and(|value| value != "false") {
            return false;
        }
        set(env::KEEPER.name).map_or(file.unwrap_or(false), |value| value == "true")
    }
}

/// `nodejoin keeper`
#[derive(Debug, ClapArgs)]
pub struct KeeperArgs {
    #[command(subcommand)]
    pub command: Option<KeeperCommand>,
    /// Seconds without a run after which the keeper stops and removes everything
    #[arg(long, value_name = "SECONDS", default_value_t = 600, env = env::KEEPER_IDLE.name)]
    pub idle: u64,
}

#[derive(Debug, Subcommand)]
pub enum KeeperCommand {
    /// List the keepers of this user and what they keep
    Status,
    /// Stop the keeper of this program and folder; its runs are cancelled and everything is removed
    Stop {
        /// Stop every keeper of this user
        #[arg(long)]
        all: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_on(choice: KeeperChoice, file: Option<bool>, variables: &[(&str, &str)]) -> bool {
        choice.is_on(file, |name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const NONE: KeeperChoice = KeeperChoice {
        keeper: false,
        no_keeper: false,
    };

    #[test]
    fn a_flag_decides_then_ci_then_the_variable_then_the_file() {
        let with = KeeperChoice { keeper: true, ..NONE };
        let without = KeeperChoice {
            no_keeper: true,
            ..NONE
        };
        assert!(is_on(with, None, &[("CI", "true")]));
        assert!(!is_on(without, Some(true), &[("NODEJOIN_KEEPER", "true")]));
        assert!(!is_on(
            NONE,
            Some(true),
            &[("CI", "true"), ("NODEJOIN_KEEPER", "true")]
        ));
        assert!(is_on(NONE, None, &[("CI", ""), ("NODEJOIN_KEEPER", "true")]));
        assert!(!is_on(NONE, Some(true), &[("NODEJOIN_KEEPER", "false")]));
        assert!(is_on(NONE, Some(true), &[("CI", "false")]));
        assert!(!is_on(NONE, None, &[]));
    }
}
