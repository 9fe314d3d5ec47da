//! The program `nodejoin`; everything is in the library of this package.

fn main() -> std::process::ExitCode {
    nodejoin::run()
}
