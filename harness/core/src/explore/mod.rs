//! Explores how user data behaves in other worlds than that of its scenario: what makes a machine suspicious, and which
//! worlds to run.
//!
//! | file | content |
//! | --- | --- |
//! | `suspicions.rs` | values on a machine that are wrong in every world |
//! | `lasting.rs` | what a machine should keep, as an expectation |
//! | `covering.rs` | combinations of changes in which every pair occurs |
//! | `report.rs` | the result of `nodejoin explore`, as data |

mod covering;
mod lasting;
mod report;
mod suspicions;

pub use covering::covering;
pub use lasting::lasting;
pub use report::{Exploration, ExploreFinding, ExploredWorld, FindingKind, Reproduction};
pub use suspicions::{Suspicion, suspicions};
