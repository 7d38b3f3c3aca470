# `make demo` and `make test` set up what they need: a virtual environment in .venv with the pinned packages.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test docs benchmark clean

demo: .venv/ready
	$(BIN)/ndcg-ab run configs/demo.yaml

test: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --disable-progress-bar --processes 2 sql
	$(BIN)/pytest

# Draws docs/pipeline.md and the packages in docs/architecture.md anew; a test holds them current.
docs: .venv/ready
	$(BIN)/python docs/draw.py

benchmark: .venv/ready
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/signflip.py
	$(BIN)/python benchmarks/simulate.py

# The test extra is part of the environment: both commands share one set-up.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'ndcg-ab needs Python 3.11 or newer; say which with: make $(MAKECMDGOALS) PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch .venv/ready

clean:
	rm -rf .venv build dist
