# Outrider: `make` alone prints the targets.
# Needs Go, Python >= 3.10 and make. Everything else is pinned (go.sum, tools/*/go.sum, python/*.lock) and set up
# once inside the work tree: .venv (Python), .build (stamps, logs, the sidecar), build/run (what `make run` leaves).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- environment -----------------------------------------------------------------------------------------------

.PHONY: venv
venv: .build/venv.stamp ## the Python environment, from the hash-pinned lock files
	@:

# The stamp is younger than the lock files exactly when the environment holds what they say.
.build/venv.stamp: python/requirements-build.lock python/requirements.lock tools/venv.sh
	@mkdir -p .build
	@tools/venv.sh "$(PYTHON)" "$(VENV)" python/requirements-build.lock python/requirements.lock
	@touch $@
