//! The world that requests are answered by.

use nodejoin_core::input::files::Disk;
use nodejoin_core::scenario::default_account;
use nodejoin_fake_aws::World;
use tokio::sync::mpsc;

/// An account without anything special in it. Its events go nowhere.
pub fn world() -> World {
    let plan = default_account(&Disk::default());
    World::of(&plan, mpsc::unbounded_channel().0)
}
