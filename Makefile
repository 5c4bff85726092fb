# Every target sets up what it needs: only Python 3.11+, make and a package index are assumed.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test light slow torture engines fuzz audit oldest newest python coverage release lint types docs check format clean

demo: .venv/ready  ## the main job on the bundled table, then the paper's curves on digits
	$(BIN)/nnpu demo --out nnpu-demo
	$(BIN)/nnpu-paper demo --out nnpu-paper-demo

# One thread: the tests' arrays are small, and two threads on a busy machine wait for each other.
test: .venv/ready  ## everything that must never break
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q

light: .venv-light/ready  ## what needs no torch, in an environment without it (tests/light.py)
	OMP_NUM_THREADS=1 .venv-light/bin/python -m pytest -q -p tests.light tests src

slow: .venv/ready  ## the tests that take minutes
	$(BIN)/python -m pytest -q -m slow

torture: .venv/ready  ## 200 SIGKILLs, 18 faults of two processes, thousands of odd inputs, threads and processes: an hour
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/torture.py --kills 200
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/torture_ranks.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow tests/test_properties.py tests/test_repeatable.py \
	    tests/training/test_resume.py tests/estimators/test_concurrency.py paper/tests/test_runner.py
	$(BIN)/python benchmarks/repeatability.py

# The targets below have environments of their own, so that they change nothing for the others.
MINUTES ?= 10
fuzz: .venv-fuzz/ready  ## coverage-guided fuzzing of the readers: MINUTES of each of six targets
	.venv-fuzz/bin/python benchmarks/fuzz.py --minutes $(MINUTES)

engines: .venv-engines/ready  ## the examples on Spark (needs Java 17) and Ray, each checked without the engine
	rm -rf $${TMPDIR:-/tmp}/nnpu-engines
	set -e; for example in spark_score ray_score spark_train ray_train; do \
	    PYSPARK_PYTHON=$(CURDIR)/.venv-engines/bin/python RAY_USAGE_STATS_ENABLED=0 \
	    .venv-engines/bin/python examples/engines/$$example.py; done

audit: .venv-audit/ready  ## known vulnerabilities of the pinned versions; needs the network
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

oldest: .venv-oldest/ready  ## the tests with the oldest supported versions
	OMP_NUM_THREADS=1 .venv-oldest/bin/python -m pytest -q

newest: .venv-newest/ready  ## the tests with the newest versions that the index has
	OMP_NUM_THREADS=1 .venv-newest/bin/python -m pytest -q

INTERPRETER ?= python3.13
python: .venv-$(INTERPRETER)/ready  ## the tests with another INTERPRETER
	OMP_NUM_THREADS=1 .venv-$(INTERPRETER)/bin/python -m pytest -q

coverage: .venv/ready  ## which lines the tests reach
	OMP_NUM_THREADS=1 $(BIN)/coverage run -m pytest -q
	$(BIN)/coverage report

release: .venv/ready  ## build both archives and wheels, and try the wheels in an empty environment
	rm -rf dist .venv-wheel
	$(BIN)/hatchling build
	cd paper && ../$(BIN)/hatchling build --directory ../dist
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip install --quiet dist/nnpu-*.whl
	cd dist && ../.venv-wheel/bin/python ../benchmarks/wheel.py
	.venv-wheel/bin/pip install --quiet dist/nnpu-*.whl dist/nnpu_paper-*.whl
	cd dist && ../.venv-wheel/bin/nnpu-paper demo --epochs 3 --out demo && rm -r demo

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

docs: .venv/docs  ## the site, with its gallery: docs/_build/html/index.html
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html

check: lint types docs light test  ## lint, format, strict types, site, tests, doctests

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv/ready: pyproject.toml paper/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]' --editable ./paper
	touch $@

.venv/docs: .venv/ready
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

.venv-light/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-light
	.venv-light/bin/pip install --quiet --editable '.[light]'
	touch $@

.venv-fuzz/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/pip install --quiet --editable '.[torch]' atheris==3.0.0
	touch $@

# pyspark does not take pandas 3 yet.
.venv-engines/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-engines
	grep -v '^pandas==' constraints.txt > .venv-engines/constraints.txt
	PIP_CONSTRAINT=.venv-engines/constraints.txt .venv-engines/bin/pip install --quiet --editable . pandas==2.3.3 pyspark 'ray[data]'
	touch $@

.venv-audit/ready:
	$(PYTHON) -m venv .venv-audit
	PIP_CONSTRAINT= .venv-audit/bin/pip install --quiet pip-audit
	touch $@

.venv-oldest/ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	PIP_CONSTRAINT=constraints-oldest.txt .venv-oldest/bin/pip install --quiet --editable '.[dev]' --editable ./paper
	touch $@

.venv-$(INTERPRETER)/ready: pyproject.toml constraints.txt
	$(INTERPRETER) -m venv .venv-$(INTERPRETER)
	.venv-$(INTERPRETER)/bin/pip install --quiet --editable '.[dev]' --editable ./paper
	touch $@

# But for torch, whose newest build would bring CUDA along.
.venv-newest/ready: pyproject.toml
	$(PYTHON) -m venv .venv-newest
	PIP_CONSTRAINT= .venv-newest/bin/pip install --quiet --editable '.[dev]' --editable ./paper $$(grep ^torch== constraints.txt)
	touch $@

clean:
	rm -rf .venv .venv-* dist nnpu-demo nnpu-paper-demo fuzz-findings docs/_build docs/api docs/gallery
