# `make` lists the targets. Nothing here needs more than make and a Python 3.11 to 3.14.

.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# Any Python can run the bootstrap, which looks for a supported one. The subshell passes by names that a version
# manager offers but cannot run.
PYTHON := $(shell for name in "$(EVALSVC_PYTHON)" python3 python3.14 python3.13 python3.12 python3.11 python; do \
	[ -n "$$name" ] && "$$name" -c '' >/dev/null 2>&1 && echo "$$name" && break; done)
ifeq ($(PYTHON),)
BOOTSTRAP = @echo "No Python found. Install Python 3.11 to 3.14 and start again." >&2; exit 1;
else
# exec: a signal that ends make must reach the service, not a shell between them.
BOOTSTRAP = @exec "$(PYTHON)" scripts/bootstrap.py
endif
export EVALSVC_PYTHON

# make up HTTPS=1
WITH_HTTPS := $(if $(filter 1 true yes on,$(HTTPS)),--https)

UV_COMPILE = -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.PHONY: help up demo-experiment test test-full rows screenshots deploy-test check measure audit bench simulate simulate-runs simulate-surfaces bench-evaluators release dist lock digests clean

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

up: ## install, start everything, print address, key and a first evaluation (HTTPS=1, ARGS="--port 9000 --no-demo")
	$(BOOTSTRAP) $(WITH_HTTPS) -- manage.py up $(WITH_HTTPS) $(ARGS)

demo-experiment: ## let 16 configs race on 400 examples against a stub LLM; needs no key (ARGS="--policy race_safe --configs 8")
	$(BOOTSTRAP) -- -m benchmarks.demo_experiment $(ARGS)

test: ## run the tests, with their own PostgreSQL and Valkey, but for the long ones (ARGS="tests/ops -k roles")
	$(BOOTSTRAP) --dev -- -m pytest -q -p no:cacheprovider $(ARGS)

test-full: ## run the long tests, and property tests with many examples; half an hour; a release needs it (ARGS="-k kill")
	$(BOOTSTRAP) --dev -- -m scripts.full_test $(ARGS)

rows: export EVALSVC_ROWS := 1
rows: ## hold the service to every row of the three feature lists, and print the table; a minute (ARGS="-k T-03")
	$(BOOTSTRAP) --dev -- -m pytest -q -p no:cacheprovider --tb=line tests/rows $(ARGS)

screenshots: ## open every page of the console with the demo's data and draw the main ones for the documents (ARGS="--only home")
	$(BOOTSTRAP) --dev -- -m scripts.screenshots $(ARGS)

deploy-test: ## deploy for real, in containers and booted machines; root on Debian, an hour (PART=compose)
	$(BOOTSTRAP) --dev -- -m scripts.deploy_test $(PART) $(ARGS)

check: ## run every gate but the tests
	$(BOOTSTRAP) --dev
	@sh scripts/check.sh

measure: ## count what keeps the code easy to find one's way in; asserts nothing (ARGS="--against main --json")
	$(BOOTSTRAP) --dev -- -m scripts.measure $(ARGS)

audit: ## look up known vulnerabilities of everything in the locks; says when it could not
	$(BOOTSTRAP) --dev -- -m scripts.audit

bench: ## measure against the parent commit, a quarter of an hour; asserts nothing (ARGS="--only evaluate --against v0.4.0")
	$(BOOTSTRAP) --dev -- -m benchmarks $(ARGS)

simulate: ## measure what the intervals promise and write the tables of docs/statistics.md; some minutes (ARGS="--only pairs")
	$(BOOTSTRAP) --dev -- -m benchmarks.simulate $(ARGS)

simulate-runs: ## play 200 push runs and 2000 clones: is a finished run complete, does the best one lead; takes a quarter of an hour
	$(BOOTSTRAP) --dev -- -m benchmarks.simulate --runs

simulate-surfaces: ## play 10 000 random experiments: no two surfaces disagree about a verdict, a leader or an interval; an hour
	$(BOOTSTRAP) --dev -- -m benchmarks.simulate --surfaces

bench-evaluators: ## measure the embedded evaluators (EVALSVC_DATA_DIR=... for accuracy; ARGS="...")
	$(BOOTSTRAP) --dev -- -m benchmarks.evaluators $(ARGS)

release: ## write version and change log, commit and tag (VERSION=1.2.3, ARGS="--dry-run"); pushes nothing
	$(BOOTSTRAP) --dev -- -m scripts.release $(VERSION) $(ARGS)

dist: ## build the source distribution and the wheel into dist/, and check them; uploads nothing
	$(BOOTSTRAP) --dev -- -m scripts.dist $(ARGS)

lock: ## resolve pyproject.toml anew into requirements/
	$(BOOTSTRAP) --dev
	@.venv/bin/python $(UV_COMPILE) --extra server --extra cpu --extra grpc pyproject.toml -o requirements/runtime.txt
	@.venv/bin/python $(UV_COMPILE) --no-deps requirements/models.in -o requirements/models.txt
	@.venv/bin/python $(UV_COMPILE) --no-deps requirements/https.in -o requirements/https.txt
	@.venv/bin/python $(UV_COMPILE) --extra server --extra cpu --extra grpc --extra https --extra cli --group dev -c requirements/runtime.txt pyproject.toml -o requirements/dev.txt

digests: ## pin the images that deploy/ names to what their tags mean now; asks their registries
	$(BOOTSTRAP) --dev -- -m scripts.digests $(ARGS)

clean: ## remove the environment and caches; keeps the data (EVALSVC_HOME)
	@rm -rf .venv build dist staticfiles .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
