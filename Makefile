# The commands of a developer. Each one calls a script in scripts/.

.DEFAULT_GOAL := help
.PHONY: help run build test check advisories examples bench bench-peers bench-scale fuzz simulate services chaos clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start everything on this machine; PORT=8787 and ORIGIN_PORT=8080 change where
	@scripts/run.sh

build: ## build target/release/gailou, the Worker in edge/build and the page in edge/web/dist
	@scripts/build.sh

test: ## run every check and every test
	@scripts/test.sh

check: ## run the fast ones: format, lints, unit tests
	@scripts/test.sh check

advisories: ## ask RustSec and npm what is known about the dependencies
	@scripts/advisories.sh

examples: ## render the recipe of every site generator and show it with comments; installs 900 MB
	@scripts/examples.sh

bench: ## run the benchmarks and print a table of their figures; UPDATE=1 writes it into docs/benchmarks.md
	@scripts/bench.sh

bench-peers: ## measure Isso and Waline beside the program; SECONDS=4 for each load, UPDATE=1 as above
	@SECONDS_PER_LOAD=$(SECONDS) scripts/bench.sh peers

bench-scale: ## measure one process with COMMENTS=10000000, which take 10 GB; UPDATE=1 as above
	@COMMENTS=$(COMMENTS) scripts/bench.sh scale

fuzz: ## fuzz what strangers send; SECONDS=60 for each target
	@scripts/fuzz.sh $(or $(SECONDS),60)

simulate: ## run a simulated cluster, seed by seed; SECONDS=60, or SEEDS=1000000, or SEED=7 to repeat one
	@SIMULATE_SECONDS=$(SECONDS) SIMULATE_SEEDS=$(SEEDS) SIMULATE_FROM=$(FROM) SIMULATE_SEED=$(SEED) scripts/simulate.sh

services: ## start MariaDB, MySQL, Redis, Kafka and OpenSearch for a cluster on this machine, until Ctrl-C
	@scripts/services.sh

chaos: ## kill, freeze, disconnect and set back every part of a cluster under load; ROUNDS=1 SECONDS=60
	@CHAOS_ROUNDS=$(ROUNDS) CHAOS_SECONDS=$(SECONDS) scripts/chaos.sh

clean: ## delete build results and logs; comments (data/) and installed tools stay
	rm -rf target edge/build edge/web/dist edge/fuzz/target .wrangler .tools/log
