//! Runs the laws of fuzz targets on the committed seeds, and on each seed cut short, with a byte changed, or
//! with a part repeated. The edge's and the origin's tests include this file. An input that the fuzzer has
//! found becomes a seed.

use std::fs;
use std::path::{Path, PathBuf};

/// Seeds larger than this, in bytes, are not cut at every byte.
const MAX_FULLY_CUT_BYTES: usize = 4_096;
/// Bytes that are special to one of the parsers.
const SPECIAL_BYTES: [u8; 12] = [0, b'\n', b'"', b'%', b',', b'-', b'9', b'=', b'?', b'{', 0x7f, 0xff];

/// The folder of the fuzz targets of the crate that is tested.
fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = fuzz().join("seeds").join(name);
    let listed = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = listed.map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.clone(), fs::read(&path).expect("a seed"))).collect()
}

/// Variants of a seed, the same in every run; randomness is the fuzzer's work.
fn variants(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = seed.len() / MAX_FULLY_CUT_BYTES + 1;
    let cut = (0..seed.len()).step_by(step).map(|end| seed[..end].to_vec());
    let changed = (0..seed.len()).step_by(step * 3).map(|at| {
        let mut bytes = seed.to_vec();
        bytes[at] = SPECIAL_BYTES[at / 3 % SPECIAL_BYTES.len()];
        bytes
    });
    let twice = (0..seed.len()).step_by(step * 7).map(|at| [&seed[..at], &seed[at / 2..]].concat());
    cut.chain(changed).chain(twice)
}

/// Checks the laws of these names.
pub(crate) fn check_seeds(laws: &[&str], check: fn(&str, &[u8])) {
    for name in laws {
        for (path, seed) in seeds(name) {
            check(name, &seed);
            for variant in variants(&seed) {
                let held = std::panic::catch_unwind(|| check(name, &variant));
                assert!(held.is_ok(), "near {}: {:?}", path.display(), String::from_utf8_lossy(&variant));
            }
        }
    }
}

/// Checks that every law has a target and seeds, and every target a law.
pub(crate) fn check_targets(laws: &[&str]) {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
    for name in laws {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not a target");
        assert!(fuzz().join(format!("fuzz_targets/{name}.rs")).exists(), "{name} has no program");
        assert!(seeds(name).len() >= 3, "{name} has too few seeds");
    }
    assert_eq!(fs::read_dir(fuzz().join("fuzz_targets")).expect("targets").count(), laws.len());
}
