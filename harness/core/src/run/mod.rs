//! Everything about a run as a whole: settings, shards, events and exit codes.
//!
//! | file | content |
//! | --- | --- |
//! | `env.rs` | every environment variable, with its meaning |
//! | `settings.rs` | the settings file `nodejoin.yaml` |
//! | `require.rs` | control planes that must be available |
//! | `matrix.rs` | runs scenarios on several versions, and skips those that do not apply |
//! | `filter` | filter expressions that select scenarios |
//! | `last_run.rs` | the outcomes by which `--rerun-failed` selects |
//! | `shard.rs` | which scenarios belong to one machine's share |
//! | `recorded_times.rs` | shards that take about equally long |
//! | `concurrency.rs` | how many nodes run at once, and whether the host can carry them |
//! | `time_factor.rs` | the factor that multiplies all timeouts |
//! | `coverage.rs` | which facets of a join the scenarios of a folder prove |
//! | `evidence_index.rs` | the index of a scenario's evidence, and the record of a run |
//! | `format` | the JSON formats that nodejoin writes, with their schemas |
//! | `error_chain.rs` | an error with its causes as one line |
//! | `event.rs`, `exit_code.rs` | what a run reports while it works and at its end |
//! | `secret.rs` | a text that is never printed |
//! | `shell.rs` | quoting for POSIX shells |

pub mod concurrency;
pub mod coverage;
pub mod env;
pub mod error_chain;
pub mod event;
pub mod evidence_index;
pub mod exit_code;
pub mod filter;
pub mod format;
pub mod last_run;
pub mod matrix;
pub mod recorded_times;
pub mod require;
pub mod secret;
pub mod settings;
pub mod shard;
pub mod shell;
pub mod time_factor;
