# The one truth for all verbs. Everything runs in .venv under constraints.txt.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help install model demo test test-editors lint types format bench bench-peers clean

help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "setting up $(VENV): a few minutes the first time (torch is the large part)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@# torch first and alone: a range that admits a newer release can pull gigabytes of GPU libraries.
	@$(PIP) "$$(grep -E '^torch==' constraints.txt)"
	@$(PIP) --editable '.[engine]' --group dev
	@touch $@

install: $(VENV)/.installed  ## make .venv with everything in it

model: install  ## fetch the embedded model into the user's cache
	@$(BIN)/goose-lsp models pull smollm2-135m

demo: model  ## complete a real file through the real path, and show it
	@$(BIN)/goose-lsp demo

test: model  ## everything a fresh clone can test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-editors: model  ## the plugins in real editors, which are fetched for it
	@for setup in editors/*/setup-tests; do echo "$$setup"; "$$setup" "$(abspath $(BIN))/python" || exit 1; done
	$(BIN)/python -m pytest tests/editors $(PYTEST_ARGS)

lint: install  ## formatting, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: install  ## types alone
	$(BIN)/mypy

format: install  ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-peers: install  ## install what the benchmarks compare with
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp

bench: model  ## T(n), plain and spine-tree speed (about four minutes)
	$(BIN)/python -m benchmarks.engine --quick --json

clean:  ## remove .venv and caches; the pulled model stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
