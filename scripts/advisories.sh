#!/usr/bin/env bash
# Compares the dependencies with what is published about them: RustSec's advisories for Rust, npm's for
# Node. Both are asked over the network; a database that cannot be reached is a failure, never a pass.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup advisories || exit 1
status=0
step "advisories for Rust (RustSec)" advisories-rust cargo-deny --locked check advisories || status=1
step "advisories for Node (npm)" advisories-node npm audit --audit-level=high || status=1
exit $status
