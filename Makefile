# make run    the default study: every dataset and figure, in results/
# make quick  the same rules at their smallest, in results/ci/
# make test   all checks and tests
# make status, make partial    progress of a study; datasets and figures of finished parts (CONFIG=config/paper.yaml)
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
CORES ?= all
CONFIG ?=
MINUTES ?= 30
READY := $(VENV)/.ready
# Packages of another Python, set by a shell or a cluster's module, would shadow those of the environment.
unexport PYTHONPATH PYTHONHOME
.DEFAULT_GOAL := help
UNIT := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile -m "not workflow and not slurm" --durations=12
# Tests without computations or drawings: files, configs and runs of Snakemake, the same on every processor.
WITHOUT_NUMBERS := $(addprefix --ignore=tests/,run slurm store study test_copies.py test_environment.py test_security.py)
MACHINES := machine-default machine-avx2 machine-compatible machine-threads
.PHONY: help env run quick status partial chunks test unit workflow-test test-slurm test-machines $(MACHINES) check docs \
  bench lock clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

env: $(READY)  ## the locked environment, in .venv
	@test -d slurm || \
	  echo "The link slurm is a plain file here (git or the disk knows no links): call snakemake --profile profiles/slurm"

$(READY): envs/requirements.lock envs/tests.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); rllc needs Python 3.11, 3.12 or 3.13: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || test ! -e $(VENV) || { echo "$(VENV) is there and holds no Python: move it away"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "$(PYTHON) cannot make environments; on Debian and Ubuntu that is the package python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r envs/requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r envs/tests.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# Where PYTHONDONTWRITEBYTECODE is set, every job would compile Snakemake and torch anew: 5 s at each start.
	@# Some packages hold files for newer Pythons, which this one cannot compile and nothing imports; nor their tests.
	$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	@touch $@

run: env  ## the default study, about 35 CPU minutes
	$(BIN)/snakemake --cores $(CORES)

quick: env  ## every figure, tiny, in minutes: config/ci.yaml
	$(BIN)/snakemake --cores $(CORES) --configfile config/ci.yaml

status: env  ## what is done, running, failed and missing, with job ids and logs: CONFIG=<overlays>
	@$(BIN)/python workflow/status.py $(CONFIG)

partial: env  ## datasets and figures of what is finished, in <results>/partial/: CONFIG=<overlays>
	$(BIN)/snakemake --cores $(CORES) --nolock --keep-going $(if $(CONFIG),--configfile $(CONFIG)) -- partial

chunks: env  ## checkpoints.chunks such that jobs take about MINUTES (30): CONFIG=<overlays>
	@$(BIN)/python -m rllc.run.chunks $(CONFIG) --minutes $(MINUTES)

test: env check unit workflow-test  ## all checks and tests

unit: env  ## unit tests
	$(UNIT)

workflow-test: env  ## the DAG, end to end
	$(BIN)/python -m pytest -n 3 --dist worksteal -m workflow --durations=12 tests/workflow

test-slurm: env  ## the profile and its faults, on private Slurms (root; the packages that .ci/run installs)
	$(BIN)/python -m pytest -m slurm -n 4 --dist loadfile -rs --durations=12 tests/cluster

test-machines: $(MACHINES)  ## unit tests of numbers and figures with the numbers of other processors, about 4 minutes each of 4

# Instructions that torch, MKL and oneDNN may use, and threads: each changes the order of sums. One alone: make machine-avx2
machine-default: export ATEN_CPU_CAPABILITY := default
machine-default: export DNNL_MAX_CPU_ISA := SSE41
machine-avx2: export ATEN_CPU_CAPABILITY := avx2
machine-avx2 machine-compatible: export DNNL_MAX_CPU_ISA := AVX2
machine-avx2 machine-compatible: export MKL_CBWR := COMPATIBLE
machine-avx2 machine-threads: export OMP_NUM_THREADS := 4
machine-avx2 machine-threads: export MKL_NUM_THREADS := 4
machine-avx2 machine-threads: export OMP_WAIT_POLICY := PASSIVE
$(MACHINES): env
	@$(BIN)/python -c 'import torch; print("$@:", torch.backends.cpu.get_cpu_capability(), torch.get_num_threads(), "threads")'
	$(UNIT) $(WITHOUT_NUMBERS)

check: env  ## style, types, import contracts, Snakemake lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/lint-imports
	$(BIN)/snakemake --lint

docs: env  ## the generated tables of the docs: keys, files, figures, rules, corrections of claims
	$(BIN)/python -m rllc.study.document
	$(BIN)/python -m rllc.claims.document docs/claims.md

PEER := .venv-peer

$(PEER)/.ready: benchmarks/peer.in
	test -x $(PEER)/bin/python || $(PYTHON) -m venv $(PEER)
	grep -E '^[A-Za-z0-9_.-]+==' envs/requirements.lock > $(PEER)/constraints.txt
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check -r $< -c $(PEER)/constraints.txt
	@touch $@

bench: env $(PEER)/.ready  ## speed against devinterp and how cost grows, about 15 minutes: benchmarks/*.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/growth.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/where.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/compare.py --peer $(PEER)/bin/python

lock: env  ## resolve envs/requirements.in anew
	$(BIN)/python -m pip install --upgrade -r envs/requirements.in
	$(BIN)/python -m rllc.run.lock

clean:  ## remove the environment; results stay, and may hold files of yours
	rm -rf $(VENV)
	@echo "results/ and .snakemake/ (its records) stay. Look what is in them, and remove them yourself."
