# `make run` and `make test` need nothing but Python 3.11 to 3.13 and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test test-long lint bench lock clean help

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

run: .venv/run   ## set up and run the bot: in Slack where there are tokens, otherwise in a local workspace
	$(BIN)/runbook-bot run

test: .venv/dev lint ## set up, lint, type-check, and run the quick suite
	$(BIN)/pytest -n 2

test-long: .venv/dev ## what takes minutes: the 606 pages, crashes, thousands of random scenarios
	$(BIN)/pytest -n 2 -m long --timeout 3000

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev ## timings, memory and sizes
	for part in redaction access search index; do $(BIN)/python -m tests.bench.$$part || exit 1; done

lock: .venv/dev  ## take the newest versions that pyproject.toml allows
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header -q --upgrade -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra dev -c requirements.lock --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header -q --upgrade -o tests/requirements.lock

clean:           ## remove what was set up (not data/)
	rm -rf .venv build dist *.egg-info

.venv/run: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	  || { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12 …"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

.venv/dev: .venv/run tests/requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r tests/requirements.lock
	@touch $@
