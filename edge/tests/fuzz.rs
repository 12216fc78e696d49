//! The fuzzer's laws on what is committed as their seeds, and on every such input cut short,
//! with a byte changed, or with a part of it twice. What the fuzzer has found becomes a seed.

#[path = "../fuzz/laws.rs"]
mod laws;

use std::fs;
use std::path::{Path, PathBuf};

use laws::LAWS;

/// Inputs larger than this are not cut at every byte.
const CUT_BYTES: usize = 4_096;
/// Bytes that mean something to one parser or another.
const BYTES: [u8; 12] = [0, b'\n', b'"', b'%', b',', b'-', b'9', b'=', b'?', b'{', 0x7f, 0xff];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = fuzz().join("seeds").join(name);
    let listed = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = listed.map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.clone(), fs::read(&path).expect("a seed"))).collect()
}

/// The same inputs every time: what is random is the fuzzer's.
fn variants(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = seed.len() / CUT_BYTES + 1;
    let cut = (0..seed.len()).step_by(step).map(|end| seed[..end].to_vec());
    let changed = (0..seed.len()).step_by(step * 3).map(|at| {
        let mut bytes = seed.to_vec();
        bytes[at] = BYTES[at / 3 % BYTES.len()];
        bytes
    });
    let twice = (0..seed.len()).step_by(step * 7).map(|at| [&seed[..at], &seed[at / 2..]].concat());
    cut.chain(changed).chain(twice)
}

#[test]
fn the_laws_hold_for_the_seeds_and_what_is_near_them() {
    for (name, _) in LAWS {
        for (path, seed) in seeds(name) {
            laws::check(name, &seed);
            for variant in variants(&seed) {
                let held = std::panic::catch_unwind(|| laws::check(name, &variant));
                assert!(held.is_ok(), "near {}: {:?}", path.display(), String::from_utf8_lossy(&variant));
            }
        }
    }
}

#[test]
fn every_law_has_a_target_and_seeds() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    for (name, _) in LAWS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is no target");
        assert!(fuzz().join(format!("fuzz_targets/{name}.rs")).exists(), "{name} has no program");
        assert!(seeds(name).len() >= 3, "{name} has too few seeds");
    }
    assert_eq!(fs::read_dir(fuzz().join("fuzz_targets")).expect("targets").count(), LAWS.len());
}
