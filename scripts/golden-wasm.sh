#!/usr/bin/env bash
# Runs the golden vectors of the shared crate as WebAssembly: edge and origin must rank, name and
# sign to the same bit. `cargo test` compares the same file with what this machine's own code gives.
#
# To write the file anew: cargo run -q -p gailou-shared --example golden > shared/golden/rank.tsv

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

target=wasm32-wasip1
golden=shared/golden/rank.tsv
built=$TARGET/$target/release
program=$built/golden.wasm
got=$(mktemp)
# shellcheck disable=SC2317 # lib.sh calls it
at_exit() { rm -f "$got"; }

[ -s $golden ] || die "$golden is not there"
# Optimised, as the Worker is; by rustc, because cargo would build what only the tests depend on,
# and some of that has no wasm.
cargo build --locked --release --package gailou-shared --lib --target $target &&
  rustc --edition 2024 -C opt-level=3 --target $target \
    -L "dependency=$built/deps" -L "dependency=$TARGET/release/deps" \
    --extern "gailou_shared=$built/libgailou_shared.rlib" -o "$program" shared/examples/golden.rs || exit 1
node --no-warnings scripts/wasi-run.mjs "$program" >"$got" || exit 1
diff -u $golden "$got" || die "wasm and $golden differ"
say "$(wc -l <"$got") lines agree"
