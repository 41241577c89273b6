# The commands of this repository.  Everything they install goes to .venv; everything expensive that the tests
# build is kept in $XDG_CACHE_HOME/podium (or ~/.cache/podium).

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
BUILD_LOG := .cache/controlplane-build.log

.PHONY: help demo test soak mutants bench lint format lock clean

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
	@echo "make lock    pin the dependencies anew (needs uv)"

demo: $(INSTALLED)
	$(BIN)/podium demo

# The real control plane is built in the background while lint and pure tests run.  The tests that need it wait
# for it by a lock file, and say so loudly if it cannot be had.
test: $(INSTALLED)
	@mkdir -p .cache
	@$(BIN)/python -m tests.controlplane.build >$(BUILD_LOG) 2>&1 & builder=$$!; \
	trap 'kill $$builder 2>/dev/null' EXIT; \
	$(MAKE) --no-print-directory lint && $(BIN)/pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

soak: $(INSTALLED)
	PODIUM_SOAK=1 $(BIN)/pytest --timeout=3600

SEED ?= 1
COUNT ?= 200
mutants: $(INSTALLED)
	$(BIN)/python -m tests.mutants --seed $(SEED) --count $(COUNT)

bench: $(INSTALLED)
	$(BIN)/python -m tests.controlplane.build etcd kube-apiserver kube-scheduler vc-scheduler
	$(BIN)/python -m bench all

# pip takes nothing that is not in the lock, hash for hash.  podium itself comes last, without a download.
$(INSTALLED): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
		{ echo "there is no $(PYTHON); podium needs Python 3.11 or newer: try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "podium needs Python 3.11 or newer, and $(PYTHON) is older: try make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
lock:
	$(LOCK) pyproject.toml --group dev --group build -o requirements.lock
	$(LOCK) --group pyproject.toml:go -o requirements-go.lock

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
