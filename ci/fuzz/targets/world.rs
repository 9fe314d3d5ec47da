//! The account that answers requests.

use nodejoin_core::input::files::Disk;
use nodejoin_core::scenario::default_account;
use nodejoin_fake_aws::World;
use tokio::sync::mpsc;

/// An account with defaults only. Its events are dropped.
pub fn world() -> World {
    let plan = default_account(&Disk::default());
    World::of(&plan, mpsc::unbounded_channel().0)
}
