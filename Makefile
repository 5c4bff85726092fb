# Every target sets up what it needs: only Python 3.11+, make and a package index are assumed.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test slow torture lint types check format clean

demo: .venv/ready  ## PN, uPU and nnPU on digits: a table, a picture
	$(BIN)/nnpu demo --out nnpu-demo

# One thread: the tests' arrays are small, and two threads on a busy machine wait for each other.
test: .venv/ready  ## everything that must never break
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q

slow: .venv/ready  ## the tests that take minutes
	$(BIN)/python -m pytest -q -m slow

torture: .venv/ready  ## 200 SIGKILLs at a run, 18 faults of two processes: the same bits in the end
	$(BIN)/python benchmarks/torture.py --kills 200
	$(BIN)/python benchmarks/torture_ranks.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

check: lint types test  ## lint, format, strict types, tests, doctests

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv nnpu-demo
