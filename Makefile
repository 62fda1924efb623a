# On a fresh machine with Python 3.11 and make: `make demo`, `make test`, `make docs`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo check test coverage lint docs bench clean

demo: $(VENV)/.plain
	$(BIN)/topbin demo --output demo

# One thread per worker: two workers with two threads each are many times slower on two cores.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --dist worksteal

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

# One stamp per set of packages, so that only an edit of pyproject.toml installs again.
$(VENV)/.plain: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml bench/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[dev,images,boost,dask,review]" --editable bench
	touch $@

$(VENV)/.docs: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
