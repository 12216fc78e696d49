//! The laws of the fuzz targets hold for the committed seeds and their variants, on stable.

#[path = "../../tests/fuzz_seeds.rs"]
mod fuzz_seeds;
#[path = "../fuzz/laws.rs"]
mod laws;

use laws::LAWS;

fn names() -> Vec<&'static str> {
    LAWS.iter().map(|(name, _)| *name).collect()
}

#[test]
fn laws_hold_for_seeds_and_their_variants() {
    fuzz_seeds::check_seeds(&names(), laws::check);
}

#[test]
fn every_law_has_a_target_and_seeds() {
    fuzz_seeds::check_targets(&names());
}
