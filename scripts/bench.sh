#!/usr/bin/env bash
# Runs the benchmarks one after the other, and prints a table of their figures beside those of docs/benchmarks.md. What they
# print beside figures is in .tools/log.
#
#   scripts/bench.sh [all|peers|scale]
#
# UPDATE=1 writes the table into the document. SECONDS_PER_LOAD is for the peers, COMMENTS for the scale.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# One build of everything: the program that a cluster runs is the one that is measured alone.
FEATURES=(--locked --workspace --features gailou-tests/cluster)
logs=()

# run_benchmark NAME COMMAND...: runs a benchmark as a step.
run_benchmark() {
  step "$1" "bench-$1" "${@:2}" || exit 1
  logs+=("$LOGS/bench-$1.log")
}

# print_table NAME: prints the table of the figures, and writes it into the document when that was asked for.
print_table() { node scripts/bench-table.mjs ${UPDATE:+--update} "$1" "${logs[@]}"; }

case ${1:-all} in
  all)
    setup bench && build_web && build_edge || exit 1
    run_benchmark filter cargo bench "${FEATURES[@]}" --bench word_filter
    run_benchmark origin cargo bench "${FEATURES[@]}" --bench figures
    run_benchmark search cargo test --locked --release --package gailou --lib search_of_a_million -- --ignored --nocapture
    run_benchmark edge node tests/edge/bench/run.mjs
    run_benchmark cluster cargo bench "${FEATURES[@]}" --bench cluster
    print_table figures
    ;;
  peers)
    setup peers && build_web || exit 1
    step "build the origin" bench-origin-build cargo build "${FEATURES[@]}" --release --bin gailou || exit 1
    run_benchmark peers node tests/peers/run.mjs "$TARGET/release/gailou" "${SECONDS_PER_LOAD:-4}"
    print_table peers
    ;;
  scale)
    setup bench && build_web || exit 1
    step "build the origin" bench-origin-build cargo build "${FEATURES[@]}" --release --bin gailou || exit 1
    run_benchmark scale node tests/scale/run.mjs "$TARGET/release/gailou" "${COMMENTS:-10000000}"
    print_table scale
    ;;
  *) die "usage: scripts/bench.sh [all|peers|scale]" ;;
esac
