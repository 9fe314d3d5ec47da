//! Each scenario in `nodes` is a test.

fn main() -> std::process::ExitCode {
    nodejoin::scenario_tests("nodes")
}
