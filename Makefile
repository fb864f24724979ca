# Each target does its own set-up on a fresh machine and is quick afterwards. Times are of two cores.
SHELL := bash
.DELETE_ON_ERROR:

# /usr/local/go/bin is where Go's own archive is unpacked, and sudo drops it from PATH.
export PATH := $(CURDIR)/.venv/bin:$(PATH):/usr/local/go/bin

# Older than any lock, list or script that it is made from: made again.
ENV := .venv/made

# Two at a time, the longest first: each takes one core.
UNITS := $(filter-out %/__pycache__/,$(wildcard tests/unit/*/))
FOLDERS := tests/contract tests/replay $(UNITS)
# The loop of a contributor: four parts at a time, since some tests wait, and few, since each start of pytest costs as
# much as a small folder. Left out are tests marked `long`; every package keeps tests.
STEPS := tests/unit/steps/
CLI := tests/unit/cli/
READING := $(addsuffix /,$(addprefix tests/unit/,ask bundle config doctor probes profile))
OTHERS := $(filter-out $(STEPS) $(CLI) $(READING) tests/unit/hostile/,$(UNITS))
QUICK := quick-steps quick-cli quick-reading quick-others
SCRIPTS = $(shell git grep -lE '^#!(/usr/bin/env |/bin/)(ba)?sh' -- ':!*.j2' ':!*.md' ':!*.py')

# timed PART,COMMAND: says at its end how long it took.
timed = @TIMEFORMAT='── %lR  $(1)'; time $(2)

.PHONY: help tour demo test quick $(QUICK) folders $(FOLDERS) lab-test vm-test fuzz accuracy lint ruff mypy imports yaml ansible shell bench bundle \
    upstream env go lock values rights sbom audit clean

help:
	@echo "make tour      the commands that read recordings, on those in examples/ (a minute; neither root nor hosts nor Go)"
	@echo "make demo      two throw-away hosts with simulated GPUs become a proven cluster (first time 45 minutes, then 10)"
	@echo "               KEEP=yes leaves them, to break something and ask the doctor"
	@echo "make test      unit, contract and replay tests, one complete install (first time 45 minutes, then under 20)"
	@echo "make quick     unit tests of every package, without Go and without a lab: after each change"
	@echo "make vm-test   a whole cluster on a virtual machine, which boots a kernel of its own (an hour where KVM is missing)"
	@echo "make lab-test  everything that needs lab hosts (CONTRIBUTING.md says how long)"
	@echo "make fuzz      the property tests with other cases each time; SEED=N draws those of seed N again"
	@echo "make lint      ruff, mypy, import-linter, yamllint, ansible-lint, shellcheck (2 minutes)"
	@echo "make bench     the table of ratios"
	@echo "make accuracy  how often doctor names exactly what was broken; WORDS='--only FAULT' and others"
	@echo "make bundle    the packages and images that lab hosts install from (first time half an hour)"
	@echo "make sbom      wheel, sdist and what is in them as CycloneDX, in dist/ (needs the index)"
	@echo "make audit     known vulnerabilities of what is pinned (needs the index)"
	@echo "make upstream  asks the vendors for all that is pinned (internet, sh, curl and gpg; a few minutes)"
	@echo "make env       .venv and Debian packages (first time 1 minute)"
	@echo "make clean     removes the lab, .venv and caches of this checkout"

env: $(ENV)

$(ENV): requirements/dev.txt requirements/uv.txt requirements/debian.txt pyproject.toml lab/pyproject.toml logs/pyproject.toml scripts/env
	@echo "make env: about a minute the first time" >&2
	@scripts/env
	@touch $@

tour: $(ENV)
	@scripts/tour

demo:
	@echo "make demo: about 45 minutes the first time (30 of them compile the bundle), then about 10" >&2
	@$(MAKE) --no-print-directory env go
	@scripts/demo $(if $(KEEP),--keep)

test:
	@echo "make test: about 45 minutes the first time (30 of them compile the bundle), then under 20" >&2
	$(call timed,environment,$(MAKE) --no-print-directory env go)
	$(call timed,quick tests,$(MAKE) --no-print-directory folders)
	$(call timed,bundle,$(MAKE) --no-print-directory bundle)
	$(call timed,lab tests,pytest tests/lab -m short)

# What failed is named again at the end: the folder that it is in may have ended minutes before.
folders:
	@mkdir -p .pytest_cache; set -o pipefail; \
	$(MAKE) --no-print-directory --jobs=2 --output-sync --keep-going $(FOLDERS) 2>&1 | tee .pytest_cache/folders.log \
	  || { grep -hE '^(FAILED|ERROR) ' .pytest_cache/folders.log; exit 1; }

$(FOLDERS):
	pytest -q $@ -m "not slow"

quick: $(ENV)
	@echo "make quick: unit tests of every package with few drawn cases; neither Go nor a lab is needed" >&2
	@$(MAKE) --no-print-directory --jobs=4 --output-sync --keep-going $(QUICK)

quick-steps: PARTS = $(STEPS)
quick-cli: PARTS = $(CLI)
quick-reading: PARTS = $(READING)
quick-others: PARTS = $(OTHERS)
$(QUICK):
	pytest $(PARTS) -m "not slow and not long" --hypothesis-profile=quick

lab-test:
	@echo "make lab-test: about four hours; 40 minutes more the first time, for the bundle" >&2
	@$(MAKE) --no-print-directory env go bundle MORE=--keda
	pytest tests/unit/hostile --hypothesis-profile=hostile
	pytest tests/contract -m slow
	pytest tests -m lab

vm-test:
	@echo "make vm-test: an hour where KVM does not work; half an hour more the first time, for the bundle" >&2
	@scripts/env requirements/vm.txt
	@$(MAKE) --no-print-directory env go bundle
	pytest tests/lab -m vm --durations=0 --durations-min=0 -v

fuzz: $(ENV)
	@seed=$${SEED:-$$RANDOM$$RANDOM}; \
	echo "make fuzz: about five minutes; the same cases again: make fuzz SEED=$$seed" >&2; \
	pytest tests/unit tests/contract tests/replay -m hypothesis --timeout=900 --hypothesis-profile=fuzz --hypothesis-seed=$$seed

bench:
	@echo "make bench: about 20 minutes; 30 more the first time, for the bundle" >&2
	@$(MAKE) --no-print-directory env go bundle
	scripts/bench

accuracy:
	@echo "make accuracy: a minute for each fault; half an hour more the first time, for the bundle" >&2
	@$(MAKE) --no-print-directory env go bundle
	python -m scripts.accuracy $(WORDS)

lint: $(ENV)
	@echo "make lint: one to two minutes" >&2
	@$(MAKE) --no-print-directory --keep-going ruff mypy imports yaml ansible shell

ruff: $(ENV)
	ruff check .
	ruff format --check --quiet .

mypy: $(ENV)
	mypy

imports: $(ENV)
	lint-imports

yaml: $(ENV)
	yamllint --strict .

ansible: $(ENV)
	ansible-lint -q playbooks

shell: $(ENV)
	shellcheck $(SCRIPTS)

bundle: $(ENV)
	@$(MAKE) --no-print-directory go
	gpustack bundle build --from modules $(MORE)

upstream:
	@scripts/upstream

# What each go.mod asks for at least; Go's own archive from the package index where there is none so new.
go: $(ENV)
	@oldest=go$$(git ls-files '*/go.mod' | xargs sed -n 's/^go //p' | sort -V | tail -1); \
	printf '%s\n' "$$oldest" "$$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null)" | sort -CV || { \
	    echo "go: $$oldest or newer is not on the PATH: installing it into .venv (75 MB)" >&2; \
	    scripts/install-locked .venv/bin/python requirements/go.txt; }

lock: $(ENV)
	scripts/lock

sbom: $(ENV)
	scripts/sbom

audit: $(ENV)
	scripts/audit

values: $(ENV)
	python -m scripts.values

# Needs helm and kubectl on PATH, and the internet.
rights: $(ENV)
	python -m scripts.rights

clean:
	-[ ! -x .venv/bin/gpustack ] || gpustack lab down
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .ansible
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
