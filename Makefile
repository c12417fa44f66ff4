# Everything here works on a machine that has only Python 3.11+ and make; `make check` needs npm too.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ALL := .venv-all
PAGE := tools/page

.PHONY: demo test test-all test-environments test-cluster test-wheel check docs pictures bench clean
.DEFAULT_GOAL := demo

# what the demo uses, so that it is there soon
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cma,optuna,pymoo,report]'
	touch $@

$(VENV)/.done: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,light]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/optarena demo

export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# tests of worker processes share a group, so that they do not disturb each other
PARALLEL := --numprocesses auto --dist loadgroup

test: $(VENV)/.done
	$(BIN)/python -m pytest $(PARALLEL) -m "not environments and not browser and not slow" --passed=$(VENV)/passed

# every extra; torch first, from an index of its own where one is given: PyTorch's has the CPU build, some 200 MB, and on
# Linux PyPI has the one for GPUs, of some GB: `make test-all TORCH_INDEX=https://download.pytorch.org/whl/cpu`
TORCH_INDEX ?=
$(ALL)/.done: pyproject.toml
	$(PYTHON) -m venv $(ALL)
	$(ALL)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH_INDEX:%=--index-url %) torch==2.13.0
	$(ALL)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,all,pybobyqa,peers,notebook]'
	touch $@

# with every extra, the browser, the peers and what is slow; `make test-all NOT_AGAIN=.venv/passed` leaves out what passed in `make test`;
# where CI is set, what is missing is a failure: all programs of .ci/run are expected
# (one process more than cores: tests of clusters wait more than they compute)
MORE = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
test-all: $(ALL)/.done
	$(ALL)/bin/python -m pip check
	$(ALL)/bin/python -m pytest $(PARALLEL:auto=$(MORE)) $(NOT_AGAIN:%=--not-again=%) $(if $(CI),--nothing-missing)

# optimizers in environments of their own, which are installed from the package index and removed afterwards
test-environments: $(VENV)/.done
	cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && \
	  XDG_CACHE_HOME=$$cache $(BIN)/python -m pytest -m environments tests/test_other_environments.py

# pilots, Dask, hosts in network namespaces, and a real SLURM, for which this needs root
test-cluster: $(ALL)/.done
	command -v slurmctld || apt-get install --yes --no-install-recommends slurmctld slurmd slurm-client munge
	command -v ip || apt-get install --yes --no-install-recommends iproute2
	$(ALL)/bin/python -m pytest tests/test_leases.py tests/test_pieces.py tests/test_pilots.py tests/test_dask.py \
	    tests/test_far_pilots.py tests/test_hosts.py tests/test_slurm.py

# the wheel, and the sdist as a wheel, each in a fresh environment of $(PYTHON), and the wheel by uvx: the demo runs, the wheel
# holds only the package, and the core is small
test-wheel:
	rm -rf dist .venv-wheel && $(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check build uv
	.venv-wheel/bin/python -m build --outdir dist .
	.venv-wheel/bin/python tools/wheel.py dist

# formatter and type checker of the page's JavaScript, in exact versions
$(PAGE)/node_modules/.done: $(PAGE)/package-lock.json
	cd $(PAGE) && npm ci --no-audit --no-fund --loglevel error
	touch $@

check: $(VENV)/.done $(PAGE)/node_modules/.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd $(PAGE) && npm run --silent check

# the site, in `site/`: works from a disk, searches offline; a wrong link is an error
$(VENV)/.docs: $(VENV)/.done
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

# the pictures of the docs and what their tutorials print, made again by the commands that the pages show; needs Chromium
pictures: $(ALL)/.done
	$(ALL)/bin/python docs/screenshot.py
	$(ALL)/bin/python tests/pages.py --write docs/fixed_target.md docs/start.md docs/tutorials/*.md

bench: $(VENV)/.done
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(ALL) .venv-wheel dist $(PAGE)/node_modules .pytest_cache .mypy_cache .ruff_cache site
