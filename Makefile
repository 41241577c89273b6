# The commands of this repository.  Everything they install goes to .venv; everything expensive that the tests
# build is kept in $XDG_CACHE_HOME/podium (or ~/.cache/podium).

PYTHON ?= python3
BIN := .venv/bin
RUNNABLE := .venv/.runnable
INSTALLED := .venv/.installed
PIP = $$(test -x $(BIN)/pip && echo $(BIN)/pip || echo $(PYTHON) -m pip --python $(BIN)/python) install \
	--quiet --disable-pip-version-check --no-warn-script-location
BUILD_LOG := .cache/controlplane-build.log
SERVED_LOG := .cache/served-tests.log

.PHONY: help demo test both-halves soak mutants bench lint format lock clean images push chart

help:
	@echo "make demo    a cluster of simulated nodes, and something running on it, in this terminal"
	@echo
	@echo "for developers:"
	@echo "make test    lint, types, and every test; the compatibility suite on both servers"
	@echo "make lint    ruff, mypy and the import rules alone"
	@echo "make format  let ruff rewrite the files"
	@echo "make soak    the tests of faults and random histories, many more times"
	@echo "make mutants do the tests notice small mistakes in the code? (about half an hour)"
	@echo "make bench   is it fast enough, and faster than its peers? (about half an hour)"
	@echo "make images  the image, as REPOSITORY:TAG; make push sends it there"
	@echo "make chart   write what of the chart is made from the code"
	@echo "make lock    pin the dependencies anew (needs uv)"

demo: $(RUNNABLE)
	@$(BIN)/podium demo

# The real control plane is built in the background while lint and pure tests run.  The tests that need it wait
# for it by a lock file, and say so loudly if it cannot be had.
test: $(INSTALLED)
	@mkdir -p .cache
	@$(BIN)/python -m tests.controlplane.build >$(BUILD_LOG) 2>&1 & builder=$$!; \
	trap 'kill $$builder 2>/dev/null' EXIT; \
	$(MAKE) --no-print-directory lint && $(MAKE) --no-print-directory both-halves

# Two halves at once: one computes, the other waits for servers most of its time.  What the second one says is shown
# when the first one has ended.
SERVED := tests/cli tests/compat tests/embedded tests/runtime tests/stories
both-halves:
	@$(BIN)/pytest $(SERVED) >$(SERVED_LOG) 2>&1 & served=$$!; \
	$(BIN)/pytest tests $(SERVED:%=--ignore=%); computed=$$?; \
	wait $$served; served=$$?; cat $(SERVED_LOG); exit $$(( computed || served ))

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

soak: $(INSTALLED)
	@mkdir -p .cache
	PODIUM_SOAK=1 PYTEST_ADDOPTS=--timeout=3600 $(MAKE) --no-print-directory both-halves

SEED ?= 1
COUNT ?= 200
mutants: $(INSTALLED)
	$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT)

bench: $(INSTALLED)
	$(BIN)/python -m tests.controlplane.build etcd kube-apiserver kube-scheduler vc-scheduler
	$(BIN)/python -m bench all

# --- the image ----------------------------------------------------------------------------------------------------

REPOSITORY ?= podium
TAG ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
BASE ?= python:3.12-slim
# The first of these that works here.
ENGINE ?= $(shell for each in podman buildah docker; do $$each info >/dev/null 2>&1 && echo $$each && break; done)

images:
	@test -n "$(ENGINE)" || { echo "there is no podman, buildah or docker that works here: see docs/kubernetes.md" >&2; exit 1; }
	$(ENGINE) build --build-arg BASE=$(BASE) --tag $(REPOSITORY):$(TAG) .
	@test $(ENGINE) = buildah || { \
		$(ENGINE) image inspect --format '{{.Size}}' $(REPOSITORY):$(TAG) | awk '{printf "size: %d MB\n", $$1 / 1e6}'; \
		start=$$(date +%s%N); $(ENGINE) run --rm --read-only --network none $(REPOSITORY):$(TAG) version && \
		echo "started and ended in $$(( ($$(date +%s%N) - start) / 1000000 )) ms"; }

push:
	@test -n "$(ENGINE)" || { echo "there is no podman, buildah or docker that works here" >&2; exit 1; }
	$(ENGINE) push $(REPOSITORY):$(TAG)

chart: $(INSTALLED)
	$(BIN)/python -m tests.chart

# pip takes nothing that is not in the lock, hash for hash.  podium itself comes last, without a download.  The pip
# of PYTHON installs, if it is new enough to do so elsewhere: a copy of it in .venv would be 27 MB.
$(RUNNABLE): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
		{ echo "there is no $(PYTHON); podium needs Python 3.11 or newer: try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "podium needs Python 3.11 or newer, and $(PYTHON) is older: try make PYTHON=python3.12" >&2; exit 1; }
	@echo "installing podium into .venv: less than a minute where packages download at once"
	@if $(PYTHON) -m pip --python "$$(command -v $(PYTHON))" --version >/dev/null 2>&1; \
		then $(PYTHON) -m venv --without-pip .venv; else $(PYTHON) -m venv .venv; fi
	@start=$$(date +%s); \
	$(PIP) --no-compile --require-hashes -r requirements.lock && \
	$(PIP) --no-compile --no-deps --no-build-isolation -e . && \
	echo "installed in $$(( $$(date +%s) - start )) s, $$(du -sm .venv | cut -f1) MB"
	@touch $@

$(INSTALLED): $(RUNNABLE) requirements-dev.lock
	@echo "installing the tools of developers into .venv: a minute"
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
lock:
	$(LOCK) pyproject.toml --group build -o requirements.lock
	$(LOCK) pyproject.toml --all-extras --group dev --group build -c requirements.lock -o requirements-dev.lock
	$(LOCK) --group pyproject.toml:go -o requirements-go.lock

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
