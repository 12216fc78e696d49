#!/usr/bin/env bash
# Builds what is deployed: target/release/gailou and the Worker in edge/build.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup run && build_origin release && build_edge
