#!/usr/bin/env bash
# Builds what a deployment needs: target/release/gailou, which contains the page and the drivers of a
# cluster with their TLS, and the Worker in edge/build.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup build && build_web && build_origin release --features kafka-tls-vendored && build_edge
