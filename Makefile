# Two commands set everything up on a fresh machine: `make demo` (the main job) and `make test`.
# Needs: Python >= 3.11 with venv, and make.

# The first Python that runs and is new enough: a name on the PATH may be a shim with nothing behind it.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
  $$p -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
SERVE ?= 1
PORT ?= 8501
BIN := .venv/bin
TEST_ARGS ?=
# One worker more than cores, for much of the tests is waiting: for a browser, a server, a training. Each takes up to 2 GB.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ $$n -lt 4 ] && echo $$((n + 1)) || echo 4)
# CONSTRAINTS=1 installs the versions that the tests were last run with.
PINNED := $(if $(filter 1,$(CONSTRAINTS)),-c constraints.txt)
# LIGHT=1 is the installation without CUDA libraries: faiss-cpu, and torch from TORCH_INDEX, the address of an index of its
# builds for the CPU. An environment remembers which installation it holds.
LIGHT ?= $(if $(wildcard .venv/.light),1,0)
TORCH_INDEX ?=
READY := .venv/.ready$(if $(filter 1,$(LIGHT)),-light)
# UV=0 installs by pip.
export UV ?= 1
# Nothing is compiled ahead, so Python has to keep what it compiles, also where the environment forbids that: tests and
# trainings start many processes, and each would compile the packages again.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo app notebooks docs test soak lint bench clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY)-app  ## install, open the dashboard on examples, train two losses on Emoji-7, compare (SERVE=0: do not open; LIGHT=1: without CUDA)
	$(BIN)/lab demo $(if $(filter 0,$(SERVE)),--no-serve,--port $(PORT))

app: $(READY)-app  ## open the dashboard on the runs you have
	$(BIN)/lab app --port $(PORT)

notebooks: $(READY)-notebooks  ## open JupyterLab on a working copy of the tutorials
	$(BIN)/lab learn

docs: $(READY)-docs  ## build the site into build/site/html; figures are computed once and kept (REPOSITORY=OWNER/NAME: links to Colab)
	$(BIN)/python -m scripts.website --repository "$(REPOSITORY)"

test: $(READY)-dev  ## install what the tests need and run them all
	@scripts/need-chromium
	@$(BIN)/python -m compileall -q -j 0 lab app
	@$(BIN)/python -m tests.compile_kernels & \
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(TEST_ARGS)

soak: $(READY)-dev  ## trials of minutes to hours: kills, full disks, bad inputs, all lessons and recipes (TRIALS="kills disk": some)
	$(BIN)/python -m scripts.soak $(TRIALS)

lint: $(READY)-dev  ## check style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports && $(BIN)/mypy -p lab -p app

bench: $(READY)-dev  ## measure losses, large batches, metrics and search, as ratios
	$(BIN)/lab doctor bench

clean:  ## remove the environment (runs stay)
	rm -rf .venv

.venv/bin/python:
	@"$(PYTHON)" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Rankscope needs Python 3.11 or newer with venv. Install one, or name it: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	"$(PYTHON)" -m venv .venv

INSTALL = scripts/install $(BIN)/python

# Before the next, which matches, too: make before 3.82 takes the first.
.venv/.ready-light-%: pyproject.toml scripts/light_requirements.py | .venv/.light
	@echo "Installing Rankscope with the extra '$*', without CUDA libraries (1.7 GB) ..."
	$(BIN)/python scripts/light_requirements.py $* > .venv/light-$*.txt
	$(INSTALL) $(PINNED) -r .venv/light-$*.txt
	$(INSTALL) --no-deps -e .
	@touch $@

.venv/.ready-%: pyproject.toml | .venv/bin/python
	@! test -e .venv/.light || { echo "This environment is the light one: give LIGHT=1, or begin anew with make clean."; exit 1; }
	@scripts/need-space 10
	@echo "Installing Rankscope with the extra '$*' (several GB the first time, torch above all) ..."
	$(INSTALL) $(PINNED) -e '.[$*]'
	@touch $@

# torch first: what comes after it is content with what is there. Only on Linux has the ordinary torch CUDA libraries.
.venv/.light: | .venv/bin/python
	@! ls .venv/.ready-* >/dev/null 2>&1 || { echo "This environment has CUDA libraries: begin the light one with make clean."; exit 1; }
	@test -n "$(TORCH_INDEX)" || test "$$(uname -s)" != Linux || { echo "LIGHT=1 needs the address of an index of PyTorch's builds \
	for the CPU, as PyTorch's page \"Get started\" shows it for pip and CPU: make demo LIGHT=1 TORCH_INDEX=ADDRESS. \
	Or use mamba: see environment-light.yml."; exit 1; }
	@scripts/need-space 3
	$(INSTALL) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) \
	  $(if $(PINNED),$$(sed -nE 's/^(torch(vision)?==[^ ]+).*/\1/p' constraints.txt),torch torchvision)
	@touch $@
