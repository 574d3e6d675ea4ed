PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types unit lock clean

demo: .venv/run.stamp  ## ask the repo's bank of the built-in endpoint and show the results
	rm -rf reports/demo
	$(BIN)/ragevalkit run --bank question_banks/tarn.jsonl --endpoint baseline --name demo

test: lint types unit  ## everything that needs Python alone

lint: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev.stamp
	$(BIN)/mypy

unit: .venv/dev.stamp
	$(BIN)/pytest

lock: .venv/dev.stamp  ## write the locks anew from pyproject.toml's lower bounds
	$(BIN)/python locks/write.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache

.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "ragevalkit needs Python 3.11 or later; try: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/run.stamp: .venv/python.stamp locks/run.txt pyproject.toml
	@echo "installing what ragevalkit needs; this takes about half a minute"
	$(BIN)/pip install --quiet --disable-pip-version-check -r locks/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

.venv/dev.stamp: .venv/run.stamp locks/dev.txt
	@echo "installing what the checks need"
	$(BIN)/pip install --quiet --disable-pip-version-check -r locks/dev.txt
	@touch $@
