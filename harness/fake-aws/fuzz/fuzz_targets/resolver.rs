//! Datagrams to the resolver.
#![no_main]

mod world;

use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::dns;

fuzz_target!(|bytes: &[u8]| {
    let _ = dns::answer(&world::world(), bytes);
    let _ = dns::refuse(bytes);
});
