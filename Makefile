# Two targets matter: `make dashboard` and `make test`. Each installs what it needs first.
.DEFAULT_GOAL := help
MODEL ?=
DATA ?=
SENTENCES ?=
TOKENS ?=
MAX_LENGTH ?=
STORE ?= data/headscape
DEVICE ?=
DTYPE ?=
SEED ?=
BATCH ?=
TEXT ?=
VIEWS ?=
LABEL ?=
IMPORTANCE ?=
EPOCHS ?=
LEARNING_RATE ?=
FREEZE ?=
OUT ?= data/finetuned
POINTS ?=
FEATURES ?=
REVIEWS ?=
METRIC ?=
NEIGHBORS ?=
MIN_DIST ?=
HOST ?= 127.0.0.1
PORT ?= 8050
ALLOWED_HOSTS ?=
DAYS ?= 7
TORCH ?= torch==2.13.0
ONLY ?=
PYTHON := .venv/bin/python
# Recipes read what is asked from the environment: a shell takes no quote, space or dash in it for its own.
export MODEL DATA SENTENCES TOKENS MAX_LENGTH STORE DEVICE DTYPE SEED BATCH TEXT VIEWS LABEL IMPORTANCE EPOCHS LEARNING_RATE FREEZE OUT \
  POINTS FEATURES REVIEWS METRIC NEIGHBORS MIN_DIST HOST PORT ALLOWED_HOSTS DAYS

.PHONY: help install ingest projections finetune dashboard describe verify mend expire test lint check bench check-published clean

help:       ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 17

install: .venv/installed  ## virtual environment with everything the product and its tests need

# Python compiles the modules that are imported; all of them took longer than the rest of an installation.
INSTALL = $(PYTHON) -m pip install --quiet --no-compile --constraint constraints.txt

.venv/installed: pyproject.toml constraints.txt
	python3 -m venv .venv
	$(INSTALL) $(TORCH)
	$(INSTALL) --editable '.[test]'
	@touch $@

ASKED = --store="$$STORE" --model="$$MODEL" --data="$$DATA" --sentences="$$SENTENCES" --tokens="$$TOKENS" \
  --max-length="$$MAX_LENGTH" --device="$$DEVICE" --dtype="$$DTYPE" --seed="$$SEED" --batch="$$BATCH" --text="$$TEXT" --label="$$LABEL" --views="$$VIEWS" --importance="$$IMPORTANCE" \
  --points="$$POINTS" --features="$$FEATURES" --reviews="$$REVIEWS" --metric="$$METRIC" --neighbors="$$NEIGHBORS" --min-dist="$$MIN_DIST"

# A command that ends when make is killed. make passes its own process id: a shell that starts after that would pass another.
RUN = exec env HEADSCAPE_PARENT=$(shell echo $$PPID) $(PYTHON)

ingest: install  ## bring the store up to date (MODEL DATA SENTENCES TOKENS MAX_LENGTH STORE DEVICE DTYPE SEED BATCH TEXT LABEL VIEWS IMPORTANCE POINTS FEATURES REVIEWS METRIC NEIGHBORS MIN_DIST)
	@$(RUN) -m ingest $(ASKED)

projections: install  ## more pictures of what the store holds (VIEWS=tsne-raw-2d,umap-sphere-3d FEATURES=tsne-joint MODEL DATA)
	@$(RUN) -m ingest $(ASKED) --stage projections

finetune: install  ## teach a BERT the labels of reviews; the result is a MODEL (MODEL DATA TEXT LABEL EPOCHS BATCH LEARNING_RATE MAX_LENGTH FREEZE SEED DEVICE OUT)
	@$(RUN) -m ingest.finetuning --model="$$MODEL" --data="$$DATA" --text="$$TEXT" --label="$$LABEL" --epochs="$$EPOCHS" --batch="$$BATCH" \
	  --learning-rate="$$LEARNING_RATE" --max-length="$$MAX_LENGTH" --freeze="$$FREEZE" --seed="$$SEED" --device="$$DEVICE" --out="$$OUT"

dashboard: install  ## serve the store, after an ingest where there is none (STORE HOST PORT ALLOWED_HOSTS)
	@$(PYTHON) -m dashboard --store="$$STORE" --host="$$HOST" --port="$$PORT" --allowed-hosts="$$ALLOWED_HOSTS" --ingest

describe: install  ## what is in the store
	@$(PYTHON) -m store describe "$$STORE"

verify: install  ## check every file, read every array, recompute a sample, name what is corrupt
	@$(PYTHON) -m store verify "$$STORE"

mend: install  ## where a branch is lost or damaged, return to the newest publication that can be read
	@$(PYTHON) -m store mend "$$STORE"

expire: install  ## forget snapshots superseded more than DAYS ago
	@$(PYTHON) -m store expire "$$STORE" --days="$$DAYS"

test: install  ## every test (those in a browser need chromium)
	@$(PYTHON) -m pytest -n auto --dist loadfile

lint: install  ## style and types
	@$(PYTHON) -m ruff check . && $(PYTHON) -m mypy

check: lint test  ## what main must always pass

bench: install  ## measure speed, memory and bytes against a plain forward pass and a memmap (ONLY=names; a wrong one lists them)
	@$(PYTHON) -m tests.bench $(ONLY)

check-published: install  ## compare bert-base-uncased with the numbers of Clark 2019 and Kobayashi 2021 (MODEL)
	@$(PYTHON) -m tests.published '$(MODEL)'

clean:      ## remove the virtual environment; the store stays
	rm -rf .venv *.egg-info .pytest_cache .mypy_cache .ruff_cache
