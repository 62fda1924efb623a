# On a fresh machine with Python 3.11 and make: `make demo`, `make test`, `make docs`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

TOOLS := .venv-dist
TRY := .venv-try
NEW := .venv-new
LOWEST := .venv-lowest
EVERYTHING := --editable ".[dev,images,boost,dask,review,docs,spark]" --editable bench
RELEASE := build twine check-wheel-contents check-jsonschema zizmor

# What the tests need; every test that asks for another package skips.
TESTED := --editable ".[dev,images,boost,dask,review]" --editable bench

.PHONY: demo check test test-lowest fuzz coverage lint docs bench dist try-dist constraints clean

demo: $(VENV)/.plain
	$(BIN)/topbin demo --output demo

# One thread per worker: two workers with two threads each are many times slower on two cores.
# Many tests start processes. These find topbin compiled, also where compiled files are usually not kept.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal

# The same tests with the lowest versions that pyproject.toml allows, which are written into a file of
# pins. Two are not the lowest: torch, of which only the pinned version is a CPU build everywhere, and
# pyparsing, whose newest versions warn about how older versions of matplotlib call them.
test-lowest: export OMP_NUM_THREADS := 1
test-lowest: export OPENBLAS_NUM_THREADS := 1
test-lowest: $(LOWEST)/.dev
	$(LOWEST)/bin/pytest -n 2 --dist worksteal

# Every field of every stored file, with every wrong type and 200 random changes, through every verb
# that reads it; hours of one core. TOPBIN_MINUTES=3 stops each file after three.
fuzz: export OMP_NUM_THREADS := 1
fuzz: export OPENBLAS_NUM_THREADS := 1
fuzz: export TOPBIN_CALLS := all
fuzz: export TOPBIN_FIGURES ?= fuzz.jsonl
fuzz: $(VENV)/.dev
	$(BIN)/pytest -q -n 2 --dist worksteal tests/adversary/test_every_field.py tests/adversary/test_addresses.py

# For the inner loop: style, types, rooms, values, formulas and options, in under a minute.
check: export OMP_NUM_THREADS := 1
check: export OPENBLAS_NUM_THREADS := 1
check: $(VENV)/.dev lint
	$(BIN)/pytest -q -n 2 -m "not slow" src/topbin/core src/topbin/mpe tests/core tests/mpe tests/contract

# The same tests, and which lines they reach: at least 95 %. Watching them costs time: 42 CPU seconds
# instead of 30 for tests/mpe and tests/core.
coverage: export OMP_NUM_THREADS := 1
coverage: export OPENBLAS_NUM_THREADS := 1
coverage: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in site/. Warnings (a dead link, a page that is in no menu) are errors.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python bench/scripts/run_all.py

# Wheel and source archive, and what a package index and GitHub would say about them.
dist: $(TOOLS)/.release
	rm -rf dist
	$(TOOLS)/bin/python -m build
	$(TOOLS)/bin/twine check --strict dist/*
	$(TOOLS)/bin/check-wheel-contents dist/*.whl
	$(TOOLS)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(TOOLS)/bin/zizmor --offline --no-progress .github/workflows
	@ls -l dist | awk 'NR > 1 {printf "%s: %.2f MB\n", $$9, $$5 / 1e6}'

# The wheel alone, in an empty environment, with the newest versions that it allows.
try-dist: export PYTHONPATH :=
try-dist: dist
	rm -rf $(TRY)
	$(PYTHON) -m venv $(TRY)
	$(TRY)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(TRY) && bin/topbin --version && bin/topbin demo --output demo

# The newest version of everything, below the pins that were made by hand. Then: make test.
constraints:
	rm -rf $(NEW)
	$(PYTHON) -m venv $(NEW)
	sed '/^# Written by make constraints/q' constraints.txt > $(NEW)/head.txt
	$(NEW)/bin/python -m pip install --quiet -c $(NEW)/head.txt $(EVERYTHING) $(RELEASE)
	$(NEW)/bin/python -m pip freeze --exclude-editable | grep -Ev '^(torch|pyspark)==' \
		| cat $(NEW)/head.txt - > $(NEW)/constraints.txt
	mv $(NEW)/constraints.txt constraints.txt

# One stamp per set of packages, so that only an edit of pyproject.toml installs again.
$(VENV)/.plain: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml bench/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) $(TESTED)
	touch $@

$(LOWEST)/lowest.txt: pyproject.toml bench/pyproject.toml constraints.txt
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	grep -h '^torch==' constraints.txt > $@
	echo 'pyparsing<3.3' >> $@
	grep -ohE '"[A-Za-z0-9_-]+>=[0-9.]+' pyproject.toml bench/pyproject.toml | tr -d '"' | sort -u \
		| grep -vE '^(torch|hatchling|topbin)>' | sed 's/>=/==/' >> $@

$(LOWEST)/.dev: $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $< $(TESTED)
	touch $@

$(VENV)/.docs: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[docs]"
	touch $@

$(TOOLS)/.release: constraints.txt
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(RELEASE)
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) $(TRY) $(NEW) $(LOWEST) dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
