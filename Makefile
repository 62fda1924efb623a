# Two commands do everything on a fresh machine with Python 3.11 and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint bench clean

demo: $(VENV)/.plain
	$(BIN)/topbin demo --output demo

# One thread a worker: two of these with two threads each run many times slower on two cores.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: $(VENV)/.dev lint
	$(BIN)/pytest -n 2 --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python bench/scripts/run_all.py

# A stamp a set of packages, so that an edit of pyproject.toml installs again and nothing else does.
$(VENV)/.plain: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml bench/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[dev,torch,boost,dask]" --editable bench
	touch $@

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
