//! Makes cargo compile the crate again when a file is added to a recipe or taken out of one.

fn main() {
    println!("cargo::rerun-if-changed=../../fixtures/images");
    println!("cargo::rerun-if-changed=build.rs");
}
