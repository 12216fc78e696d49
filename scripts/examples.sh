#!/usr/bin/env bash
# Renders every recipe of examples/ with its generator, and shows it in Chromium with the comments of a private server. The
# generators are about 900 MB, so `make test` runs the small ones alone.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup examples || exit 1
build_web || exit 1
build_origin dev || exit 1
step "the recipes" examples env RECIPES=all E2E_GAILOU="$TARGET/debug/gailou" E2E_CHROMIUM="$(find_chromium)" \
  node --test --test-reporter=spec examples/recipes.test.mjs
