//! Makes cargo build the program again when the page that it holds has changed.

use std::env;
use std::path::Path;

fn main() {
    // A debug build reads the files when they are requested.
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rerun-if-changed=build.rs");
        return;
    }
    // Watching a folder that does not exist would build the crate again every time.
    let built = Path::new("../edge/web/dist");
    let watched = if built.is_dir() { built } else { Path::new("../edge/web") };
    println!("cargo::rerun-if-changed={}", watched.display());
}
