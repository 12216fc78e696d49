//! This machine's answers are the committed ones. What wasm answers is compared by
//! `scripts/golden-wasm.sh`.

#[path = "../examples/golden.rs"]
mod vectors;

#[test]
fn golden_vectors_have_not_changed() {
    let golden = include_str!("../golden/rank.tsv");
    let lines = vectors::lines();
    for (line, expected) in lines.iter().zip(golden.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(lines.len(), golden.lines().count());
}
