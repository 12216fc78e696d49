#!/usr/bin/env bash
# Checks the golden vectors of the shared crate as WebAssembly: edge and origin must compute the same
# ids, ranks and cursors. `cargo test` compares the same file with the results of native code.
#
# To generate the file again: cargo run -q -p gailou-shared --example golden > shared/golden/rank.tsv

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

target=wasm32-wasip1
golden=shared/golden/rank.tsv
built=$TARGET/$target/release
program=$built/golden.wasm
got=$(mktemp)
# shellcheck disable=SC2317 # lib.sh calls it
at_exit() { rm -f "$got"; }

[ -s $golden ] || die "$golden is missing"
# The build is optimised, as the Worker is. It calls rustc for the example, because cargo also builds
# the dependencies of the tests, and some of them do not compile to wasm.
cargo build --locked --release --package gailou-shared --lib --target $target &&
  rustc --edition 2024 -C opt-level=3 --target $target \
    -L "dependency=$built/deps" -L "dependency=$TARGET/release/deps" \
    --extern "gailou_shared=$built/libgailou_shared.rlib" -o "$program" shared/examples/golden.rs || exit 1
node --no-warnings scripts/wasi-run.mjs "$program" >"$got" || exit 1
diff -u $golden "$got" || die "wasm and $golden differ"
say "$(wc -l <"$got") lines agree"
