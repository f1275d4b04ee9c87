# Two commands set everything up on a fresh machine: `make demo` (the main job) and `make test`.
# Needs: Python >= 3.11 with venv, and make.

# The first Python that runs and is new enough: a name on the PATH may be a shim with nothing behind it.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
  $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
SERVE ?= 1
PORT ?= 8501
BIN := .venv/bin
TEST_ARGS ?=
# CONSTRAINTS=1 installs the versions that the tests were last run with.
PINNED := $(if $(filter 1,$(CONSTRAINTS)),-c constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help demo app notebooks test lint bench clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.ready-app  ## install, train two losses on Emoji-7, evaluate, open the dashboard (SERVE=0: do not open)
	$(BIN)/lab demo $(if $(filter 0,$(SERVE)),--no-serve,--port $(PORT))

app: .venv/.ready-app  ## open the dashboard on the runs you have
	$(BIN)/lab app --port $(PORT)

notebooks: .venv/.ready-notebooks  ## open JupyterLab on a working copy of the tutorials
	$(BIN)/lab learn

test: .venv/.ready-dev  ## install what the tests need and run them all
	@scripts/need-chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile $(TEST_ARGS)

lint: .venv/.ready-dev  ## check style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy -p lab

bench: .venv/.ready-dev  ## measure losses, large batches, metrics and search, as ratios
	$(BIN)/lab bench

clean:  ## remove the environment (runs stay)
	rm -rf .venv

.venv/bin/python:
	@"$(PYTHON)" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Rankscope needs Python 3.11 or newer with venv. Install one, or name it: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	"$(PYTHON)" -m venv .venv

.venv/.ready-%: pyproject.toml | .venv/bin/python
	@echo "Installing Rankscope with the extra '$*' (several GB the first time, torch above all) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINNED) -e '.[$*]'
	@touch $@
