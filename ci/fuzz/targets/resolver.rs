//! The resolver answers or ignores any datagram, and never panics.
#![no_main]

mod world;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::{World, fuzzing};

static WORLD: LazyLock<World> = LazyLock::new(world::world);

fuzz_target!(|query: &[u8]| {
    fuzzing::resolve(&WORLD, query);
});
