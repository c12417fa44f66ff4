# Everything here works on a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench clean
.DEFAULT_GOAL := demo

$(VENV)/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,light]'
	touch $@

demo: $(VENV)/.done
	$(BIN)/optarena demo

test: $(VENV)/.done
	$(BIN)/python -m pytest

check: $(VENV)/.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.done
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
