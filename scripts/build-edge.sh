#!/bin/sh
# Builds the Worker into edge/build and the page into edge/web/dist. wrangler runs this script before
# `dev` and `deploy`; with EDGE_BUILT=1 the script keeps a build that exists. It finds its tools in
# .tools/bin, in node_modules or in PATH, and downloads nothing.
set -eu
cd "$(dirname "$0")/.."

if [ "${EDGE_BUILT:-}" = 1 ] && [ -f edge/build/index.js ] && [ -f edge/web/dist/gailou.js ]; then
    exit 0
fi

PATH="$PWD/.tools/bin:$PWD/node_modules/.bin:$PATH"
export PATH

# need PROGRAM HOW_TO_INSTALL: prints the path of a program; ends the script when it is missing.
need() {
    command -v "$1" || {
        echo "error: $1 is missing; install it: $2" >&2
        exit 1
    }
}
need worker-build "cargo install --debug --locked worker-build@0.8.7 --root .tools" >/dev/null
# worker-build downloads wasm-bindgen, esbuild and wasm-opt unless these variables name them.
WASM_BINDGEN_BIN=$(need wasm-bindgen "cargo install --debug --locked wasm-bindgen-cli@0.2.129 --bin wasm-bindgen --root .tools")
ESBUILD_BIN=$(need esbuild "npm ci")
WASM_OPT_BIN=$(need wasm-opt "npm ci")
export WASM_BINDGEN_BIN ESBUILD_BIN WASM_OPT_BIN

node edge/web/build.mjs
worker-build --profile edge edge

# The names of functions are a tenth of the upload, and only a debugger reads them.
wasm-opt --all-features --strip-debug --strip-producers edge/build/index_bg.wasm -o edge/build/index_bg.wasm
