SHELL := bash
PATH := $(CURDIR)/.venv/bin:$(PATH)

# Quick afterwards: made again when a lock, the list of Debian packages or the project file changes.
ENV := .venv/made

.PHONY: env lock

env: $(ENV)

$(ENV): requirements/dev.txt requirements/uv.txt requirements/debian.txt pyproject.toml scripts/env
	@echo "make env: the first time takes about a minute"
	@scripts/env
	@touch $@

lock:
	scripts/lock
