#!/bin/sh
# Builds the Worker into edge/build and the page into edge/web/dist. wrangler runs it before dev and deploy; EDGE_BUILT=1 says
# that the build is there already. Tools come from .tools/bin and node_modules, else from PATH;
# nothing is downloaded here.
set -eu
cd "$(dirname "$0")/.."

if [ "${EDGE_BUILT:-}" = 1 ] && [ -f edge/build/index.js ] && [ -f edge/web/dist/gailou.js ]; then
    exit 0
fi

PATH="$PWD/.tools/bin:$PWD/node_modules/.bin:$PATH"
export PATH

# worker-build fetches these three itself unless these variables name them.
need() {
    command -v "$1" || {
        echo "build-edge: $1 is missing: $2" >&2
        exit 1
    }
}
need worker-build "cargo install --debug --locked worker-build@0.8.7 --root .tools" >/dev/null
WASM_BINDGEN_BIN=$(need wasm-bindgen "cargo install --debug --locked wasm-bindgen-cli@0.2.129 --bin wasm-bindgen --root .tools")
ESBUILD_BIN=$(need esbuild "npm ci")
WASM_OPT_BIN=$(need wasm-opt "npm ci")
export WASM_BINDGEN_BIN ESBUILD_BIN WASM_OPT_BIN

node edge/web/build.mjs
worker-build --profile edge edge

# The names of functions are a tenth of what is uploaded, and only a debugger would read them.
wasm-opt --all-features --strip-debug --strip-producers edge/build/index_bg.wasm -o edge/build/index_bg.wasm
