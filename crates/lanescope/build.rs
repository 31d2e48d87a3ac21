//! Platforms and studies are embedded; tell cargo to look when they change.
fn main() {
    println!("cargo:rerun-if-changed=platforms");
    println!("cargo:rerun-if-changed=studies");
}
