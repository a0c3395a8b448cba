# Outrider: `make` alone prints the targets.
# Needs Go, Python >= 3.10 and make (and a C compiler for Go's race detector). Everything else is pinned (go.sum,
# tools/*/go.sum, python/*.lock) and set up once inside the work tree: .venv (Python), .build (stamps, tools, the wheel),
# build/run (what `make run` leaves).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
TOOLS := .build/bin

# -buildvcs: the wheel's version comes from pyproject.toml, and a tree without .git builds too.
export GOFLAGS := -mod=readonly -buildvcs=false
# Ray reports usage to its makers unless told not to; tests and examples of ours never do.
export RAY_USAGE_STATS_ENABLED := 0
export GOLANGCI_LINT_CACHE := $(abspath .build/golangci)
PYTEST = $(PY) -m pytest -q -p no:cacheprovider -c python/pyproject.toml

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- what people use ---------------------------------------------------------------------------------------------

.PHONY: run
run: wheel ## the main job; FAULTS=1 kills actors on the way, OWNERSHIP=none shows the off switch, SEED=N
	@OUT=$(abspath build/run) FAULTS="$(FAULTS)" OWNERSHIP="$(OWNERSHIP)" SEED="$(SEED)" $(PY) examples/ray/spelling/job.py

.PHONY: composition
composition: wheel ## the parts of a job that must work together, each shown with its evidence, as a Ray job within a Ray job
	@OUT=$(abspath build/composition) $(PY) examples/ray/spelling/composition.py

.PHONY: bench
bench: wheel ## one table of costs, each beside its rival; BENCH=--quick for a short look
	@cd python && ../$(PY) -m bench $(BENCH)

.PHONY: test
test: test-go test-race test-python test-ray check ## every test and check

# ---- environment -------------------------------------------------------------------------------------------------

.PHONY: venv
venv: .build/venv.stamp ## the Python environment, from the hash-pinned lock files
	@:

# The stamp is younger than the lock files exactly when the environment holds what they say.
.build/venv.stamp: python/requirements-build.lock python/requirements.lock tools/venv.sh
	@mkdir -p .build
	@tools/venv.sh "$(PYTHON)" "$(VENV)" python/requirements-build.lock python/requirements.lock
	@rm -f .build/wheel.stamp
	@touch $@

GO_SOURCES := $(shell find arrowio bridge cmd leases scheduler sidecar -name '*.go' ! -name '*_test.go' 2>/dev/null)
PY_SOURCES := $(shell find python/outrider -type f ! -path '*/__pycache__/*' ! -path '*/_bin/*' 2>/dev/null)

.PHONY: wheel
wheel: .build/wheel.stamp ## the package with its sidecar, built and installed into the environment
	@:

.build/wheel.stamp: .build/venv.stamp go.mod go.sum LICENSE python/pyproject.toml python/hatch_build.py $(GO_SOURCES) $(PY_SOURCES)
	@tools/wheel.sh $(PY) .build/dist
	@touch $@

# ---- tests -------------------------------------------------------------------------------------------------------
# OUTRIDER_VERIFY=all checks every invariant of the core after every event.

.PHONY: test-go test-race test-python test-ray
test-go test-race test-python test-ray: export OUTRIDER_VERIFY := all

test-go: ## go vet and go test
	@go vet ./...
	@go test ./...

test-race: ## go test -race
	@if [ "$$(go env CGO_ENABLED)" = 1 ]; then go test -race ./...; \
	else echo "outrider: Go finds no C compiler, so nothing runs under the race detector; install gcc" >&2; exit 1; fi

test-python: wheel .build/race/outrider ## mypy, ruff and the package's tests, against a sidecar built with -race
	@cd python && ../$(PY) -m mypy
	@$(PY) -m ruff check --quiet python examples tools && $(PY) -m ruff format --quiet --check python examples tools
	@cd python && OUTRIDER_BINARY=$(abspath .build/race/outrider) GORACE="halt_on_error=1" ../$(PY) -m pytest -q -p no:cacheprovider tests --ignore tests/ray

test-ray: wheel ## the package and the examples on a real Ray, with the wheel's own sidecar
	@$(PYTEST) python/tests/ray examples

.build/race/outrider: go.mod go.sum $(GO_SOURCES)
	@go build -race -o $@ ./cmd/outrider

.PHONY: simulate
simulate: ## whole runs with random losses, drawn from seeds; SEEDS=N SEED=FIRST EVENTS=N
	@go run ./cmd/outrider simulate --seeds $(or $(SEEDS),10000) --seed $(or $(SEED),1) --events $(or $(EVENTS),1000)

.PHONY: broken
broken: ## takes one guard away at a time and shows which test or seed goes red, half an hour; ONLY=word
	@go run ./tools/broken -only "$(ONLY)"

# ---- checks ------------------------------------------------------------------------------------------------------

.PHONY: check check-modules check-generated check-layers check-scenarios check-wheel check-lint
check: check-modules check-generated check-layers check-scenarios check-wheel check-lint ## modules, generated code, import directions, scenario table, wheel, linters

check-modules:
	@go mod tidy -diff || { echo "outrider: run go mod tidy and commit what it changes" >&2; exit 1; }
	@go mod verify >/dev/null

check-generated: venv
	@tools/generate/check.sh $(PY)

check-layers:
	@go run ./tools/layers

check-scenarios:
	@go run ./tools/scenarios

check-wheel: wheel
	@$(PY) tools/wheel_check.py .build/dist

check-lint: $(TOOLS)/golangci-lint
	@$(TOOLS)/golangci-lint run ./...

$(TOOLS)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@cd tools/lint && go build -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# ---- for maintainers ---------------------------------------------------------------------------------------------

.PHONY: generate format scenarios lock clean
generate: venv ## the wire's Go and Python code, from bridge/proto/outrider.proto
	@tools/generate/generate.sh $(PY) .

format: venv $(TOOLS)/golangci-lint ## gofumpt and ruff format
	@$(TOOLS)/golangci-lint fmt
	@$(PY) -m ruff format --quiet python examples tools
	@$(PY) -m ruff check --quiet --fix python examples tools

scenarios: ## docs/scenarios.md, from the tests' names
	@go run ./tools/scenarios -write

# Keeps what is pinned unless a .in file asks for something else; UPGRADE="--upgrade" renews everything.
lock: venv ## python/*.lock, from python/*.in
	@tools/lock.sh $(PY) $(UPGRADE)

clean: ## remove everything that make has made
	@rm -rf $(VENV) .build build
