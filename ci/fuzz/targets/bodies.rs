//! Any body in CBOR or JSON, or of a form, compressed or not, gets a response with an HTTP status, and nothing panics.
//!
//! The first byte of an input selects the service and its protocol, the second the encoding. The target compresses
//! bodies itself, because no fuzzer would find the checksum; an invalid one is an encoding of its own.
#![no_main]

mod world;

use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Request;
use libfuzzer_sys::fuzz_target;
use nodejoin_fake_aws::{World, fuzzing};

const METRICS: &str = "https://monitoring.eu-west-1.amazonaws.com";
const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/PutMetricData";

static WORLD: LazyLock<World> = LazyLock::new(world::world);

fuzz_target!(init: nodejoin_fake_aws::identity::make_keys(), |input: &[u8]| {
    let [protocol, encoding, body @ ..] = input else { return };
    let request = match protocol % 5 {
        0 => Request::post(format!("{METRICS}{CBOR_PATH}")).header("smithy-protocol", "rpc-v2-cbor"),
        1 => Request::post(METRICS).header("x-amz-target", "GraniteServiceVersion20100801.PutMetricData"),
        2 => Request::post(format!("{METRICS}/?Action=PutMetricData")),
        3 => Request::post("https://logs.eu-west-1.amazonaws.com")
            .header("x-amz-target", "Logs_20140328.PutLogEvents"),
        _ => Request::post("https://eks-auth.eu-west-1.amazonaws.com/clusters/demo/assume-role-for-pod-identity"),
    };
    let (request, body) = match encoding % 3 {
        0 => (request, body.to_vec()),
        1 => (request.header("content-encoding", "gzip"), compressed(body)),
        _ => (request.header("content-encoding", "gzip"), body.to_vec()),
    };
    let request = request.body(Bytes::from(body)).unwrap();
    let status = fuzzing::status(WORLD.clone(), request);
    assert!((200..=599).contains(&status), "{status}");
});

fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}
