# The words a person types. What they do is in scripts/.

.DEFAULT_GOAL := help
.PHONY: help run build test check bench fuzz services chaos clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start everything on this machine; PORT=8787 and ORIGIN_PORT=8080 change where
	@scripts/run.sh

build: ## target/release/gailou, the Worker in edge/build and the page in edge/web/dist
	@scripts/build.sh

test: ## every gate and every test
	@scripts/test.sh

check: ## the fast ones: format, lints, unit tests
	@scripts/test.sh check

bench: ## measure the parts that have a benchmark
	@scripts/bench.sh

fuzz: ## fuzz what the edge parses; SECONDS=60 for each target
	@scripts/fuzz.sh $(or $(SECONDS),60)

services: ## MariaDB, Redis and Kafka for a cluster on this machine, until Ctrl-C
	@scripts/services.sh

chaos: ## kill, freeze and cut off every part of a cluster under load; ROUNDS=3 SECONDS=60
	@CHAOS_ROUNDS=$(ROUNDS) CHAOS_SECONDS=$(SECONDS) scripts/chaos.sh

clean: ## delete what was built; comments (data/) and installed tools stay
	rm -rf target edge/build edge/web/dist edge/fuzz/target .wrangler .tools/log
